//! What goes around every answer: the request's id, safe headers, the log, the figures; and a whole
//! answer even if a handler breaks.

use std::fmt::Write;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::App;
use super::error::{ErrorResponse, spell_out};
use crate::error::{ApiError, ErrorCode};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ones are nobody's id.
const LONGEST_ID: usize = 64;

/// Headers of every answer that does not say otherwise itself.
const SAFE: [(HeaderName, HeaderValue); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// What is known of a request when it comes in, until its answer goes out.
pub(crate) struct Envelope {
    begun: Instant,
    id: HeaderValue,
    method: &'static str,
    /// The path as it is described; absent if there is none.
    route: Option<Arc<str>>,
}

impl Envelope {
    pub(crate) fn new<B>(request: &Request<B>, route: Option<Arc<str>>) -> Self {
        Self {
            begun: Instant::now(),
            id: request_id(request.headers()),
            method: known(request.method()),
            route,
        }
    }

    /// Waits for the answer and makes it whole. The future stays where it is: those of handlers are
    /// large, and are moved for nothing.
    pub(crate) async fn around(
        self,
        app: &App,
        answer: Pin<&mut impl Future<Output = Response>>,
    ) -> Response {
        let answer = AssertUnwindSafe(answer).catch_unwind().await;
        // The panic hook has told what happened; the client only learns that it was not its fault.
        let mut response = answer.unwrap_or_else(|_| {
            ErrorResponse::new(ErrorCode::Internal, "this is a bug in outlay; please report it")
                .into_response()
        });
        let Self { begun, id, method, route } = self;
        let shown = id.to_str().unwrap_or_default();
        let refused = spell_out(&mut response, shown);
        let (status, taken) = (response.status().as_u16(), begun.elapsed());
        app.metrics.count_request(method, route.as_ref(), status, taken);
        let (route, milliseconds) = (route.as_deref().unwrap_or("none"), taken.as_secs_f64() * 1e3);
        let code = refused.as_ref().map_or("", |refused| refused.code.info().word);
        if status >= 500 && is_first_this_second() {
            let detail = refused.as_ref().map_or("", |refused| refused.detail.as_str());
            tracing::warn!(
                request_id = shown,
                method,
                route,
                status,
                milliseconds,
                code,
                detail,
                "request failed"
            );
        } else {
            tracing::debug!(
                request_id = shown,
                method,
                route,
                status,
                milliseconds,
                code,
                "request"
            );
        }
        adorn(response.headers_mut(), id, app.has_tls);
        response
    }
}

/// The connection takes somewhat longer heads, so that who is just above the limit learns why.
pub(crate) fn check_head<B>(request: &Request<B>, most: usize) -> Result<(), ErrorResponse> {
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let line = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if line + headers.sum::<usize>() <= most {
        return Ok(());
    }
    let refused = ApiError::new(
        ErrorCode::HeadersTooLarge,
        format!("address and headers have more than {most} bytes"),
    );
    Err(refused.hint("the limit is header_bytes").into())
}

/// A store that cannot be reached fails thousands of requests a second; the log needs one of them,
/// the figures have them all.
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
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_sane = |id: &&HeaderValue| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        !id.is_empty() && id.len() <= LONGEST_ID && id.as_bytes().iter().all(is_plain)
    };
    let given = headers.get(REQUEST_ID).filter(is_sane);
    // A copy, that holds nothing of the request.
    let id = given.map_or_else(
        || HeaderValue::try_from(new_id()),
        |given| HeaderValue::from_bytes(given.as_bytes()),
    );
    id.unwrap_or(HeaderValue::from_static("none"))
}

/// Different within a process by counting, between processes by chance.
pub(super) fn new_id() -> String {
    static PROCESS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(|| getrandom::u32().unwrap_or_default());
    let mut id = String::with_capacity(25);
    // Nothing can go wrong with a text.
    let _ = write!(id, "{process:08x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed));
    id
}

fn adorn(headers: &mut HeaderMap, id: HeaderValue, has_tls: bool) {
    headers.reserve(SAFE.len() + 2);
    for (name, value) in &SAFE {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if has_tls {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000"),
        );
    }
    headers.insert(REQUEST_ID, id);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sane_ids_are_kept_and_others_replaced() {
        let id = |given: &str| {
            request_id(&HeaderMap::from_iter([(
                REQUEST_ID,
                HeaderValue::from_bytes(given.as_bytes()).unwrap(),
            )]))
        };
        assert_eq!(id("job-7.a_B"), "job-7.a_B");
        for given in ["", "a b", "\"", "a;b", "ü", &"x".repeat(65)] {
            assert_ne!(id(given), given);
        }
        assert_ne!(new_id(), new_id());
    }
}
