//! Numbers formatted for readers, with few digits.

use crate::labels::Labels;

/// Relative differences up to this are rounding errors, which differ between machines.
const ROUNDING: f64 = 1e-12;

/// Number of decimals of amounts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Precision {
    /// A fixed number of decimals.
    Decimals(usize),
    /// Four significant digits, for budgets too small or too large for decimals.
    Figures,
}

impl Precision {
    /// Six digits of the budget: two decimals for 1,000, none for 500,000.
    pub fn of_budget(budget: f64) -> Self {
        if budget == 0.0 {
            return Self::Decimals(2);
        }
        let digits_before_point = budget.log10().floor() as i32 + 1;
        match digits_before_point {
            -2..=14 => Self::Decimals((6 - digits_before_point).max(0) as usize),
            _ => Self::Figures,
        }
    }

    /// As [`Self::of_budget`], without decimals that are zero in all `amounts`.
    pub fn of_amounts(budget: f64, amounts: impl Iterator<Item = f64>) -> Self {
        let Self::Decimals(most) = Self::of_budget(budget) else { return Self::Figures };
        let mut needed = 0;
        for amount in amounts.filter(|amount| amount.fract() != 0.0) {
            if needed == most {
                break;
            }
            let text = format!("{amount:.most$}");
            let significant = text
                .trim_end_matches('0')
                .split_once('.')
                .map_or(0, |(_, decimals)| decimals.len());
            needed = needed.max(significant);
        }
        Self::Decimals(needed)
    }

    /// The decimals of a rounding unit.
    pub fn of_unit(unit: f64) -> Self {
        (0..=12)
            .find(|&decimals| {
                let shifted = unit * 10_f64.powi(decimals);
                (shifted - shifted.round()).abs() <= 1e-9 * shifted && shifted >= 0.5
            })
            .map_or(Self::Figures, |decimals| Self::Decimals(decimals as usize))
    }

    /// Formats an amount: `1,234.56`.
    pub fn amount(self, amount: f64) -> String {
        match self {
            Self::Decimals(decimals) => {
                grouped(&without_negative_zero(format!("{amount:.decimals$}")))
            }
            Self::Figures => figure(amount),
        }
    }

    /// The smallest difference of displayed amounts; zero for four significant digits.
    pub fn smallest(self) -> f64 {
        match self {
            Self::Decimals(decimals) => 10_f64.powi(-(decimals as i32)),
            Self::Figures => 0.0,
        }
    }

    /// The amount rounded to the displayed digits.
    pub fn rounded(self, amount: f64) -> f64 {
        let text = match self {
            Self::Decimals(decimals) => format!("{amount:.decimals$}"),
            Self::Figures => format!("{amount:.3e}"),
        };
        text.parse().unwrap_or(amount)
    }

    /// Formats a change of an amount: `+1,234.56`, or `0` if it rounds to zero.
    pub fn change(self, change: f64) -> String {
        let text = self.amount(change);
        if !text.chars().any(|character| ('1'..='9').contains(&character)) {
            "0".to_owned()
        } else if change > 0.0 {
            format!("+{text}")
        } else {
            text
        }
    }
}

