//! The value of knowing the curves.

use std::sync::atomic::AtomicBool;

use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Completion, Feedback, Outcome, Reward};
use outlay::instance::Instance;
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::simulation::Play;

/// Mean regret over some seeds.
fn regret(instance: &str, learner: &str, horizon: u64, replications: u64) -> f64 {
    let instance: Instance = instance.parse().unwrap();
    let learner: LearnerSpec = learner.parse().unwrap();
    let one = |seed: u64| {
        let problem = instance.problem(horizon, seed).unwrap();
        let play = Play {
            problem: &problem,
            learner: &learner.into(),
            feedback: learner.entry().feedback,
            horizon,
            seed,
        };
        play.run(&AtomicBool::new(false)).unwrap().unwrap().regret
    };
    (1..=replications).map(one).sum::<f64>() / replications as f64
}

/// Appendix A with known curves: both thresholds are reached from the first round on, as every
/// weight is positive.
#[test]
fn known_thresholds_cost_nothing() {
    for bits in [1, 20, 52] {
        let instance = format!("unknown-thresholds:bits={bits}");
        for learner in [
            "kl-ucb-plus",
            "algorithm-1",
            "kl-ucb-mixture",
            "hoeffding",
            "kl-ucb",
            "thompson",
            "cucb",
            "greedy",
            "full",
        ] {
            assert_eq!(regret(&instance, learner, 200, 10), 0.0, "{instance} {learner}");
        }
        // A learner that ignores the curves loses 1 per round; b = 1/2 is the even split itself.
        assert_eq!(regret(&instance, "uniform", 200, 10), if bits == 1 { 0.0 } else { 200.0 });
    }
}

/// Saturating linear curves of unknown slope: the regret of `lattimore` grows ever more slowly,
/// unlike that of the even split.
#[test]
fn unknown_slopes_are_learned() {
    let at = |learner: &str, horizon: u64| regret("saturating-jobs", learner, horizon, 8);
    let [short, middle, long] = [1_000, 10_000, 100_000].map(|horizon| at("lattimore", horizon));
    let exponents = [(middle / short).log10(), (long / middle).log10()];
    assert!(
        exponents[0] < 0.6 && exponents[1] < 0.4 && exponents[1] < exponents[0],
        "{short} {middle} {long}"
    );
    assert!(long < 0.12 * at("uniform", 100_000), "{long}");
    // The price of unknown curves: the paper's algorithm knows them and has almost nothing to learn
    // here.
    assert!(at("algorithm-1", 100_000) < 0.05 * long);
}

/// If the budget is enough for all tasks, the regret stops after the first failures.
#[test]
fn a_sufficient_budget_is_found_early() {
    let regret = |horizon| regret("saturating-jobs:full_at=0.1;0.2;0.3", "lattimore", horizon, 8);
    let (short, long) = (regret(1_000), regret(10_000));
    assert!(long < 60.0 && long - short < 20.0, "{short} {long}");
}

/// It assumes saturating linear curves; on other curves it need only not fail.
#[test]
fn other_curves_cause_no_errors() {
    for instance in [
        "power",
        "square-roots",
        "m-set:gap=0.2",
        "k-armed:gap=0.5",
        "unknown-thresholds",
        "saturating-jobs:full_at=1e-9;1e9",
    ] {
        let regret = regret(instance, "lattimore", 2_000, 2);
        assert!(regret.is_finite() && regret > -1e-9, "{instance}: {regret}");
    }
}

#[test]
fn a_second_name_is_the_same_learner() {
    let named: LearnerSpec = "linucb".parse().unwrap();
    assert_eq!((named, named.to_string()), (LearnerSpec::Oful, "oful".to_owned()));
    assert_eq!(
        "linucb:c=1".parse::<LearnerSpec>().unwrap_err().to_string(),
        "learner `linucb:c=1`: `linucb` takes no parameters"
    );
    assert!(LEARNERS.iter().all(|entry| entry.name != "linucb"));
}

fn lattimore() -> Campaign {
    let problem = "saturating-jobs".parse::<Instance>().unwrap().problem(100, 1).unwrap();
    Campaign::new(
        &problem,
        CampaignOptions {
            learner: LearnerSpec::Lattimore.into(),
            horizon: Some(100),
            feedback: Some(Feedback::Censored),
            ..CampaignOptions::default()
        },
    )
    .unwrap()
}

/// Each outcome is paired with the spend of its own round: budgets differ, and outcomes arrive
/// late, in reverse order and in part.
#[test]
fn outcomes_find_the_spends_of_their_rounds() {
    let completes = |round: u64, task: usize| (round + task as u64).is_multiple_of(3);
    let outcome = |round: u64, task: usize| {
        if completes(round, task) { Outcome::Done(Reward::MAX) } else { Outcome::Failed }
    };
    let told_by = |tell: &dyn Fn(&mut Campaign, u64)| {
        let mut campaign = lattimore();
        // The tasks have failed once after this round, so that later outcomes are counted.
        campaign.allocate(1.0, None).unwrap();
        campaign.observe_completed(1, &[]).unwrap();
        for budget in [1.0, 0.25, 0.5, 0.75] {
            campaign.allocate(budget, None).unwrap();
        }
        (2..=5).rev().for_each(|round| tell(&mut campaign, round));
        let saved = campaign.save();
        let spend = campaign.allocate(1.0, None).unwrap().allocation.spend.clone();
        assert_eq!(campaign.open_rounds(), 1);
        (saved, spend, campaign.save())
    };
    let whole = told_by(&|campaign, round| {
        campaign.observe_round(round, &[0, 1, 2, 3, 4].map(|task| outcome(round, task))).unwrap()
    });
    let backwards = told_by(&|campaign, round| {
        (0..5).rev().for_each(|task| campaign.observe(round, task, outcome(round, task)).unwrap());
    });
    let rest = told_by(&|campaign, round| {
        campaign.observe(round, 2, outcome(round, 2)).unwrap();
        let done = |task| Completion { task, reward: Reward::MAX };
        // A task that is repeated or already reported is rejected, and nothing changes.
        assert!(campaign.observe_completed(round, &[done(1), done(1)]).is_err());
        assert!(campaign.observe_completed(round, &[done(1), done(2)]).is_err());
        let completed: Vec<Completion> =
            [0, 1, 3, 4].into_iter().filter(|task| completes(round, *task)).map(done).collect();
        campaign.observe_completed(round, &completed).unwrap();
    });
    assert_eq!(whole, backwards);
    assert_eq!(whole, rest);
}
