//! Parts of a fit as text.

use outlay::fit::{Fitted, Parameter};

use super::TaskFit;
use crate::number::{figure, percent, plain};

/// The warnings of a fit, separated by semicolons.
pub fn warnings(fitted: &Fitted) -> String {
    fitted.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The parameters of a fit: `half_at 120.3 (101.2 – 140.9), steepness 2.1 (1.8 – 2.5)`.
pub fn parameters(fitted: &Fitted) -> String {
    let written = fitted.parameters.iter().map(|parameter| {
        format!("{} {} ({})", parameter.name, figure(parameter.value), interval(parameter))
    });
    written.collect::<Vec<_>>().join(", ")
}

/// A confidence interval: `101.2 – 140.9`, with `?` for an endpoint that the data do not determine.
pub fn interval(parameter: &Parameter) -> String {
    let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), figure);
    format!("{} – {}", end(parameter.low), end(parameter.high))
}

/// A p-value with three decimals.
pub fn p_value(p_value: f64) -> String {
    if p_value < 5e-4 { "<0.001".to_owned() } else { format!("{p_value:.3}") }
}

impl TaskFit {
    /// Range of spends up to the budget for which the log has information, and its share of the
    /// budget.
    pub fn covers(&self, budget: f64) -> String {
        let Some((from, to)) = self.log.data.observed_range() else { return String::new() };
        let to = to.min(budget);
        let share = ((to - from) / budget).clamp(0.0, 1.0);
        format!("{} – {} ({})", short(from.min(budget)), short(to), percent(share))
    }

    /// The mean reward with its standard error; empty without rewards.
    pub fn value(&self) -> String {
        let rewards = &self.log.rewards;
        let Some(mean) = rewards.mean() else { return String::new() };
        rewards.error().map_or_else(
            || figure(mean),
            |error| format!("{} ± {}", figure(mean), two_digits(error)),
        )
    }
}

/// An amount rounded to four digits.
fn short(amount: f64) -> String {
    let rounded: f64 = format!("{amount:.3e}").parse().unwrap_or(amount);
    plain(rounded)
}

/// A standard error rounded to two digits.
fn two_digits(error: f64) -> String {
    let rounded: f64 = format!("{error:.1e}").parse().unwrap_or(error);
    plain(rounded)
}
