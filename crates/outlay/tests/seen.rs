//! Campaigns that start from the completions of a log.

use std::sync::atomic::AtomicBool;

use outlay::campaign::{Campaign, CampaignOptions, RoundConditions, RoundPlanner};
use outlay::feedback::{Completions, Feedback, Outcome};
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::ledger::{Entry, Ledger, Settings};
use outlay::problem::{NoFiles, Seen};
use outlay::simulation::{Environment, Play};
use outlay::{Problem, ProblemSpec, Task, TaskSpec};

use crate::support::Random;

/// Three channels; the third one has no log.
fn channels() -> Problem {
    let text = r#"
        budget = 100.0
        reward_max = 50.0
        [[task]]
        name = "search"
        curve = { family = "exponential", scale = 60.0 }
        value = 15.0
        seen = { completions = 812, reward = 12345.6 }
        [[task]]
        name = "video"
        curve = { family = "hill", half_at = 50.0, steepness = 2.0 }
        value = 6.0
        seen = { completions = 1, reward = 50.0 }
        [[task]]
        name = "audio"
        curve = { family = "power", exponent = 0.5 }
        value = 3.0
    "#;
    Problem::from_toml(text, &NoFiles).unwrap()
}

/// The completions of the log, as a learner observes them.
fn log() -> [(usize, Outcome); 2] {
    let search = Completions::from_share(812, 12345.6 / 50.0).unwrap();
    [(0, Outcome::of(search)), (1, Outcome::of(Completions::from_share(1, 1.0).unwrap()))]
}

fn options(learner: LearnerSpec, ignore_seen: bool) -> CampaignOptions {
    let learner = learner.into();
    CampaignOptions { learner, horizon: Some(50), ignore_seen, ..CampaignOptions::default() }
}

fn learners() -> impl Iterator<Item = LearnerSpec> {
    LEARNERS.iter().map(|entry| entry.name.parse().unwrap())
}

/// A learner that starts from a log is, bit for bit, one that observed its completions.
#[test]
fn a_start_is_an_observation_of_the_log() {
    let problem = channels();
    for learner in learners() {
        let mut started = RoundPlanner::new(&problem, options(learner, false)).unwrap();
        let mut ignorant = RoundPlanner::new(&problem, options(learner, true)).unwrap();
        let mut observed = RoundPlanner::new(&problem, options(learner, true)).unwrap();
        if learner.uses_seen() {
            log().into_iter().for_each(|(task, seen)| observed.observe(task, 0.0, seen).unwrap());
        }
        let mut differs = false;
        for round in 1..=30 {
            let spend =
                started.decide(round, &RoundConditions::new(100.0, None)).unwrap().spend.clone();
            assert_eq!(
                spend,
                observed.decide(round, &RoundConditions::new(100.0, None)).unwrap().spend,
                "{learner}"
            );
            assert_eq!(started.weights(), observed.weights(), "{learner}");
            differs |=
                spend != ignorant.decide(round, &RoundConditions::new(100.0, None)).unwrap().spend;
            if learner.entry().feedback == Feedback::Bandit {
                continue;
            }
            let outcome = Outcome::of(Completions::from_share(1, 0.3).unwrap());
            for planner in [&mut started, &mut observed, &mut ignorant] {
                let task = round as usize % 3;
                planner.observe(task, spend[task], outcome).unwrap();
            }
        }
        // The means of `explore-then-commit` count after its exploration only.
        let is_used = learner.uses_seen() && learner.name() != "explore-then-commit";
        assert_eq!(differs, is_used, "{learner}");
    }
}

