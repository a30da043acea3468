//! Numbers for people; programs get all digits from JSON and CSV.

/// Up to this gap a split counts as optimal but for the last digits, which differ from machine to
/// machine.
const ROUNDING: f64 = 1e-12;

/// How many decimals suit amounts out of a given budget, or multiples of a given unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Precision {
    Decimals(usize),
    /// For budgets too small or too large to write out.
    Figures,
}

impl Precision {
    /// Six digits of the budget: cents of 1,000, whole units of 500,000.
    pub(crate) fn of_budget(budget: f64) -> Self {
        if budget == 0.0 {
            return Self::Decimals(2);
        }
        let digits_before_point = budget.log10().floor() as i32 + 1;
        match digits_before_point {
            -2..=14 => Self::Decimals((6 - digits_before_point).max(0) as usize),
            _ => Self::Figures,
        }
    }

    /// As few of those decimals as show the same of all `amounts`: no columns of zeros.
    pub(crate) fn of_amounts(budget: f64, amounts: impl Iterator<Item = f64>) -> Self {
        let Self::Decimals(most) = Self::of_budget(budget) else { return Self::Figures };
        let mut needed = 0;
        for amount in amounts {
            let text = format!("{amount:.most$}");
            let significant = text
                .trim_end_matches('0')
                .split_once('.')
                .map_or(0, |(_, decimals)| decimals.len());
            needed = needed.max(significant);
        }
        Self::Decimals(needed)
    }

    /// As many decimals as the unit has.
    pub(crate) fn of_unit(unit: f64) -> Self {
        (0..=12)
            .find(|&decimals| {
                let shifted = unit * 10_f64.powi(decimals);
                (shifted - shifted.round()).abs() <= 1e-9 * shifted && shifted >= 0.5
            })
            .map_or(Self::Figures, |decimals| Self::Decimals(decimals as usize))
    }

    /// An amount: `1,234.56`.
    pub(crate) fn amount(self, amount: f64) -> String {
        match self {
            Self::Decimals(decimals) => {
                grouped(&without_negative_zero(format!("{amount:.decimals$}")))
            }
            Self::Figures => figure(amount),
        }
    }

    /// The amount that is shown.
    pub(crate) fn rounded(self, amount: f64) -> f64 {
        let text = match self {
            Self::Decimals(decimals) => format!("{amount:.decimals$}"),
            Self::Figures => format!("{amount:.3e}"),
        };
        text.parse().unwrap_or(amount)
    }

    /// A change of an amount: `+1,234.56`; nothing to do is `0`.
    pub(crate) fn change(self, change: f64) -> String {
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

/// Four significant digits: `0.8123`, `12.35`, `1,235`, `3.1e-5`.
pub(crate) fn figure(number: f64) -> String {
    if number == 0.0 {
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

/// A number somebody wrote, as it was written if that is short: `1,000`, `0.6`, `1,234.56`.
/// Otherwise four digits.
pub(crate) fn plain(number: f64) -> String {
    const SHORT: usize = 8;
    let written = number.to_string();
    if written.len() <= SHORT { grouped(&written) } else { figure(number) }
}

/// `1 task`, `1,234 tasks`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{} {one}{}", grouped(&count.to_string()), if count == 1 { "" } else { "s" })
}

/// `seed 1`, `seeds 1 to 100`: those of so many replications.
pub(crate) fn seeds(first: u64, replications: u64) -> String {
    match replications {
        1 => format!("seed {first}"),
        _ => format!("seeds {first} to {}", first.wrapping_add(replications.saturating_sub(1))),
    }
}

/// `41.2%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", without_negative_zero(format!("{:.1}", 100.0 * share)))
}

/// `+11.6%`.
pub(crate) fn signed_percent(share: f64) -> String {
    let text = percent(share);
    if share > 0.0 { format!("+{text}") } else { text }
}

/// A relative gap, to the digits that mean something.
pub(crate) fn gap(gap: f64) -> String {
    if gap <= ROUNDING { "below 1e-12".to_owned() } else { format!("{gap:.0e}") }
}

/// A loss next to the value it is taken from; what is lost in the last digits is nothing.
pub(crate) fn loss(loss: f64, value: f64) -> String {
    if loss <= ROUNDING * value {
        return "nothing".to_owned();
    }
    let share = 100.0 * loss / value;
    let share = if share < 0.01 { "less than 0.01%".to_owned() } else { format!("{share:.2}%") };
    format!("{} per round ({share})", figure(loss))
}

fn without_negative_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(digits) if !digits.chars().any(|character| ('1'..='9').contains(&character)) => {
            digits.to_owned()
        }
        _ => text,
    }
}

/// Commas between thousands.
pub(crate) fn grouped(text: &str) -> String {
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
    fn numbers_somebody_wrote_stay_as_they_are() {
        assert_eq!(plain(1000.0), "1,000");
        assert_eq!(plain(0.6), "0.6");
        assert_eq!(plain(120.0), "120");
        assert_eq!(plain(123_456.7), "123,456.7");
        assert_eq!(plain(2.0 / 3.0), "0.6667");
    }
}