/// Four significant digits: `0.8123`, `12.35`, `1,235`, `3.1e-5`. Subnormal numbers, which are
/// results of underflow, are `0`.
pub fn figure(number: f64) -> String {
    if number == 0.0 || number.is_subnormal() {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return number.to_string();
    }
    // Rounding first: 0.99996 has its first digit before the point.
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    let exponent = rounded.abs().log10().floor() as i32;
    match exponent {
        -4..=5 => grouped(&format!("{number:.*}", (3 - exponent).max(0) as usize)),
        _ => {
            let text = format!("{number:.3e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// A number from the input in full if it is short (`1,000`, `0.6`, `1,234.56`), otherwise four
/// significant digits.
pub fn plain(number: f64) -> String {
    const SHORT: usize = 8;
    let written = number.to_string();
    if written.len() <= SHORT { grouped(&written) } else { figure(number) }
}

/// A count with its noun: `1 task`, `1,234 tasks`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(&count.to_string()), if count == 1 { "" } else { "s" })
}

/// The seeds of consecutive replications: `seed 1`, `seeds 1 to 100`.
pub fn seeds(first: u64, replications: u64) -> String {
    match replications {
        1 => format!("seed {first}"),
        _ => format!("seeds {first} to {}", first.wrapping_add(replications.saturating_sub(1))),
    }
}

/// A share in percent: `41.2%`.
pub fn percent(share: f64) -> String {
    format!("{}%", without_negative_zero(format!("{:.1}", 100.0 * share)))
}

/// A relative change in percent: `+11.6%`.
pub fn signed_percent(share: f64) -> String {
    let text = percent(share);
    if share > 0.0 { format!("+{text}") } else { text }
}

/// A relative optimality gap with one digit.
pub fn gap(gap: f64) -> String {
    if gap <= ROUNDING { "below 1e-12".to_owned() } else { format!("{gap:.0e}") }
}

/// A loss of reward, absolute and relative to `value`; rounding errors are `nothing`.
pub fn loss(loss: f64, value: f64, labels: &Labels) -> String {
    if loss <= ROUNDING * value {
        return "nothing".to_owned();
    }
    let share = 100.0 * loss / value;
    let share = if share < 0.01 { "less than 0.01%".to_owned() } else { format!("{share:.2}%") };
    format!("{} {} ({share})", labels.reward(&figure(loss)), labels.per_period())
}

fn without_negative_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(digits) if !digits.chars().any(|character| ('1'..='9').contains(&character)) => {
            digits.to_owned()
        }
        _ => text,
    }
}

/// The shadow price of budget. It is `0` if the whole budget at this price would change `value` by
/// no more than rounding errors.
pub fn price(price: f64, budget: f64, value: f64) -> String {
    let is_negligible = budget > 0.0 && price * budget <= ROUNDING * value;
    figure(if is_negligible { 0.0 } else { price })
}

/// A duration, rounded up: `8 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    // The conversion saturates.
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Inserts commas between thousands.
pub fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::from(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (0.81234, "0.8123"),
            (0.99996, "1.000"),
            (12.3456, "12.35"),
            (1234.56, "1,235"),
            (123_456.0, "123,456"),
            (1_234_567.0, "1.235e6"),
            (3.1e-5, "3.1e-5"),
            (0.000_312_34, "0.0003123"),
            (-2.5, "-2.500"),
            (f64::INFINITY, "inf"),
        ];
        for (number, text) in cases {
            assert_eq!(figure(number), text);
        }
    }

    #[test]
    fn underflow_is_zero() {
        assert_eq!(figure(6.577e-319), "0");
        assert_eq!(figure(-f64::MIN_POSITIVE / 2.0), "0");
        assert_eq!(figure(f64::MIN_POSITIVE), "2.225e-308");
        assert_eq!(plain(6.577e-319), "0");
    }

    #[test]
    fn prices_that_cannot_change_the_value_are_zero() {
        assert_eq!(price(6.577e-319, 1000.0, 0.6), "0");
        assert_eq!(price(1e-17, 1000.0, 0.6), "0");
        assert_eq!(price(1e-9, 1000.0, 0.6), "1e-9");
        // Small numbers in a small unit are not zero.
        assert_eq!(price(1e-9, 1000.0, 1e-7), "1e-9");
        assert_eq!(price(1e-300, 1.0, 1e-300), "1e-300");
        // Without budget or value, every price counts.
        assert_eq!(price(0.5, 0.0, 0.6), "0.5000");
        assert_eq!(price(0.5, 1.0, 0.0), "0.5000");
        assert_eq!(price(f64::INFINITY, 1.0, 1.0), "inf");
    }

    #[test]
    fn durations_have_one_or_two_units() {
        assert_eq!([7.2, 200.0, 7500.0].map(duration), ["8 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn amounts_suit_the_budget() {
        assert_eq!(Precision::of_budget(1000.0).amount(412.314), "412.31");
        assert_eq!(Precision::of_budget(1e6).amount(1_234_567.8), "1,234,568");
        assert_eq!(Precision::of_budget(1.0).amount(0.25), "0.25000");
        assert_eq!(Precision::of_budget(1e-9).amount(2.5e-10), "2.5e-10");
        assert_eq!(Precision::of_budget(1000.0).amount(-0.001), "0.00");
    }

    #[test]
    fn amounts_show_no_more_decimals_than_needed() {
        let precision = |amounts: &[f64]| Precision::of_amounts(10.0, amounts.iter().copied());
        assert_eq!(precision(&[0.25, 1.0]), Precision::Decimals(2));
        assert_eq!(precision(&[10.0, 3.0]), Precision::Decimals(0));
        assert_eq!(precision(&[1.0 / 3.0]), Precision::Decimals(4));
    }

    #[test]
    fn amounts_show_the_decimals_of_their_unit() {
        assert_eq!(Precision::of_unit(0.01), Precision::Decimals(2));
        assert_eq!(Precision::of_unit(0.25), Precision::Decimals(2));
        assert_eq!(Precision::of_unit(5.0), Precision::Decimals(0));
        assert_eq!(Precision::of_unit(0.1), Precision::Decimals(1));
    }

    #[test]
    fn changes_have_a_sign() {
        let cents = Precision::Decimals(2);
        assert_eq!(cents.change(12.0), "+12.00");
        assert_eq!(cents.change(-1234.5), "-1,234.50");
        assert_eq!(cents.change(0.001), "0");
    }

    #[test]
    fn short_numbers_are_shown_in_full() {
        assert_eq!(plain(1000.0), "1,000");
        assert_eq!(plain(0.6), "0.6");
        assert_eq!(plain(120.0), "120");
        assert_eq!(plain(123_456.7), "123,456.7");
        assert_eq!(plain(2.0 / 3.0), "0.6667");
    }
}
