//! One suite, run on every learner.

use std::sync::atomic::AtomicBool;

use outlay::Problem;
use outlay::campaign::{Campaign, CampaignError, CampaignOptions, CampaignState};
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::instance::Instance;
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::problem::NoFiles;
use outlay::simulation::{Environment, Play};

use crate::support::Random;

const HORIZON: u64 = 400;

fn learners() -> Vec<LearnerSpec> {
    let plain = LEARNERS.iter().map(|entry| entry.name.to_owned());
    let tuned = [
        "kl-ucb-plus:c=2",
        "epsilon-greedy:epsilon=0.3",
        "explore-then-commit:rounds=20",
        "grid-ucb:units=4",
    ]
    .map(str::to_owned);
    plain.chain(tuned).map(|text| text.parse().unwrap()).collect()
}

/// Curves of every kind, bounds, amounts of money, rewards of every distribution.
const MIXED: &str = r#"
    budget = 100.0
    reward_max = 20.0
    task = [
        { name = "hill", curve = { family = "hill", half_at = 30.0, steepness = 3.0 }, reward = { law = "beta", mean = 12.0, concentration = 3.0 } },
        { name = "power", curve = { family = "power", exponent = 0.5 }, reward = { law = "uniform", low = 1.0, high = 9.0 }, max = 60.0 },
        { name = "steps", curve = { family = "steps", at = [10.0, 40.0], success = [0.3, 0.9] }, reward = { law = "bernoulli", mean = 8.0 } },
        { name = "floor", curve = { family = "exponential", scale = 50.0, floor = 0.1 }, reward = { law = "constant", mean = 3.0 } },
        { name = "needs", curve = { family = "logistic", mid = 20.0, width = 5.0 }, reward = { law = "beta", mean = 5.0 }, at_least = 15.0 },
    ]
"#;

fn problems() -> Vec<(&'static str, Problem)> {
    let instance = |text: &str| text.parse::<Instance>().unwrap().problem(HORIZON, 7).unwrap();
    vec![
        ("square-roots", instance("square-roots")),
        ("power", instance("power")),
        ("m-set", instance("m-set:tasks=5,plays=2")),
        ("k-armed", instance("k-armed:tasks=4")),
        ("saturating-jobs", instance("saturating-jobs")),
        ("mixed", Problem::from_toml(MIXED, &NoFiles).unwrap()),
    ]
}

fn options(
    learner: &LearnerSpec,
    horizon: Option<u64>,
    feedback: Feedback,
    seed: u64,
) -> CampaignOptions {
    CampaignOptions {
        learner: (*learner).into(),
        horizon,
        feedback: Some(feedback),
        seed,
        ..CampaignOptions::default()
    }
}

fn campaign(problem: &Problem, learner: &LearnerSpec) -> Campaign {
    Campaign::new(problem, options(learner, Some(HORIZON), learner.entry().feedback, 5)).unwrap()
}

