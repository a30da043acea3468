//! Numbers and columns in running text agree with the committed results and with the program.

use std::fs;
use std::process::Command;

use super::root;

/// A statement of a page and the row of a results file that it rests on.
struct Quote {
    page: &'static str,
    /// Text of the page.
    says: &'static str,
    results: &'static str,
    /// Begins the row of the results.
    row: &'static str,
    /// Text of the row.
    shows: &'static str,
}

const ENGINE: &str = "bench/RESULTS.md";
const SERVICE: &str = "bench/service/RESULTS.md";
const README: &str = "README.md";
const COMPARISON: &str = "docs/explanation/comparison.md";

const fn quote(
    page: &'static str,
    says: &'static str,
    results: &'static str,
    row: &'static str,
    shows: &'static str,
) -> Quote {
    Quote { page, says, results, row, shows }
}

const CLARABEL: &str = "| concave | 100 | Clarabel, power and exponential cones |";
const SLSQP_CONCAVE: &str = "| concave | 100 | SLSQP as pymc-marketing calls it |";
const SLSQP_HILL: &str = "| hill | 100 | SLSQP as pymc-marketing calls it |";
const GREEDY: &str = "| hill | 100 | Meridian's greedy rule, grid of 10,000 |";
const GREEDY_10: &str = "| hill | 10 | Meridian's greedy rule, grid of 10,000 |";
const BANDIT: &str = "| the classical bandit, against the fastest library |";
const STEPS: &str = "| steps, K = 10^4, exact |";
const OPTUNA: &str = "| one client, ask and report, on disk |";
const REAL_COSTS: &str = "| steps, value ≈ cost, real costs |";
const MIXTURE: &str = "docs/reproduction/tables/kl-ucb-mixture.md";
const GROWTH: &str = "docs/reproduction/tables/kl-ucb-plus-growth.md";

const QUOTES: &[Quote] = &[
    quote(README, "1,069 to 1,445 times as fast as Clarabel", ENGINE, CLARABEL, "1,069x .. 1,445x"),
    quote(README, "at 0.843 to 0.913 of outlay's value", ENGINE, SLSQP_HILL, "0.843 .. 0.913"),
    quote(README, "AMD EPYC", ENGINE, "Machine:", "AMD EPYC"),
    quote(COMPARISON, "takes 109 to 455 ms", ENGINE, SLSQP_CONCAVE, "109 ms .. 455 ms"),
    quote(COMPARISON, "0.999 of outlay's value", ENGINE, SLSQP_CONCAVE, "| 0.999106733 .."),
    quote(COMPARISON, "success at 0.843 to 0.913", ENGINE, SLSQP_HILL, "0.843 .. 0.913"),
    quote(COMPARISON, "reaches 0.99998 and more", ENGINE, GREEDY, "| 0.999983276 .."),
    quote(COMPARISON, "0.965 and more at K = 10", ENGINE, GREEDY_10, "| 0.965 .."),
    quote(COMPARISON, "(`cucb` 0.98 times its speed)", ENGINE, BANDIT, "`cucb` 0.98x"),
    quote(COMPARISON, "169,619 rounds per second", ENGINE, "| river |", "169,619"),
    quote(COMPARISON, "mabwiser 19,735", ENGINE, "| mabwiser |", "19,735"),
    quote(COMPARISON, "37 times as many rounds per second", SERVICE, OPTUNA, "| 37 times |"),
    quote(COMPARISON, "in 92 % of the instances", README, REAL_COSTS, "| 92 % |"),
    quote("docs/design/oracle-steps.md", "1.8 times the time of sorting", ENGINE, STEPS, "1.83x"),
    quote(
        "docs/explanation/theorem-3.md",
        "0.11 on the instances of this figure",
        "docs/reproduction/tables/theorem-3.md",
        "| algorithm-1: largest regret of a run ÷ its bound |",
        "0.1087",
    ),
    quote(
        "docs/explanation/theorem-3.md",
        "0.15 on the M-sets below",
        "docs/reproduction/tables/m-sets.md",
        "| largest regret of a run ÷ bound |",
        "0.1514",
    ),
    quote(
        "docs/explanation/proof-kl-ucb-mixture.md",
        "the ratio is between 0.93 and 1.04",
        MIXTURE,
        "| theorem-2 | 1,000 |",
        "| 0.9334 |",
    ),
    quote(
        "docs/explanation/proof-kl-ucb-mixture.md",
        "the ratio is between 0.93 and 1.04",
        MIXTURE,
        "| theorem-2 | 100,000 |",
        "| 1.039 |",
    ),
    quote(
        "docs/explanation/proof-kl-ucb-plus.md",
        "it is 18.74 per decade",
        GROWTH,
        "| power | 1e7 |",
        "| 18.74 |",
    ),
];

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Without line breaks, which may fall anywhere in a sentence.
fn running(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn statements_rest_on_committed_results() {
    for quote in QUOTES {
        assert!(
            running(&text(quote.page)).contains(quote.says),
            "{} no longer says: {}; change this test together with the page",
            quote.page,
            quote.says
        );
        let results = text(quote.results);
        let mut rows = results.lines().filter(|line| line.starts_with(quote.row));
        assert!(
            rows.any(|row| row.contains(quote.shows)),
            "{} says: {}, but no row {} of {} shows {}",
            quote.page,
            quote.says,
            quote.row,
            quote.results,
            quote.shows
        );
    }
}

/// The first line of the CSV output of a command.
fn columns(arguments: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_outlay"))
        .args(arguments.split(' '))
        .current_dir(root())
        .output()
        .unwrap();
    let csv = String::from_utf8(output.stdout).unwrap();
    csv.lines().next().expect("a header").split(',').map(str::to_owned).collect()
}

/// The keys of the first JSON block below a heading of the output reference.
fn documented(heading: &str) -> String {
    let page = text("docs/reference/output.md");
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect(heading);
    let (_, block) = section.split_once("```json\n").expect(heading);
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn the_output_reference_has_the_columns_of_the_commands() {
    let problem = "examples/ad-channels/ad-channels.toml";
    let plan = "examples/ad-channels/plan.csv";
    for (heading, arguments) in [
        ("allocate", format!("allocate {problem} --format csv --quiet")),
        ("frontier", format!("frontier {problem} --points 2 --format csv --quiet")),
        ("evaluate", format!("evaluate {problem} --plan {plan} --format csv --quiet")),
        ("check", format!("check {problem} --format csv --quiet")),
    ] {
        let documented = documented(heading);
        for column in columns(&arguments) {
            assert!(
                documented.contains(&format!("\"{column}\"")),
                "docs/reference/output.md, {heading}: the column {column} is missing"
            );
        }
    }
}
