//! The log: a CSV file into what was seen of each task, or everything that is wrong with it, with
//! its lines.

use std::collections::HashMap;
use std::path::Path;

use outlay::fit::{Observations, Requirements, Rewards};

use crate::arguments::FitArguments;
use crate::failure::Failure;
use crate::input;
use crate::rows::{Row, Rows};

/// What was seen of one task.
#[derive(Debug)]
pub(super) struct TaskLog {
    pub(super) name: String,
    pub(super) data: Data,
    pub(super) rewards: Rewards,
}

#[derive(Debug)]
pub(super) enum Data {
    Outcomes(Observations),
    Requirements(Requirements),
}

impl Data {
    /// How many trials.
    pub(super) fn trials(&self) -> f64 {
        match self {
            Self::Outcomes(log) => log.trials(),
            Self::Requirements(needs) => needs.count(),
        }
    }

    /// How many of them succeeded, or tell what would have.
    pub(super) fn successes(&self) -> f64 {
        match self {
            Self::Outcomes(log) => log.successes(),
            Self::Requirements(needs) => needs.exact(),
        }
    }

    /// The largest amount.
    pub(super) fn largest(&self) -> Option<f64> {
        match self {
            Self::Outcomes(log) => log.range().map(|(_, largest)| largest),
            Self::Requirements(needs) => needs.largest(),
        }
    }

    /// Between which spends the log tells what happens. What something needed tells of every
    /// smaller spend as well, and if nothing is censored at the end, of every larger one.
    pub(super) fn told(&self) -> Option<(f64, f64)> {
        match self {
            Self::Outcomes(log) => log.range(),
            Self::Requirements(needs) => needs
                .largest()
                .map(|largest| (0.0, if needs.ends_censored() { largest } else { f64::INFINITY })),
        }
    }
}

/// Where the columns are.
struct Columns {
    tasks: Vec<usize>,
    /// Of the spend, or of what was needed.
    amount: usize,
    success: Option<usize>,
    trials: Option<usize>,
    reward: Option<usize>,
}

/// Rows of one task while the file is read.
#[derive(Default)]
struct Collected {
    outcomes: Vec<(f64, f64, f64)>,
    needs: Vec<(f64, bool)>,
    rewards: Rewards,
}

/// What a row says.
struct Seen {
    amount: f64,
    trials: f64,
    successes: f64,
    reward: Option<f64>,
}

/// Every task in the order of its first row.
pub(super) fn read(arguments: &FitArguments) -> Result<Vec<TaskLog>, Failure> {
    let place = input::place(&arguments.log);
    let text = input::text(&arguments.log)?;
    let rows = Rows::new(&place, &text)?;
    let columns = Columns::new(arguments, &rows)?;
    let names = Names::new(arguments);
    let mut tasks: Vec<(String, Collected)> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    let single = default_name(&arguments.log);
    let mut name = String::new();
    let errors = rows.each(|row| {
        columns.name(row, &single, &names, &mut name)?;
        let seen = columns.seen(row, &names)?;
        let position = match positions.get(&name) {
            Some(&position) => position,
            None => {
                positions.insert(name.clone(), tasks.len());
                tasks.push((name.clone(), Collected::default()));
                tasks.len() - 1
            }
        };
        let collected = &mut tasks[position].1;
        if names.needs {
            collected.needs.push((seen.amount, seen.successes > 0.0));
        } else {
            collected.outcomes.push((seen.amount, seen.trials, seen.successes));
        }
        if let Some(reward) = seen.reward {
            collected.rewards.add(seen.successes, reward);
        }
        Ok(())
    });
    if !errors.is_empty() {
        return Err(Failure::many(&place, &errors));
    }
    if tasks.is_empty() {
        return Err(Failure(format!("{place} has a header but no rows: there is nothing to fit")));
    }
    let finished = |(name, collected): (String, Collected)| {
        let data = if names.needs {
            Data::Requirements(Requirements::new(collected.needs)?)
        } else {
            Data::Outcomes(Observations::new(collected.outcomes)?)
        };
        Ok(TaskLog { name, data, rewards: collected.rewards })
    };
    tasks.into_iter().map(finished).collect()
}