/// Plays one round and reports all outcomes at once; returns the spends.
fn play_round(
    campaign: &mut Campaign,
    problem: &Problem,
    environment: &Environment,
    feedback: Feedback,
) -> Vec<f64> {
    let ticket = campaign.allocate(problem.budget(), None).unwrap();
    let (round, spend, success) =
        (ticket.round, ticket.allocation.spend.clone(), ticket.allocation.success.clone());
    let mut outcomes = vec![Outcome::Missing; spend.len()];
    environment.play(round, &success, feedback, &mut outcomes);
    campaign.observe_round(round, &outcomes).unwrap();
    spend
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn every_split_is_feasible() {
    for (name, problem) in problems() {
        let environment = Environment::new(&problem, 3).unwrap();
        for learner in learners() {
            let mut campaign = campaign(&problem, &learner);
            for _ in 0..60 {
                let spend =
                    play_round(&mut campaign, &problem, &environment, learner.entry().feedback);
                let total: f64 = spend.iter().sum();
                assert!(total <= problem.budget() * (1.0 + 1e-12), "{name} {learner}: {total}");
                for (task, &spend) in problem.tasks().iter().zip(&spend) {
                    let bounds = task.bounds();
                    let allowed = spend >= bounds.min
                        && spend <= bounds.max
                        && (spend == 0.0 || spend >= bounds.at_least);
                    assert!(allowed, "{name} {learner}: {} gets {spend}", task.name());
                }
            }
        }
    }
}

/// A campaign that is saved as text and loaded continues bit for bit as without the interruption.
#[test]
fn a_saved_campaign_continues_bit_for_bit() {
    for (name, problem) in problems() {
        let environment = Environment::new(&problem, 11).unwrap();
        for learner in learners() {
            let feedback = learner.entry().feedback;
            let mut straight = campaign(&problem, &learner);
            let mut stopped = campaign(&problem, &learner);
            for round in 1..=120 {
                let one = play_round(&mut straight, &problem, &environment, feedback);
                let other = play_round(&mut stopped, &problem, &environment, feedback);
                assert_eq!(bits(&one), bits(&other), "{name} {learner}, round {round}");
                assert_eq!(
                    bits(straight.weights()),
                    bits(stopped.weights()),
                    "{name} {learner}, round {round}"
                );
                if round % 17 == 0 || round < 4 {
                    let text = stopped.save().to_json();
                    stopped = Campaign::load(&problem, &CampaignState::from_json(&text).unwrap())
                        .unwrap();
                    assert_eq!(stopped.save().to_json(), text, "{name} {learner}");
                }
            }
        }
    }
}

/// Outcomes that arrive late and in another order lead to the same state.
#[test]
fn the_order_of_outcomes_does_not_matter() {
    let mut random = Random::new(21);
    for (name, problem) in problems() {
        let environment = Environment::new(&problem, 2).unwrap();
        for learner in
            learners().into_iter().filter(|learner| learner.entry().feedback != Feedback::Bandit)
        {
            let (mut in_order, mut shuffled) =
                (campaign(&problem, &learner), campaign(&problem, &learner));
            let mut news = Vec::new();
            for _ in 0..30 {
                let ticket = in_order.allocate(problem.budget(), None).unwrap();
                let mut outcomes = vec![Outcome::Missing; problem.tasks().len()];
                environment.play(
                    ticket.round,
                    &ticket.allocation.success,
                    learner.entry().feedback,
                    &mut outcomes,
                );
                news.extend(
                    outcomes
                        .iter()
                        .enumerate()
                        .map(|(task, outcome)| (ticket.round, task, *outcome)),
                );
                shuffled.allocate(problem.budget(), None).unwrap();
            }
            for &(round, task, outcome) in &news {
                in_order.observe(round, task, outcome).unwrap();
            }
            for place in (1..news.len()).rev() {
                news.swap(place, random.below(place + 1));
            }
            for &(round, task, outcome) in &news {
                shuffled.observe(round, task, outcome).unwrap();
            }
            assert_eq!(in_order.save(), shuffled.save(), "{name} {learner}");
            assert_eq!((in_order.open_rounds(), shuffled.open_rounds()), (0, 0));
        }
    }
}

#[test]
fn an_outcome_is_accepted_once() {
    let (_, problem) = problems().swap_remove(1);
    let mut campaign = campaign(&problem, &"algorithm-1".parse().unwrap());
    campaign.allocate(1.0, None).unwrap();
    campaign.allocate(1.0, Some(&[true, false, true, true, true])).unwrap();
    let done = Outcome::Done(Reward::MAX);
    campaign.observe(1, 2, done).unwrap();
    let before = campaign.save();
    assert!(matches!(
        campaign.observe(1, 2, done),
        Err(CampaignError::AlreadyReported { round: 1, .. })
    ));
    assert!(matches!(
        campaign.observe(1, 2, Outcome::Failed),
        Err(CampaignError::AlreadyReported { .. })
    ));
    assert!(matches!(campaign.observe(3, 0, done), Err(CampaignError::NotOpen(3))));
    assert!(matches!(campaign.observe(0, 0, done), Err(CampaignError::NotOpen(0))));
    assert!(matches!(campaign.observe(1, 5, done), Err(CampaignError::NoTask(5))));
    assert!(matches!(
        campaign.observe(2, 1, done),
        Err(CampaignError::Unavailable { round: 2, .. })
    ));
    assert!(matches!(campaign.observe_gain(1, 0.5), Err(CampaignError::WrongFeedback(_))));
    // A whole round with one outcome too many changes nothing.
    assert!(matches!(
        campaign.observe_round(1, &[done; 5]),
        Err(CampaignError::AlreadyReported { .. })
    ));
    assert!(matches!(campaign.observe_round(1, &[done; 4]), Err(CampaignError::Count { .. })));
    // A missing outcome changes nothing.
    campaign.observe(1, 0, Outcome::Missing).unwrap();
    assert_eq!(campaign.save(), before);
    campaign.observe_round(1, &[done, done, Outcome::Missing, done, done]).unwrap();
    assert!(matches!(campaign.observe(1, 0, done), Err(CampaignError::NotOpen(1))));
    assert_eq!(campaign.open_rounds(), 1);
}

#[test]
fn too_little_feedback_is_rejected_at_construction() {
    let (_, problem) = problems().swap_remove(1);
    for entry in LEARNERS {
        let learner: LearnerSpec = entry.name.parse().unwrap();
        for feedback in Feedback::ALL {
            let made = Campaign::new(&problem, options(&learner, Some(HORIZON), feedback, 1));
            assert_eq!(made.is_ok(), feedback.covers(entry.feedback), "{} {feedback}", entry.name);
        }
        let without_horizon = Problem::from_toml(MIXED, &NoFiles).unwrap();
        let made = Campaign::new(&without_horizon, options(&learner, None, entry.feedback, 1));
        assert_eq!(made.is_ok(), !entry.needs_horizon, "{}", entry.name);
    }
    let message = Campaign::new(&problem, options(&LearnerSpec::Full, None, Feedback::Censored, 1))
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "learner `full`: needs full feedback, but would get only censored feedback"
    );
}

