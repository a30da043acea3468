//! The page of ordinary simulations and of edge cases.

use outlay::feedback::Feedback;
use outlay::simulation::{Statistics, Summary};

use super::synthetic::Made;
use super::*;
use crate::svg::balanced;

/// All cases that a page must handle.
fn cases() -> Vec<(&'static str, Vec<Summary>)> {
    let usual = Made::usual;
    let only = |count: usize| Made { learners: usual().learners[..count].to_vec(), ..usual() };
    let zero = |growth| Made {
        learners: vec![
            ("algorithm-1".to_owned(), Feedback::Censored, growth),
            ("kl-ucb-plus".to_owned(), Feedback::Censored, growth),
        ],
        bounds: false,
        ..usual()
    };
    let tasks = |count: usize| (0..count).map(|task| format!("task {task}")).collect::<Vec<_>>();
    vec![
        ("usual", vec![usual().summary()]),
        ("one-replication", vec![Made { replications: 1, ..usual() }.summary()]),
        ("two-replications", vec![Made { replications: 2, ..usual() }.summary()]),
        ("thousand-replications", vec![Made { replications: 1000, ..usual() }.summary()]),
        ("one-learner", vec![only(1).summary()]),
        ("two-learners", vec![only(2).summary()]),
        ("fourteen-learners", vec![fourteen().summary()]),
        ("no-learner", vec![only(0).summary()]),
        ("horizon-1", vec![Made { horizon: 1, ..usual() }.summary()]),
        ("horizon-1-once", vec![Made { horizon: 1, replications: 1, ..usual() }.summary()]),
        ("horizon-2", vec![Made { horizon: 2, ..usual() }.summary()]),
        ("horizon-30", vec![Made { horizon: 30, ..usual() }.summary()]),
        ("horizon-10-million", vec![Made { horizon: 10_000_000, ..usual() }.summary()]),
        ("no-regret", vec![zero(|_| 0.0).summary()]),
        ("negative-regret", vec![zero(|round| -1e-9 * round).summary()]),
        ("both-signs", vec![zero(|round| (round - 300.0) / 100.0).summary()]),
        (
            "rounding-errors",
            vec![zero(|round| if round < 20.0 { 1e-16 } else { round.sqrt() }).summary()],
        ),
        ("thousand-tasks", vec![Made { tasks: tasks(1000), ..usual() }.summary()]),
        ("thirty-tasks", vec![Made { tasks: tasks(30), ..usual() }.summary()]),
        ("one-task", vec![Made { tasks: tasks(1), ..usual() }.summary()]),
        ("awkward-names", vec![awkward_names()]),
        ("not-numbers", vec![not_numbers()]),
        ("grid", grid()),
        (
            "two-grids",
            grid()
                .into_iter()
                .chain(
                    grid()
                        .into_iter()
                        .map(|summary| Summary { problem: "other".to_owned(), ..summary }),
                )
                .collect(),
        ),
        ("nothing", Vec::new()),
    ]
}

fn fourteen() -> Made {
    let usual = Made::usual();
    let learners = (0..14).map(|place| {
        let (name, _, growth) = usual.learners[place % 5].clone();
        (format!("{name}:variant={place},temperature=0.{place}"), Feedback::Censored, growth)
    });
    Made { learners: learners.collect(), ..Made::usual() }
}

fn awkward_names() -> Summary {
    let mut made = Made::usual();
    made.tasks = [
        "<script>alert(1)</script>",
        "a & b \"c\" 'd'",
        "广告渠道",
        "Überraschung ☃",
        &"very long name ".repeat(30),
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    made.learners[0].0 = "<b>\"paper\" & 'co'</b>".to_owned();
    made.learners[1].0 =
        "a learner with a name that goes on and on:first=0.123456789,second=0.987654321,third=yes"
            .to_owned();
    // The same learner twice, and once more with other feedback.
    made.learners[3].0 = made.learners[2].0.clone();
    made.learners.push(made.learners[2].clone());
    Summary { problem: "<&\"'> problem\u{1}".to_owned(), ..made.summary() }
}

/// Numbers that no simulation should return and a page must not show.
fn not_numbers() -> Summary {
    let mut summary = Made::usual().summary();
    summary.optimum.value = f64::NAN;
    summary.optimum.gap = f64::INFINITY;
    summary.optimum.spend = vec![f64::NAN; 3];
    summary.uniform_regret_per_round = f64::NAN;
    let learner = &mut summary.learners[0];
    learner.curve[5].mean = f64::NAN;
    learner.curve[6].high95 = Some(f64::INFINITY);
    learner.shares[3] = vec![f64::NAN; 2];
    learner.bounds[0].values[4] = f64::INFINITY;
    learner.bounds[1].values.truncate(2);
    learner.replications[0].regret = f64::NAN;
    learner.replications[1].completions.clear();
    learner.regret = Statistics {
        mean: f64::NAN,
        std_error: None,
        low95: Some(f64::NAN),
        high95: Some(f64::NAN),
        ..learner.regret
    };
    learner.oracle_gap = f64::NAN;
    learner.pending = f64::INFINITY;
    summary
}

fn grid() -> Vec<Summary> {
    let member = |tasks: usize| {
        let names = (0..tasks).map(|task| format!("task {task}")).collect();
        let mut summary = Made { tasks: names, ..Made::usual() }.summary();
        summary.parameter = Some(("tasks".to_owned(), tasks as f64));
        for learner in &mut summary.learners {
            let factor = (tasks as f64).powf(0.7);
            let regret = &mut learner.regret;
            regret.mean *= factor;
            regret.low95 = regret.low95.map(|low| low * factor);
            regret.high95 = regret.high95.map(|high| high * factor);
        }
        summary
    };
    // Unsorted, as grids may be.
    [8, 2, 4, 16, 64, 32].map(member).to_vec()
}

fn page_of(summaries: &[Summary]) -> Page {
    page(
        "Simulation of <ad> channels",
        "outlay simulate 'a b.toml' --learner algorithm-1 --horizon 10000",
        summaries,
    )
}

#[test]
fn pages_are_balanced_and_without_missing_numbers() {
    for (case, summaries) in cases() {
        let page = page_of(&summaries);
        if let Err(wrong) = balanced(&page.html) {
            panic!("{case}: {wrong}");
        }
        for text in page.pictures.iter().map(|(_, svg)| svg).chain([&page.html]) {
            for forbidden in ["NaN", "None", "Some(", "Infinity"] {
                assert!(!text.contains(forbidden), "{case} has {forbidden}");
            }
            let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
            assert!(!words.any(|word| word == "inf"), "{case} has inf");
        }
    }
}

#[test]
fn pictures_are_files_of_their_own() {
    for (case, summaries) in cases() {
        let pictures = page_of(&summaries).pictures;
        let names: std::collections::BTreeSet<&str> =
            pictures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), pictures.len(), "{case}: two pictures have one name");
        for (name, svg) in &pictures {
            assert!(
                name.chars()
                    .all(|character| character.is_ascii_alphanumeric() || "-.".contains(character)),
                "{name}"
            );
            assert!(svg.starts_with("<svg") && svg.contains("xmlns="), "{case} {name}");
            if let Err(wrong) = balanced(svg) {
                panic!("{case} {name}: {wrong}");
            }
        }
    }
}

