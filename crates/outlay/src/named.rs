//! Names with parameters, as flags and files write them: `epsilon-greedy:epsilon=0.1`,
//! `m-set:tasks=10,plays=3`.

use std::ops::RangeInclusive;

use crate::problem::{one_line, suggestion};

/// A name out of a list, and what follows it.
pub(crate) struct Named<'t> {
    pub(crate) name: &'static str,
    parameters: Vec<(&'t str, &'t str)>,
    /// What the name has asked for, to say what it knows.
    known: Vec<&'static str>,
}

impl<'t> Named<'t> {
    /// Splits the text; the error is what is wrong with it.
    pub(crate) fn parse(text: &'t str, names: &[&'static str]) -> Result<Self, String> {
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let Some(&found) = names.iter().find(|known| **known == name) else {
            return Err(format!(
                "`{}` is not known: {}",
                one_line(name),
                suggestion(name, names.iter().copied())
            ));
        };
        let mut parameters = Vec::new();
        for part in rest.split(',').filter(|part| !part.trim().is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!(
                    "`{}` must be a parameter and its value, such as key=0.5",
                    one_line(part)
                ));
            };
            let key = key.trim();
            if parameters.iter().any(|(other, _)| *other == key) {
                return Err(format!("`{}` is given twice", one_line(key)));
            }
            parameters.push((key, value.trim()));
        }
        Ok(Self { name: found, parameters, known: Vec::new() })
    }

    fn take(&mut self, key: &'static str) -> Option<&'t str> {
        self.known.push(key);
        let place = self.parameters.iter().position(|(known, _)| *known == key)?;
        Some(self.parameters.remove(place).1)
    }

    /// The number at `key`, if it is there.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, String> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|number| range.contains(number));
        let wanted = || {
            format!(
                "{key} must be a number between {} and {}, not `{}`",
                range.start(),
                range.end(),
                one_line(text)
            )
        };
        number.map(Some).ok_or_else(wanted)
    }

    /// The whole number at `key`, if it is there.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, String> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number = text.parse::<u64>().ok().filter(|number| range.contains(number));
        let most = if *range.end() == u64::MAX {
            String::new()
        } else {
            format!(" and at most {}", range.end())
        };
        let wanted = || {
            format!(
                "{key} must be a whole number of at least {}{most}, not `{}`",
                range.start(),
                one_line(text)
            )
        };
        number.map(Some).ok_or_else(wanted)
    }

    /// The numbers at `key`, separated by semicolons, if they are there.
    pub(crate) fn numbers(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<Vec<f64>>, String> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let one = |part: &str| {
            let number = part.trim().parse::<f64>().ok().filter(|number| range.contains(number));
            number.ok_or_else(|| {
                format!(
                    "{key} must be numbers between {} and {} separated by `;`, not `{}`",
                    range.start(),
                    range.end(),
                    one_line(text)
                )
            })
        };
        text.split(';').map(one).collect::<Result<Vec<f64>, String>>().map(Some)
    }

    /// Refuses what nobody asked for.
    pub(crate) fn finish(self) -> Result<(), String> {
        let Some((key, _)) = self.parameters.first() else { return Ok(()) };
        if self.known.is_empty() {
            return Err(format!("`{}` takes no parameters", self.name));
        }
        Err(format!(
            "unknown parameter `{}`: {}",
            one_line(key),
            suggestion(key, self.known.iter().copied())
        ))
    }
}
