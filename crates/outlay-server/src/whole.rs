//! Whole numbers that come over the wire: those of the format `int64` that are not negative, as the API's description says. Stores keep
//! no others.

use serde::de::{Deserialize, Deserializer, Error};

/// One number.
pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    within(u64::deserialize(from)?)
}

/// One number, or none.
pub(crate) fn maybe<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Option::<u64>::deserialize(from)?.map(within).transpose()
}

fn within<E: Error>(number: u64) -> Result<u64, E> {
    if i64::try_from(number).is_ok() { Ok(number) } else { Err(E::custom(format!("must be at most {}", i64::MAX))) }
}

#[cfg(test)]
mod tests {
    use crate::shapes::BulkLine;

    #[test]
    fn the_largest_is_taken_and_the_next_is_not() {
        let line = |round: &str| serde_json::from_str::<BulkLine>(&format!(r#"{{"round": {round}, "results": []}}"#));
        assert_eq!(line("9223372036854775807").unwrap().round, u64::MAX / 2);
        let refused = line("9223372036854775808").unwrap_err().to_string();
        assert!(refused.starts_with("must be at most 9223372036854775807"), "{refused}");
    }
}
