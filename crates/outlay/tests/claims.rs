//! Verdicts depend on the results: they hold for the learners of the claims and fail for broken
//! ones.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use outlay::claims::{
    CLAIMS, Claim, Evidence, Finding, Results, Scale, Setting, Subjects, Verdict,
};
use outlay::learner::LearnerSpec;
use outlay::simulation::Experiment;

/// An index without its bonus.
const BROKEN: LearnerSpec = LearnerSpec::Greedy;

fn claim(name: &str) -> Claim {
    *CLAIMS.iter().find(|claim| claim.name == name).unwrap()
}

fn play(experiment: &Experiment) -> Results {
    let jobs: Vec<_> = experiment.jobs().collect();
    let mut results = vec![vec![Vec::new(); experiment.learners.len()]; experiment.cases.len()];
    let threads = NonZeroUsize::new(2).unwrap();
    experiment
        .run(&jobs, threads, &AtomicBool::new(false), |job, run| {
            results[job.case][job.learner].push(run)
        })
        .unwrap();
    // Results arrive in the order of completion.
    results.iter_mut().flatten().for_each(|runs: &mut Vec<_>| {
        runs.sort_by_key(|run: &outlay::simulation::Replication| run.seed)
    });
    results
}

/// The quick experiments with a limited number of replications: enough to detect a broken learner.
fn judge(claim: &Claim, subjects: Subjects, replications: u64) -> (Verdict, Finding) {
    let setting = Setting { subjects, ..Setting::new(Scale::Quick) };
    let mut experiments = claim.experiments(&setting).unwrap();
    experiments
        .iter_mut()
        .for_each(|experiment| experiment.replications = experiment.replications.min(replications));
    let results: Vec<Results> = experiments.iter().map(play).collect();
    let finding = claim
        .judge(&Evidence { setting: &setting, experiments: &experiments, results: &results })
        .unwrap();
    (Verdict::of(claim.strength, &finding.checks), finding)
}

fn genuine() -> Subjects {
    Setting::new(Scale::Quick).subjects
}

#[test]
fn claims_hold_for_genuine_learners() {
    let expected = [
        ("theorem-1", 60, Verdict::Consistent),
        ("theorem-3", 2, Verdict::Holds),
        ("theorem-4", 60, Verdict::Consistent),
        ("confidence", 1, Verdict::Consistent),
        ("kl-ucb-mixture", 20, Verdict::Consistent),
        ("counts", 60, Verdict::Consistent),
    ];
    for (name, replications, expected) in expected {
        let (verdict, finding) = judge(&claim(name), genuine(), replications);
        assert_eq!(verdict, expected, "{name}: {:#?}", finding.checks);
    }
}

#[test]
fn an_index_without_its_bonus_is_detected() {
    let algorithm_1 = Subjects { algorithm_1: BROKEN, ..genuine() };
    let kl_ucb_mixture = Subjects { kl_ucb_mixture: BROKEN, ..genuine() };
    let kl_ucb_plus = Subjects { kl_ucb_plus: BROKEN, ..genuine() };
    let broken = [
        ("theorem-1", algorithm_1),
        ("theorem-3", algorithm_1),
        ("confidence", algorithm_1),
        ("kl-ucb-mixture", kl_ucb_mixture),
        ("kl-ucb-plus-growth", kl_ucb_plus),
        ("counts", kl_ucb_plus),
    ];
    for (name, subjects) in broken {
        let (verdict, finding) = judge(&claim(name), subjects, 4);
        assert_eq!(verdict, Verdict::NotShown, "{name}: {:#?}", finding.checks);
    }
}

#[test]
fn claims_are_complete() {
    for scale in [Scale::Quick, Scale::Full] {
        for claim in CLAIMS {
            let experiments = claim.experiments(&Setting::new(scale)).unwrap();
            experiments.iter().for_each(|experiment| experiment.check().unwrap());
            assert!(claim.statement.len() > 40 && claim.criterion.len() > 40, "{}", claim.name);
        }
    }
    let mut names: Vec<&str> = CLAIMS.iter().map(|claim| claim.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CLAIMS.len());
}
