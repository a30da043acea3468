//! Rounds with the curves of the day: scales and volumes that are known before the split.

use std::sync::atomic::AtomicBool;

use outlay::campaign::{Campaign, CampaignOptions, Guards, RoundConditions, RoundPlanner};
use outlay::feedback::{Completions, Outcome, Reward};
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::ledger::{Entry, Ledger, RoundRequest, Settings};
use outlay::oracle::{prove, recheck};
use outlay::problem::{Files, NoFiles};
use outlay::simulation::{Case, Environment, Experiment, Play, Source};
use outlay::{Options, Oracle, Problem};

use crate::support::Random;

fn problem(text: &str) -> Problem {
    Problem::from_toml(text, &NoFiles).unwrap()
}

const TASKS: &str = r#"
    [[task]]
    name = "search"
    curve = { family = "exponential", scale = 60.0 }
    value = 0.6
    [[task]]
    name = "video"
    curve = { family = "hill", half_at = 50.0, steepness = 2.0 }
    value = 0.5
    covers = [10.0, 40.0]
    [[task]]
    name = "audio"
    curve = { family = "power", exponent = 0.5 }
    value = 0.2
"#;

fn shop() -> Problem {
    problem(&format!("budget = 100.0\n{TASKS}"))
}

/// The same with counts.
fn counted(environment: &str) -> Problem {
    let tasks = TASKS.replace("value =", "volume = 20\nvalue =");
    problem(&format!("budget = 100.0\nenvironment = {{ {environment} }}\n{tasks}"))
}

fn options(learner: &str) -> CampaignOptions {
    let learner = learner.parse::<LearnerSpec>().unwrap().into();
    CampaignOptions { learner, horizon: Some(1000), ..CampaignOptions::default() }
}

fn planner(problem: &Problem, learner: &str) -> RoundPlanner {
    RoundPlanner::new(problem, options(learner)).unwrap()
}

const VALUES: [f64; 3] = [0.6, 0.5, 0.2];

/// The problem of a round has the scaled curves, volumes and covered spends, and its certificate
/// can be checked as any other.
#[test]
fn the_problem_of_a_round_is_an_ordinary_problem() {
    let problem = counted("completions = 'poisson'");
    let (scale, volume) = ([1.3, 0.5, 2.0], [30.0, 5.0, 20.0]);
    let today = problem.in_round(Some(&scale), Some(&volume)).unwrap();
    assert_eq!(today.tasks()[1].covers(), Some([5.0, 20.0]));
    assert_eq!(today.volumes().unwrap(), volume);
    let mut oracle = Oracle::new(&today);
    let best = oracle.allocate(&VALUES, 100.0, &Options::default()).unwrap();
    let by_hand = (0..3).map(|task| {
        let curve = problem.tasks()[task].curve();
        VALUES[task] * volume[task] * curve.success(best.spend[task] / scale[task])
    });
    assert!((by_hand.sum::<f64>() - best.value).abs() < 1e-9 * best.value);
    recheck(&today, &VALUES, best).unwrap();
    assert!(prove(&today, &VALUES, best, 10_000).is_complete);
    assert_eq!(problem.in_round(None, None).unwrap(), problem);
}

/// If all curves and the budget are scaled alike, the shares of the budget do not change.
#[test]
fn a_common_scale_of_curves_and_budget_changes_no_share() {
    for learner in ["kl-ucb-plus", "thompson", "uniform", "explore-then-commit", "oful"] {
        for scale in [0.5, 1.3, 7.0] {
            let (mut usual, mut busy) = (planner(&shop(), learner), planner(&shop(), learner));
            let scales = [scale; 3];
            for round in 1..=20 {
                let spend = usual.decide(round, &RoundConditions::new(100.0, None)).unwrap();
                let spend = spend.spend.clone();
                let conditions = RoundConditions {
                    scale: Some(&scales),
                    ..RoundConditions::new(100.0 * scale, None)
                };
                busy.check(round, &conditions).unwrap();
                let scaled = busy.decide(round, &conditions).unwrap();
                for (spend, scaled) in spend.iter().zip(&scaled.spend) {
                    assert!((scaled - scale * spend).abs() < 1e-5 * scale, "{learner} {scale}");
                }
                if learner == "oful" {
                    continue;
                }
                let outcome = Outcome::Done(Reward::from_share(0.4));
                for planner in [&mut usual, &mut busy] {
                    planner.observe(round as usize % 3, 0.0, outcome).unwrap();
                }
            }
        }
    }
}

