//! A ledger as a versioned JSON document: the problem, the settings, the rounds and the reports.
//! One line per round, so that two documents can be compared by eye.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::issue::check_key;
use super::{Entry, Ledger, LedgerError, RecordError, Report, Round, Settings};
use crate::campaign::Guards;
use crate::problem::{NoFiles, Problem, Task};

/// The version that this library writes.
const VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "version")]
    _version: u64,
    problem: serde_json::Value,
    learner: String,
    horizon: Option<u64>,
    seed: u64,
    guards: Guards,
    /// Absent in documents of earlier versions, whose learners did not start from a log.
    #[serde(default = "ignores")]
    ignore_seen: bool,
    rounds: Vec<RoundRecord>,
    tells: Vec<ReportRecord>,
    /// The warm start of the next search, which earlier versions used and wrote.
    #[serde(default, rename = "search")]
    _search: serde::de::IgnoredAny,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundRecord {
    budget: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    without: Vec<String>,
    /// The scales other than 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    scale: BTreeMap<String, f64>,
    /// The volumes of all tasks, if one of them was given for the round.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    volume: BTreeMap<String, f64>,
    spend: Vec<f64>,
    success: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cancelled: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportRecord {
    after: u64,
    outcomes: Vec<OutcomeRecord>,
    /// Outcomes may replace earlier ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    revises: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutcomeRecord {
    round: u64,
    task: String,
    /// Present if the task completed at most once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed: Option<bool>,
    /// Present otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completions: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reward: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spend: Option<f64>,
}

impl Ledger {
    /// The ledger as a JSON document. A ledger that [`Ledger::from_json`] reads from it continues
    /// bit for bit as this one would.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Settings { learner, horizon, seed, guards, ignore_seen } = &self.settings;
        let lines = |lines: Vec<String>| {
            if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n]", lines.join(",\n")) }
        };
        let fields = [
            ("version", VERSION.to_string()),
            ("problem", json(&self.problem)),
            ("learner", json(&learner.to_string())),
            ("horizon", json(horizon)),
            ("seed", seed.to_string()),
            ("guards", json(guards)),
            ("ignore_seen", json(ignore_seen)),
            (
                "rounds",
                lines(self.rounds.iter().map(|round| json(&self.round_record(round))).collect()),
            ),
            (
                "tells",
                lines(
                    self.reports.iter().map(|report| json(&self.report_record(report))).collect(),
                ),
            ),
        ];
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }

    /// Reads a document that [`Ledger::to_json`] wrote.
    ///
    /// # Errors
    /// If it is not the record of a ledger, a newer version wrote it, or it is inconsistent.
    pub fn from_json(text: &str) -> Result<Self, LedgerError> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| RecordError::Json(error.into()))?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(VERSION) => {}
            Some(found) => return Err(RecordError::Version { found, known: VERSION }.into()),
            None => return Err(RecordError::NoVersion.into()),
        }
        let document =
            Document::deserialize(value).map_err(|error| RecordError::Document(error.into()))?;
        document.ledger()
    }

    fn round_record(&self, round: &Round) -> RoundRecord {
        let names = || self.problem.tasks().iter().map(|task| task.name().to_owned());
        let without = names()
            .enumerate()
            .filter(|(task, _)| !round.has(*task))
            .map(|(_, name)| name)
            .collect();
        let named = |numbers: &Option<Vec<f64>>| {
            names().zip(numbers.iter().flatten().copied()).collect::<BTreeMap<String, f64>>()
        };
        let mut scale = named(&round.scale);
        scale.retain(|_, scale| *scale != 1.0);
        RoundRecord {
            budget: round.budget,
            without,
            scale,
            volume: named(&round.volume),
            spend: round.spend.clone(),
            success: round.success.clone(),
            key: round.key.clone(),
            cancelled: round.is_cancelled,
        }
    }

    fn report_record(&self, report: &Report) -> ReportRecord {
        let outcome = |entry: &Entry| OutcomeRecord {
            round: entry.round,
            task: self.problem.tasks()[entry.task].name().to_owned(),
            completed: (entry.completions <= 1).then_some(entry.completions == 1),
            completions: Some(entry.completions).filter(|completions| *completions > 1),
            reward: entry.reward,
            spend: entry.spend,
        };
        ReportRecord {
            after: report.after,
            outcomes: report.entries.iter().map(outcome).collect(),
            revises: report.is_revision,
        }
    }
}