/// Richer feedback than a learner needs changes nothing for it.
#[test]
fn richer_feedback_than_needed_has_no_effect() {
    for (name, problem) in problems() {
        for learner in learners() {
            let run = |feedback| {
                let play = Play {
                    problem: &problem,
                    learner: &learner.into(),
                    feedback,
                    horizon: 150,
                    seed: 4,
                };
                play.run(&AtomicBool::new(false)).unwrap().unwrap()
            };
            let needed = run(learner.entry().feedback);
            for richer in Feedback::ALL
                .into_iter()
                .filter(|feedback| feedback.covers(learner.entry().feedback))
            {
                assert!(run(richer) == needed, "{name} {learner} {richer}");
            }
        }
    }
}

#[test]
fn unavailable_tasks_get_nothing() {
    let mut random = Random::new(8);
    for (name, problem) in problems() {
        let tasks = problem.tasks().len();
        let environment = Environment::new(&problem, 6).unwrap();
        for learner in learners() {
            let mut campaign = campaign(&problem, &learner);
            for _ in 0..40 {
                let available: Vec<bool> = (0..tasks).map(|_| random.uniform() < 0.6).collect();
                let ticket = campaign.allocate(problem.budget(), Some(&available)).unwrap();
                let (round, success) = (ticket.round, ticket.allocation.success.clone());
                for (task, there) in available.iter().enumerate() {
                    let spend = ticket.allocation.spend[task];
                    assert!(
                        *there || spend == 0.0,
                        "{name} {learner}: task {task} is away and gets {spend}"
                    );
                }
                let mut outcomes = vec![Outcome::Missing; tasks];
                environment.play(round, &success, learner.entry().feedback, &mut outcomes);
                outcomes
                    .iter_mut()
                    .zip(&available)
                    .filter(|(_, there)| !**there)
                    .for_each(|(outcome, _)| *outcome = Outcome::Missing);
                if available.contains(&true) {
                    campaign.observe_round(round, &outcomes).unwrap();
                }
            }
        }
    }
}

