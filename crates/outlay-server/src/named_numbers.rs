//! Numbers by name in JSON. A name that occurs twice is rejected; the reader of maps would take the
//! last of its numbers.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};

pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    from.deserialize_map(NumbersVisitor)
}

struct NumbersVisitor;

impl<'de> Visitor<'de> for NumbersVisitor {
    type Value = BTreeMap<String, f64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with a number for each name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut numbers = BTreeMap::new();
        while let Some((name, number)) = entries.next_entry::<String, f64>()? {
            if numbers.contains_key(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            numbers.insert(name, number);
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use crate::api::Ask;

    #[test]
    fn a_name_occurs_once() {
        let scale = |text: &str| {
            serde_json::from_str::<Ask>(&format!(r#"{{"scale": {text}}}"#)).map(|ask| ask.scale)
        };
        let both = scale(r#"{"a": 2, "b": 0.5}"#).unwrap();
        assert_eq!(both, [("a".to_owned(), 2.0), ("b".to_owned(), 0.5)].into());
        let refused = scale(r#"{"a": 2, "a": 2}"#).unwrap_err().to_string();
        assert!(refused.starts_with("duplicate field `a`"), "{refused}");
        for wrong in [r#"["a"]"#, "2", "null", r#"{"a": "2"}"#, r#"{"a": null}"#] {
            assert!(scale(wrong).is_err(), "{wrong}");
        }
    }
}