/// Scales of 1 have no effect: the results are bit-identical, even after a warm start.
#[test]
fn scales_of_one_change_nothing() {
    let ones = [1.0; 3];
    for learner in ["kl-ucb-plus", "cucb", "uniform"] {
        let (mut usual, mut scaled) = (planner(&shop(), learner), planner(&shop(), learner));
        for round in 1..=20 {
            let conditions = RoundConditions::new(100.0, None);
            let spend = usual.decide(round, &conditions).unwrap().spend.clone();
            let conditions = RoundConditions { scale: Some(&ones), ..conditions };
            assert_eq!(scaled.decide(round, &conditions).unwrap().spend, spend);
        }
    }
}

/// A round with its own curves leaves no trace in the searches of later rounds.
#[test]
fn a_scaled_round_leaves_the_warm_start_alone() {
    let (mut usual, mut scaled) =
        (planner(&shop(), "kl-ucb-plus"), planner(&shop(), "kl-ucb-plus"));
    let conditions = RoundConditions::new(100.0, None);
    usual.decide(1, &conditions).unwrap();
    scaled.decide(1, &conditions).unwrap();
    let busy = RoundConditions { scale: Some(&[2.0, 1.0, 0.5]), ..conditions };
    let preview = scaled.preview(2, &busy).unwrap().spend.clone();
    let spend = scaled.decide(2, &busy).unwrap().clone();
    assert_eq!(preview, spend.spend);
    let first = usual.decide(2, &conditions).unwrap().spend.clone();
    assert_ne!(first, spend.spend);
    assert_eq!(scaled.decide(2, &conditions).unwrap().spend, first);
    // Success is that of the curves of the day.
    let curve = shop().tasks()[0].curve().clone();
    assert!((spend.success[0] - curve.success(spend.spend[0] / 2.0)).abs() < 1e-12);
}

/// Unavailable tasks and guards work with scales; guards limit spends at any scale.
#[test]
fn guards_and_availability_go_with_scales() {
    let guards = Guards { max_change: Some(5.0), ..Guards::default() };
    let mut planner =
        RoundPlanner::new(&shop(), CampaignOptions { guards, ..options("greedy") }).unwrap();
    let first = planner.decide(1, &RoundConditions::new(100.0, None)).unwrap().spend.clone();
    let scale = [3.0, 0.3, 1.0];
    let busy = RoundConditions { scale: Some(&scale), ..RoundConditions::new(100.0, None) };
    let second = planner.decide(2, &busy).unwrap().clone();
    let moves = first.iter().zip(&second.spend).map(|(one, other)| (one - other).abs());
    assert!(moves.clone().all(|change| change <= 5.0 + 1e-9) && moves.fold(0.0, f64::max) > 4.9);
    let curve = shop().tasks()[1].curve().clone();
    assert!((second.success[1] - curve.success(second.spend[1] / 0.3)).abs() < 1e-12);
    let available = [true, false, true];
    let without = RoundConditions { available: Some(&available), ..busy };
    assert_eq!(planner.decide(3, &without).unwrap().spend[1], 0.0);
}

