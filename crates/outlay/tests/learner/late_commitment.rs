//! `explore-then-commit` waits for late outcomes before it commits.

use outlay::campaign::{Campaign, CampaignOptions, CampaignState};
use outlay::feedback::{Completion, Outcome, Reward};
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};

const EXPLORED: u64 = 20;
/// Each task's reward; the third task never completes.
const REWARDS: [f64; 3] = [0.3, 0.6, 0.0];

fn problem() -> Problem {
    let task = |name| TaskSpec::new(name, Curve::power(0.5, 100.0).unwrap());
    let tasks = ["search", "social", "display"].map(task).to_vec();
    ProblemSpec { budget: 100.0, tasks, ..ProblemSpec::default() }.check().unwrap()
}

fn campaign() -> Campaign {
    let learner = format!("explore-then-commit:rounds={EXPLORED}").parse().unwrap();
    let options = CampaignOptions { learner, horizon: Some(400), ..CampaignOptions::default() };
    Campaign::new(&problem(), options).unwrap()
}

/// Issues a round; returns its weights.
fn issue(campaign: &mut Campaign) -> Vec<f64> {
    let spend = campaign.allocate(100.0, None).unwrap().allocation.spend.clone();
    assert!(spend.iter().sum::<f64>() > 99.0, "round {} is empty", campaign.rounds());
    campaign.weights().to_vec()
}

/// The weights of an exploration round: all on one task.
fn explores(weights: &[f64]) -> bool {
    weights.iter().filter(|weight| **weight == 0.0).count() == 2
        && weights.iter().sum::<f64>() == 1.0
}

fn outcomes() -> [Outcome; 3] {
    REWARDS.map(|reward| match reward {
        0.0 => Outcome::Failed,
        reward => Outcome::Done(Reward::from_share(reward)),
    })
}

/// The round in which it commits if outcomes arrive `delay` rounds after their round.
fn commitment(delay: u64, report: impl Fn(&mut Campaign, u64)) -> u64 {
    let mut campaign = campaign();
    for round in 1..=400 {
        let weights = issue(&mut campaign);
        if !explores(&weights) {
            assert_eq!(weights, REWARDS, "delay {delay}, round {round}");
            return round;
        }
        if round > delay {
            report(&mut campaign, round - delay);
        }
    }
    0
}

#[test]
fn the_commitment_comes_as_late_as_the_outcomes() {
    for delay in [0, 1, 19, 20, 21, 150] {
        let whole = |campaign: &mut Campaign, round| {
            campaign.observe_round(round, &outcomes()).unwrap();
        };
        assert_eq!(commitment(delay, whole), EXPLORED + delay + 1);
        let completed =
            [0, 1].map(|task| Completion { task, reward: Reward::from_share(REWARDS[task]) });
        let completions = |campaign: &mut Campaign, round| {
            campaign.observe_completed(round, &completed).unwrap();
        };
        assert_eq!(commitment(delay, completions), EXPLORED + delay + 1);
        let in_parts = |campaign: &mut Campaign, round| {
            campaign.observe(round, 0, outcomes()[0]).unwrap();
            campaign.observe_completed(round, &completed[1..]).unwrap();
        };
        assert_eq!(commitment(delay, in_parts), EXPLORED + delay + 1);
    }
}

#[test]
fn outcomes_of_one_task_are_not_enough() {
    let one_task = |campaign: &mut Campaign, round| {
        campaign.observe(round, 0, outcomes()[0]).unwrap();
    };
    assert_eq!(commitment(0, one_task), 0);
    // The other outcomes of each second round are lost: it takes twice as long.
    let each_second = |campaign: &mut Campaign, round: u64| match round % 2 {
        0 => campaign.observe_round(round, &outcomes()).unwrap(),
        _ => campaign.observe(round, 0, outcomes()[0]).unwrap(),
    };
    assert_eq!(commitment(0, each_second), 2 * EXPLORED + 1);
}

#[test]
fn it_does_not_commit_without_a_completion() {
    let mut campaign = campaign();
    for round in 1..=100 {
        assert!(explores(&issue(&mut campaign)), "round {round}");
        campaign.observe_round(round, &[Outcome::Failed; 3]).unwrap();
    }
    campaign.observe_round(100, &outcomes()).unwrap_err();
    assert!(explores(&issue(&mut campaign)));
    campaign.observe(101, 1, outcomes()[1]).unwrap();
    assert_eq!(issue(&mut campaign), [0.0, 0.6, 0.0]);
}

/// A state as versions without a count of outcomes saved it, after 30 rounds.
fn earlier_state(completions: [u64; 3], committed: &str) -> CampaignState {
    let sums = completions.map(|count| count * 600_000_000);
    let text = format!(
        r#"{{"version":1,"learner":"explore-then-commit:rounds=20","horizon":400,
        "feedback":"censored","seed":1,"tasks":["search","social","display"],"round":30,
        "oracle":{{"price":null}},"learnt":{{"completions":{completions:?},
        "reward_sum":{sums:?},"committed":{committed}}},
        "open":[{{"round":30,"waits":["open","open","open"]}}]}}"#
    );
    CampaignState::from_json(&text).unwrap()
}

#[test]
fn an_empty_commitment_of_an_earlier_version_is_dropped() {
    let mut campaign = Campaign::load(&problem(), &earlier_state([0; 3], "[0.0,0.0,0.0]")).unwrap();
    assert!(explores(&issue(&mut campaign)));
    campaign.observe(30, 1, outcomes()[1]).unwrap();
    assert_eq!(issue(&mut campaign), [0.0, 0.6, 0.0]);
}

#[test]
fn earlier_states_continue() {
    for (committed, expected) in [("[0.1,0.2,0.0]", [0.1, 0.2, 0.0]), ("null", [0.6, 0.6, 0.0])] {
        let state = earlier_state([4, 5, 0], committed);
        let mut campaign = Campaign::load(&problem(), &state).unwrap();
        let learnt = |state: &CampaignState| {
            serde_json::from_str::<serde_json::Value>(&state.to_json()).unwrap()["learnt"].take()
        };
        assert_eq!(learnt(&campaign.save()), learnt(&state));
        assert_eq!(issue(&mut campaign), expected);
    }
}

#[test]
fn a_state_with_too_few_counts_is_rejected() {
    let mut campaign = campaign();
    issue(&mut campaign);
    let text = campaign.save().to_json();
    assert!(text.contains(r#""outcomes":[0,0,0]"#), "{text}");
    let short = text.replace(r#""outcomes":[0,0,0]"#, r#""outcomes":[0,0]"#);
    let error = Campaign::load(&problem(), &CampaignState::from_json(&short).unwrap()).unwrap_err();
    assert!(error.to_string().contains("outcomes"), "{error}");
}