/// Invalid requests are rejected, and the learner is unchanged.
#[test]
fn invalid_requests_change_nothing() {
    for (name, problem) in problems() {
        let environment = Environment::new(&problem, 4).unwrap();
        for learner in learners() {
            let (mut asked, mut left) =
                (campaign(&problem, &learner), campaign(&problem, &learner));
            for round in 0..30 {
                for budget in [-1.0, f64::NAN, f64::INFINITY] {
                    asked.allocate(budget, None).unwrap_err();
                }
                let play = |campaign: &mut Campaign| {
                    play_round(campaign, &problem, &environment, learner.entry().feedback)
                };
                assert_eq!(
                    bits(&play(&mut asked)),
                    bits(&play(&mut left)),
                    "{name} {learner} round {round}"
                );
            }
        }
    }
}

/// Damaged states are rejected or harmless; nothing panics.
#[test]
fn damaged_states_do_not_panic() {
    let mut random = Random::new(5);
    let (_, problem) = problems().swap_remove(5);
    let environment = Environment::new(&problem, 1).unwrap();
    for learner in learners() {
        let mut campaign = campaign(&problem, &learner);
        for _ in 0..10 {
            play_round(&mut campaign, &problem, &environment, learner.entry().feedback);
        }
        campaign.allocate(problem.budget(), None).unwrap();
        let text = campaign.save().to_json();
        for _ in 0..300 {
            let mut damaged: Vec<u8> = text.bytes().collect();
            let place = random.below(damaged.len());
            let replacement = [b'0', b'9', b'-', b',', b']', b'"', b'e', b'.'];
            damaged[place] = replacement[random.below(replacement.len())];
            let damaged = String::from_utf8_lossy(&damaged).into_owned();
            let Ok(state) = CampaignState::from_json(&damaged) else { continue };
            let Ok(mut loaded) = Campaign::load(&problem, &state) else { continue };
            for _ in 0..3 {
                let Ok(ticket) = loaded.allocate(problem.budget(), None) else { break };
                let round = ticket.round;
                let _ = loaded.observe_round(round, &[Outcome::Done(Reward::MAX); 5]);
            }
        }
    }
}

#[test]
fn states_of_other_problems_and_versions_are_rejected() {
    let (power, mixed) = (problems().swap_remove(1).1, problems().swap_remove(5).1);
    let state = campaign(&power, &"kl-ucb-plus".parse().unwrap()).save();
    let message = Campaign::load(&mixed, &state).unwrap_err().to_string();
    assert_eq!(
        message,
        "state: its tasks are task-1, task-2, task-3, task-4, task-5, those of the problem hill, power, steps, floor, needs"
    );
    let newer = state.to_json().replace("\"version\":1", "\"version\":2");
    assert!(
        CampaignState::from_json(&newer).unwrap_err().to_string().contains("unsupported version 2")
    );
    assert!(
        CampaignState::from_json("{}").is_err() && CampaignState::from_json("nonsense").is_err()
    );
}

#[test]
fn names_are_read_back() {
    for learner in learners() {
        assert_eq!(learner.to_string().parse::<LearnerSpec>().unwrap(), learner);
    }
    for (text, message) in [
        (
            "kl-ucb-plsu",
            "learner `kl-ucb-plsu`: unknown name `kl-ucb-plsu`: did you mean `kl-ucb-plus`?",
        ),
        (
            "kl-ucb-plus:c",
            "learner `kl-ucb-plus:c`: `c` must be a parameter and its value, such as key=0.5",
        ),
        (
            "kl-ucb-plus:c=0",
            "learner `kl-ucb-plus:c=0`: c must be a number between 0.5 and 100, not `0`",
        ),
        ("kl-ucb-plus:d=1", "learner `kl-ucb-plus:d=1`: unknown parameter `d`: expected `c`"),
        ("algorithm-1:c=1", "learner `algorithm-1:c=1`: `algorithm-1` takes no parameters"),
        ("paper:c=1", "learner `paper:c=1`: `paper` takes no parameters"),
        ("kl-ucb-plus:c=1,c=2", "learner `kl-ucb-plus:c=1,c=2`: `c` is given twice"),
        (
            "grid-ucb:units=0",
            "learner `grid-ucb:units=0`: units must be a whole number of at least 1 and at most 10000, not `0`",
        ),
    ] {
        assert_eq!(text.parse::<LearnerSpec>().unwrap_err().to_string(), message);
    }
}
