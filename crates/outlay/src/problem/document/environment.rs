//! What changes from round to round, as written.

use super::Reader;
use super::fields::{Fields, Written};
use super::node::Node;
use super::samples::read_list;
use crate::problem::environment::{BudgetLaw, DelayLaw, EnvironmentSpec};

const ENVIRONMENT_KEYS: [&str; 3] = ["budget", "delay", "available"];
/// The laws of varying budgets that a file can name, each with its parameters.
pub const BUDGET_LAWS: [(&str, &[&str]); 3] = [
    ("list", &["amounts", "file", "column", "where"]),
    ("uniform", &["low", "high"]),
    ("sine", &["mean", "amplitude", "period"]),
];
/// The laws of delays that a file can name, each with its parameters.
pub const DELAY_LAWS: [(&str, &[&str]); 3] =
    [("constant", &["rounds"]), ("geometric", &["mean"]), ("uniform", &["low", "high"])];

/// The table `environment` of a problem.
pub(super) fn read_environment(problem: &Fields<'_>, reader: &mut Reader<'_>) -> EnvironmentSpec {
    let mut spec = EnvironmentSpec::default();
    let place = problem.at("environment");
    let Some(Written::Node(node)) = problem.get("environment") else { return spec };
    let Some(fields) = Fields::of_node(place, node, &mut reader.faults) else { return spec };
    fields.refuse_unknown(&ENVIRONMENT_KEYS, &mut reader.faults);
    spec.available = fields.number("available", &mut reader.faults);
    let (budget_place, delay_place) = (fields.at("budget"), fields.at("delay"));
    match fields.get("budget") {
        // A plain list needs no law.
        Some(Written::Node(Node::List(_))) => {
            spec.budget = fields
                .numbers("budget", &mut reader.faults)
                .map(|amounts| BudgetLaw::List { amounts });
        }
        Some(Written::Node(node)) => {
            let budget = Fields::of_node(budget_place, node, &mut reader.faults);
            spec.budget = budget.and_then(|budget| read_budget(&budget, reader));
        }
        _ => {}
    }
    if let Some(Written::Node(node)) = fields.get("delay") {
        let delay = Fields::of_node(delay_place, node, &mut reader.faults);
        spec.delay = delay.and_then(|delay| read_delay(&delay, reader));
    }
    spec
}

/// The law that a table names, after a fault for every key that does not go with it.
fn law(
    fields: &Fields<'_>,
    owner: &str,
    laws: &'static [(&'static str, &'static [&'static str])],
    reader: &mut Reader<'_>,
) -> Option<&'static str> {
    let (law, keys) = fields.word("law", owner, laws, &mut reader.faults)?;
    let known: Vec<&str> = std::iter::once("law").chain(keys.iter().copied()).collect();
    fields.refuse_unknown(&known, &mut reader.faults);
    Some(law)
}

fn read_budget(fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<BudgetLaw> {
    let law = law(fields, "a budget that varies", &BUDGET_LAWS, reader)?;
    if law == "list" {
        return Some(BudgetLaw::List {
            amounts: read_list(fields, "amounts", "a list of budgets", reader)?,
        });
    }
    let mut required = |key| {
        fields.require(key, format_args!("a {law} budget"), &mut reader.faults);
        fields.number(key, &mut reader.faults)
    };
    if law == "uniform" {
        let (low, high) = (required("low"), required("high"));
        return Some(BudgetLaw::Uniform { low: low?, high: high? });
    }
    let (mean, amplitude, period) = (required("mean"), required("amplitude"), required("period"));
    Some(BudgetLaw::Sine { mean: mean?, amplitude: amplitude?, period: period? })
}

fn read_delay(fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<DelayLaw> {
    let law = law(fields, "a delay", &DELAY_LAWS, reader)?;
    let mut require = |key| fields.require(key, format_args!("a {law} delay"), &mut reader.faults);
    match law {
        "constant" => {
            require("rounds");
            Some(DelayLaw::Constant { rounds: fields.count("rounds", &mut reader.faults)? })
        }
        "geometric" => {
            require("mean");
            Some(DelayLaw::Geometric { mean: fields.number("mean", &mut reader.faults)? })
        }
        _ => {
            require("low");
            require("high");
            let (low, high) =
                (fields.count("low", &mut reader.faults), fields.count("high", &mut reader.faults));
            Some(DelayLaw::Uniform { low: low?, high: high? })
        }
    }
}
