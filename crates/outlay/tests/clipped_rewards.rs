//! Rewards above the largest one: refused by default, or clipped and counted.

use std::sync::atomic::AtomicBool;

use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::ledger::{Entry, EntryError, Ledger, LedgerError, Settings};
use outlay::problem::NoFiles;
use outlay::replay::{
    CensoredRow, CountRow, Order, OutcomeRow, Record, Replay, TaskRows, ThresholdRow, fit_rows,
};
use outlay::simulation::{Environment, Play};
use outlay::{Problem, RewardOverMax};

use crate::support::Random;

/// Two tasks; `top` are further keys of the problem.
fn shop(top: &str, volume: &str) -> Problem {
    let text = format!(
        "budget = 10.0\n{top}\n\
         [[task]]\nname = 'a'\ncurve = {{ family = 'exponential', scale = 4.0 }}\n{volume}\n\
         [[task]]\nname = 'b'\ncurve = {{ family = 'exponential', scale = 9.0 }}\n{volume}\n"
    );
    Problem::from_toml(&text, &NoFiles).unwrap()
}

fn clips(reward_max: f64) -> Problem {
    shop(&format!("reward_max = {reward_max}\nreward_over_max = 'clip'"), "")
}

fn refuses(reward_max: f64) -> Problem {
    shop(&format!("reward_max = {reward_max}"), "")
}

fn started(problem: &Problem, rounds: usize) -> Ledger {
    let mut ledger = Ledger::new(problem, Settings::default()).unwrap();
    (0..rounds).for_each(|_| drop(ledger.next(None, &[]).unwrap()));
    ledger
}

