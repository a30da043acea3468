//! `outlay simulate --list`: learners, distributions and instances.

use outlay::instance::INSTANCES;
use outlay::learner::LEARNERS;
use outlay::problem::{BUDGET_LAWS, COMPLETION_LAWS, DELAY_LAWS, REWARD_LAWS};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{CommandOutput, Format, json};

#[derive(Serialize)]
struct Listing {
    learners: Vec<LearnerRow>,
    reward_laws: Vec<LawRow>,
    budget_laws: Vec<LawRow>,
    delay_laws: Vec<LawRow>,
    completion_laws: Vec<LawRow>,
    instances: Vec<InstanceRow>,
}

#[derive(Serialize)]
struct LearnerRow {
    learner: &'static str,
    parameters: &'static str,
    feedback: &'static str,
    needs_horizon: bool,
    guarantee: &'static str,
}

#[derive(Serialize)]
struct LawRow {
    law: &'static str,
    parameters: &'static [&'static str],
}

#[derive(Serialize)]
struct InstanceRow {
    instance: &'static str,
    parameters: &'static str,
    about: &'static str,
}

pub(crate) fn list(format: Format) -> Result<CommandOutput, Failure> {
    let listing = Listing::new();
    match format {
        Format::Table => Ok(CommandOutput::new(listing.text())),
        Format::Json => Ok(CommandOutput::new(json(&listing)?)),
        Format::Csv => Err(Failure(
            "--list prints several tables, which CSV cannot represent: use --format json"
                .to_owned(),
        )),
    }
}

impl Listing {
    fn new() -> Self {
        let learners = LEARNERS.iter().map(|entry| LearnerRow {
            learner: entry.name,
            parameters: entry.parameters,
            feedback: entry.feedback.as_str(),
            needs_horizon: entry.needs_horizon,
            guarantee: entry.guarantee,
        });
        let instances = INSTANCES.iter().map(|entry| InstanceRow {
            instance: entry.name,
            parameters: entry.parameters,
            about: entry.about,
        });
        Self {
            learners: learners.collect(),
            reward_laws: laws(&REWARD_LAWS),
            budget_laws: laws(&BUDGET_LAWS),
            delay_laws: laws(&DELAY_LAWS),
            completion_laws: laws(&COMPLETION_LAWS),
            instances: instances.collect(),
        }
    }

    fn text(&self) -> String {
        use Align::Left;
        let mut learners = Table::new(&[
            ("learner", Left),
            ("parameters", Left),
            ("feedback", Left),
            ("horizon", Left),
            ("guarantee", Left),
        ]);
        for row in &self.learners {
            let horizon = if row.needs_horizon { "needed" } else { "" };
            learners.row(
                [row.learner, row.parameters, row.feedback, horizon, row.guarantee]
                    .map(str::to_owned)
                    .to_vec(),
            );
        }
        let mut laws = Table::new(&[("law", Left), ("of", Left), ("parameters", Left)]);
        for (what, rows) in [
            ("rewards", &self.reward_laws),
            ("budgets", &self.budget_laws),
            ("delays", &self.delay_laws),
            ("completions", &self.completion_laws),
        ] {
            for row in rows {
                laws.row(vec![row.law.to_owned(), what.to_owned(), row.parameters.join(", ")]);
            }
        }
        let mut instances =
            Table::new(&[("instance", Left), ("parameters", Left), ("description", Left)]);
        for row in &self.instances {
            instances.row([row.instance, row.parameters, row.about].map(str::to_owned).to_vec());
        }
        [learners, laws, instances].iter().map(Table::render).collect::<Vec<_>>().join("\n")
    }
}

fn laws(laws: &[(&'static str, &'static [&'static str])]) -> Vec<LawRow> {
    laws.iter().map(|&(law, parameters)| LawRow { law, parameters }).collect()
}