impl Document {
    fn ledger(self) -> Result<Ledger, LedgerError> {
        let problem = Problem::from_json(&self.problem.to_string(), &NoFiles)
            .map_err(RecordError::Problem)?;
        let learner = self.learner.parse().map_err(crate::campaign::CampaignError::from)?;
        let settings = Settings {
            learner,
            horizon: self.horizon,
            seed: self.seed,
            guards: self.guards,
            ignore_seen: self.ignore_seen,
        };
        let ledger = Ledger::new(&problem, settings)?;
        let rounds = self
            .rounds
            .iter()
            .enumerate()
            .map(|(place, round)| round.read(&ledger, place + 1))
            .collect::<Result<Vec<_>, _>>()?;
        let positions: std::collections::HashMap<&str, usize> = problem
            .tasks()
            .iter()
            .enumerate()
            .map(|(position, task)| (task.name(), position))
            .collect();
        let entry = |outcome: &OutcomeRecord| {
            let OutcomeRecord { round, completed, completions, reward, spend, .. } = *outcome;
            let completions = match (completed, completions) {
                (Some(completed), None) => u64::from(completed),
                (None, Some(completions)) => completions,
                _ => return Err(RecordError::Completions(round).into()),
            };
            let task = positions.get(outcome.task.as_str()).copied();
            let task = task.ok_or_else(|| RecordError::UnknownTask(outcome.task.clone()))?;
            Ok(Entry { round, task, completions, reward, spend })
        };
        let report = |report: &ReportRecord| -> Result<Report, LedgerError> {
            Ok(Report {
                after: report.after,
                entries: report.outcomes.iter().map(entry).collect::<Result<_, LedgerError>>()?,
                is_revision: report.revises,
            })
        };
        let reports = self.tells.iter().map(report).collect::<Result<Vec<_>, _>>()?;
        ledger.replay(&rounds, &reports)
    }
}

impl RoundRecord {
    fn read<'a>(&'a self, ledger: &Ledger, round: usize) -> Result<Round, LedgerError> {
        let without: Vec<&str> = self.without.iter().map(String::as_str).collect();
        let is_amount = |amount: &f64| *amount >= 0.0 && amount.is_finite();
        let is_chance = |chance: &f64| (0.0..=1.0).contains(chance);
        let tasks = ledger.problem.tasks().len();
        if self.spend.len() != tasks || self.success.len() != tasks {
            return Err(RecordError::RoundLength(round).into());
        }
        if !(is_amount(&self.budget)
            && self.spend.iter().all(is_amount)
            && self.success.iter().all(is_chance))
        {
            return Err(RecordError::RoundRange(round).into());
        }
        self.key.as_deref().map_or(Ok(()), check_key)?;
        let named = |numbers: &'a BTreeMap<String, f64>| -> Vec<(&'a str, f64)> {
            numbers.iter().map(|(name, number)| (name.as_str(), *number)).collect()
        };
        let (scale, volume) = (named(&self.scale), named(&self.volume));
        let volumes = || ledger.problem.tasks().iter().map(Task::volume).collect();
        Ok(Round {
            budget: self.budget,
            available: ledger.available(&without)?,
            scale: ledger.by_task("scale", &scale, || vec![1.0; tasks])?,
            volume: ledger.by_task("volume", &volume, volumes)?,
            spend: self.spend.clone(),
            success: self.success.clone(),
            outcomes: vec![None; tasks],
            key: self.key.clone(),
            is_cancelled: self.cancelled,
        })
    }
}

fn ignores() -> bool {
    true
}

/// Serialises a value that always has a JSON form.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
