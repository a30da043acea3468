//! The pages of ordinary decisions and of edge cases.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use outlay::plan::{evenly_spaced, frontier, outcomes, value_of};
use outlay::problem::Units;
use outlay::{Allocation, Options, Oracle, ProblemSpec, TaskSpec};

use super::*;
use crate::svg::balanced;

/// A problem with its decision.
struct Case {
    problem: Problem,
    values: Vec<f64>,
    budget: f64,
    before: Vec<Option<f64>>,
}

impl Case {
    /// The value of task k is 1 - k/100; there are no previous spends.
    fn of(budget: f64, tasks: Vec<TaskSpec>) -> Self {
        let values = (0..tasks.len()).map(|place| 1.0 / (1.0 + 0.1 * place as f64)).collect();
        let before = vec![None; tasks.len()];
        let problem = ProblemSpec {
            budget: if budget > 0.0 { budget } else { 1.0 },
            tasks,
            ..ProblemSpec::default()
        }
        .check()
        .unwrap();
        Self { problem, values, budget, before }
    }

    fn with_before(self, spends: &[f64]) -> Self {
        Self { before: spends.iter().copied().map(Some).collect(), ..self }
    }

    fn best(&self) -> Allocation {
        Oracle::new(&self.problem)
            .allocate(&self.values, self.budget, &Options::default())
            .unwrap()
            .clone()
    }

    fn page(&self) -> DecisionPage<'_> {
        let best = self.best();
        let before = self.before.iter().copied().collect::<Option<Vec<f64>>>();
        let before = before.map(|before| {
            (before.iter().sum::<f64>(), value_of(&self.problem, &self.values, &before))
        });
        let also = before.map_or(0.0, |before| before.0);
        let budgets = frontier_budgets(&self.problem, self.budget, also);
        let points = frontier(&self.problem, &self.values, &budgets, &Options::default(), |_| {
            ControlFlow::Continue(())
        })
        .unwrap();
        DecisionPage {
            title: "the best <split>".to_owned(),
            command: "outlay allocate 'a b.toml'".to_owned(),
            headline: vec!["budget 1 per round · value 2".to_owned()],
            before: "current",
            after: "best split",
            price: best.price,
            budget: self.budget,
            precision: Precision::of_amounts(self.budget, best.spend.iter().copied()),
            tasks: TaskView::all(
                &self.problem,
                &self.values,
                &self.before,
                &outcomes(&self.problem, &self.values, self.budget, &best.spend, 0.0),
            ),
            labels: Labels::of(&self.problem),
            frontier: Frontier {
                labels: Labels::of(&self.problem),
                points,
                budget: Some(self.budget),
                chosen: Some((self.budget, best.value)),
                before,
            },
        }
    }

    fn frontier_page(&self) -> FrontierPage<'_> {
        let needed: f64 = self.problem.tasks().iter().map(|task| task.bounds().min).sum();
        let budgets = evenly_spaced(needed, needed + 2.0 * self.problem.budget(), 7);
        let points = outlay::plan::frontier(
            &self.problem,
            &self.values,
            &budgets,
            &Options::default(),
            |_| std::ops::ControlFlow::Continue(()),
        )
        .unwrap();
        FrontierPage {
            title: "other budgets".to_owned(),
            command: "outlay frontier".to_owned(),
            problem: &self.problem,
            precision: Precision::of_budget(self.budget),
            frontier: Frontier {
                points,
                budget: Some(self.budget),
                chosen: None,
                before: None,
                labels: Labels::of(&self.problem),
            },
        }
    }
}

fn every_family(unit: f64) -> Vec<TaskSpec> {
    let curves = [
        Curve::power(0.5, 10.0 * unit),
        Curve::saturating(3.0 * unit),
        Curve::exponential(2.0 * unit),
        Curve::hill(2.0 * unit, 4.0),
        Curve::logistic(3.0 * unit, 0.01 * unit),
        Curve::threshold(2.5 * unit),
        Curve::steps(vec![0.0, unit, 4.0 * unit], vec![0.1, 0.5, 1.0]),
        Curve::piecewise(vec![0.0, unit, 2.0 * unit], vec![0.0, 0.7, 0.8]),
        Curve::empirical(vec![0.0, unit, unit, 1.5 * unit, 7.0 * unit]),
    ];
    curves
        .into_iter()
        .enumerate()
        .map(|(place, curve)| TaskSpec::new(format!("task {place}"), curve.unwrap()))
        .collect()
}