/// The counts of a store are those of the campaign; the log is added to them.
#[test]
fn replaced_counts_keep_the_log() {
    let problem = channels();
    for learner in learners().filter(LearnerSpec::is_count_based) {
        let mut replaced = RoundPlanner::new(&problem, options(learner, false)).unwrap();
        let mut observed = RoundPlanner::new(&problem, options(learner, false)).unwrap();
        replaced.set_counts(&[7, 0, 9], &[1, 0, 1]).unwrap();
        replaced.set_counts(&[3, 0, 2], &[1_500_000_000, 0, 400_000_000]).unwrap();
        if learner.entry().feedback != Feedback::Bandit {
            for (task, count, sum) in [(0, 3, 1_500_000_000), (2, 2, 400_000_000)] {
                let outcome = Outcome::of(Completions::new(count, sum).unwrap());
                observed.observe(task, 0.0, outcome).unwrap();
            }
        }
        let spend = replaced.decide(4, &RoundConditions::new(100.0, None)).unwrap().spend.clone();
        assert_eq!(
            spend,
            observed.decide(4, &RoundConditions::new(100.0, None)).unwrap().spend,
            "{learner}"
        );
        assert!(replaced.set_counts(&[1, 2], &[0, 0]).is_err() || !learner.uses_seen());
    }
}

/// A saved campaign has the log's completions already and must not count them again.
#[test]
fn saved_campaigns_count_the_log_once() {
    let problem = channels();
    let learner = "thompson".parse().unwrap();
    let mut campaign = Campaign::new(&problem, options(learner, false)).unwrap();
    campaign.allocate(100.0, None).unwrap();
    let mut loaded = Campaign::load(&problem, &campaign.save()).unwrap();
    assert_eq!(loaded.learner_state(), campaign.learner_state());
    let spend = loaded.allocate(100.0, None).unwrap().allocation.spend.clone();
    assert_eq!(campaign.allocate(100.0, None).unwrap().allocation.spend, spend);
}

fn ledger(ignore_seen: bool) -> Ledger {
    Ledger::new(&channels(), Settings { ignore_seen, ..Settings::default() }).unwrap()
}

/// A ledger shows the evidence of the log beside that of the campaign, and survives a round trip.
#[test]
fn a_ledger_keeps_both_kinds_of_evidence() {
    let mut started = ledger(false);
    let spend = started.next(None, &[]).unwrap().allocation.spend;
    started.report(&[Entry::completed(1, 0, 20.0), Entry::completed(1, 2, 5.0)]).unwrap();
    let status = started.status().unwrap();
    let [search, video, audio] = &status.tasks[..] else { panic!("three tasks") };
    assert_eq!((search.completions, search.mean), (1, Some(20.0)));
    assert_eq!(search.seen, Some(Seen { completions: 812, reward: 12345.6 }));
    let learned = (12345.6 + 20.0) / 813.0;
    let bonus = search.index.unwrap() - learned;
    assert!((search.bonus.unwrap() - bonus).abs() < 1e-12 && bonus >= -1e-9);
    assert_eq!((video.completions, video.mean), (0, None));
    assert!(video.bonus.is_some(), "the log has a completion");
    assert_eq!((audio.seen, audio.mean), (None, Some(5.0)));
    let mut read = Ledger::from_json(&started.to_json()).unwrap();
    assert_eq!(read.to_json(), started.to_json());
    assert_eq!(read.next(None, &[]).unwrap(), started.next(None, &[]).unwrap());
    started.undo().unwrap();
    assert_eq!(ledger(false).next(None, &[]).unwrap().allocation.spend, spend);
    assert_ne!(ledger(true).next(None, &[]).unwrap().allocation.spend, spend);
}

/// A state of an earlier version, whose learner ignored the log, continues as it began.
#[test]
fn earlier_states_do_not_start_from_the_log() {
    let text = include_str!("data/state-before-seen.json");
    let mut earlier = Ledger::from_json(text).unwrap();
    assert!(earlier.settings().ignore_seen && earlier.seen(0).is_none());
    let mut ignorant = ledger(true);
    let first = ignorant.next(None, &[]).unwrap();
    assert_eq!(earlier.spend(1), Some(&first.allocation.spend[..]));
    ignorant.report(&[Entry::completed(1, 0, 20.0)]).unwrap();
    assert_eq!(earlier.next(None, &[]).unwrap(), ignorant.next(None, &[]).unwrap());
}

#[test]
fn impossible_logs_are_refused() {
    let text = "budget = 1\n[[task]]\ncurve = { family = \"exponential\", scale = 1 }\n\
                seen = { completions = 9000000001, reward = 1 }\n";
    let error = Problem::from_toml(text, &NoFiles).unwrap_err().to_string();
    let expected = "task[0].seen.completions: must be between 0 and 9000000000, not 9000000001";
    assert_eq!(error, expected);
}

