//! An issued round as `outlay next` and `outlay show` print it.

use outlay::Task;
use outlay::campaign::GuardReport;
use outlay::ledger::{IssuedRound, Ledger};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::table::{Align, Table, hidden_line, most_important};
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::{Precision, counted, figure, percent, plain};

#[derive(Serialize)]
struct Record<'a> {
    round: u64,
    budget: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cancelled: bool,
    tasks: Vec<TaskRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guards: Option<GuardRecord>,
}

#[derive(Serialize)]
struct TaskRecord<'a> {
    task: &'a str,
    spend: f64,
    /// Of the round, if it has scales or volumes of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume: Option<f64>,
}

/// Costs in rewards per round.
#[derive(Serialize)]
struct GuardRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_change_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_move_cost: Option<f64>,
    kept: usize,
    gave_way: bool,
}

/// A row for `outlay tell`, in which `completed` and `reward` are to be filled in.
#[derive(Serialize)]
struct FormRow<'a> {
    round: u64,
    task: &'a str,
    spend: f64,
    completed: &'static str,
    reward: &'static str,
}

/// The same for tasks that may complete more than once.
#[derive(Serialize)]
struct CountFormRow<'a> {
    round: u64,
    task: &'a str,
    spend: f64,
    completions: &'static str,
    reward: &'static str,
}

/// A round of a ledger.
pub(super) struct RoundView<'a> {
    ledger: &'a Ledger,
    round: &'a IssuedRound,
    /// Spends of the previous round, or the tasks' `current` spends.
    before: Option<Vec<f64>>,
}

impl<'a> RoundView<'a> {
    pub(super) fn new(ledger: &'a Ledger, round: &'a IssuedRound) -> Self {
        let before = ledger.round_before(round.round).and_then(|before| ledger.spend(before));
        let tasks = ledger.problem_of(round.round).tasks();
        let current = || tasks.iter().map(outlay::Task::current).collect();
        Self { ledger, round, before: before.map(<[f64]>::to_vec).or_else(current) }
    }

    pub(super) fn output(&self, format: Format) -> Result<CommandOutput, Failure> {
        let remarks = self.remarks();
        let result = match format {
            Format::Table if remarks.is_empty() => self.table(),
            Format::Table => format!("{}\n{}\n", self.table(), remarks.join("\n")),
            Format::Json => json(&self.record())?,
            Format::Csv if self.ledger.problem().has_counts() => csv(self.count_form())?,
            Format::Csv => csv(self.form())?,
        };
        let remarks = if format == Format::Table { Vec::new() } else { remarks };
        Ok(CommandOutput::new(result).with_remarks(remarks))
    }

    /// The available tasks with their spends.
    fn tasks(&self) -> impl Iterator<Item = TaskRecord<'_>> {
        let tasks =
            self.ledger.problem().tasks().iter().zip(&self.round.allocation.spend).enumerate();
        let record = |(position, (task, spend)): (usize, (&'a Task, &f64))| TaskRecord {
            task: task.name(),
            spend: *spend,
            scale: self.scale(position),
            volume: self.volume(position),
        };
        tasks.filter(|(position, _)| self.round.available[*position]).map(record)
    }

    /// The scale of a task, if the round has any.
    fn scale(&self, task: usize) -> Option<f64> {
        self.round.scale.as_ref().map(|scale| scale[task])
    }

    /// The volume of a task, if the round has its own.
    fn volume(&self, task: usize) -> Option<f64> {
        self.round.volume.as_ref().map(|volume| volume[task])
    }

