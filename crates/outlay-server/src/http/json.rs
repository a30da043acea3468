//! Strict JSON: ambiguous input is rejected with its position, never guessed.

use std::fmt;

use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use crate::error::{ApiError, ErrorCode, escaped};

/// Parses an object with known keys only.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8], depth: usize) -> Result<T, ApiError> {
    let text = text(body, depth, false)?;
    // Tracking the position costs time, so it is done only for invalid bodies.
    serde_json::from_str(text).map_err(|_| {
        explained(
            serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_str(text))
                .err(),
            text,
        )
    })
}

/// Parses an object with a free-form part, in which the plain parser would accept the last of two
/// equal keys. `records` are the keys of parts that must be objects.
pub(crate) fn read_free<T: DeserializeOwned>(
    body: &[u8],
    depth: usize,
    records: &[&str],
) -> Result<T, ApiError> {
    let text = text(body, depth, true)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let strict: Strict = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| explained(Some(error), text))?;
    reader.end().map_err(|error| malformed(&error))?;
    if let Some(key) = records.iter().find(|key| strict.0[**key].is_array()) {
        return Err(ApiError::new(
            ErrorCode::BadRequest,
            format!("/{key}: expected an object, got a list"),
        )
        .at(format!("/{key}")));
    }
    serde_path_to_error::deserialize(strict.0).map_err(|error| explained(Some(error), text))
}

fn text(body: &[u8], depth: usize, is_free: bool) -> Result<&str, ApiError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let place = error.valid_up_to();
        ApiError::new(
            ErrorCode::BadRequest,
            format!("the body is not valid UTF-8 from byte {place} on"),
        )
        .hint("JSON must be encoded as UTF-8")
    })?;
    scan(text, depth, is_free)?;
    Ok(text)
}

/// Checks brackets only: their depth, that the document is an object, and that no list is in place
/// of an object. serde can read a struct from a list of its values, and clients should not rely on
/// that. The reader of a free-form part checks it.
fn scan(text: &str, most: usize, is_free: bool) -> Result<(), ApiError> {
    // One bit per open bracket, set for lists. Deeper nesting than there are bits is rejected.
    let (mut depth, mut lists, mut is_text, mut is_escaped) = (0_usize, 0_u128, false, false);
    let mut before = None;
    for byte in text.bytes() {
        if is_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            b'"' => is_text = true,
            b'{' | b'[' => {
                let is_list_in_list = byte == b'[' && lists & 1 == 1 && !is_free;
                if (depth == 0 && byte == b'[') || is_list_in_list {
                    return Err(ApiError::new(
                        ErrorCode::BadRequest,
                        "expected an object, got a list",
                    ));
                }
                lists = lists << 1 | u128::from(byte == b'[');
                depth += 1;
                if depth > most {
                    return Err(ApiError::new(
                        ErrorCode::TooLarge,
                        format!("objects and lists are nested more than {most} levels deep"),
                    )
                    .hint("the limit is json_depth"));
                }
            }
            b'}' | b']' => {
                lists >>= 1;
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        before = before.or(Some(byte));
    }
    match before {
        Some(b'{') => Ok(()),
        None => Err(ApiError::new(ErrorCode::BadRequest, "the body is empty")
            .hint("send a JSON object, at least {}")),
        Some(_) => Err(ApiError::new(ErrorCode::BadRequest, "the body is not a JSON object")),
    }
}

/// Syntax errors have a line and a column, other errors a pointer.
fn explained(error: Option<serde_path_to_error::Error<serde_json::Error>>, text: &str) -> ApiError {
    let Some(error) = error else {
        // This attempt succeeded, so the error comes after the document.
        return match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Err(error) => malformed(&error),
            Ok(_) => {
                ApiError::new(ErrorCode::BadRequest, "the body is not the expected JSON object")
            }
        };
    };
    if error.inner().is_syntax() || error.inner().is_eof() {
        return malformed(error.inner());
    }
    let what = without_place(error.inner());
    let pointer = pointer(error.path());
    let place = if pointer.is_empty() { "the body".to_owned() } else { pointer.clone() };
    ApiError::new(ErrorCode::BadRequest, format!("{place}: {what}")).at(pointer)
}

fn malformed(error: &serde_json::Error) -> ApiError {
    let (line, column) = (error.line(), error.column());
    ApiError::new(
        ErrorCode::BadRequest,
        format!(
            "the body is not valid JSON: {} (line {line}, column {column})",
            without_place(error)
        ),
    )
}

