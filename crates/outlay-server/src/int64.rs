//! Non-negative integers of the format `int64` in JSON. Stores keep no others. `3.0` is accepted
//! too, because JSON does not distinguish it from `3` and some languages write it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// One number.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Whole::deserialize(from).map(|whole| whole.0)
}

/// An optional number.
pub(crate) fn maybe<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Whole>::deserialize(from)?.map(|whole| whole.0))
}

/// An optional number of at most 32 bits.
pub(crate) fn maybe_short<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let too_large = |_| D::Error::custom(format!("must be at most {}", u32::MAX));
    maybe(from)?.map(|number| u32::try_from(number).map_err(too_large)).transpose()
}

struct Whole(u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_u64(AnyNumber)
    }
}

struct AnyNumber;

impl Visitor<'_> for AnyNumber {
    type Value = Whole;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number that is not negative")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Whole, E> {
        if i64::try_from(number).is_ok() {
            Ok(Whole(number))
        } else {
            Err(E::custom(format!("must be at most {}", i64::MAX)))
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Whole, E> {
        let negative = |_| E::invalid_value(Unexpected::Signed(number), &self);
        u64::try_from(number).map(Whole).map_err(negative)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Whole, E> {
        if number < 0.0 || number.fract() != 0.0 {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        // Numbers above 64 bits saturate, and the largest value is rejected.
        self.visit_u64(number as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{Ask, BulkLine};

    #[test]
    fn the_largest_is_accepted_and_the_next_is_not() {
        let line = |round: &str| {
            serde_json::from_str::<BulkLine>(&format!(r#"{{"round": {round}, "results": []}}"#))
        };
        assert_eq!(line("9223372036854775807").unwrap().round, u64::MAX / 2);
        let refused = line("9223372036854775808").unwrap_err().to_string();
        assert!(refused.starts_with("must be at most 9223372036854775807"), "{refused}");
    }

    #[test]
    fn a_number_is_whole_however_it_is_written() {
        let line = |round: &str| {
            serde_json::from_str::<BulkLine>(&format!(r#"{{"round": {round}, "results": []}}"#))
                .map(|line| line.round)
        };
        assert_eq!(
            (line("3.0").unwrap(), line("3e2").unwrap(), line("-0.0").unwrap()),
            (3, 300, 0)
        );
        for wrong in ["3.5", "-1", "-1.0", "1e300", "9.3e18", "\"3\"", "null", "[3]"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
        let refused = line("3.5").unwrap_err().to_string();
        assert!(
            refused.starts_with(
                "invalid value: floating point `3.5`, expected a whole number that is not negative"
            ),
            "{refused}"
        );
        let ask = |count: &str| {
            serde_json::from_str::<Ask>(&format!(r#"{{"count": {count}}}"#)).map(|ask| ask.count)
        };
        assert_eq!((ask("182.0").unwrap(), ask("null").unwrap()), (Some(182), None));
        assert!(ask("4294967296").is_err() && ask("0.5").is_err());
    }
}
