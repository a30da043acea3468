//! Indices of the fluid model: the mean is known, completions are a real number.

use super::{LearnerSpec, kl, log_term};

/// The index of a task with this mean after this many completions; `None` if the learner's rule has
/// no such form.
pub(crate) fn fluid_index(
    learner: &LearnerSpec,
    mean: f64,
    completions: f64,
    round: f64,
    tasks: usize,
    horizon: f64,
) -> Option<f64> {
    let log_term = || log_term(tasks, horizon.min(u64::MAX as f64) as u64);
    let upper = |level: f64| {
        if completions > 0.0 { kl::upper(mean, level.max(0.0) / completions) } else { 1.0 }
    };
    match learner {
        // The mean enters with the first completion.
        LearnerSpec::Algorithm1 => {
            Some(mean * completions.min(1.0) + (log_term() / (1.0 + completions)).sqrt())
        }
        LearnerSpec::Full => Some(mean + (log_term() / round.max(1.0)).sqrt()),
        LearnerSpec::Hoeffding if completions > 0.0 => {
            Some((mean + (0.5 * log_term() / completions).sqrt()).min(1.0))
        }
        LearnerSpec::Hoeffding => Some(1.0),
        LearnerSpec::KlUcbPlus { c } => Some(upper(c * (round / completions).ln())),
        LearnerSpec::KlUcb => Some(upper(round.ln())),
        LearnerSpec::KlUcbMixture if completions > 0.0 => Some(upper(
            super::kl_ucb_mixture::level(tasks, horizon, completions, mean * completions),
        )),
        LearnerSpec::KlUcbMixture => Some(1.0),
        LearnerSpec::Cucb if completions > 0.0 => {
            Some(mean + (1.5 * round.ln() / completions).sqrt())
        }
        LearnerSpec::Cucb => Some(1.0 + (1.5 * round.ln()).sqrt()),
        _ => None,
    }
}
