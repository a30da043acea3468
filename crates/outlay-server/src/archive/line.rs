//! The lines of an export.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::store::{
    Ask, CampaignStatus, Checkpoint, Command, Correction, Delivery, Item, Millis, NewCampaign,
    Outcome, ProblemChange, RestoredCheckpoint, Split, SplitRow, StatusChange, TaskCount, Tell,
    TokenRow,
};

/// Format version of the exports that this program writes. It also reads earlier ones: the first
/// has no uses of tokens, the second no checkpoints, the third at most one completion and no spends,
/// the fourth no scales and volumes of rounds and no amendments.
pub(super) const FORM: u32 = 5;

/// Contents of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Number of lines before the last.
    pub lines: u64,
    /// Tokens, including revoked ones.
    pub tokens: u64,
    /// Campaigns.
    pub campaigns: u64,
    /// Rounds.
    pub rounds: u64,
    /// Feedback items.
    pub items: u64,
    /// Corrections.
    pub corrections: u64,
    /// Amendments.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub amendments: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Line {
    /// The first line.
    Export {
        form: u32,
    },
    Token(TokenLine),
    /// A campaign; its events follow in order. `tasks` includes those of its amendments.
    Campaign {
        id: String,
        tasks: u32,
        at: Millis,
        by: String,
        spec: String,
    },
    Checkpoint(CheckpointLine),
    Status {
        campaign: String,
        at: Millis,
        by: String,
        status: CampaignStatus,
    },
    /// Another problem. Later rounds belong to it.
    Amendment {
        campaign: String,
        at: Millis,
        by: String,
        tasks: u32,
        problem: String,
        changes: String,
    },
    Ask(AskLine),
    Tell {
        campaign: String,
        round: u64,
        at: Millis,
        by: String,
        late: bool,
        items: Vec<ItemLine>,
    },
    Correction(CorrectionLine),
    /// The last line; a file without it is truncated.
    End(Contents),
}

/// The outcome of a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ItemLine {
    /// The task, whether it completed, its reward and the predicted completions, both in
    /// billionths.
    Single(u32, bool, u64, u64),
    /// The task, its completions, the sum of their rewards, the predicted completions, and the
    /// actual and the allocated spend if they are known.
    Counted(u32, u64, u64, u64, Option<(u64, u64)>),
}

impl From<(u32, Outcome, u64)> for ItemLine {
    fn from((task, outcome, expected): (u32, Outcome, u64)) -> Self {
        let Outcome { completions, reward, delivery } = outcome;
        match delivery {
            None if completions <= 1 => Self::Single(task, completions == 1, reward, expected),
            delivery => {
                let spends = delivery.map(|Delivery { spent, allocated }| (spent, allocated));
                Self::Counted(task, completions, reward, expected, spends)
            }
        }
    }
}

impl ItemLine {
    fn task(&self) -> u32 {
        match *self {
            Self::Single(task, ..) | Self::Counted(task, ..) => task,
        }
    }

    fn item(self) -> Item {
        let (task, completions, reward, expected, spends) = match self {
            Self::Single(task, completed, reward, expected) => {
                (task, u64::from(completed), reward, expected, None)
            }
            Self::Counted(task, completions, reward, expected, spends) => {
                (task, completions, reward, expected, spends)
            }
        };
        Item { task, outcome: outcome(completions, reward, spends), expected }
    }
}

fn outcome(completions: u64, reward: u64, spends: Option<(u64, u64)>) -> Outcome {
    let delivery = spends.map(|(spent, allocated)| Delivery { spent, allocated });
    Outcome { completions, reward, delivery }
}

/// The corrected outcome of a task in a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CorrectionLine {
    campaign: String,
    round: u64,
    task: u32,
    at: Millis,
    by: String,
    completed: bool,
    /// If there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completions: Option<u64>,
    reward: u64,
    /// The actual and the allocated spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spends: Option<(u64, u64)>,
    /// Predicted completions, if they are not those of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
    why: String,
}

impl CorrectionLine {
    pub(super) fn new(correction: Correction) -> Self {
        let Correction { campaign, round, task, to, expected, why, at, token: by } = correction;
        let Outcome { completions, reward, delivery } = to;
        Self {
            campaign,
            round,
            task,
            at,
            by,
            completed: completions > 0,
            completions: (completions > 1).then_some(completions),
            reward,
            spends: delivery.map(|Delivery { spent, allocated }| (spent, allocated)),
            expected,
            why,
        }
    }

