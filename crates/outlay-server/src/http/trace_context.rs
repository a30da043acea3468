//! W3C Trace Context: the `traceparent` of a request, and the `traceresponse` of its response.

use std::fmt;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// The place of a request in a distributed trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace; never zero.
    pub trace_id: u128,
    /// Span of the caller; `None` if the trace starts here.
    pub parent_id: Option<u64>,
    /// Span of this request.
    pub span_id: u64,
    /// Whether the caller records the trace.
    pub is_sampled: bool,
}

impl TraceContext {
    /// The context that a request arrives with; `None` without a valid `traceparent`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next()?.to_str().ok()?;
        // Two values contradict each other.
        values.next().is_none().then_some(())?;
        let (trace_id, parent_id, is_sampled) = parse(value)?;
        Some(Self { trace_id, parent_id: Some(parent_id), span_id: random_span(), is_sampled })
    }

    /// The start of a new trace.
    pub(crate) fn start() -> Self {
        let mut bytes = [0; 16];
        // Without random numbers the ids of a process are the same, which only confuses traces.
        let _ = getrandom::fill(&mut bytes);
        let trace_id = u128::from_be_bytes(bytes).max(1);
        Self { trace_id, parent_id: None, span_id: random_span(), is_sampled: true }
    }

    /// The id of the trace as it is written.
    pub(crate) fn id(&self) -> String {
        format!("{:032x}", self.trace_id)
    }

    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.to_string()).ok()
    }
}

/// As `traceresponse` has it.
impl fmt::Display for TraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(formatter, "00-{:032x}-{:016x}-{flags:02x}", self.trace_id, self.span_id)
    }
}

fn random_span() -> u64 {
    getrandom::u64().unwrap_or(1).max(1)
}

/// Trace id, span id and the flag `sampled` of a valid `traceparent`.
fn parse(value: &str) -> Option<(u128, u64, bool)> {
    const LENGTH: usize = 55;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let hex = |text: &str, length: usize| {
        (text.len() == length && text.as_bytes().iter().all(is_digit)).then_some(())
    };
    // Later versions may append fields.
    let (head, rest) = value.split_at_checked(LENGTH)?;
    let mut fields = head.split('-');
    let [version, trace, span, flags] = std::array::from_fn(|_| fields.next().unwrap_or_default());
    for (text, length) in [(version, 2), (trace, 32), (span, 16), (flags, 2)] {
        hex(text, length)?;
    }
    let has_valid_end = match version {
        "ff" => false,
        "00" => rest.is_empty(),
        _ => rest.is_empty() || rest.starts_with('-'),
    };
    let trace_id = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
    let span_id = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    has_valid_end.then_some((trace_id, span_id, flags & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn valid_values_are_parsed() {
        let trace_id = u128::from_str_radix(TRACE, 16).unwrap();
        for (value, is_sampled) in [
            (format!("00-{TRACE}-b7ad6b7169203331-01"), true),
            (format!("00-{TRACE}-b7ad6b7169203331-00"), false),
            (format!("00-{TRACE}-b7ad6b7169203331-fe"), false),
            (format!("cc-{TRACE}-b7ad6b7169203331-01-what-follows"), true),
        ] {
            assert_eq!(parse(&value), Some((trace_id, 0xb7ad_6b71_6920_3331, is_sampled)));
        }
    }

    #[test]
    fn invalid_values_are_ignored() {
        let zeros = "0".repeat(32);
        for value in [
            String::new(),
            "ü".repeat(40),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{TRACE}-b7ad6b7169203331-01-more"),
            format!("00-{TRACE}-b7ad6b7169203331-1"),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            format!("00-{zeros}-b7ad6b7169203331-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{TRACE}+b7ad6b7169203331-01"),
            format!("cc-{TRACE}-b7ad6b7169203331-01x"),
            format!("00-{}--b7ad6b7169203331-01", &TRACE[1..]),
        ] {
            assert_eq!(parse(&value), None, "{value}");
        }
        let value = HeaderValue::from_str(&format!("00-{TRACE}-b7ad6b7169203331-01")).unwrap();
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, value.clone());
        assert!(TraceContext::of(&headers).is_some());
        headers.append(TRACEPARENT, value);
        assert_eq!(TraceContext::of(&headers), None, "two values");
    }

    #[test]
    fn a_response_names_the_same_trace_and_another_span() {
        let value = HeaderValue::from_str(&format!("00-{TRACE}-b7ad6b7169203331-01")).unwrap();
        let headers = HeaderMap::from_iter([(TRACEPARENT, value)]);
        let context = TraceContext::of(&headers).unwrap();
        let text = context.to_string();
        assert_eq!(parse(&text), Some((context.trace_id, context.span_id, true)), "{text}");
        assert_ne!(context.parent_id, Some(context.span_id));
    }
}
