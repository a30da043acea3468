//! Names with parameters, written `name:key=value,key=value`: learners and instances.

use std::ops::RangeInclusive;

use crate::text::{did_you_mean, one_line, whole_number_in};

/// Why a name with parameters cannot be read. Texts from the input are on one line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// The name is unknown.
    #[error("unknown name `{name}`: {}", did_you_mean(.name, .known.iter().copied()))]
    UnknownName {
        /// The name.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A part has no `=`.
    #[error("`{0}` must be a parameter and its value, such as key=0.5")]
    NoValue(String),
    /// A parameter is given twice.
    #[error("`{0}` is given twice")]
    Repeated(String),
    /// The name has no parameters.
    #[error("`{0}` takes no parameters")]
    NoParameters(&'static str),
    /// The parameter is unknown.
    #[error("unknown parameter `{key}`: {}", did_you_mean(.key, .known.iter().copied()))]
    UnknownParameter {
        /// The parameter.
        key: String,
        /// The known parameters.
        known: Vec<&'static str>,
    },
    /// A number is out of range, or is not a number.
    #[error("{key} must be a number between {} and {}, not `{found}`", .range.start(), .range.end())]
    Number {
        /// The parameter.
        key: &'static str,
        /// The valid numbers.
        range: RangeInclusive<f64>,
        /// The value given.
        found: String,
    },
    /// A whole number is out of range, or is not a whole number.
    #[error("{key} must be {}, not `{found}`", whole_number_in(.range))]
    WholeNumber {
        /// The parameter.
        key: &'static str,
        /// The valid numbers.
        range: RangeInclusive<u64>,
        /// The value given.
        found: String,
    },
    /// A number of a list is out of range, or is not a number.
    #[error(
        "{key} must be numbers between {} and {} separated by `;`, not `{found}`",
        .range.start(), .range.end()
    )]
    Numbers {
        /// The parameter.
        key: &'static str,
        /// The valid numbers.
        range: RangeInclusive<f64>,
        /// The value given.
        found: String,
    },
    /// A number must be positive.
    #[error("{0} must be above 0")]
    NotPositive(&'static str),
    /// An instance has more plays than tasks.
    #[error("plays must be at most tasks: {plays} > {tasks}")]
    TooManyPlays {
        /// Plays per round.
        plays: usize,
        /// Tasks.
        tasks: usize,
    },
}

/// A name from a list with its parameters.
pub(crate) struct NameWithParameters<'t> {
    pub(crate) name: &'static str,
    parameters: Vec<(&'t str, &'t str)>,
    /// The keys read so far, for messages.
    known: Vec<&'static str>,
}

impl<'t> NameWithParameters<'t> {
    /// Splits the text.
    pub(crate) fn parse(text: &'t str, names: &[&'static str]) -> Result<Self, ParameterError> {
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let Some(&found) = names.iter().find(|known| **known == name) else {
            let known = names.to_vec();
            return Err(ParameterError::UnknownName { name: one_line(name), known });
        };
        let mut parameters = Vec::new();
        for part in rest.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| ParameterError::NoValue(one_line(part)))?;
            let key = key.trim();
            if parameters.iter().any(|(other, _)| *other == key) {
                return Err(ParameterError::Repeated(one_line(key)));
            }
            parameters.push((key, value.trim()));
        }
        Ok(Self { name: found, parameters, known: Vec::new() })
    }

    fn take(&mut self, key: &'static str) -> Option<&'t str> {
        self.known.push(key);
        let position = self.parameters.iter().position(|(known, _)| *known == key)?;
        Some(self.parameters.remove(position).1)
    }

    /// The number at `key`, if given.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, ParameterError> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| ParameterError::Number { key, range, found: one_line(text) })
    }

    /// The positive number at `key`, if given.
    pub(crate) fn positive(
        &mut self,
        key: &'static str,
        most: f64,
    ) -> Result<Option<f64>, ParameterError> {
        match self.number(key, 0.0..=most)? {
            Some(0.0) => Err(ParameterError::NotPositive(key)),
            number => Ok(number),
        }
    }

    /// The integer at `key`, if given.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ParameterError> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number = text.parse::<u64>().ok().filter(|number| range.contains(number));
        let invalid = || ParameterError::WholeNumber { key, range, found: one_line(text) };
        number.map(Some).ok_or_else(invalid)
    }

    /// The numbers at `key`, separated by semicolons, if given.
    pub(crate) fn numbers(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<Vec<f64>>, ParameterError> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number =
            |part: &str| part.trim().parse::<f64>().ok().filter(|number| range.contains(number));
        let numbers = text.split(';').map(number).collect::<Option<Vec<f64>>>();
        let found = || one_line(text);
        numbers.map(Some).ok_or_else(|| ParameterError::Numbers { key, range, found: found() })
    }

    /// Rejects parameters that were not read.
    pub(crate) fn finish(self) -> Result<(), ParameterError> {
        let Some((key, _)) = self.parameters.first() else { return Ok(()) };
        if self.known.is_empty() {
            return Err(ParameterError::NoParameters(self.name));
        }
        Err(ParameterError::UnknownParameter { key: one_line(key), known: self.known })
    }
}