/// Learners that assume fixed curves are refused, and so are invalid numbers, with their task.
#[test]
fn impossible_conditions_are_refused() {
    let usual = RoundConditions::new(100.0, None);
    for entry in &LEARNERS {
        let spec: LearnerSpec = entry.name.parse().unwrap();
        let busy = RoundConditions { scale: Some(&[2.0, 1.0, 1.0]), ..usual };
        let found = planner(&shop(), entry.name).check(1, &busy);
        assert_eq!(found.is_ok(), spec.allows_scale(), "{}", entry.name);
    }
    let message = |planner: &RoundPlanner, scale: Option<&[f64]>, volume: Option<&[f64]>| {
        let conditions = RoundConditions { scale, volume, ..usual };
        planner.check(1, &conditions).unwrap_err().to_string()
    };
    let (single, many) = (planner(&shop(), "greedy"), planner(&counted(""), "greedy"));
    let fixed = planner(&shop(), "grid-ucb");
    for (found, expected) in [
        (
            message(&fixed, Some(&[2.0, 1.0, 1.0]), None),
            "scale: grid-ucb cannot use curves that change from round to round; leave `scale` out, \
             or choose another learner",
        ),
        (message(&single, Some(&[1.0, 2.0]), None), "scale: 2 entries for 3 tasks"),
        (
            message(&single, Some(&[1.0, 0.0, 1.0]), None),
            "scale of task video: must be between 1e-6 and 1e6, not 0; leave out a task that has \
             no traffic",
        ),
        (
            message(&single, None, Some(&[1.0, 2.0, 1.0])),
            "volume: the tasks of this problem complete at most once in a round; give them a \
             `volume` in the problem, or set environment.completions",
        ),
        (
            message(&many, None, Some(&[1.0, f64::NAN, 1.0])),
            "volume of task video: must be positive and at most 1e9, not NaN",
        ),
    ] {
        assert_eq!(found, expected);
    }
    let binomial = planner(&counted("completions = 'binomial'"), "greedy");
    assert_eq!(
        message(&binomial, None, Some(&[1.5, 1.0, 1.0])),
        "volume of task search: must be whole if completions are binomial, not 1.5"
    );
}

