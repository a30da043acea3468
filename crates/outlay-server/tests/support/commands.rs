//! Short constructors of store commands.

use std::ops::Range;
use std::sync::Arc;

use outlay_server::store::{
    Ask, Command, Compaction, Correction, Deletion, Delivery, Done, Item, Key, NewCampaign,
    Outcome, ProblemChange, Refusal, Split, StatusChange, Store, Tell, TokenRow,
};

pub(crate) const DAY: i64 = 86_400_000;
pub(crate) const FAILED: Outcome = Outcome::FAILED;

pub(crate) fn done(reward: u64) -> Outcome {
    Outcome::success(reward)
}

/// Several completions, with the actual and the allocated spend if they are known.
pub(crate) fn several(completions: u64, reward: u64, spends: Option<(u64, u64)>) -> Outcome {
    let delivery = spends.map(|(spent, allocated)| Delivery { spent, allocated });
    Outcome { completions, reward, delivery }
}

pub(crate) fn create(id: &str, tasks: u32) -> Command {
    Command::Create(NewCampaign {
        id: id.into(),
        spec: format!("{{\"tasks\":{tasks}}}"),
        tasks,
        at: 1000,
        token: "maker".into(),
    })
}

pub(crate) fn set_status(
    campaign: &str,
    to: outlay_server::store::CampaignStatus,
    only_if: u64,
) -> Command {
    Command::SetStatus(StatusChange {
        campaign: campaign.into(),
        to,
        only_if,
        may_reopen: false,
        at: 2000,
        token: "keeper".into(),
    })
}

/// The n-th amendment of a campaign, which has this many tasks then.
pub(crate) fn amend(campaign: &str, tasks: u32, only_if: u64, amendment: u64) -> Command {
    Command::Amend(ProblemChange {
        campaign: campaign.into(),
        problem: format!("{{\"tasks\":{tasks},\"amendment\":{amendment}}}"),
        tasks,
        changes: "{\"added\":[\"ü\"]}".into(),
        only_if,
        may_be_closed: false,
        at: 2500,
        token: "amender".into(),
    })
}

pub(crate) fn delete(campaign: &str, only_if: u64, force: bool) -> Command {
    Command::Delete(Deletion {
        campaign: campaign.into(),
        only_if,
        force,
        at: 6000,
        token: "admin".into(),
    })
}

/// Rounds that expired at this time or before.
pub(crate) fn compaction(campaign: &str, expired_before: i64, most_rounds: u64) -> Compaction {
    Compaction {
        campaign: campaign.into(),
        expired_before,
        keep_last: None,
        most_rounds,
        is_dry_run: false,
        at: 7000,
    }
}

/// A split whose numbers differ from round to round, all tasks being there. Some have scales or
/// volumes.
pub(crate) fn split(tasks: u32, first: u64) -> Split {
    let numbers = |factor: f64| {
        (0..tasks).map(|task| factor * (first as f64 + f64::from(task) / 3.0)).collect()
    };
    Split {
        budget: 10.0 + first as f64,
        available: None,
        scale: first.is_multiple_of(3).then(|| numbers(0.7)),
        volume: (first % 4 == 1).then(|| numbers(1.0 / 3.0)),
        spend: numbers(0.1),
        success: numbers(1e-7),
        index: numbers(1e9),
    }
}

pub(crate) fn asked(campaign: &str, rounds: Range<u64>, tasks: u32) -> Ask {
    let split = Arc::new(split(tasks, rounds.start));
    Ask {
        campaign: campaign.into(),
        rounds,
        split,
        amendments: 0,
        stats_version: 0,
        at: 3000,
        expires_at: 3000 + DAY,
        token: "asker".into(),
        key: None,
        horizon: None,
    }
}

pub(crate) fn ask(campaign: &str, rounds: Range<u64>, tasks: u32) -> Command {
    Command::Ask(asked(campaign, rounds, tasks))
}

pub(crate) fn key(key: &str, request: u8, expires_at: i64) -> Option<Key> {
    Some(Key { key: key.into(), request: [request; 32], expires_at })
}

/// The success probability that a test gives a task, in billionths.
pub(crate) fn chance(task: u32) -> u64 {
    250_000_000 + u64::from(task)
}

pub(crate) fn told(campaign: &str, round: u64, outcomes: &[(u32, Outcome)]) -> Tell {
    let items = outcomes
        .iter()
        .map(|&(task, outcome)| Item { task, outcome, expected: chance(task) })
        .collect();
    Tell {
        campaign: campaign.into(),
        round,
        items,
        is_late: false,
        at: 4000,
        token: "teller".into(),
    }
}

pub(crate) fn tell(campaign: &str, round: u64, outcomes: &[(u32, Outcome)]) -> Command {
    Command::Tell(told(campaign, round, outcomes))
}

pub(crate) fn correct(campaign: &str, round: u64, task: u32, to: Outcome) -> Command {
    let why = "the till was wrong: 5 € \"extra\"".into();
    Command::Correct(Correction {
        campaign: campaign.into(),
        round,
        task,
        to,
        expected: None,
        why,
        at: 5000,
        token: "admin".into(),
    })
}

pub(crate) fn token(id: &str) -> TokenRow {
    TokenRow {
        id: id.into(),
        hash: [7; 32],
        scopes: vec!["read".into(), "decide".into()],
        campaign: None,
        name: None,
        created_at: 10,
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
    }
}

/// Applies a single command.
#[track_caller]
pub(crate) fn one(store: &dyn Store, command: Command) -> Result<Done, Refusal> {
    let mut answers = store.apply(&[command]).unwrap();
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// The answer to a correction that keeps the predicted completions.
pub(crate) fn corrected(from: Outcome) -> Result<Done, Refusal> {
    Ok(Done::Corrected { from, expected_change: 0 })
}

/// The answer to a tell that is taken.
pub(crate) fn counted(is_new: &[bool], is_complete: bool) -> Result<Done, Refusal> {
    Ok(Done::Told { is_new: is_new.to_vec(), is_complete })
}
