//! Grids: one run per value of a parameter.

use outlay::instance::{Instance, InstanceError};

/// Largest whole number up to which all whole numbers are exact in floating point.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A parameter and its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    pub(crate) parameter: String,
    pub(crate) values: Vec<f64>,
}

impl Grid {
    /// The parameter that is not part of the problem.
    pub(crate) const HORIZON: &'static str = "horizon";

    /// Validates the values.
    pub(crate) fn new(parameter: &str, values: Vec<f64>) -> Result<Self, String> {
        if values.is_empty() {
            return Err("needs at least one value".to_owned());
        }
        for (position, value) in values.iter().enumerate() {
            if !value.is_finite() {
                return Err(format!("must be finite, not {value}"));
            }
            if values[..position].contains(value) {
                return Err(format!("{value} is given twice"));
            }
            if parameter == Self::HORIZON
                && !(value.fract() == 0.0 && (1.0..=LARGEST_WHOLE).contains(value))
            {
                return Err(format!("a horizon must be a whole number of at least 1, not {value}"));
            }
        }
        Ok(Self { parameter: parameter.trim().to_owned(), values })
    }

    /// Parses the flag, such as `tasks=2,5,10`.
    pub(crate) fn from_flag(text: &str) -> Result<Self, String> {
        let Some((parameter, values)) =
            text.split_once('=').filter(|(parameter, _)| !parameter.trim().is_empty())
        else {
            return Err(format!("{text} must be a parameter and its values, such as tasks=2,5,10"));
        };
        let number =
            |text: &str| text.trim().parse::<f64>().map_err(|_| format!("{text} is not a number"));
        let values = values.split(',').map(number).collect::<Result<Vec<f64>, String>>()?;
        Self::new(parameter.trim(), values)
    }
}

/// The instance with a changed parameter.
pub(crate) fn with_parameter(
    instance: &Instance,
    parameter: &str,
    value: f64,
) -> Result<Instance, InstanceError> {
    let text = instance.to_string();
    let (name, parameters) = text.split_once(':').unwrap_or((&text, ""));
    let is_other = |part: &&str| {
        !part.trim().is_empty() && part.split('=').next().map(str::trim) != Some(parameter)
    };
    let mut parts = vec![format!("{parameter}={value}")];
    parts.extend(parameters.split(',').filter(is_other).map(|part| part.trim().to_owned()));
    format!("{name}:{}", parts.join(",")).parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_replaced_or_added() {
        let with = |text: &str, parameter: &str, value: f64| {
            with_parameter(&text.parse().unwrap(), parameter, value)
                .map(|instance| instance.to_string())
                .map_err(|error| error.to_string())
        };
        assert_eq!(with("m-set", "tasks", 5.0).unwrap(), "m-set:tasks=5");
        assert_eq!(with("m-set:tasks=10,plays=2", "tasks", 5.0).unwrap(), "m-set:tasks=5,plays=2");
        assert!(with("m-set", "pairs", 5.0).unwrap_err().contains("unknown parameter `pairs`"));
        assert!(with("m-set", "tasks", 2.5).unwrap_err().contains("whole number"));
    }

    #[test]
    fn grids_as_flags() {
        assert_eq!(
            Grid::from_flag("tasks = 2, 5").unwrap(),
            Grid { parameter: "tasks".into(), values: vec![2.0, 5.0] }
        );
        assert_eq!(
            Grid::from_flag("tasks").unwrap_err(),
            "tasks must be a parameter and its values, such as tasks=2,5,10"
        );
        assert_eq!(Grid::from_flag("tasks=2,x").unwrap_err(), "x is not a number");
        assert_eq!(Grid::from_flag("tasks=2,2").unwrap_err(), "2 is given twice");
        assert_eq!(
            Grid::from_flag("horizon=0.5").unwrap_err(),
            "a horizon must be a whole number of at least 1, not 0.5"
        );
    }
}