/// serde_json appends the position to its messages, if it knows one.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map(str::to_owned).unwrap_or(text)
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer += &format!("/{index}"),
            Segment::Map { key } => pointer += &format!("/{}", escaped(key)),
            Segment::Enum { variant } => pointer += &format!("/{}", escaped(variant)),
            Segment::Unknown => {}
        }
    }
    pointer
}

/// Any JSON without duplicate keys.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if values.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
            let Strict(value) = map.next_value()?;
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Ask, Feedback, NewCampaign};

    fn refused<T: DeserializeOwned + fmt::Debug>(body: &str) -> (Option<String>, String) {
        let refused = read::<T>(body.as_bytes(), 32).unwrap_err();
        (refused.pointer, refused.detail)
    }

    #[test]
    fn valid_json_is_read() {
        let ask: Ask = read(br#" {"count": 3, "without": ["a"]} "#, 32).unwrap();
        assert_eq!((ask.count, ask.without), (Some(3), vec!["a".to_owned()]));
        let new: NewCampaign =
            read_free(br#"{"problem": {"task": [{"name": "[[{"}]}}"#, 32, &[]).unwrap();
        assert_eq!(new.problem["task"][0]["name"], "[[{");
    }

    #[test]
    fn semantic_errors_have_a_pointer() {
        let wrong =
            r#"{"results": [{"task": "a", "completed": true}, {"task": "b", "completed": 1}]}"#;
        let (pointer, detail) = refused::<Feedback>(wrong);
        assert_eq!(pointer.as_deref(), Some("/results/1/completed"));
        assert_eq!(detail, "/results/1/completed: invalid type: integer `1`, expected a boolean");
    }

    #[test]
    fn ambiguous_json_is_refused() {
        let twice = r#"{"count": 1, "count": 2}"#;
        assert!(refused::<Ask>(twice).1.contains("duplicate field `count`"));
        assert!(refused::<Ask>(r#"{"cuont": 1}"#).1.contains("unknown field `cuont`"));
        assert!(refused::<Ask>(r#"{"budget": NaN}"#).1.contains("not valid JSON"));
        assert!(refused::<Ask>(r#"{"budget": 1e400}"#).1.contains("out of range"));
        assert!(refused::<Ask>(r#"{"count": 1} x"#).1.contains("trailing"));
        assert!(refused::<Ask>(r#"{"count": 1"#).1.contains("not valid JSON"));
        assert!(refused::<Ask>("[1]").1.contains("expected an object, got a list"));
        assert!(
            refused::<Feedback>(r#"{"results": [["a", true]]}"#)
                .1
                .contains("expected an object, got a list")
        );
        assert!(refused::<Ask>("").1.contains("empty"));
        assert!(refused::<Ask>("7").1.contains("not a JSON object"));
        assert!(
            read::<Ask>(b"{\"without\": [\"\xff\"]}", 32)
                .unwrap_err()
                .detail
                .contains("not valid UTF-8 from byte 14 on")
        );
    }

    #[test]
    fn a_free_part_is_as_strict() {
        let refused =
            |body: &str| read_free::<NewCampaign>(body.as_bytes(), 32, &["guards"]).unwrap_err();
        assert!(
            refused(r#"{"problem": {"budget": 1, "budget": 2}}"#)
                .detail
                .contains("duplicate field `budget`")
        );
        assert!(refused(r#"{"problem": {"budget": 1e999}}"#).detail.contains("out of range"));
        assert!(refused(r#"{"problem": {}} {}"#).detail.contains("trailing"));
        assert!(
            refused(r#"{"problem": {}, "lerner": "kl-ucb-plus"}"#)
                .detail
                .contains("unknown field `lerner`")
        );
        assert!(
            refused(r#"{"problem": {}, "guards": [1, 2, 3]}"#)
                .detail
                .contains("/guards: expected an object, got a list")
        );
        assert!(
            refused(r#"{"learner": "kl-ucb-plus"}"#).detail.contains("missing field `problem`")
        );
    }

    #[test]
    fn depth_is_limited_before_anything_is_built() {
        let deep = format!("{{\"problem\": {}1{}}}", "{\"a\":".repeat(31), "}".repeat(31));
        assert!(read_free::<NewCampaign>(deep.as_bytes(), 32, &[]).is_ok());
        let deeper = format!("{{\"problem\": {}1{}}}", "{\"a\":".repeat(32), "}".repeat(32));
        assert_eq!(
            read_free::<NewCampaign>(deeper.as_bytes(), 32, &[]).unwrap_err().code,
            ErrorCode::TooLarge
        );
        let endless = "{\"a\":".repeat(100_000);
        assert_eq!(
            read_free::<NewCampaign>(endless.as_bytes(), 32, &[]).unwrap_err().code,
            ErrorCode::TooLarge
        );
    }
}
