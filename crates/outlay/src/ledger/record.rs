//! A ledger as a versioned JSON document: the problem, the settings, the rounds and the reports.
//! One line per round, so that two documents can be compared by eye.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::amend::PastProblem;
use super::issue::{available, by_task, check_key};
use super::{Entry, Ledger, LedgerError, RecordError, Report, Round, Settings};
use crate::campaign::{CampaignError, Guards};
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
    #[serde(default)]
    amendments: Vec<AmendmentRecord<serde_json::Value>>,
    /// The warm start of the next search, which earlier versions used and wrote.
    #[serde(default, rename = "search")]
    _search: serde::de::IgnoredAny,
}

/// A later version of the problem.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AmendmentRecord<P> {
    /// The number of rounds before it.
    after: u64,
    /// The number of tells before it.
    tells: usize,
    problem: P,
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
        let (first, amendments) = self.amendment_records();
        let mut fields = vec![
            ("version", VERSION.to_string()),
            ("problem", json(first)),
            ("learner", json(&learner.to_string())),
            ("horizon", json(horizon)),
            ("seed", seed.to_string()),
            ("guards", json(guards)),
            ("ignore_seen", json(ignore_seen)),
            (
                "rounds",
                lines((1..=self.rounds()).map(|round| json(&self.round_record(round))).collect()),
            ),
            (
                "tells",
                lines(
                    self.reports.iter().map(|report| json(&self.report_record(report))).collect(),
                ),
            ),
        ];
        if !amendments.is_empty() {
            fields.push(("amendments", lines(amendments.iter().map(json).collect())));
        }
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

    /// The first version of the problem and the later ones.
    fn amendment_records(&self) -> (&Problem, Vec<AmendmentRecord<&Problem>>) {
        let mut problems = self.versions().map(|(problem, ..)| problem);
        let first = problems.next().unwrap_or(&self.problem);
        let mut records = Vec::with_capacity(self.past.len());
        for (past, problem) in self.past.iter().zip(problems) {
            records.push(AmendmentRecord { after: past.rounds, tells: past.reports, problem });
        }
        (first, records)
    }

    fn round_record(&self, number: u64) -> RoundRecord {
        let (problem, round) = (self.problem_of(number), &self.rounds[number as usize - 1]);
        let tasks = problem.tasks();
        let is_left_out = |task: &usize| !round.has(*task) && !tasks[*task].is_retired();
        let without = (0..tasks.len())
            .filter(is_left_out)
            .map(|task| tasks[task].name().to_owned())
            .collect();
        let named = |numbers: &Option<Vec<f64>>| {
            let names = tasks.iter().map(|task| task.name().to_owned());
            names.zip(numbers.iter().flatten().copied()).collect::<BTreeMap<String, f64>>()
        };
        let mut scale = named(&round.scale);
        scale.retain(|_, scale| *scale != 1.0);
        RoundRecord {
            budget: round.budget,
            without,
            scale,
            volume: named(&round.volume),
            spend: round.spend[..tasks.len()].to_vec(),
            success: round.success[..tasks.len()].to_vec(),
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
        let (past, problem) = self.versions()?;
        let learner = self.learner.parse().map_err(CampaignError::from)?;
        let settings = Settings {
            learner,
            horizon: self.horizon,
            seed: self.seed,
            guards: self.guards,
            ignore_seen: self.ignore_seen,
        };
        let ledger = Ledger::new(&problem, settings)?.with_past(past);
        let rounds = self
            .rounds
            .iter()
            .enumerate()
            .map(|(place, round)| round.read(&ledger, place as u64 + 1))
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

    /// The earlier versions of the problem and the present one.
    fn versions(&self) -> Result<(Vec<PastProblem>, Problem), LedgerError> {
        let mut problem = read_problem(&self.problem)?;
        let mut past: Vec<PastProblem> = Vec::new();
        for (place, record) in self.amendments.iter().enumerate() {
            let AmendmentRecord { after: rounds, tells: reports, .. } = *record;
            let is_later =
                past.last().is_none_or(|last| last.rounds <= rounds && last.reports <= reports);
            if !(is_later && rounds <= self.rounds.len() as u64 && self.has_tells(rounds, reports))
            {
                return Err(RecordError::AmendmentOrder(place + 1).into());
            }
            let (amended, _) = problem.amended(&read_problem(&record.problem)?)?;
            let before = std::mem::replace(&mut problem, amended);
            past.push(PastProblem { problem: before, rounds, reports });
        }
        Ok((past, problem))
    }

    /// Whether this number of tells may have been before an amendment after these rounds.
    fn has_tells(&self, rounds: u64, tells: usize) -> bool {
        tells <= self.tells.len()
            && self.tells[..tells].iter().all(|tell| tell.after <= rounds)
            && self.tells[tells..].iter().all(|tell| tell.after >= rounds)
    }
}

fn read_problem(value: &serde_json::Value) -> Result<Problem, RecordError> {
    Problem::from_value(value, &NoFiles).map_err(RecordError::Problem)
}

impl RoundRecord {
    fn read<'a>(&'a self, ledger: &Ledger, number: u64) -> Result<Round, LedgerError> {
        let problem = ledger.problem_of(number);
        let round = number as usize;
        let without: Vec<&str> = self.without.iter().map(String::as_str).collect();
        let is_amount = |amount: &f64| *amount >= 0.0 && amount.is_finite();
        let is_chance = |chance: &f64| (0.0..=1.0).contains(chance);
        let tasks = problem.tasks().len();
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
        let volumes = || problem.tasks().iter().map(Task::volume).collect();
        let scale = by_task(problem, "scale", &named(&self.scale), || vec![1.0; tasks])?;
        let volume = by_task(problem, "volume", &named(&self.volume), volumes)?;
        problem.check_round(scale.as_deref(), volume.as_deref()).map_err(CampaignError::from)?;
        let mut round = Round {
            budget: self.budget,
            available: available(problem, &without)?,
            scale,
            volume,
            spend: self.spend.clone(),
            success: self.success.clone(),
            outcomes: vec![None; tasks],
            key: self.key.clone(),
            is_cancelled: self.cancelled,
        };
        round.resize(ledger.problem.tasks().len());
        Ok(round)
    }
}

fn ignores() -> bool {
    true
}

/// Serialises a value that always has a JSON form.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