#[test]
fn the_same_summary_gives_the_same_bytes() {
    for (case, summaries) in cases() {
        assert_eq!(page_of(&summaries), page_of(&summaries.clone()), "{case}");
    }
}

#[test]
fn pages_load_no_external_resources() {
    let html = page_of(&grid()).html;
    for forbidden in ["http:", "https:", "@import", "url(", "src=", "<link"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn names_are_text_and_never_markup() {
    let html = page_of(&[awkward_names()]).html;
    assert!(!html.contains("<script>alert") && !html.contains("<b>\"paper\""));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && html.contains("广告渠道"));
    assert!(
        html.contains("epsilon-greedy:epsilon=0.05 (full)")
            && html.contains("epsilon-greedy:epsilon=0.05 (censored) #2")
    );
}

#[test]
fn an_ordinary_page_has_every_picture_and_the_numbers() {
    let page = page_of(&[Made::usual().summary()]);
    let names: Vec<&str> = page.pictures.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "regret-linear.svg",
        "regret-log.svg",
        "regret-by-log-squared.svg",
        "regret-by-root.svg",
        "growth-exponent.svg",
        "regret-per-decade.svg",
        "final-regret.svg",
        "shares.svg",
        "completions.svg",
    ];
    assert_eq!(names, expected);
    for text in [
        "outlay simulate &#39;a b.toml&#39;",
        "10,000 rounds",
        "1 to 100",
        "1.886 rewards per round",
        "Least mean regret",
        "pending",
    ] {
        assert!(page.html.contains(text), "{text}");
    }
    assert!(page.html.contains("Far above the picture: Theorem 1 for algorithm-1"));
    assert!(page.html.contains("Last decade, in multiples of the limit: algorithm-1"));
}

#[test]
fn missing_figures_have_a_reason() {
    let html =
        |case: &str| page_of(&cases().into_iter().find(|(name, _)| *name == case).unwrap().1).html;
    assert!(html("no-regret").contains("No regret is positive"));
    assert!(html("thousand-tasks").contains("Shares of the budget are not kept"));
    assert!(html("horizon-1").contains("Growth is defined from the second round on"));
    assert!(html("no-learner").contains("No learner played"));
}

#[test]
fn grids_come_first_and_in_order() {
    let page = page_of(&grid());
    assert_eq!(page.pictures[0].0, "grid-1-tasks.svg");
    assert_eq!(page.pictures[1].0, "1-ad-channels-tasks-8-regret-linear.svg");
    assert!(
        page.html.find("Final regret over the grid").unwrap()
            < page.html.find("id=\"problem-1\"").unwrap()
    );
    assert_eq!(page.html.matches("id=\"problem-").count(), 6);
    let rows: Vec<usize> = [2, 4, 8, 16]
        .map(|tasks| page.html.find(&format!("<th class=\"number\">{tasks}</th>")).unwrap())
        .to_vec();
    assert!(rows.is_sorted());
    let twice = page_of(&cases().into_iter().find(|(name, _)| *name == "two-grids").unwrap().1);
    assert!(
        twice.html.contains("ad channels: grid over tasks")
            && twice.html.contains("other: grid over tasks")
    );
}

/// `cargo test -p outlay-report -- --ignored pages_to_look_at` writes every case to `target/pages`.
#[test]
#[ignore = "writes files, for people to look at"]
fn pages_to_look_at() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pages");
    for (case, summaries) in cases() {
        let page = page_of(&summaries);
        std::fs::create_dir_all(folder.join(case)).unwrap();
        std::fs::write(folder.join(case).join("index.html"), &page.html).unwrap();
        for (name, svg) in &page.pictures {
            std::fs::write(folder.join(case).join(name), svg).unwrap();
        }
    }
}