    fn command(self) -> Command {
        let completions = self.completions.unwrap_or(u64::from(self.completed));
        Command::Correct(Correction {
            campaign: self.campaign,
            round: self.round,
            task: self.task,
            to: outcome(completions, self.reward, self.spends),
            expected: self.expected,
            why: self.why,
            at: self.at,
            token: self.by,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenLine {
    id: String,
    /// Digest of the secret part, in hexadecimal digits.
    sha256: String,
    scopes: Vec<String>,
    campaign: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    created_at: Millis,
    expires_at: Option<Millis>,
    revoked_at: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Millis>,
}

/// The counts of compacted rounds. Follows the line of its campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckpointLine {
    campaign: String,
    end: u64,
    rounds: u64,
    version: u64,
    late: u64,
    at: Millis,
    /// Outcomes, completions, sum of rewards and predicted completions of each task.
    tasks: Vec<(u64, u64, u64, u64)>,
    /// Actual and allocated spend of each task; empty if no spends were reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spends: Vec<(u64, u64)>,
}

impl CheckpointLine {
    pub(super) fn new(campaign: &str, checkpoint: Checkpoint) -> Self {
        let Checkpoint { end, rounds, version, late, tasks, at } = checkpoint;
        let numbers =
            |count: TaskCount| (count.told, count.completions, count.reward_sum, count.expected);
        let spends = tasks.iter().map(|count| (count.spent, count.allocated));
        let has_spends = spends.clone().any(|spends| spends != (0, 0));
        let spends = spends.filter(|_| has_spends).collect();
        let tasks = tasks.into_iter().map(numbers).collect();
        Self { campaign: campaign.to_owned(), end, rounds, version, late, at, tasks, spends }
    }

    /// Adds the contents of a line.
    pub(super) fn count(&self, contents: &mut Contents) {
        let outcomes: u64 = self.tasks.iter().map(|(told, ..)| *told).sum();
        contents.rounds += self.rounds;
        contents.items += outcomes;
        contents.corrections += self.version.saturating_sub(outcomes);
    }

    pub(super) fn campaign(&self) -> &str {
        &self.campaign
    }

    /// Whether there is one count for each task of the campaign.
    pub(super) fn has_tasks(&self, tasks: u32) -> bool {
        let tasks = tasks as usize;
        self.tasks.len() == tasks && (self.spends.is_empty() || self.spends.len() == tasks)
    }

    fn command(self) -> Command {
        let Self { campaign, end, rounds, version, late, at, tasks, spends } = self;
        let spends = spends.into_iter().chain(std::iter::repeat((0, 0)));
        let count = |((told, completions, reward_sum, expected), (spent, allocated))| TaskCount {
            told,
            completions,
            reward_sum,
            expected,
            spent,
            allocated,
        };
        let tasks = tasks.into_iter().zip(spends).map(count).collect();
        let checkpoint = Checkpoint { end, rounds, version, late, tasks, at };
        Command::Restore(RestoredCheckpoint { campaign, checkpoint })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskLine {
    campaign: String,
    /// The first round, and the number of rounds.
    first: u64,
    count: u64,
    at: Millis,
    expires_at: Millis,
    by: String,
    /// Number of amendments before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    amendments: u64,
    stats_version: u64,
    budget: Number,
    available: Option<Vec<bool>>,
    /// Absent if the round has those of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<Vec<Number>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    volume: Option<Vec<Number>>,
    spend: Vec<Number>,
    success: Vec<Number>,
    index: Vec<Number>,
}

/// A float; values without a JSON number are strings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Word(Word),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Infinity,
    #[serde(rename = "-infinity")]
    MinusInfinity,
    Nan,
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        match number {
            f64::INFINITY => Self::Word(Word::Infinity),
            f64::NEG_INFINITY => Self::Word(Word::MinusInfinity),
            number if number.is_nan() => Self::Word(Word::Nan),
            number => Self::Finite(number),
        }
    }
}

impl From<Number> for f64 {
    fn from(number: Number) -> Self {
        match number {
            Number::Finite(number) => number,
            Number::Word(Word::Infinity) => f64::INFINITY,
            Number::Word(Word::MinusInfinity) => f64::NEG_INFINITY,
            Number::Word(Word::Nan) => f64::NAN,
        }
    }
}

fn numbers<From: Copy, To: std::convert::From<From>>(numbers: &[From]) -> Vec<To> {
    numbers.iter().map(|number| To::from(*number)).collect()
}

impl AskLine {
    pub(super) fn new(campaign: &str, by: &str, row: &SplitRow) -> Self {
        let split = &row.split;
        Self {
            campaign: campaign.to_owned(),
            first: row.rounds.start,
            count: row.rounds.end - row.rounds.start,
            at: row.at,
            expires_at: row.expires_at,
            by: by.to_owned(),
            amendments: row.amendments,
            stats_version: row.stats_version,
            budget: split.budget.into(),
            available: split.available.clone(),
            scale: split.scale.as_deref().map(numbers),
            volume: split.volume.as_deref().map(numbers),
            spend: numbers(&split.spend),
            success: numbers(&split.success),
            index: numbers(&split.index),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// None if the round numbers overflow, or there is not one scale and one volume for each task.
    fn command(self) -> Option<Command> {
        let rounds = self.rounds()?;
        let is_complete = |list: &Vec<Number>| list.len() == self.spend.len();
        if ![&self.scale, &self.volume].into_iter().flatten().all(is_complete) {
            return None;
        }
        let split = Split {
            budget: self.budget.into(),
            available: self.available,
            scale: self.scale.as_deref().map(numbers),
            volume: self.volume.as_deref().map(numbers),
            spend: numbers(&self.spend),
            success: numbers(&self.success),
            index: numbers(&self.index),
        };
        Some(Command::Ask(Ask {
            campaign: self.campaign,
            rounds,
            split: Arc::new(split),
            amendments: self.amendments,
            stats_version: self.stats_version,
            at: self.at,
            expires_at: self.expires_at,
            token: self.by,
            key: None,
            horizon: None,
        }))
    }

    /// None if the round numbers overflow.
    fn rounds(&self) -> Option<Range<u64>> {
        Some(self.first..self.first.checked_add(self.count)?)
    }
}

impl From<&TokenRow> for TokenLine {
    fn from(row: &TokenRow) -> Self {
        let row = row.clone();
        Self {
            id: row.id,
            sha256: row.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            scopes: row.scopes,
            campaign: row.campaign,
            name: row.name,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            last_used_at: row.last_used_at,
        }
    }
}

impl TokenLine {
    fn row(self) -> Option<TokenRow> {
        let digits = self.sha256.as_bytes().as_chunks::<2>();
        let byte =
            |digits: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let bytes: Vec<u8> = digits.0.iter().map(byte).collect::<Option<_>>()?;
        let hash = if digits.1.is_empty() { bytes.try_into().ok()? } else { return None };
        Some(TokenRow {
            id: self.id,
            hash,
            scopes: self.scopes,
            campaign: self.campaign,
            name: self.name,
            created_at: self.created_at,
            expires_at: self.expires_at,
            revoked_at: self.revoked_at,
            last_used_at: self.last_used_at,
        })
    }
}

impl Line {
    /// The campaign and the highest task index in a report or a correction.
    pub(super) fn highest_task(&self) -> Option<(&str, u32)> {
        match self {
            Self::Tell { campaign, items, .. } => {
                Some((campaign, items.iter().map(ItemLine::task).max()?))
            }
            Self::Correction(line) => Some((&line.campaign, line.task)),
            _ => None,
        }
    }

    /// The command that imports the line; none if the line is invalid. `version` is that of the
    /// campaign so far.
    pub(super) fn command(self, version: u64) -> Option<Command> {
        Some(match self {
            Self::Export { .. } | Self::End(_) => return None,
            Self::Token(token) => Command::AddToken(token.row()?),
            Self::Checkpoint(checkpoint) => checkpoint.command(),
            Self::Campaign { id, tasks, at, by, spec } => {
                Command::Create(NewCampaign { id, spec, tasks, at, token: by })
            }
            Self::Status { campaign, at, by, status } => Command::SetStatus(StatusChange {
                campaign,
                to: status,
                only_if: version,
                may_reopen: true,
                at,
                token: by,
            }),
            Self::Amendment { campaign, at, by, tasks, problem, changes } => {
                Command::Amend(ProblemChange {
                    campaign,
                    problem,
                    tasks,
                    changes,
                    only_if: version,
                    may_be_closed: true,
                    at,
                    token: by,
                })
            }
            Self::Ask(ask) => ask.command()?,
            Self::Tell { campaign, round, at, by, late, items } => {
                let items = items.into_iter().map(ItemLine::item).collect();
                Command::Tell(Tell { campaign, round, items, is_late: late, at, token: by })
            }
            Self::Correction(line) => line.command(),
        })
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn every_float_comes_back() {
        let floats = [
            -0.0,
            f64::MIN_POSITIVE / 4.0,
            0.1 + 0.2,
            1e308,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            5.0,
        ];
        let split = Split {
            budget: 1.0 / 3.0,
            available: Some(vec![true, false]),
            spend: floats.into(),
            success: vec![],
            index: vec![7.0],
            scale: Some(floats.into()),
            volume: None,
        };
        let row = SplitRow {
            rounds: 3..9,
            split: Arc::new(split.clone()),
            amendments: 3,
            stats_version: u64::MAX,
            at: -1,
            expires_at: i64::MAX,
        };
        let text = serde_json::to_string(&Line::Ask(AskLine::new("c", "t", &row))).unwrap();
        let Some(Command::Ask(ask)) = serde_json::from_str::<Line>(&text).unwrap().command(1)
        else {
            panic!("{text}")
        };
        let bits =
            |split: &Split| split.spend.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&ask.split), bits(&split));
        assert_eq!(format!("{:?}", ask.split.scale), format!("{:?}", split.scale));
        assert_eq!(
            (ask.split.budget.to_bits(), &ask.split.available, &ask.split.index),
            (split.budget.to_bits(), &split.available, &split.index)
        );
        assert_eq!(
            (ask.rounds, ask.amendments, ask.stats_version, ask.at, ask.expires_at),
            (3..9, 3, u64::MAX, -1, i64::MAX)
        );
    }
}
