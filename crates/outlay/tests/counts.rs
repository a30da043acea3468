//! Tasks that complete more than once in a round.

use std::sync::atomic::AtomicBool;

use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Completions, Feedback, Outcome, Reward};
use outlay::learner::{LEARNERS, LearnerError, LearnerSpec};
use outlay::oracle::{prove, recheck};
use outlay::plan::{evaluate, outcomes, round, value_of};
use outlay::problem::{CompletionLaw, NoFiles};
use outlay::simulation::{Environment, Play};
use outlay::{Options, Oracle, Problem, ProblemSpec, TaskSpec};

use crate::support::Random;

/// Two channels with tens to hundreds of conversions per round.
fn channels(completions: &str) -> Problem {
    let text = format!(
        r#"
        budget = 100.0
        reward_max = 50.0
        environment = {{ completions = {completions} }}
        [[task]]
        name = "search"
        volume = 40
        curve = {{ family = "exponential", scale = 60.0 }}
        reward = {{ law = "uniform", low = 0.0, high = 30.0 }}
        [[task]]
        name = "video"
        volume = 200
        curve = {{ family = "hill", half_at = 50.0, steepness = 2.0 }}
        reward = {{ law = "beta", mean = 6.0, concentration = 4.0 }}
        "#
    );
    Problem::from_toml(&text, &NoFiles).unwrap()
}

fn without_volumes(problem: &Problem) -> Problem {
    let task = |task: &outlay::Task| TaskSpec::new(task.name(), task.curve().clone());
    let tasks = problem.tasks().iter().map(task).collect();
    ProblemSpec { budget: problem.budget(), tasks, ..ProblemSpec::default() }.check().unwrap()
}

/// Certificates, rounding and evaluation count with volumes as the oracle does.
#[test]
fn certificates_hold_with_volumes() {
    let problem = channels("\"poisson\"");
    let values = [15.0, 6.0];
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&values, 100.0, &Options::default()).unwrap().clone();
    let rechecked = recheck(&problem, &values, &best).unwrap();
    assert!((rechecked.value - best.value).abs() < 1e-9 * best.value);
    assert!(prove(&problem, &values, &best, 10_000).is_complete);
    let rounded = round(&problem, &values, &best, 1.0).unwrap();
    assert!(rounded.value <= best.upper_bound && rounded.value > 0.99 * best.value);
    let spend = [50.0, 50.0];
    let evaluation = evaluate(&problem, &values, 100.0, &spend, &Options::default()).unwrap();
    let by_hand = problem
        .tasks()
        .iter()
        .zip(values)
        .zip(spend)
        .map(|((task, value), spend)| value * task.volume() * task.curve().success(spend));
    assert!((evaluation.value - by_hand.sum::<f64>()).abs() < 1e-9);
    let rows = outcomes(&problem, &values, 100.0, &best.spend, 0.0);
    assert!((rows[1].completions - 200.0 * best.success[1]).abs() < 1e-9);
    let total: f64 = rows.iter().map(|row| row.expected_reward).sum();
    assert!((total - best.value).abs() < 1e-9 * best.value);
}

/// The learners that accept volumes.
fn learners() -> Vec<LearnerSpec> {
    let all = LEARNERS.iter().map(|entry| entry.name.parse::<LearnerSpec>().unwrap());
    all.filter(|learner| Campaign::new(&channels("\"poisson\""), options(*learner)).is_ok())
        .collect()
}

fn options(learner: LearnerSpec) -> CampaignOptions {
    CampaignOptions { learner: learner.into(), horizon: Some(1000), ..CampaignOptions::default() }
}

#[test]
fn learners_of_single_outcomes_are_refused() {
    let accepted: Vec<String> = learners().iter().map(ToString::to_string).collect();
    for entry in &LEARNERS {
        let refuses = ["full", "oful", "grid-ucb", "lattimore"].contains(&entry.name);
        assert_eq!(accepted.iter().any(|name| name == entry.name), !refuses, "{}", entry.name);
    }
    let learner: LearnerSpec = "oful".parse().unwrap();
    let error = Campaign::new(&channels("\"poisson\""), options(learner)).unwrap_err();
    let expected =
        LearnerError::Volume { learner, task: "search".to_owned(), volume: 40.0 }.to_string();
    assert_eq!(error.to_string(), expected);
}

/// A report of many completions has the effect of their single reports, in any order.
#[test]
fn a_batch_is_its_single_reports() {
    let problem = channels("\"poisson\"");
    let mut random = Random::new(5);
    for learner in learners().into_iter().filter(LearnerSpec::is_count_based) {
        let mut batched = Campaign::new(&problem, options(learner)).unwrap();
        let mut single = Campaign::new(&problem, options(learner)).unwrap();
        for _ in 0..20 {
            let task = random.below(2);
            let rewards: Vec<Reward> =
                (0..random.below(24)).map(|_| Reward::from_share(random.uniform())).collect();
            let mut sum = Completions::NONE;
            rewards.iter().for_each(|reward| sum.add(*reward));
            if learner.entry().feedback == Feedback::Bandit {
                continue;
            }
            let round = batched.allocate(100.0, None).unwrap().round;
            batched.observe(round, task, Outcome::of(sum)).unwrap();
            for reward in rewards.iter().rev() {
                let round = single.allocate(100.0, None).unwrap().round;
                single.observe(round, task, Outcome::Done(*reward)).unwrap();
            }
            assert_eq!(batched.learner_state(), single.learner_state(), "{learner}");
        }
    }
}