fn first_error(result: Result<outlay::ledger::Reported, LedgerError>) -> EntryError {
    match result.unwrap_err() {
        LedgerError::Entries(entries) => entries[0].reason.clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn files_name_the_treatment_and_keep_it() {
    let clipping = clips(2.0);
    assert_eq!(clipping.reward_over_max(), RewardOverMax::Clip);
    assert_eq!(refuses(2.0).reward_over_max(), RewardOverMax::Refuse);
    let text = clipping.to_toml().unwrap();
    assert!(text.contains("reward_over_max = \"clip\""), "{text}");
    assert_eq!(Problem::from_toml(&text, &NoFiles).unwrap(), clipping);
    // The default is not written, so that earlier versions can read the problem.
    assert!(!refuses(2.0).to_toml().unwrap().contains("over_max"));
    let text = "budget = 1\nreward_over_max = 'cap'\n[[task]]\ncurve = { family = 'exponential', scale = 1 }";
    let error = Problem::from_toml(text, &NoFiles).unwrap_err().to_string();
    let expected =
        "reward_over_max: unknown reward_over_max `cap`: expected one of `refuse`, `clip`";
    assert_eq!(error, expected);
}

#[test]
fn a_larger_reward_is_refused_by_default() {
    let mut ledger = started(&refuses(2.0), 1);
    let error = first_error(ledger.report(&[Entry::completed(1, 0, 2.5)]));
    assert_eq!(error.to_string(), "reward of a: must be between 0 and reward_max 2, not 2.5");
    assert_eq!(ledger.status().unwrap().clipped, 0);
}

/// The learner observes the largest reward; the record keeps the reported one.
#[test]
fn a_clipped_reward_counts_as_the_largest() {
    let (mut clipped, mut largest) = (started(&clips(2.0), 2), started(&clips(2.0), 2));
    let reported = clipped.report(&[Entry::completed(1, 0, 2.5), Entry::completed(1, 1, 2.0)]);
    assert_eq!((reported.unwrap().clipped, clipped.status().unwrap().clipped), (1, 1));
    largest.report(&[Entry::completed(1, 0, 2.0), Entry::completed(1, 1, 2.0)]).unwrap();
    let (one, other) = (clipped.status().unwrap(), largest.status().unwrap());
    assert_eq!((one.gain, one.tasks[0].mean, one.tasks[0].index), (4.0, Some(2.0), Some(2.0)));
    assert_eq!((one.gain, one.tasks[0].clipped, other.tasks[0].clipped), (other.gain, 1, 0));
    assert_eq!(clipped.next(None, &[]).unwrap(), largest.next(None, &[]).unwrap());
    assert!(clipped.to_json().contains("\"reward\":2.5"));
    // Negative and infinite rewards stay errors.
    for reward in [-1.0, f64::INFINITY, f64::NAN] {
        let error = first_error(clipped.report(&[Entry::completed(2, 0, reward)]));
        assert!(matches!(error, EntryError::RewardRange { .. }), "{error}");
    }
}

/// The same report again is a repetition; another reward contradicts it, although both are clipped.
#[test]
fn repeated_reports_are_compared_as_they_were_reported() {
    let mut ledger = started(&clips(2.0), 1);
    ledger.report(&[Entry::completed(1, 0, 2.5)]).unwrap();
    let again = ledger.report(&[Entry::completed(1, 0, 2.5)]).unwrap();
    assert_eq!((again.new, again.repeated, again.clipped), (0, 1, 0));
    for other in [2.0, 3.0] {
        let error = first_error(ledger.report(&[Entry::completed(1, 0, other)]));
        assert!(matches!(error, EntryError::Contradiction { .. }), "{error}");
    }
    let revised = ledger.revise(&[Entry::completed(1, 0, 7.0)]).unwrap();
    assert_eq!((revised.revised, revised.clipped, ledger.status().unwrap().clipped), (1, 1, 1));
    ledger.revise(&[Entry::completed(1, 0, 1.0)]).unwrap();
    assert_eq!((ledger.status().unwrap().clipped, ledger.status().unwrap().gain), (0, 1.0));
    ledger.undo().unwrap();
    assert_eq!((ledger.status().unwrap().clipped, ledger.status().unwrap().gain), (1, 2.0));
}

#[test]
fn sums_of_counts_are_clipped() {
    let problem = shop("reward_max = 2.0\nreward_over_max = 'clip'", "volume = 20.0");
    let mut ledger = started(&problem, 1);
    let entry =
        |task, reward| Entry { completions: 3, reward: Some(reward), ..Entry::failed(1, task) };
    ledger.report(&[entry(0, 6.5), entry(1, 5.5)]).unwrap();
    let status = ledger.status().unwrap();
    assert_eq!((status.gain, status.clipped, status.tasks[0].mean), (11.5, 1, Some(2.0)));
    // A failure has no reward to clip.
    let mut other = started(&problem, 1);
    let failed = Entry { reward: Some(9.0), ..Entry::failed(1, 0) };
    let error = first_error(other.report(&[failed]));
    assert!(matches!(error, EntryError::RewardOfFailure { .. }), "{error}");
}

/// Learners with full or bandit feedback observe clipped rewards too.
#[test]
fn other_kinds_of_feedback_are_clipped() {
    for name in ["full", "oful"] {
        let horizon = Some(10);
        let settings = Settings { learner: name.parse().unwrap(), horizon, ..Settings::default() };
        let play = |rewards: [f64; 2]| {
            let mut ledger = Ledger::new(&clips(2.0), settings).unwrap();
            for round in 1..=3 {
                ledger.next(None, &[]).unwrap();
                let [first, second] = rewards;
                let mut other = Entry::completed(round, 1, second);
                if name == "full" {
                    // The forgone reward of a failure.
                    other.completions = 0;
                }
                ledger.report(&[Entry::completed(round, 0, first), other]).unwrap();
            }
            let clipped = ledger.status().unwrap().clipped;
            (ledger.next(None, &[]).unwrap(), clipped)
        };
        let ((clipped, count), (largest, none)) = (play([5.0, 3.0]), play([2.0, 2.0]));
        assert_eq!(clipped, largest, "{name}");
        assert_eq!((count, none), (6, 0), "{name}");
    }
}

/// A larger `reward_max` frees clipped rewards, because the record has the reported ones.
#[test]
fn amendments_count_the_reported_rewards_again() {
    let mut ledger = started(&clips(2.0), 2);
    ledger.report(&[Entry::completed(1, 0, 2.5), Entry::completed(1, 1, 9.0)]).unwrap();
    let change = ledger.amend(&clips(4.0)).unwrap();
    assert_eq!(
        change.changed.iter().map(|change| change.field).collect::<Vec<_>>(),
        ["reward_max"]
    );
    let status = ledger.status().unwrap();
    assert_eq!((status.gain, status.clipped), (6.5, 1));
    // Refused from now on: the record stays, and the same report is a repetition.
    let change = ledger.amend(&refuses(4.0)).unwrap();
    assert_eq!(change.changed[0].field, "reward_over_max");
    assert_eq!(ledger.status().unwrap().clipped, 1);
    assert_eq!(ledger.report(&[Entry::completed(1, 1, 9.0)]).unwrap().repeated, 1);
    let error = first_error(ledger.report(&[Entry::completed(2, 1, 9.0)]));
    assert!(matches!(error, EntryError::RewardRange { .. }), "{error}");
    let read = Ledger::from_json(&ledger.to_json()).unwrap();
    assert_eq!(
        (read.to_json(), read.status().unwrap()),
        (ledger.to_json(), ledger.status().unwrap())
    );
}

/// A record with a larger reward is damaged unless some version of its problem clips.
#[test]
fn damaged_records_are_refused() {
    let mut ledger = started(&clips(2.0), 1);
    ledger.report(&[Entry::completed(1, 0, 2.5)]).unwrap();
    let text = ledger.to_json().replace("\"reward_over_max\":\"clip\",", "");
    assert!(matches!(Ledger::from_json(&text), Err(LedgerError::Entries(_))));
}

/// Random loops with clipped rewards continue identically after a round trip.
#[test]
fn random_ledgers_continue_after_a_round_trip() {
    let mut random = Random::new(5);
    for _ in 0..10 {
        let mut ledger = started(&clips(1.0 + random.uniform()), 0);
        let mut expected = 0;
        for _ in 0..10 {
            let round = ledger.next(None, &[]).unwrap().round;
            let reward = 3.0 * random.uniform();
            ledger.report(&[Entry::completed(round, random.below(2), reward)]).unwrap();
            expected += u64::from(reward > ledger.problem().reward_max());
            let mut read = Ledger::from_json(&ledger.to_json()).unwrap();
            assert_eq!(read.status().unwrap(), ledger.status().unwrap());
            assert_eq!(read.status().unwrap().clipped, expected);
            assert_eq!(read.next(None, &[]).unwrap().allocation, {
                let mut again = Ledger::from_json(&ledger.to_json()).unwrap();
                again.next(None, &[]).unwrap().allocation
            });
        }
    }
}

#[test]
fn campaigns_keep_the_number_of_clipped_reports() {
    let problem = clips(2.0);
    let mut campaign = Campaign::new(&problem, CampaignOptions::default()).unwrap();
    campaign.allocate(10.0, None).unwrap();
    let reward = problem.clipped_reward(1, 2.5);
    campaign.observe(1, 0, Outcome::Done(Reward::from_share(reward / 2.0))).unwrap();
    assert!(!campaign.save().to_json().contains("clipped"), "states without it stay as they were");
    campaign.add_clipped(u64::from(problem.clips_reward(1, 2.5)));
    let text = campaign.save().to_json();
    let state = outlay::campaign::CampaignState::from_json(&text).unwrap();
    assert_eq!(Campaign::load(&problem, &state).unwrap().clipped(), 1);
}

#[test]
fn gains_above_all_rewards_are_clipped() {
    let learner = || CampaignOptions {
        learner: "oful".parse::<outlay::learner::LearnerSpec>().unwrap().into(),
        horizon: Some(10),
        ..CampaignOptions::default()
    };
    let mut campaign = Campaign::new(&clips(2.0), learner()).unwrap();
    let mut largest = Campaign::new(&clips(2.0), learner()).unwrap();
    for (campaign, gain) in [(&mut campaign, 2.25), (&mut largest, 2.0)] {
        campaign.allocate(10.0, None).unwrap();
        campaign.observe_gain(1, gain).unwrap();
    }
    assert_eq!((campaign.clipped(), largest.clipped()), (1, 0));
    assert_eq!(campaign.learner_state(), largest.learner_state());
    let mut refusing = Campaign::new(&refuses(2.0), learner()).unwrap();
    refusing.allocate(10.0, None).unwrap();
    assert!(refusing.observe_gain(1, 2.25).is_err());
}

/// Every kind of rows with one reward above the largest, and the same rows with the largest.
fn rows_with(reward: f64) -> [TaskRows; 4] {
    let none = Some(0.5);
    [
        TaskRows::Thresholds(vec![
            ThresholdRow { threshold: 1.0, reward },
            ThresholdRow { threshold: 3.0, reward: 1.0 },
        ]),
        TaskRows::Censored(vec![
            CensoredRow { threshold: 1.0, is_censored: false, reward: Some(reward) },
            CensoredRow { threshold: 2.0, is_censored: true, reward: none },
        ]),
        TaskRows::Outcomes(vec![
            OutcomeRow { spend: 1.0, success: true, reward: Some(reward) },
            OutcomeRow { spend: 2.0, success: true, reward: none },
        ]),
        TaskRows::Counts(vec![
            CountRow { spend: 1.0, completions: 1, reward },
            CountRow { spend: 2.0, completions: 4, reward: 7.0 },
        ]),
    ]
}

#[test]
fn recorded_rewards_are_clipped() {
    for (given, largest) in rows_with(2.5).into_iter().zip(rows_with(2.0)) {
        let volume = if matches!(given, TaskRows::Counts(_)) { "volume = 20.0" } else { "" };
        let clipping = shop("reward_max = 2.0\nreward_over_max = 'clip'", volume);
        let refusing = shop("reward_max = 2.0", volume);
        let error = Record::new(&refusing, vec![given.clone(), largest.clone()]).unwrap_err();
        assert!(error.to_string().contains("task a: row 1: reward must be"), "{error}");
        let record = Record::new(&clipping, vec![given.clone(), given.clone()]).unwrap();
        let other = Record::new(&clipping, vec![largest.clone(), largest.clone()]).unwrap();
        assert_eq!((record.clipped(), other.clipped()), (2, 0));
        assert_eq!(record.tasks()[0].rows(), &largest);
        let learners = ["kl-ucb-plus".parse().unwrap()];
        let gain = |record: &Record| {
            let replay = Replay {
                problem: &clipping,
                record,
                learners: &learners,
                order: Order::Shuffled,
                rounds: 20,
                replications: 1,
                starts_from_seen: false,
                seed: 1,
            };
            let splits = replay.splits().unwrap();
            let run = replay.play(replay.jobs()[0], &AtomicBool::new(false)).unwrap().unwrap();
            (replay.summary(&splits, &[vec![run.clone()]]).unwrap().clipped, run)
        };
        assert_eq!(gain(&record).1, gain(&other).1);
        assert_eq!((gain(&record).0, gain(&other).0), (2, 0));
    }
}

/// A plan from the first part of the rows uses clipped rewards.
#[test]
fn fitted_rows_are_clipped() {
    let problem = clips(2.0);
    let rows = |reward: f64| {
        let row = |position: u32| ThresholdRow {
            threshold: f64::from(position % 7),
            reward: if position.is_multiple_of(3) { reward } else { 0.5 },
        };
        TaskRows::Thresholds((0..30).map(row).collect())
    };
    let fitted = |reward: f64| {
        let rows = [rows(reward), rows(reward)];
        fit_rows(&problem, &rows, &outlay::fit::Options::default()).unwrap()
    };
    let (clipped, largest) = (fitted(8.0), fitted(2.0));
    assert_eq!((clipped.clipped, largest.clipped), (20, 0));
    assert_eq!(clipped.problem, largest.problem);
    assert_eq!(clipped.problem.reward_over_max(), RewardOverMax::Clip);
}

/// Simulated rewards that come from data are clipped when the problem is read.
#[test]
fn recorded_rewards_of_a_simulation_are_clipped() {
    let problem = |top: &str, samples: &str| {
        let text = format!(
            "budget = 4.0\nreward_max = 2.0\n{top}\n[[task]]\nname = 'a'\n\
             curve = {{ family = 'exponential', scale = 4.0 }}\n\
             reward = {{ law = 'empirical', samples = [{samples}] }}\n"
        );
        Problem::from_toml(&text, &NoFiles)
    };
    let error = problem("", "0.5, 9.0").unwrap_err().to_string();
    let expected = "task[0].reward.samples[1]: must be between 0 and reward_max = 2, not 9";
    assert_eq!(error, expected);
    let clipping = problem("reward_over_max = 'clip'", "0.5, 9.0, 2.5").unwrap();
    let largest = problem("reward_over_max = 'clip'", "0.5, 2.0, 2.0").unwrap();
    assert_eq!((clipping.clipped_samples(), largest.clipped_samples()), (2, 0));
    assert_eq!(clipping, largest);
    assert_eq!(clipping.tasks()[0].value(), Some(1.5));
    assert!(problem("reward_over_max = 'clip'", "inf").is_err());
    let learner = outlay::learner::LearnerChoice::default();
    let run = |problem: &Problem| {
        let feedback = Feedback::Censored;
        let play = Play { problem, learner: &learner, feedback, horizon: 50, seed: 3 };
        play.run(&AtomicBool::new(false)).unwrap().unwrap()
    };
    assert_eq!(run(&clipping), run(&largest));
    assert_eq!(Environment::new(&clipping, 1).unwrap().means(), [0.75]);
}