/// Eight channels with daily counts; their values differ by a factor of ten.
fn shop(seen: &[Option<Seen>]) -> Problem {
    let task = |(position, seen): (usize, &Option<Seen>)| {
        let place = position as f64;
        let curve = outlay::Curve::hill(60.0 + 20.0 * place, 1.0 + 0.2 * place).unwrap();
        TaskSpec {
            volume: Some(1.0 + 0.5 * place),
            value: Some([20.0, 80.0, 8.0, 45.0, 30.0, 12.0, 60.0, 15.0][position]),
            seen: *seen,
            ..TaskSpec::new(format!("channel-{position}"), curve)
        }
    };
    let tasks = seen.iter().enumerate().map(task).collect();
    ProblemSpec { budget: 800.0, reward_max: 200.0, tasks, ..ProblemSpec::default() }
        .check()
        .unwrap()
}

/// What 70 days at an even split would have seen.
fn log_of(problem: &Problem, seed: u64) -> Vec<Option<Seen>> {
    let environment = Environment::new(problem, seed).unwrap();
    let success: Vec<f64> =
        problem.tasks().iter().map(|task: &Task| task.curve().success(100.0)).collect();
    let mut outcomes = vec![Outcome::Missing; success.len()];
    let mut sums = vec![Seen { completions: 0, reward: 0.0 }; success.len()];
    for round in 1..=70 {
        environment.play(round, &success, Feedback::Censored, &mut outcomes);
        for (sum, outcome) in sums.iter_mut().zip(&outcomes) {
            let drawn = outcome.completions();
            sum.completions += drawn.count();
            sum.reward += drawn.reward_sum() as f64 / 1e9 * problem.reward_max();
        }
    }
    sums.into_iter().map(Some).collect()
}

/// The mean reward of a round over 30 rounds, and the optimum.
fn mean_reward(problem: &Problem, learner: &str, seed: u64) -> (f64, f64) {
    let learner = learner.parse::<LearnerSpec>().unwrap().into();
    let feedback = Feedback::Censored;
    let play = Play { problem, learner: &learner, feedback, horizon: 30, seed };
    let run = play.run(&AtomicBool::new(false)).unwrap().unwrap();
    (run.optimum - run.regret / 30.0, run.optimum)
}

/// A log of 70 rounds makes the next 30 rounds better; the values in the message are the mean
/// rewards of a round.
#[test]
fn a_log_saves_the_first_rounds() {
    let blank = shop(&[None; 8]);
    // The bonuses of `algorithm-1` are wide, so a log of this length helps it less.
    for (learner, share) in [("kl-ucb-plus", 0.3), ("thompson", 0.3), ("algorithm-1", 0.7)] {
        let (mut started, mut ignorant, mut best) = (0.0, 0.0, 0.0);
        for seed in 1..=20 {
            let problem = shop(&log_of(&blank, 1000 + seed));
            let (reward, optimum) = mean_reward(&problem, learner, seed);
            started += reward / 20.0;
            best += optimum / 20.0;
            ignorant += mean_reward(&problem.without_seen(), learner, seed).0 / 20.0;
        }
        println!("{learner}: {started:.0} with the log, {ignorant:.0} without, {best:.0} at best");
        assert!(best - started < share * (best - ignorant), "{started} {ignorant} {best}");
    }
}

/// A random sequence of rounds and reports, saved and loaded at any time, continues identically.
#[test]
fn random_ledgers_continue_after_a_round_trip() {
    let mut random = Random::new(11);
    for _ in 0..10 {
        let mut ledger = ledger(random.below(2) == 0);
        for _ in 0..8 {
            let round = ledger.next(None, &[]).unwrap().round;
            let task = random.below(3);
            ledger.report(&[Entry::completed(round, task, 50.0 * random.uniform())]).unwrap();
            let read = Ledger::from_json(&ledger.to_json()).unwrap();
            assert_eq!(read.status().unwrap(), ledger.status().unwrap());
        }
    }
}