fn bounded() -> Vec<TaskSpec> {
    let bare = |name: &str| TaskSpec::new(name, Curve::hill(2.0, 3.0).unwrap());
    vec![
        TaskSpec { min: Some(1.0), ..bare("min") },
        TaskSpec { max: Some(0.5), ..bare("max") },
        TaskSpec { min: Some(0.5), max: Some(2.5), ..bare("both") },
        TaskSpec { fixed: Some(1.5), ..bare("fixed") },
        TaskSpec { exclude: true, ..bare("excluded") },
        TaskSpec { at_least: Some(3.0), ..bare("nothing or three") },
        TaskSpec { max: Some(1e30), ..bare("hardly bounded") },
    ]
}

/// Names that look like markup or do not fit.
fn named() -> Vec<TaskSpec> {
    let names = ["<script>alert(1)</script>", "\"quoted\" & 'so'", "广告渠道", "inf", "]]>"];
    let long = "a name that is far too long for the margin of any picture, ".repeat(9);
    let names = names.map(str::to_owned).into_iter().chain([long]);
    names.map(|name| TaskSpec::new(name, Curve::power(0.5, 9.0).unwrap())).collect()
}

/// All cases that a page must handle.
fn cases() -> Vec<(&'static str, Case)> {
    let power = |name: &str| TaskSpec::new(name, Curve::power(0.5, 10.0).unwrap());
    let flat =
        |name: &str| TaskSpec::new(name, Curve::power(0.5, 10.0).unwrap().with_floor(1.0).unwrap());
    let thousand = || (0..1100).map(|place| power(&format!("lot-{place}"))).collect::<Vec<_>>();
    let worthless = |case: Case| Case { values: vec![0.0; case.values.len()], ..case };
    vec![
        ("one-task", Case::of(4.0, vec![power("only")])),
        ("one-task-before", Case::of(4.0, vec![power("only")]).with_before(&[4.0])),
        ("two-tasks", Case::of(4.0, vec![power("a"), power("b")]).with_before(&[4.0, 0.0])),
        ("four-tasks", Case::of(4.0, every_family(1.0).into_iter().take(4).collect())),
        ("thousand-tasks", Case::of(40.0, thousand())),
        ("every-family", Case::of(20.0, every_family(1.0)).with_before(&[2.0; 9])),
        ("tiny-unit", Case::of(2e-8, every_family(1e-9)).with_before(&[1e-9; 9])),
        ("huge-unit", Case::of(2e13, every_family(1e12))),
        ("no-budget", Case::of(0.0, every_family(1.0)).with_before(&[0.0; 9])),
        ("no-budget-but-before", Case::of(0.0, every_family(1.0)).with_before(&[1.0; 9])),
        ("flat", Case::of(5.0, vec![flat("a"), flat("b")])),
        ("worthless", worthless(Case::of(5.0, every_family(1.0)))),
        ("more-than-enough", Case::of(1e6, every_family(1.0)).with_before(&[1e5; 9])),
        ("bounded", Case::of(9.0, bounded()).with_before(&[0.0, 5.0, 1.0, 1.5, 2.0, 1.0, 0.0])),
        ("only-bounds", Case::of(3.0, bounded())),
        (
            "all-excluded",
            Case::of(
                3.0,
                vec![
                    TaskSpec { exclude: true, ..power("a") },
                    TaskSpec { exclude: true, ..power("b") },
                ],
            ),
        ),
        ("over-budget", Case::of(3.0, every_family(1.0)).with_before(&[100.0; 9])),
        ("awkward-names", Case::of(5.0, named()).with_before(&[1.0; 6])),
        (
            "some-before",
            Case { before: vec![Some(1.0), None], ..Case::of(4.0, vec![power("a"), power("b")]) },
        ),
    ]
}

