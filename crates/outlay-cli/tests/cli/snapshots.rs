//! Output of each command in every format: `tests/cli/commands/*.trycmd`. `TRYCMD=overwrite cargo
//! test` updates the files; review the difference.

#[test]
fn commands_match_their_snapshots() {
    // Paths of examples are relative to the root of the repository.
    std::env::set_current_dir(super::root()).unwrap();
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/commands/*.trycmd"))
        .case(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))
        .case(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/**/*.md"));
}
