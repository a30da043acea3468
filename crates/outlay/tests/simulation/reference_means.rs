//! Mean regrets against those of an independent implementation of the same learners, with other
//! seeds.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use outlay::learner::LearnerSpec;
use outlay::simulation::{Case, Experiment, Play, Source, Statistics};

use crate::support::{bound, confidence};

/// The 99 % interval of a normal distribution in standard errors.
const QUANTILE_99: f64 = 2.576;
/// The reference gives 95 % intervals.
const QUANTILE_95: f64 = 1.96;

/// The learners and, in one row per instance, their mean regret and its 95 % half-width.
struct Reference {
    horizon: u64,
    replications: u64,
    learners: &'static [&'static str],
    rows: &'static [(&'static str, &'static [(f64, f64)])],
}

const SHORT: Reference = Reference {
    horizon: 10_000,
    replications: 60,
    learners: &["algorithm-1", "hoeffding", "kl-ucb-mixture", "kl-ucb-plus", "kl-ucb", "thompson"],
    rows: &[
        (
            "square-roots",
            &[(8.95, 0.65), (6.36, 0.57), (5.45, 0.56), (2.48, 0.34), (3.97, 0.50), (4.51, 0.33)],
        ),
        ("power", &[(106.0, 1.9), (77.7, 1.8), (60.5, 1.9), (19.1, 1.2), (36.5, 1.7), (17.2, 0.7)]),
        (
            "m-set",
            &[(514.0, 8.0), (334.0, 7.0), (236.0, 8.0), (112.0, 5.0), (150.0, 6.0), (109.0, 12.0)],
        ),
        (
            "theorem-4",
            &[(86.3, 0.8), (80.7, 2.0), (76.5, 2.2), (66.5, 5.3), (74.1, 1.7), (71.7, 2.5)],
        ),
    ],
};

const LONG: Reference = Reference {
    horizon: 100_000,
    replications: 16,
    learners: SHORT.learners,
    rows: &[
        (
            "square-roots",
            &[(18.5, 1.9), (12.0, 1.5), (9.63, 1.4), (3.09, 0.83), (6.35, 1.2), (5.48, 0.56)],
        ),
        (
            "power",
            &[(267.0, 7.7), (176.0, 6.6), (124.0, 6.5), (32.3, 3.7), (72.4, 5.6), (25.2, 2.5)],
        ),
        (
            "m-set",
            &[
                (1064.0, 35.0),
                (602.0, 24.0),
                (392.0, 19.0),
                (170.0, 17.0),
                (246.0, 15.0),
                (144.0, 12.0),
            ],
        ),
    ],
};

const BANDIT: Reference = Reference {
    horizon: 10_000,
    replications: 12,
    learners: &["oful"],
    rows: &[("square-roots", &[(214.0, 1.2)]), ("power", &[(1084.0, 11.0)])],
};

const BANDIT_LONG: Reference = Reference {
    horizon: 100_000,
    replications: 8,
    learners: &["oful"],
    rows: &[("square-roots", &[(771.0, 8.0)]), ("power", &[(3987.0, 63.0)])],
};

/// The regrets of each learner on an instance.
fn regrets(reference: &Reference, instance: &str, learners: &[LearnerSpec]) -> Vec<Vec<f64>> {
    let case = Case {
        name: instance.to_owned(),
        source: Source::Instance(instance.parse().unwrap()),
        horizon: reference.horizon,
        parameter: None,
    };
    let experiment = Experiment {
        cases: vec![case],
        learners: learners.iter().copied().map(Into::into).collect(),
        feedback: None,
        replications: reference.replications,
        seed: 1000,
    };
    let jobs: Vec<_> = experiment.jobs().collect();
    let mut regrets = vec![Vec::new(); learners.len()];
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let stop = Arc::new(AtomicBool::new(false));
    experiment
        .run(&jobs, threads, &stop, |job, replication| {
            let learner = &learners[job.learner];
            let source = &experiment.cases[job.case].source;
            let problem = source.problem(reference.horizon, replication.seed).unwrap();
            let played = Play {
                problem: &problem,
                learner: &(*learner).into(),
                feedback: learner.entry().feedback,
                horizon: reference.horizon,
                seed: replication.seed,
            };
            assert_eq!(confidence::failure(&played, &replication), None, "{instance}");
            bound::assert_worst_case_bound(learner, &replication, reference.horizon);
            regrets[job.learner].push((job.replication, replication.regret));
        })
        .unwrap();
    let sorted = |mut list: Vec<(u64, f64)>| {
        list.sort_unstable_by_key(|(replication, _)| *replication);
        list.into_iter().map(|(_, regret)| regret).collect()
    };
    regrets.into_iter().map(sorted).collect()
}

/// True if two means with these standard errors agree at 99 %.
fn agrees(ours: &Statistics, theirs: (f64, f64)) -> bool {
    let error = ours.std_error.unwrap().hypot(theirs.1 / QUANTILE_95);
    (ours.mean - theirs.0).abs() <= QUANTILE_99 * error
}

fn compare(reference: &Reference) {
    let learners: Vec<LearnerSpec> =
        reference.learners.iter().map(|name| name.parse().unwrap()).collect();
    let mut misses = Vec::new();
    for (instance, row) in reference.rows {
        for ((learner, sample), &theirs) in
            learners.iter().zip(regrets(reference, instance, &learners)).zip(*row)
        {
            let ours = Statistics::of(&sample);
            let line = format!(
                "{instance} {learner}: {:.3} ± {:.3}, reference {} ± {}",
                ours.mean,
                QUANTILE_95 * ours.std_error.unwrap(),
                theirs.0,
                theirs.1
            );
            println!("{line}");
            if !agrees(&ours, theirs) {
                misses.push(line);
            }
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

#[test]
fn means_after_ten_thousand_rounds() {
    compare(&SHORT);
}

#[test]
fn means_after_a_hundred_thousand_rounds() {
    compare(&LONG);
}

#[test]
fn means_under_bandit_feedback() {
    compare(&BANDIT);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p outlay --test main -- --ignored"]
fn means_under_bandit_feedback_after_a_hundred_thousand_rounds() {
    compare(&BANDIT_LONG);
}

/// Similar learners are distinguished: the comparison can fail.
#[test]
fn another_learner_is_detected() {
    let hoeffding = regrets(&SHORT, "power", &["hoeffding".parse().unwrap()]).remove(0);
    assert!(
        !agrees(&Statistics::of(&hoeffding), (60.5, 1.9)),
        "hoeffding passes for kl-ucb-mixture"
    );
    assert!(!agrees(&Statistics::of(&hoeffding), (106.0, 1.9)), "hoeffding passes for algorithm-1");
}
