//! Reads the environment of a simulation: varying budgets, delays and availability.

use super::Reader;
use super::profile::read_profile;
use super::samples::read_list;
use super::table::{Fields, RawValue};
use super::value::Value;
use crate::problem::environment::{BudgetLaw, CompletionLaw, DelayLaw, EnvironmentSpec};

const ENVIRONMENT_KEYS: [&str; 7] =
    ["budget", "delay", "available", "completions", "scale", "volume", "hide_scale"];
/// The laws of varying budgets that a file can name, each with its parameters.
pub const BUDGET_LAWS: [(&str, &[&str]); 3] = [
    ("list", &["amounts", "file", "column", "where"]),
    ("uniform", &["low", "high"]),
    ("sine", &["mean", "amplitude", "period"]),
];
/// The laws of delays that a file can name, each with its parameters.
pub const DELAY_LAWS: [(&str, &[&str]); 3] =
    [("constant", &["rounds"]), ("geometric", &["mean"]), ("uniform", &["low", "high"])];

/// The laws of the number of completions that a file can name, each with its parameters.
pub const COMPLETION_LAWS: [(&str, &[&str]); 4] =
    [("single", &[]), ("binomial", &[]), ("poisson", &[]), ("negative-binomial", &["dispersion"])];

/// The table `environment` of a problem.
pub(super) fn read_environment(problem: &Fields<'_>, reader: &mut Reader<'_>) -> EnvironmentSpec {
    let mut spec = EnvironmentSpec::default();
    let path = problem.at("environment");
    let Some(RawValue::Value(value)) = problem.get("environment") else { return spec };
    let Some(fields) = Fields::of_value(path, value, &mut reader.errors) else { return spec };
    fields.reject_unknown(&[&ENVIRONMENT_KEYS], &mut reader.errors);
    spec.available = fields.number("available", &mut reader.errors);
    let (budget_path, delay_path) = (fields.at("budget"), fields.at("delay"));
    match fields.get("budget") {
        // A plain list needs no law.
        Some(RawValue::Value(Value::Array(_))) => {
            spec.budget = fields
                .numbers("budget", &mut reader.errors)
                .map(|amounts| BudgetLaw::List { amounts });
        }
        Some(RawValue::Value(value)) => {
            let budget = Fields::of_value(budget_path, value, &mut reader.errors);
            spec.budget = budget.and_then(|budget| read_budget(&budget, reader));
        }
        _ => {}
    }
    spec.completions = read_completions(&fields, reader);
    spec.scale = read_profile(&fields, "scale", reader);
    spec.volume = read_profile(&fields, "volume", reader);
    spec.hide_scale = fields.flag("hide_scale", &mut reader.errors).unwrap_or(false);
    if let Some(RawValue::Value(value)) = fields.get("delay") {
        let delay = Fields::of_value(delay_path, value, &mut reader.errors);
        spec.delay = delay.and_then(|delay| read_delay(&delay, reader));
    }
    spec
}

/// The law that a table names; an error is added for every key that the law does not take.
fn law(
    fields: &Fields<'_>,
    owner: &'static str,
    laws: &'static [(&'static str, &'static [&'static str])],
    reader: &mut Reader<'_>,
) -> Option<&'static str> {
    let (law, keys) = fields.choice("law", owner, laws, &mut reader.errors)?;
    fields.reject_unknown(&[&["law"], keys], &mut reader.errors);
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
        fields.require(key, format_args!("a {law} budget"), &mut reader.errors);
        fields.number(key, &mut reader.errors)
    };
    if law == "uniform" {
        let (low, high) = (required("low"), required("high"));
        return Some(BudgetLaw::Uniform { low: low?, high: high? });
    }
    let (mean, amplitude, period) = (required("mean"), required("amplitude"), required("period"));
    Some(BudgetLaw::Sine { mean: mean?, amplitude: amplitude?, period: period? })
}

/// The law of the number of completions: its name, or a table with its parameters.
fn read_completions(fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<CompletionLaw> {
    let path = fields.at("completions");
    let (law, dispersion) = match fields.get("completions")? {
        RawValue::Value(value @ Value::Table(_)) => {
            let table = Fields::of_value(path, value, &mut reader.errors)?;
            let law = law(&table, "the number of completions", &COMPLETION_LAWS, reader)?;
            if law == "negative-binomial" {
                table.require("dispersion", "a negative-binomial law", &mut reader.errors);
            }
            (law, table.number("dispersion", &mut reader.errors))
        }
        _ => {
            let owner = "the number of completions";
            (fields.choice("completions", owner, &COMPLETION_LAWS, &mut reader.errors)?.0, None)
        }
    };
    match law {
        "single" => Some(CompletionLaw::Single),
        "binomial" => Some(CompletionLaw::Binomial),
        "poisson" => Some(CompletionLaw::Poisson),
        _ => Some(CompletionLaw::NegativeBinomial { dispersion: dispersion? }),
    }
}

fn read_delay(fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<DelayLaw> {
    let law = law(fields, "a delay", &DELAY_LAWS, reader)?;
    let mut require = |key| fields.require(key, format_args!("a {law} delay"), &mut reader.errors);
    match law {
        "constant" => {
            require("rounds");
            Some(DelayLaw::Constant { rounds: fields.count("rounds", &mut reader.errors)? })
        }
        "geometric" => {
            require("mean");
            Some(DelayLaw::Geometric { mean: fields.number("mean", &mut reader.errors)? })
        }
        _ => {
            require("low");
            require("high");
            let (low, high) =
                (fields.count("low", &mut reader.errors), fields.count("high", &mut reader.errors));
            Some(DelayLaw::Uniform { low: low?, high: high? })
        }
    }
}
