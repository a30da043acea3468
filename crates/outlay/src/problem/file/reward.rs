//! Reads the distribution of a reward.

use super::Reader;
use super::samples::{SAMPLE_KEYS, read_samples};
use super::table::Fields;
use crate::problem::RewardLaw;

/// The laws of rewards that a file can name, each with its parameters.
pub const REWARD_LAWS: [(&str, &[&str]); 5] = [
    ("bernoulli", &["mean"]),
    ("beta", &["mean", "concentration"]),
    ("constant", &["mean"]),
    ("uniform", &["low", "high"]),
    ("empirical", &SAMPLE_KEYS),
];

/// The keys of all laws.
pub(crate) fn reward_keys() -> impl Iterator<Item = &'static str> {
    std::iter::once("law").chain(REWARD_LAWS.into_iter().flat_map(|(_, keys)| keys.iter().copied()))
}

/// The law that `fields` describe. Its ranges are checked with the rest of the problem.
pub(crate) fn read_reward(fields: &Fields<'_>, reader: &mut Reader<'_>) -> Option<RewardLaw> {
    let (law, keys) = fields.choice("law", "every reward", &REWARD_LAWS, &mut reader.errors)?;
    fields.reject_unknown(&[&["law"], keys], &mut reader.errors);
    let mut required = |key| {
        fields.require(key, format_args!("a {law} reward"), &mut reader.errors);
        fields.number(key, &mut reader.errors)
    };
    match *law {
        "bernoulli" => Some(RewardLaw::Bernoulli { mean: required("mean")? }),
        "constant" => Some(RewardLaw::Constant { mean: required("mean")? }),
        "beta" => {
            let mean = required("mean");
            let concentration = fields.number("concentration", &mut reader.errors);
            Some(RewardLaw::Beta { mean: mean?, concentration })
        }
        "uniform" => {
            let (low, high) = (required("low"), required("high"));
            Some(RewardLaw::Uniform { low: low?, high: high? })
        }
        "empirical" => Some(RewardLaw::Empirical {
            samples: read_samples(fields, "an empirical reward", reader)?,
        }),
        // Not reached: the law was found in the table above.
        _ => None,
    }
}