/// With the columns of a learner, some of them empty.
fn learned(case: &Case) -> DecisionPage<'_> {
    let mut page = case.page();
    for (place, task) in page.tasks.iter_mut().enumerate() {
        let seen = place > 0;
        task.learned = Some(Learned {
            mean: seen.then_some(0.5),
            bonus: seen.then_some(if place > 1 { 0.1 } else { f64::INFINITY }),
            completions: 10 * place as u64,
            seen: (place > 1).then_some((812, Some(0.25))),
            expected_completions: 10.5 * place as f64,
            delivered: (place > 0).then_some(0.5),
        });
    }
    page
}

fn all_pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for (name, case) in cases() {
        pages.push((name.to_owned(), case.page().html()));
        pages.push((format!("{name}-frontier"), case.frontier_page().html()));
    }
    pages.push(("learned".to_owned(), learned(&cases().remove(5).1).html()));
    pages
}

#[test]
fn pages_are_balanced_and_without_missing_numbers() {
    for (name, html) in all_pages() {
        if let Err(wrong) = balanced(&html) {
            panic!("{name}: {wrong}");
        }
        // A task may have the name inf, which the first sentence then contains.
        let is_awkward = name.starts_with("awkward");
        let after = html
            .split_once("<p class=\"decision\">")
            .and_then(|(_, rest)| rest.split_once("</p>").map(|(_, after)| after.to_owned()));
        let html = if is_awkward { after.unwrap_or(html) } else { html };
        for forbidden in
            ["NaN", "None", "Some(", "Infinity", " inf", "-inf", "\"inf", ",inf", "inf,"]
        {
            assert!(!html.contains(forbidden), "{name} has {forbidden}");
        }
        assert!(is_awkward || !html.contains(">inf"), "{name} has inf");
    }
}

/// No coordinate may be outside the figure by more than rounding, whatever the unit.
#[test]
fn places_are_inside_their_pictures() {
    for (name, html) in all_pages() {
        for attribute in [" x=\"", " cx=\"", " x1=\"", " x2=\""] {
            for part in html.split(attribute).skip(1) {
                let number: f64 = part.split('"').next().unwrap().parse().unwrap();
                assert!((-1.0..=1101.0).contains(&number), "{name}: {attribute}{number}");
            }
        }
    }
}

#[test]
fn the_same_decision_gives_the_same_bytes() {
    assert!(all_pages() == all_pages());
}

#[test]
fn pages_load_no_external_resources() {
    for (name, html) in all_pages() {
        for forbidden in ["http:", "https:", "@import", "url(", "src=", "<link"] {
            assert!(!html.contains(forbidden), "{name} has {forbidden}");
        }
    }
}

#[test]
fn names_are_text_and_never_markup() {
    let case = Case::of(5.0, named());
    for html in [case.page().html(), case.frontier_page().html()] {
        assert!(
            !html.contains("<script>alert")
                && html.contains("&lt;script&gt;alert(1)&lt;/script&gt;")
        );
        assert!(
            html.contains("广告渠道") && html.contains("&quot;quoted&quot; &amp; &#39;so&#39;")
        );
    }
    // Figures shorten long names; the tooltip has the full name.
    assert!(case.page().html().contains("<title>a name that is far too long"));
}

#[test]
fn every_task_and_every_figure_is_there() {
    let case = cases().remove(5).1;
    let html = case.page().html();
    for task in case.problem.tasks() {
        // Table, bars, marginal returns, curves.
        assert!(html.matches(task.name()).count() >= 4, "{}", task.name());
    }
    let headings = [
        "Before and after",
        "Marginal returns",
        "Curves: success probability",
        "Optimal value at other budgets",
        "Shadow price",
    ];
    assert!(headings.iter().all(|heading| html.contains(&format!("<h3>{heading}"))));
    assert!(html.contains("at a jump") && html.contains("at a kink"));
}

