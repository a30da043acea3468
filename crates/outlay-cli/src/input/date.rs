//! Dates as in 2026-11-18.

use std::str::FromStr;

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl FromStr for Date {
    type Err = String;

    /// Reads year, month and day. A time of the day after `T` or a space is ignored.
    fn from_str(text: &str) -> Result<Self, String> {
        let date = text.split(['T', ' ']).next().unwrap_or_default();
        parsed(date).ok_or_else(|| format!("must be a date such as 2026-11-18, not \"{text}\""))
    }
}

fn parsed(date: &str) -> Option<Date> {
    let mut parts = date.split('-');
    let mut number = |digits: usize| {
        let part = parts.next()?;
        let is_plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| part.parse::<u16>().ok()).flatten()
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u16::from(is_leap),
        _ => 31,
    };
    let is_valid = parts.next().is_none() && (1..=12).contains(&month) && (1..=days).contains(&day);
    is_valid.then_some(Date { year, month: month as u8, day: day as u8 })
}

impl std::fmt::Display for Date {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_ordered() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        assert!(date("2025-12-31") < date("2026-01-01"));
        assert!(date("2026-01-31") < date("2026-02-01"));
        assert_eq!(date("2024-02-29T10:00:00Z"), date("2024-02-29 00:00"));
        assert_eq!(date("0999-02-03").to_string(), "0999-02-03");
    }

    #[test]
    fn invalid_dates_are_rejected() {
        for text in
            ["", "2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "18.11.2026", "2026-01-01-1"]
        {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }
}