    fn record(&self) -> Record<'_> {
        let most = self.ledger.problem().reward_max();
        let cost = |cost: Option<f64>| cost.map(|cost| cost * most);
        let guards =
            self.round.guards.map(|GuardReport { max_change, floor, min_move, kept, gave_way }| {
                GuardRecord {
                    max_change_cost: cost(max_change),
                    floor_cost: cost(floor),
                    min_move_cost: cost(min_move),
                    kept,
                    gave_way,
                }
            });
        Record {
            round: self.round.round,
            budget: self.round.budget,
            key: self.ledger.key(self.round.round),
            cancelled: self.ledger.is_cancelled(self.round.round),
            tasks: self.tasks().collect(),
            guards,
        }
    }

    fn form(&self) -> impl Iterator<Item = FormRow<'_>> {
        let round = self.round.round;
        self.tasks().map(move |TaskRecord { task, spend, .. }| FormRow {
            round,
            task,
            spend,
            completed: "",
            reward: "",
        })
    }

    fn count_form(&self) -> impl Iterator<Item = CountFormRow<'_>> {
        self.form().map(|FormRow { round, task, spend, reward, .. }| CountFormRow {
            round,
            task,
            spend,
            completions: "",
            reward,
        })
    }

    fn table(&self) -> String {
        use Align::{Left, Right};
        let spend = &self.round.allocation.spend;
        let before = |task: usize| self.before.as_ref().map(|before| before[task]);
        let amounts = spend.iter().copied().chain(self.before.iter().flatten().copied());
        let precision = Precision::of_amounts(self.round.budget, amounts);
        let mut columns = vec![
            ("task", Left),
            ("before", Right),
            ("spend", Right),
            ("change", Right),
            ("share", Right),
        ];
        columns.extend(self.round.scale.as_ref().map(|_| ("scale", Right)));
        columns.extend(self.round.volume.as_ref().map(|_| ("volume", Right)));
        let mut table = Table::new(&columns);
        // Tasks that were retired or did not exist in the round are not listed.
        let tasks = self.ledger.problem_of(self.round.round).tasks();
        let listed: Vec<usize> =
            (0..tasks.len()).filter(|task| !tasks[*task].is_retired()).collect();
        let (shown, hidden) = most_important(listed.len(), |place| spend[listed[place]]);
        for &task in shown.iter().map(|place| &listed[*place]) {
            let name = tasks[task].name().to_owned();
            if !self.round.available[task] {
                let mut row = vec![String::new(); columns.len()];
                (row[0], row[2]) = (name, "unavailable".to_owned());
                table.row(row);
                continue;
            }
            let mut row = vec![
                name,
                before(task).map(|before| precision.amount(before)).unwrap_or_default(),
                precision.amount(spend[task]),
                before(task)
                    .map(|before| precision.change(spend[task] - before))
                    .unwrap_or_default(),
                percent(if self.round.budget > 0.0 {
                    spend[task] / self.round.budget
                } else {
                    0.0
                }),
            ];
            row.extend(self.scale(task).map(plain));
            row.extend(self.volume(task).map(plain));
            table.row(row);
        }
        let total: f64 = spend.iter().sum();
        let unspent = (self.round.budget - total).max(0.0);
        let left = if unspent > 1e-9 * self.round.budget {
            format!(" · {} unspent", precision.amount(unspent))
        } else {
            String::new()
        };
        let key = self.ledger.key(self.round.round).map(|key| format!(" · key {key}"));
        let cancelled =
            if self.ledger.is_cancelled(self.round.round) { " · cancelled" } else { "" };
        format!(
            "round {} · budget {}{left}{}{cancelled}\n\n{}{}",
            self.round.round,
            plain(self.round.budget),
            key.unwrap_or_default(),
            table.render(),
            hidden_line(hidden, "with smaller spends")
        )
    }

    /// Remarks on the cost of the guards and on unchanged spends.
    fn remarks(&self) -> Vec<String> {
        let Some(report) = self.round.guards else { return Vec::new() };
        let most = self.ledger.problem().reward_max();
        let costs = [
            ("max_change", report.max_change),
            ("floor", report.floor),
            ("min_move", report.min_move),
        ];
        let costs =
            costs.into_iter().filter_map(|(name, cost)| cost.map(|cost| (name, cost * most)));
        let remark = |(name, cost): (&str, f64)| match cost > 1e-12 * most {
            true => {
                format!("{name} costs {} per round, by the learner's current weights", figure(cost))
            }
            false => format!("{name} costs nothing in this round"),
        };
        let mut remarks: Vec<String> = costs.map(remark).collect();
        if report.kept > 0 {
            remarks.push(format!(
                "{} kept the previous spend: the change would have been too small",
                counted(report.kept, "task")
            ));
        }
        if self.before.as_ref().is_some_and(|before| *before == self.round.allocation.spend) {
            remarks.push("no spend changes in this round".to_owned());
        }
        if report.gave_way {
            remarks.push(
                "the budget cannot satisfy the guards: they were relaxed as far as necessary"
                    .to_owned(),
            );
        }
        remarks
    }
}