/// The split maximises the expected reward with volumes: the same as weights times volumes.
#[test]
fn volumes_weigh_the_values() {
    let problem = channels("\"poisson\"");
    let (means, mut campaign) =
        ([15.0, 6.0], Campaign::new(&problem, options("greedy".parse().unwrap())).unwrap());
    for (task, mean) in means.into_iter().enumerate() {
        let round = campaign.allocate(100.0, None).unwrap().round;
        let seen = Completions::from_share(1000, 1000.0 * mean / 50.0).unwrap();
        campaign.observe(round, task, Outcome::of(seen)).unwrap();
    }
    let spend = campaign.allocate(100.0, None).unwrap().allocation.spend.clone();
    let weights = [15.0 * 40.0, 6.0 * 200.0];
    assert_eq!(problem.weights(&means), weights);
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&means, 100.0, &Options::default()).unwrap();
    for (spend, best) in spend.iter().zip(&best.spend) {
        assert!((spend - best).abs() < 1e-9, "{spend} {best}");
    }
    // The same tasks without volumes, and weights in place of values.
    let plain = without_volumes(&problem);
    let same = Oracle::new(&plain).allocate(&weights, 100.0, &Options::default()).unwrap().clone();
    assert_eq!((&same.spend, same.value, same.price), (&best.spend, best.value, best.price));
    assert_eq!(value_of(&problem, &means, &same.spend), value_of(&plain, &weights, &same.spend));
    let other = Oracle::new(&plain).allocate(&means, 100.0, &Options::default()).unwrap().clone();
    assert!((other.spend[0] - best.spend[0]).abs() > 5.0);
}

/// Regret is computed against the optimum of the same problem, and learning reduces it.
#[test]
fn counts_are_learned() {
    let laws = ["\"binomial\"", "\"poisson\"", "{ law = \"negative-binomial\", dispersion = 4.0 }"];
    for law in laws {
        let problem = channels(law);
        let optimum =
            Oracle::new(&problem).allocate(&[15.0, 6.0], 100.0, &Options::default()).unwrap().value;
        let play = |learner: &str| {
            let learner = learner.parse::<LearnerSpec>().unwrap().into();
            let feedback = Feedback::Censored;
            let play =
                Play { problem: &problem, learner: &learner, feedback, horizon: 300, seed: 4 };
            play.run(&AtomicBool::new(false)).unwrap().unwrap()
        };
        let (learned, even) = (play("kl-ucb-plus"), play("uniform"));
        assert!((learned.optimum - optimum).abs() < 1e-9 * optimum, "{law}");
        assert!(learned.regret < 0.05 * even.regret, "{law}: {} {}", learned.regret, even.regret);
        // About 88 completions per round, each worth 6 to 15: five standard errors of the gain.
        let error = 5.0 * (300.0 * 88.0 * 4.0_f64).sqrt() * 20.0;
        let noise = learned.realised_regret - learned.regret;
        assert!(noise.abs() < error, "{law}: {noise} {error}");
    }
}

/// The law of completions decides whether a problem has counts; without one the volumes do.
#[test]
fn the_default_law_depends_on_the_volumes() {
    let problem = |keys: &str, volume: f64| {
        let curve = "{ family = 'power', exponent = 0.5 }";
        let text = format!("{keys}\n[[task]]\nvolume = {volume}\nvalue = 1\ncurve = {curve}");
        Problem::from_toml(&text, &NoFiles).unwrap()
    };
    let single = problem("", 1.0);
    assert_eq!((single.has_counts(), single.volumes()), (false, None));
    assert!(!Environment::new(&single, 9).unwrap().has_counts());
    let many = problem("", 3.5);
    assert_eq!((many.has_counts(), many.volumes()), (true, Some(vec![3.5])));
    let poisson = problem("environment = { completions = 'poisson' }", 1.0);
    assert_eq!(poisson.environment().completions, Some(CompletionLaw::Poisson));
    assert_eq!((poisson.has_counts(), poisson.volumes()), (true, None));
}

#[test]
fn volumes_must_suit_the_law() {
    let complaints = |text: &str| Problem::from_toml(text, &NoFiles).unwrap_err().to_string();
    let task = "[[task]]\ncurve = { family = 'power', exponent = 0.5 }\n";
    for (keys, volume, expected) in [
        ("", "0", "task[0].volume: must be positive and at most 1e9, not 0"),
        ("", "-2", "task[0].volume: must be positive and at most 1e9, not -2"),
        ("", "1e10", "task[0].volume: must be positive and at most 1e9, not 10000000000"),
        (
            "environment = { completions = 'single' }",
            "3",
            "task[0].volume: must be 1 if completions are single, not 3",
        ),
        (
            "environment = { completions = 'binomial' }",
            "2.5",
            "task[0].volume: must be whole if completions are binomial, not 2.5",
        ),
        (
            "environment = { completions = { law = 'negative-binomial', dispersion = 1 } }",
            "2",
            "environment.completions.dispersion: must be above 1 and finite, not 1",
        ),
        (
            "environment = { completions = 'poison' }",
            "2",
            "environment.completions: unknown completions `poison`: did you mean `poisson`?",
        ),
    ] {
        assert_eq!(complaints(&format!("{keys}\n{task}volume = {volume}")), expected);
    }
}