#[test]
fn many_tasks_are_counted_where_they_are_not_shown() {
    let case = Case::of(
        40.0,
        (0..1100)
            .map(|place| TaskSpec::new(format!("lot-{place}"), Curve::power(0.5, 10.0).unwrap()))
            .collect(),
    );
    let html = case.page().html();
    assert!(html.contains("100 tasks with smaller spends are not shown; --format csv lists all"));
    assert!(
        html.contains("1080 tasks with smaller spends are not shown.")
            && html.contains("1088 tasks with smaller spends are not shown.")
    );
    assert!(case.frontier_page().html().contains("others (1092 tasks)"));
    assert!(html.len() < 1_000_000, "{}", html.len());
}

#[test]
fn each_panel_has_its_point_on_its_curve() {
    for name in ["bounded", "every-family", "tiny-unit", "no-budget", "more-than-enough"] {
        let case = cases().into_iter().find(|(other, _)| *other == name).unwrap().1;
        let picture = curves::figure(&case.page()).picture.unwrap().inline().to_string();
        let panels: Vec<&str> = picture.split("class=\"plot\"").skip(1).collect();
        assert_eq!(panels.len(), case.problem.tasks().len(), "{name}");
        for panel in panels {
            let numbers = |text: &str| {
                text.split([',', ' ']).map(|number| number.parse().unwrap()).collect::<Vec<f64>>()
            };
            let curve =
                numbers(panel.split("points=\"").nth(1).unwrap().split('"').next().unwrap());
            let dot =
                panel.split("<circle").find(|circle| circle.contains("fill-series0")).unwrap();
            let coordinate = |name: &str| {
                numbers(dot.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap())
                    [0]
            };
            let (x, y) = (coordinate("cx"), coordinate("cy"));
            // Jumps less than a third of a pixel apart are drawn as one.
            let is_near =
                |point: &[f64]| (point[0] - x).abs() < 0.35 && (point[1] - y).abs() < 0.02;
            assert!(curve.chunks(2).any(is_near), "{name}: {x},{y} is not on {curve:?}");
        }
    }
}

/// The columns of problems with a currency.
const OF_MONEY: [&str; 2] = ["return on spend", "cost per completion"];

#[test]
fn columns_are_limited_and_documented() {
    let docs = include_str!("../../../../docs/how-to/reports.md");
    assert!(table::COLUMNS.len() <= 21);
    for name in table::COLUMNS
        .iter()
        .map(|column| column.name)
        .chain(frontier_page::COLUMNS.iter().map(|column| column.0))
    {
        assert!(
            docs.contains(&format!("| `{name}` |")),
            "docs/how-to/reports.md does not describe {name}"
        );
    }
    let html = learned(&cases().remove(5).1).html();
    for name in table::COLUMNS.iter().map(|column| column.name).filter(|&name| {
        let without = ["bound", "completions per round"].iter().chain(&OF_MONEY);
        !without.into_iter().any(|other| *other == name)
    }) {
        assert!(html.contains(&format!(">{name}</th>")), "{name}");
    }
    let counts =
        TaskSpec { volume: Some(20.0), ..TaskSpec::new("many", Curve::saturating(10.0).unwrap()) };
    let counts = Case::of(5.0, vec![counts]).page().html();
    assert!(counts.contains(">completions per round</th>") && counts.contains(">10.00</td>"));
    let problem = ProblemSpec {
        tasks: vec![TaskSpec::new("search", Curve::saturating(10.0).unwrap())],
        units: Units {
            currency: Some("EUR".into()),
            period: Some("day".into()),
            ..Units::default()
        },
        ..ProblemSpec::default()
    };
    let (problem, values) = (problem.check().unwrap(), vec![50.0]);
    let money = Case { problem, values, budget: 5.0, before: vec![None] }.page().html();
    assert!(OF_MONEY.iter().all(|name| money.contains(&format!(">{name}</th>"))));
    assert!(
        money.contains("spend per day (EUR)")
            && money.contains("is expected to bring 25.00 EUR per day.")
    );
    // Empty columns are omitted.
    let bare = cases().remove(0).1.page().html();
    assert!(
        !bare.contains(">mean</th>")
            && !bare.contains(">current</th>")
            && !bare.contains(">move</th>")
    );
}