/// A ledger records the conditions of a round: replay, keys, `show`, `status` and rounding use its
/// curves.
#[test]
fn a_ledger_records_the_curves_of_a_round() {
    let problem = counted("completions = 'poisson'");
    let mut ledger = Ledger::new(&problem, Settings::default()).unwrap();
    let request = RoundRequest {
        scale: &[("search", 1.5), ("audio", 0.8)],
        volume: &[("video", 35.0)],
        key: Some("monday"),
        unit: Some(0.5),
        ..RoundRequest::default()
    };
    let issued = ledger.issue(&request).unwrap();
    assert_eq!(issued.scale, Some(vec![1.5, 1.0, 0.8]));
    assert_eq!(issued.volume, Some(vec![20.0, 35.0, 20.0]));
    let again = ledger.issue(&request).unwrap();
    assert_eq!((again.round, &again.scale), (1, &issued.scale));
    let other = RoundRequest { scale: &[("search", 1.6), ("audio", 0.8)], ..request };
    assert!(ledger.issue(&other).unwrap_err().to_string().contains("other scales or volumes"));
    // The spends are multiples of the unit, and success is that of the scaled curves.
    let spend = &issued.allocation.spend;
    assert!(spend.iter().all(|spend| (spend * 2.0).fract() == 0.0));
    let curve = |task: usize| problem.tasks()[task].curve();
    let success = curve(0).success(spend[0] / 1.5);
    assert!((issued.allocation.success[0] - success).abs() < 1e-12);
    // Expected completions are those of the day, at the reported spend if there is one.
    let entries = [
        Entry { spend: Some(30.0), ..entry(1, 0, 9) },
        entry(1, 1, 20),
        Entry { spend: Some(8.0), ..entry(1, 2, 3) },
    ];
    ledger.report(&entries).unwrap();
    ledger.next(None, &[]).unwrap();
    ledger.report(&[entry(2, 1, 7)]).unwrap();
    let status = ledger.status().unwrap();
    let second = ledger.issued(2).unwrap().allocation.success[1];
    let expected = [
        20.0 * curve(0).success(30.0 / 1.5),
        35.0 * issued.allocation.success[1] + 20.0 * second,
        20.0 * curve(2).success(8.0 / 0.8),
    ];
    for (task, expected) in status.tasks.iter().zip(expected) {
        assert!((task.expected - expected).abs() < 1e-9, "{} {expected}", task.expected);
    }
    let json = ledger.to_json();
    assert!(json.contains(r#""scale":{"audio":0.8,"search":1.5}"#), "{json}");
    let read = Ledger::from_json(&json).unwrap();
    assert_eq!((read.to_json(), read.status().unwrap()), (json, status));
    assert_eq!(read.issued(1).unwrap().scale, issued.scale);
    let in_round = read.problem_in(1).unwrap();
    assert_eq!(
        in_round,
        problem.in_round(issued.scale.as_deref(), issued.volume.as_deref()).unwrap()
    );
}

fn entry(round: u64, task: usize, completions: u64) -> Entry {
    Entry { completions, reward: Some(0.3 * completions as f64), ..Entry::failed(round, task) }
}

/// The completions of a busy day are plausible by its own curve and implausible by the usual one.
#[test]
fn the_misfit_test_uses_the_curve_of_the_round() {
    let problem = counted("completions = 'poisson'");
    let misfits = |volume: f64| {
        let mut ledger = Ledger::new(&problem, Settings::default()).unwrap();
        for _ in 0..10 {
            let request = RoundRequest { volume: &[("video", volume)], ..RoundRequest::default() };
            let issued = ledger.issue(&request).unwrap();
            let completions = (200.0 * issued.allocation.success[1]).round() as u64;
            ledger.report(&[entry(issued.round, 1, completions)]).unwrap();
        }
        ledger.status().unwrap().tasks[1].misfit.is_some()
    };
    assert!(misfits(20.0));
    assert!(!misfits(200.0));
}

#[test]
fn requests_with_unknown_or_repeated_tasks_are_refused() {
    let mut ledger = Ledger::new(&shop(), Settings::default()).unwrap();
    for (scale, expected) in [
        (&[("serach", 1.5)][..], "no task is named serach"),
        (&[("search", 1.5), ("search", 1.5)], "scale: task search is given twice"),
        (&[("search", -1.0)], "scale of task search: must be between 1e-6 and 1e6, not -1"),
    ] {
        let request = RoundRequest { scale, ..RoundRequest::default() };
        assert_eq!(ledger.issue(&request).unwrap_err().to_string(), expected);
        assert_eq!(ledger.rounds(), 0);
    }
    let request = RoundRequest { scale: &[("search", 1.0)], ..RoundRequest::default() };
    assert_eq!(ledger.issue(&request).unwrap().scale, None);
}

/// A saved campaign continues after rounds with their own curves as if it had not been saved.
#[test]
fn campaigns_continue_after_scaled_rounds() {
    let mut random = Random::new(3);
    for learner in ["kl-ucb-plus", "oful", "full"] {
        let mut campaign = Campaign::new(&shop(), options(learner)).unwrap();
        let full = learner == "full";
        for round in 1..=12 {
            let scale: Vec<f64> = (0..3).map(|_| 0.5 + random.uniform()).collect();
            let conditions =
                RoundConditions { scale: Some(&scale), ..RoundConditions::new(100.0, None) };
            campaign.issue(&conditions).unwrap();
            let outcomes: Vec<Outcome> = (0..3)
                .map(|_| match random.below(2) {
                    0 => Outcome::Done(Reward::from_share(random.uniform())),
                    _ if full => Outcome::Forgone(Reward::from_share(random.uniform())),
                    _ => Outcome::Failed,
                })
                .collect();
            campaign.observe_round(round, &outcomes).unwrap();
            let loaded = Campaign::load(&shop(), &campaign.save()).unwrap();
            assert_eq!(loaded.save(), campaign.save());
            campaign = loaded;
        }
    }
}

struct OneFile(&'static str);

impl Files for OneFile {
    fn read(&self, path: &str) -> Result<String, String> {
        if path == "week.csv" { Ok(self.0.to_owned()) } else { Err("no such file".to_owned()) }
    }
}

const WEEK: &str = "hour,search,audio\nmon 0,1.5,0.8\nmon 1,0.5,1.2\n";

/// Lists and files give the same profile, which is written out as lists.
#[test]
fn profiles_come_from_lists_and_files() {
    let lists = problem(&format!(
        "budget = 100.0\nenvironment.scale = {{ search = [1.5, 0.5], audio = [0.8, 1.2] }}\n{TASKS}"
    ));
    let file = format!(
        "budget = 100.0\nenvironment.scale = {{ file = 'week.csv', index = 'hour' }}\n{TASKS}"
    );
    let read = Problem::from_toml(&file, &OneFile(WEEK)).unwrap();
    assert_eq!(read, lists);
    assert_eq!(Problem::from_toml(&read.to_toml().unwrap(), &NoFiles).unwrap(), lists);
    assert!(!lists.has_counts());
    let (environment, mut scale) = (Environment::new(&lists, 1).unwrap(), [0.0; 3]);
    for (round, expected) in [(1, [1.5, 1.0, 0.8]), (2, [0.5, 1.0, 1.2]), (5, [1.5, 1.0, 0.8])] {
        assert!(environment.scale(round, &mut scale));
        assert_eq!(scale, expected);
    }
}

#[test]
fn impossible_profiles_are_refused() {
    let error = |environment: &str| {
        let text = format!("budget = 100.0\n[environment]\n{environment}\n{TASKS}");
        Problem::from_toml(&text, &OneFile(WEEK)).unwrap_err().to_string()
    };
    for (environment, expected) in [
        (
            "scale = { serach = [1.0] }",
            "environment.scale.serach: no task is named serach; did you mean search?",
        ),
        ("scale = { search = [] }", "environment.scale.search: must have at least one number"),
        (
            "scale = { search = [1.0, 0.0] }",
            "environment.scale.search[1]: must be between 1e-6 and 1e6, not 0",
        ),
        (
            "scale = { search = 2.0 }",
            "environment.scale.search: must be a list of numbers, not the number 2",
        ),
        ("scale = 2.0", "environment.scale: must be a table, not the number 2"),
        (
            "scale = { file = 'week.csv' }",
            "environment.scale.file: `week.csv` has no numbers in column `hour`: if it names the \
             rows, set `index` to its name",
        ),
        (
            "scale = { file = 'week.csv', index = 'search' }",
            "environment.scale.hour: `week.csv` line 2 must have a number, finite and not \
             negative, not the text \"mon 0\" (and 1 other cell)",
        ),
        (
            "scale = { file = 'week.csv', index = 'day' }",
            "environment.scale.index: in `week.csv`: there is no column `day`: expected one \
             of `hour`, `search`, `audio`",
        ),
        (
            "scale = { file = 'other.csv' }",
            "environment.scale.file: cannot read `other.csv`: no such file",
        ),
        (
            "volume = { search = [2.5] }\ncompletions = 'binomial'",
            "environment.volume.search[0]: must be whole if completions are binomial, not 2.5",
        ),
    ] {
        let found = error(environment);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
}

fn play(
    problem: &Problem,
    learner: &str,
    horizon: u64,
    seed: u64,
) -> outlay::simulation::Replication {
    let learner: LearnerSpec = learner.parse().unwrap();
    let feedback = learner.entry().feedback;
    let learner = learner.into();
    let play = Play { problem, learner: &learner, feedback, horizon, seed };
    play.run(&AtomicBool::new(false)).unwrap().unwrap()
}

const SEASON: &str = "scale = { search = [0.4, 2.5], video = [2.0, 0.5, 1.0] }";

/// Regret is measured against the best split of the same round: recomputed here from the
/// definition, round by round.
#[test]
fn regret_is_against_the_optimum_of_the_same_round() {
    let problem = problem(&format!("budget = 100.0\nenvironment = {{ {SEASON} }}\n{TASKS}"));
    let run = play(&problem, "uniform", 12, 1);
    let (mut optimum, mut value) = (0.0, 0.0);
    for round in 1..=12 {
        let scale = [[0.4, 2.5][(round - 1) % 2], [2.0, 0.5, 1.0][(round - 1) % 3], 1.0];
        let today = problem.in_round(Some(&scale), None).unwrap();
        let mut oracle = Oracle::new(&today);
        optimum += oracle.allocate(&VALUES, 100.0, &Options::default()).unwrap().value;
        for (task, value_of) in VALUES.iter().enumerate() {
            let curve = problem.tasks()[task].curve();
            value += value_of * curve.success(100.0 / 3.0 / scale[task]);
        }
    }
    assert!((run.optimum * 12.0 - optimum).abs() < 1e-7, "{} {optimum}", run.optimum * 12.0);
    assert!((run.regret - (optimum - value)).abs() < 1e-7, "{} {}", run.regret, optimum - value);
}

/// Known scales cost nothing: the regret of a learner that knows them is small, that of a learner
/// that does not is a constant share of the optimum. Outcomes follow the scaled curves either way.
#[test]
fn knowing_the_scale_pays() {
    let with = |more: &str| {
        problem(&format!("budget = 100.0\nenvironment = {{ {SEASON}{more} }}\n{TASKS}"))
    };
    let (known, hidden) = (with(""), with(", hide_scale = true"));
    let regret = |problem: &Problem| {
        let runs = (1..=10).map(|seed| play(problem, "kl-ucb-plus", 3000, seed));
        runs.map(|run| run.regret / (run.optimum * 3000.0)).sum::<f64>() / 10.0
    };
    let (informed, ignorant) = (regret(&known), regret(&hidden));
    println!("of the optimum: {informed:.4} with known scales, {ignorant:.4} with hidden ones");
    assert!(informed < 0.02 && ignorant > 3.0 * informed, "{informed} {ignorant}");
    let (informed, ignorant) = (play(&known, "uniform", 300, 1), play(&hidden, "uniform", 300, 1));
    assert_eq!(informed.completions, ignorant.completions);
    assert!((informed.regret - ignorant.regret).abs() < 1e-9);
}

/// Completions follow the volumes of each round, and the realised regret agrees with the expected
/// one.
#[test]
fn volumes_by_round_are_played() {
    let text = "volume = { search = [5, 60], audio = [100, 10, 10] }, completions = 'poisson'";
    let problem = counted(text);
    let run = play(&problem, "greedy", 3000, 2);
    let completions: u64 = run.completions.iter().sum();
    let mass = run.success_mass;
    assert!((completions as f64 - mass).abs() < 5.0 * mass.sqrt(), "{completions} {mass}");
    let noise = 5.0 * mass.sqrt();
    assert!((run.realised_regret - run.regret).abs() < noise);
    assert!(counted("volume = { search = [5, 60] }").has_counts());
}

/// Learners that assume fixed curves are refused unless the scales are hidden from everyone.
#[test]
fn experiments_refuse_learners_of_fixed_curves() {
    let experiment = |more: &str, learner: &str| {
        let text = format!("budget = 100.0\nenvironment = {{ {SEASON}{more} }}\n{TASKS}");
        let case = Case {
            name: "season".to_owned(),
            source: Source::Problem(problem(&text).into()),
            horizon: 60,
            parameter: None,
        };
        let learners = vec![learner.parse::<LearnerSpec>().unwrap().into()];
        Experiment { cases: vec![case], learners, feedback: None, replications: 2, seed: 1 }
    };
    assert!(experiment("", "lattimore").check().is_err());
    assert!(experiment(", hide_scale = true", "lattimore").check().is_ok());
    let summary = experiment("", "uniform").run_all(std::num::NonZeroUsize::MIN).unwrap();
    // The regret of the even split is that of `uniform`, over whole periods.
    let per_round = summary[0].learners[0].regret.mean / 60.0;
    assert!((summary[0].uniform_regret_per_round - per_round).abs() < 1e-9);
    let summary = experiment(", budget = [50, 150]", "uniform");
    let summary = summary.run_all(std::num::NonZeroUsize::MIN).unwrap();
    let per_round = summary[0].learners[0].regret.mean / 60.0;
    assert!((summary[0].uniform_regret_per_round - per_round).abs() < 1e-9);
}

/// Unknown counts of completions in a round with its own volume, reported in batches.
#[test]
fn batches_of_scaled_rounds_add_up() {
    let problem = counted("completions = 'poisson'");
    let volume = [40.0, 40.0, 40.0];
    let mut campaign = Campaign::new(&problem, options("kl-ucb-plus")).unwrap();
    let conditions = RoundConditions { volume: Some(&volume), ..RoundConditions::new(100.0, None) };
    campaign.issue(&conditions).unwrap();
    let batch = Completions::from_share(33, 12.5).unwrap();
    campaign.observe(1, 0, Outcome::of(batch)).unwrap();
    let mut usual = Campaign::new(&problem, options("kl-ucb-plus")).unwrap();
    usual.allocate(100.0, None).unwrap();
    usual.observe(1, 0, Outcome::of(batch)).unwrap();
    assert_eq!(usual.learner_state(), campaign.learner_state());
}
