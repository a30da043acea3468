//! What every request passes on its way to its handler, and every answer on its way back.
//!
//! [`receive`] is on the way in: route, token, body. [`observe`] is on the way out: the body of an
//! error, headers, log, metrics. Time limits, panics, ids and compression are `tower_http`'s, see
//! [`router`](super::router).

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError};
use tower_http::request_id::{MakeRequestId, RequestId};

use super::App;
use super::auth::{RouteTable, authorize, check_media};
use super::connection_limit::ConnectionPermit;
use super::error::{ErrorResponse, write_body};
use super::extract::{Caller, path_part};
use crate::error::{ApiError, ErrorCode};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// For the body of a request that is refused to arrive, so that its connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Longer request ids are ignored.
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

/// What the middleware of one router shares.
#[derive(Debug, Clone)]
pub(crate) struct RouterState {
    pub(crate) app: Arc<App>,
    pub(crate) routes: Arc<RouteTable>,
    /// The answer where there is no route.
    pub(crate) otherwise: fn() -> ErrorResponse,
}

/// Lets a request through to its handler, with its whole body; its connection cannot be closed to
/// make room from then on.
pub(crate) async fn receive(
    State(state): State<RouterState>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let media = match admit(&state, path.as_ref(), &mut parts).await {
        Ok(media) => media,
        Err(error) => return refuse(error, body, &state.app).await,
    };
    let body = match media {
        Some(_) => match read(body, &parts.headers, &state.app).await {
            Ok(body) => body,
            Err(error) => return error.into_response(),
        },
        None if body.is_end_stream() => Bytes::new(),
        // The body is discarded, because the next request follows it on the connection.
        None if drain(body, &state.app).await => Bytes::new(),
        None => return body_too_large(&state.app).into_response(),
    };
    let permit = parts.extensions.remove::<Arc<ConnectionPermit>>();
    let _busy = permit.as_ref().map(|permit| permit.busy());
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// Checks all but the body; the media type that the body must have, if there is to be one.
async fn admit<'a>(
    state: &'a RouterState,
    path: Option<&MatchedPath>,
    parts: &mut Parts,
) -> Result<Option<&'a str>, ErrorResponse> {
    check_head(parts, state.app.limits().header_bytes)?;
    let route = path.and_then(|path| state.routes.find(path.as_str()));
    let route = route.ok_or_else(state.otherwise)?;
    let operation = route.operation(&parts.method)?;
    let campaign = path_part(parts, "campaign").await?;
    let caller: Caller =
        authorize(&state.app, route, operation, campaign.as_deref(), &parts.headers).await?;
    if let Some(media) = &operation.media {
        check_media(&parts.headers, media)?;
    }
    parts.extensions.insert(caller);
    Ok(operation.media.as_deref())
}

/// A refusal before the body was read. What is left of the body would be taken for the next
/// request, so it is read to its end, or else the connection is closed, and the answer says so.
async fn refuse(error: ErrorResponse, body: Body, app: &App) -> Response {
    let is_read = body.is_end_stream() || drain(body, app).await;
    let mut response = error.into_response();
    if !is_read {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Reads a body for nothing; whether it came to its end within the limits.
async fn drain(mut body: Body, app: &App) -> bool {
    let most = app.limits().body_bytes as u64;
    if body.size_hint().lower() > most {
        return false;
    }
    let whole = async {
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            size += frame.data_ref().map_or(0, |data| data.len() as u64);
            if size > most {
                return false;
            }
        }
        true
    };
    let patience = app.limits().body_timeout.min(DRAIN_TIMEOUT);
    tokio::time::timeout(patience, whole).await.unwrap_or(false)
}

/// Reads the whole body, within its limits of size and time.
async fn read(body: Body, headers: &HeaderMap, app: &App) -> Result<Bytes, ErrorResponse> {
    let (most, patience) = (app.limits().body_bytes, app.limits().body_timeout);
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<u64>().ok());
    if announced.is_some_and(|announced| announced > most as u64) {
        return Err(body_too_large(app));
    }
    match tokio::time::timeout(patience, axum::body::to_bytes(body, most)).await {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(error)) if is_length_limit(&error) => Err(body_too_large(app)),
        Ok(Err(_)) => Err(ErrorResponse::new(ErrorCode::BadRequest, "the body broke off")),
        Err(_) => Err(ErrorResponse::new(
            ErrorCode::Timeout,
            format!("the body did not arrive within {} s", patience.as_secs_f64()),
        )),
    }
}

