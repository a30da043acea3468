//! The units of a problem in text and on axes: `1,000 EUR per day`, `spend per day (EUR)`.

use outlay::Problem;
use outlay::problem::Units;

/// The units of a problem as words of a text. Without units, amounts are bare numbers per round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(Units);

impl Labels {
    /// Those of a problem.
    pub fn of(problem: &Problem) -> Self {
        Self(problem.units().clone())
    }

    /// Whether budget and spends are in a currency.
    pub fn has_currency(&self) -> bool {
        self.0.currency().is_some()
    }

    /// An amount of budget or spend, already formatted: `1,000 EUR`.
    pub fn money(&self, amount: &str) -> String {
        with_unit(amount, self.0.currency())
    }

    /// An amount per period, already formatted: `1,000 EUR per day`.
    pub fn money_per_period(&self, amount: &str) -> String {
        format!("{} {}", self.money(amount), self.per_period())
    }

    /// A reward, already formatted: `9,560 EUR`.
    pub fn reward(&self, reward: &str) -> String {
        with_unit(reward, self.0.reward_unit())
    }

    /// `per day`, or `per round`.
    pub fn per_period(&self) -> String {
        format!("per {}", self.0.period())
    }

    /// One unit of spend: `EUR`, or `unit`.
    pub fn unit(&self) -> &str {
        self.0.currency().unwrap_or("unit")
    }

    /// One unit of spend in a sentence: `EUR`, or `unit of spend`.
    pub fn unit_of(&self, noun: &str) -> String {
        self.0.currency().map_or_else(|| format!("unit of {noun}"), str::to_owned)
    }

    /// The label of an axis of amounts per period: `spend per day (EUR)`.
    pub fn money_axis(&self, noun: &str) -> String {
        self.axis(noun, self.0.currency())
    }

    /// The label of an axis of rewards per period: `value per day (EUR)`.
    pub fn reward_axis(&self, noun: &str) -> String {
        self.axis(noun, self.0.reward_unit())
    }

    /// The currency after a noun: ` (EUR)`, or nothing.
    pub fn money_in_brackets(&self) -> String {
        in_brackets(self.0.currency())
    }

    /// The unit of rewards after a noun: ` (EUR)`, or nothing.
    pub fn reward_in_brackets(&self) -> String {
        in_brackets(self.0.reward_unit())
    }

    /// A reward per period, already formatted: `9,560 EUR per day`.
    pub fn reward_per_period(&self, reward: &str) -> String {
        format!("{} {}", self.reward(reward), self.per_period())
    }

    fn axis(&self, noun: &str, unit: Option<&str>) -> String {
        format!("{noun} {}{}", self.per_period(), in_brackets(unit))
    }
}

fn in_brackets(unit: Option<&str>) -> String {
    unit.map(|unit| format!(" ({unit})")).unwrap_or_default()
}

fn with_unit(number: &str, unit: Option<&str>) -> String {
    unit.map_or_else(|| number.to_owned(), |unit| format!("{number} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_written_if_there_are_any() {
        let none = Labels::default();
        assert_eq!(
            (none.money("5"), none.reward("7"), none.unit()),
            ("5".into(), "7".into(), "unit")
        );
        assert_eq!(none.money_axis("spend"), "spend per round");
        let units = |reward_unit: Option<&str>| {
            let word = |word: &str| Some(Box::from(word));
            let reward_unit = reward_unit.map(Box::from);
            Labels(Units { currency: word("EUR"), period: word("day"), reward_unit })
        };
        let money = units(None);
        assert_eq!((money.money("5"), money.reward("7")), ("5 EUR".into(), "7 EUR".into()));
        assert_eq!(money.reward_axis("value"), "value per day (EUR)");
        assert_eq!(units(Some("bookings")).reward("7"), "7 bookings");
    }
}
