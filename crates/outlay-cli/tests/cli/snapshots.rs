//! What each command prints, in every format: `tests/cli/commands/*.trycmd`. `TRYCMD=overwrite
//! cargo test` writes them anew; look at the difference before you keep it.

#[test]
fn commands_print_what_they_printed() {
    // Examples are named from the root, as a newcomer would.
    std::env::set_current_dir(super::root()).unwrap();
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/commands/*.trycmd"))
        .case(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))
        .case(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/*.md"));
}