/// What the columns are called, for messages.
struct Names<'a> {
    tasks: &'a [String],
    amount: &'a str,
    success: &'a str,
    trials: &'a str,
    reward: &'a str,
    /// Whether amounts are what was needed.
    needs: bool,
}

impl<'a> Names<'a> {
    fn new(arguments: &'a FitArguments) -> Self {
        let text = |name: &'a Option<String>| name.as_deref().unwrap_or_default();
        Self {
            tasks: &arguments.tasks,
            amount: text(if arguments.threshold.is_some() {
                &arguments.threshold
            } else {
                &arguments.spend
            }),
            success: text(&arguments.success),
            trials: text(&arguments.trials),
            reward: text(&arguments.reward),
            needs: arguments.threshold.is_some(),
        }
    }
}

impl Columns {
    fn new(arguments: &FitArguments, rows: &Rows<'_>) -> Result<Self, Failure> {
        let names = Names::new(arguments);
        let find = |flag: &str, name: &str| rows.column(name, &format!("{flag} names it"));
        let optional = |flag: &str, name: &Option<String>| {
            name.as_deref().map(|name| find(flag, name)).transpose()
        };
        Ok(Self {
            tasks: arguments
                .tasks
                .iter()
                .map(|name| find("--task", name))
                .collect::<Result<_, _>>()?,
            amount: find(if names.needs { "--threshold" } else { "--spend" }, names.amount)?,
            success: optional("--success", &arguments.success)?,
            trials: optional("--trials", &arguments.trials)?,
            reward: optional("--reward", &arguments.reward)?,
        })
    }

    /// The task of a row: the texts of its columns, joined.
    fn name(
        &self,
        row: &Row<'_>,
        single: &str,
        names: &Names<'_>,
        name: &mut String,
    ) -> Result<(), String> {
        name.clear();
        for (&column, title) in self.tasks.iter().zip(names.tasks) {
            let text = row.text(column);
            if text.is_empty() {
                return Err(format!("{title}: is empty; every row needs its task"));
            }
            if text.contains(char::is_control) {
                return Err(format!("{title}: must be one line without control characters"));
            }
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(text);
        }
        if name.is_empty() {
            name.push_str(single);
        }
        Ok(())
    }

    fn seen(&self, row: &Row<'_>, names: &Names<'_>) -> Result<Seen, String> {
        let amount = row.amount(self.amount, names.amount)?;
        let (trials, successes) = match (self.trials, self.success) {
            (Some(trials), Some(success)) => {
                let (trials, successes) =
                    (whole(row, trials, names.trials)?, whole(row, success, names.success)?);
                if successes > trials {
                    return Err(format!(
                        "{}: {successes} is more than {} = {trials}",
                        names.success, names.trials
                    ));
                }
                (trials, successes)
            }
            (_, Some(success)) => (1.0, f64::from(u8::from(row.flag(success, names.success)?))),
            (_, None) => (1.0, 1.0),
        };
        // Only a success has a reward.
        let reward = self
            .reward
            .filter(|_| successes > 0.0)
            .map(|column| row.amount(column, names.reward))
            .transpose()?;
        Ok(Seen { amount, trials, successes, reward })
    }
}

/// A count; a row may also say that nothing was tried.
fn whole(row: &Row<'_>, column: usize, what: &str) -> Result<f64, String> {
    if row.text(column) == "0" {
        return Ok(0.0);
    }
    row.count(column, what).map(|count| count as f64)
}

/// The file's name without its ending.
fn default_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace(char::is_control, " "));
    stem.filter(|stem| !input::is_stdin(path) && !stem.trim().is_empty())
        .unwrap_or_else(|| "task".to_owned())
}