#[test]
fn the_first_sentence_says_what_to_move_and_what_it_brings() {
    let tasks = || {
        let task = |name: &str, full_at| TaskSpec::new(name, Curve::saturating(full_at).unwrap());
        vec![task("search", 3.0), task("tv", 6.0)]
    };
    let sentence = |case: Case| sentence::sentence(&case.page()).unwrap();
    let with = |before: &[f64]| sentence(Case::of(6.0, tasks()).with_before(before));
    assert_eq!(
        with(&[1.0, 5.0]),
        "Moving 2 per round from tv to search raises the expected reward from 1.091 to 1.455 per \
         round (+33.3%)."
    );
    assert_eq!(
        with(&[1.0, 3.0]),
        "Spending 2 per round more on search raises the expected reward from 0.7879 to 1.455 per \
         round (+84.6%)."
    );
    // The plan was not feasible.
    assert_eq!(
        with(&[3.0, 6.0]),
        "Spending 3 per round less on tv lowers the expected reward from 1.909 to 1.455 per round \
         (-23.8%)."
    );
    assert_eq!(
        with(&[0.0, 9.0]),
        "Spending 3 per round more on search and 6 per round less on tv raises the expected reward \
         from 0.9091 to 1.455 per round (+60.0%)."
    );
    assert_eq!(
        with(&[3.0, 3.0]),
        "Nothing moves: the current plan is the best split found, with an expected reward of 1.455 \
         per round."
    );
    assert_eq!(
        sentence(Case::of(6.0, tasks())),
        "The best split is expected to bring 1.455 per round. There is no current plan of all tasks \
         to compare with."
    );
    let flat = Case::of(9.0, tasks()).with_before(&[4.0, 6.0]);
    assert_eq!(
        sentence(flat),
        "Spending 1 per round less on search leaves the expected reward at 1.909 per round."
    );
    let nothing = Case::of(6.0, tasks()).with_before(&[0.0, 0.0]);
    assert!(sentence(nothing).ends_with("raises the expected reward from 0 to 1.455 per round."));
    let learner = Case::of(6.0, tasks()).with_before(&[1.0, 5.0]);
    assert_eq!(sentence::sentence(&learned(&learner)), None);
}

/// The folder of a problem file.
struct Folder(PathBuf);

impl outlay::problem::Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

/// The figure in docs/how-to/reports.md: the marginal returns of the auctions.
fn docs_picture() -> (PathBuf, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("examples/auctions");
    let text = std::fs::read_to_string(folder.join("auctions.toml")).unwrap();
    let problem = Problem::from_toml(&text, &Folder(folder)).unwrap();
    let (values, budget) = (problem.values().unwrap(), problem.budget());
    let before = vec![None; problem.tasks().len()];
    let case = Case { problem, values, budget, before };
    (
        root.join("docs/figures/marginal-returns.svg"),
        marginal::figure(&case.page()).picture.unwrap().file(),
    )
}

#[test]
fn the_figure_in_the_docs_is_up_to_date() {
    let (path, drawn) = docs_picture();
    // The last digit of a coordinate may differ from machine to machine.
    let without_digits = |text: &str| {
        text.replace(|character: char| character.is_ascii_digit() || ".-".contains(character), "")
    };
    assert_eq!(without_digits(&std::fs::read_to_string(path).unwrap()), without_digits(&drawn));
}

/// `cargo test -p outlay-report -- --ignored picture_for_the_docs` redraws it.
#[test]
#[ignore = "writes a file of the docs"]
fn picture_for_the_docs() {
    let (path, drawn) = docs_picture();
    std::fs::write(path, drawn).unwrap();
}

/// `cargo test -p outlay-report -- --ignored decisions_to_look_at` writes every case to
/// `target/pages`.
#[test]
#[ignore = "writes files, for people to look at"]
fn decisions_to_look_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pages/decisions");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, html) in all_pages() {
        std::fs::write(folder.join(format!("{name}.html")), html).unwrap();
    }
}