fn is_length_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<LengthLimitError>())
}

pub(crate) fn body_too_large(app: &App) -> ErrorResponse {
    let most = app.limits().body_bytes;
    let error = ApiError::new(ErrorCode::TooLarge, format!("the body has more than {most} bytes"));
    error.hint("the limit is body_bytes; send several requests").into()
}

/// Completes every answer and counts it.
pub(crate) async fn observe(
    State(state): State<RouterState>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = request.extensions().get::<RequestId>().map(|id| id.header_value().clone());
    let id = id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
    let method = known(request.method());
    let path = request.extensions().get::<MatchedPath>();
    let route = path.and_then(|path| state.routes.find(path.as_str()));
    let route = route.map(|route| Arc::clone(&route.path));
    let mut response = next.run(request).await;
    let is_bare = response.extensions().get::<ApiError>().is_none();
    if is_bare && response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response = too_late();
    }
    let error = write_body(&mut response, id);
    let (status, taken) = (response.status().as_u16(), begun.elapsed());
    state.app.metrics.count_request(method, route.as_ref(), status, taken);
    let (route, milliseconds) = (route.as_deref().unwrap_or("none"), taken.as_secs_f64() * 1e3);
    let code = error.as_ref().map_or("", |error| error.code.info().word);
    if status >= 500 && is_first_this_second() {
        let detail = error.as_ref().map_or("", |error| error.detail.as_str());
        tracing::warn!(
            request_id = id,
            method,
            route,
            status,
            milliseconds,
            code,
            detail,
            "request failed"
        );
    } else {
        tracing::debug!(request_id = id, method, route, status, milliseconds, code, "request");
    }
    set_headers(response.headers_mut(), state.app.has_tls);
    response
}

/// The answer for a handler that has panicked. The panic hook has told what happened; the client
/// only learns that it was not its fault.
pub(crate) fn panicked(_: Box<dyn Any + Send>) -> Response {
    ErrorResponse::new(ErrorCode::Internal, "this is a bug in outlay; please report it")
        .into_response()
}

fn too_late() -> Response {
    let error = ApiError::new(
        ErrorCode::Busy,
        "there was no answer in time; whether the request was carried out is not known",
    )
    .hint("send the same again: rounds with their Idempotency-Key, feedback as it is");
    ErrorResponse::from(error).into_response()
}

/// The connection takes somewhat longer heads, so that who is just above the limit learns why.
fn check_head(request: &Parts, most: usize) -> Result<(), ErrorResponse> {
    let headers = request
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let line = request.uri.path_and_query().map_or(0, |path| path.as_str().len());
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

/// An id that a client may not give its request is dropped, and the request gets a new one.
pub(crate) async fn drop_bad_request_id(mut request: Request) -> Request {
    let is_bad = |id: &HeaderValue| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        id.is_empty() || id.len() > LONGEST_ID || !id.as_bytes().iter().all(is_plain)
    };
    if request.headers().get(REQUEST_ID).is_some_and(is_bad) {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

/// Gives ids to requests that have none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MakeId;

impl MakeRequestId for MakeId {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&new_id()).ok().map(RequestId::new)
    }
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

fn set_headers(headers: &mut HeaderMap, has_tls: bool) {
    headers.reserve(SAFE.len() + 1);
    for (name, value) in &SAFE {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    if has_tls {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sane_ids_are_kept_and_others_replaced() {
        for (given, is_kept) in [
            ("job-7.a_B", true),
            ("", false),
            ("a b", false),
            ("\"", false),
            ("a;b", false),
            ("ü", false),
            (&*"x".repeat(65), false),
        ] {
            let id = HeaderValue::from_bytes(given.as_bytes()).unwrap();
            let request = Request::builder().header(REQUEST_ID, id).body(Body::empty()).unwrap();
            let request = drop_bad_request_id(request).await;
            assert_eq!(request.headers().contains_key(REQUEST_ID), is_kept, "{given}");
        }
        assert_ne!(new_id(), new_id());
    }
}
