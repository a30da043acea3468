//! What goes around every answer: the request's id, safe headers, the log, the figures; and a whole answer even if a handler breaks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::App;
use super::problem::{Refusal, spell_out};
use crate::refusal::{Code, Refused};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ones are nobody's id.
const LONGEST_ID: usize = 64;

/// Headers of every answer that does not say otherwise itself.
const SAFE: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Wraps a request's way through the service.
pub(crate) async fn envelope(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(request.headers());
    let method = known(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let answer = match check_head(&request, app.limits().header_bytes) {
        Ok(()) => AssertUnwindSafe(next.run(request)).catch_unwind().await,
        Err(refusal) => Ok(refusal.into_response()),
    };
    // The panic hook has told what happened; the client only learns that it was not its fault.
    let mut response = answer.unwrap_or_else(|_| Refusal::new(Code::Internal, "this is a bug in outlay; please report it").into_response());
    let refused = spell_out(&mut response, &id);
    adorn(response.headers_mut(), &id, app.has_tls);
    let (status, taken) = (response.status().as_u16(), begun.elapsed());
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    app.metrics.count_request(method, route, status, taken);
    let code = refused.as_ref().map_or("", |refused| refused.code.facts().word);
    let milliseconds = taken.as_secs_f64() * 1e3;
    if status >= 500 && is_first_this_second() {
        let detail = refused.as_ref().map_or("", |refused| refused.detail.as_str());
        tracing::warn!(request_id = id, method, route, status, milliseconds, code, detail, "request failed");
    } else {
        tracing::debug!(request_id = id, method, route, status, milliseconds, code, "request");
    }
    response
}

/// The connection takes somewhat longer heads, so that who is just above the limit learns why.
fn check_head(request: &Request, most: usize) -> Result<(), Refusal> {
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let line = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if line + headers.sum::<usize>() <= most {
        return Ok(());
    }
    let refused = Refused::new(Code::HeadersTooLarge, format!("address and headers have more than {most} bytes"));
    Err(refused.hint("the limit is header_bytes").into())
}

/// A store that cannot be reached fails thousands of requests a second; the log needs one of them, the figures have them all.
fn is_first_this_second() -> bool {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    static LAST: AtomicU64 = AtomicU64::new(0);
    let second = BEGUN.get_or_init(Instant::now).elapsed().as_secs() + 1;
    LAST.swap(second, Ordering::Relaxed) != second
}

/// Anybody may send any word as a method; figures and logs only have a few.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "PUT" => "PUT",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// The client's own id if it is a sane one, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let is_sane = |id: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(is_plain)
    };
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(is_sane);
    given.map_or_else(new_id, str::to_owned)
}

/// Different within a process by counting, between processes by chance.
pub(super) fn new_id() -> String {
    static PROCESS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(|| getrandom::u32().unwrap_or_default());
    format!("{process:08x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn adorn(headers: &mut HeaderMap, id: &str, has_tls: bool) {
    for (name, value) in &SAFE {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if has_tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sane_ids_are_kept_and_others_replaced() {
        let id = |given: &str| request_id(&HeaderMap::from_iter([(REQUEST_ID, HeaderValue::from_bytes(given.as_bytes()).unwrap())]));
        assert_eq!(id("job-7.a_B"), "job-7.a_B");
        for given in ["", "a b", "\"", "a;b", "ü", &"x".repeat(65)] {
            assert_ne!(id(given), given);
        }
        assert_ne!(new_id(), new_id());
    }
}
