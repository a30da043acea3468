//! Middleware for every request and response.
//!
//! [`receive`] handles requests: route, token, body. [`observe`] handles responses: the body of an
//! error, headers, log, metrics. Timeouts, panics, ids and compression are those of `tower_http`,
//! see [`router`](super::router).

use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError};
use tower_http::request_id::{MakeRequestId, RequestId};

use super::App;
use super::access_log::{AccessEntry, ClientAddress, Identity};
use super::auth::{RouteTable, authorize, check_media};
use super::connection_limit::ConnectionPermit;
use super::error::{ErrorResponse, Names, write_body};
use super::extract::{Caller, path_part};
use super::prefix::Placement;
use super::trace_context::{TRACERESPONSE, TraceContext};
use crate::error::{ApiError, ErrorCode};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Time for the body of a rejected request to arrive, so that its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Longer request ids are ignored.
const LONGEST_ID: usize = 64;

/// Default headers of every response.
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

/// State shared by the middleware of one router.
#[derive(Debug, Clone)]
pub(crate) struct RouterState {
    pub(crate) app: Arc<App>,
    pub(crate) routes: Arc<RouteTable>,
    /// The response for unknown paths.
    pub(crate) otherwise: fn() -> ErrorResponse,
}

/// Passes a request to its handler, with its complete body; from then on its connection cannot be
/// evicted.
pub(crate) async fn receive(
    State(state): State<RouterState>,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let mut identity = Identity::default();
    let mut response = handle(&state, path.as_ref(), request, next, &mut identity).await;
    response.extensions_mut().insert(identity);
    response
}

async fn handle(
    state: &RouterState,
    path: Option<&MatchedPath>,
    request: Request,
    next: Next,
    identity: &mut Identity,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let media = match admit(state, path, &mut parts, identity).await {
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

/// Checks everything but the body; returns the media type that the body must have, if there is one.
async fn admit<'a>(
    state: &'a RouterState,
    path: Option<&MatchedPath>,
    parts: &mut Parts,
    identity: &mut Identity,
) -> Result<Option<&'a str>, ErrorResponse> {
    check_head(parts, state.app.limits().header_bytes)?;
    check_host_header(parts)?;
    if parts.extensions.get() == Some(&Placement::Outside) {
        return Err((state.otherwise)());
    }
    let route = path.and_then(|path| state.routes.find(path.as_str()));
    let route = route.ok_or_else(state.otherwise)?;
    let operation = route.operation(&parts.method)?;
    let campaign = path_part(parts, "campaign").await?;
    // Other values are useless in a log.
    identity.campaign = campaign.clone().filter(|id| crate::service::check_id(id).is_ok());
    let caller: Caller =
        authorize(&state.app, route, operation, campaign.as_deref(), parts, identity).await?;
    if let Some(media) = &operation.media {
        check_media(&parts.headers, media)?;
    }
    parts.extensions.insert(caller);
    Ok(operation.media.as_deref())
}

/// HTTP/1.1 requires exactly one valid `Host`. hyper does not check it, and proxies and servers
/// that disagree on the host of a request can be exploited.
fn check_host_header(parts: &Parts) -> Result<(), ErrorResponse> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let detail = match (hosts.next(), hosts.next()) {
        (None, _) if parts.version < Version::HTTP_11 => return Ok(()),
        (None, _) => "the request has no Host header",
        (Some(_), Some(_)) => "the request has more than one Host header",
        (Some(host), None) if is_valid_host(host.as_bytes()) => return Ok(()),
        (Some(_), None) => "the Host header is not a host name with an optional port",
    };
    let close = HeaderValue::from_static("close");
    Err(ErrorResponse::new(ErrorCode::BadRequest, detail).with_header(header::CONNECTION, close))
}

fn is_valid_host(host: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(host) else { return false };
    let (text, name) = (authority.as_str(), authority.host());
    let has_valid_port = match text.strip_prefix(name) {
        Some("" | ":") => true,
        Some(port) => port.strip_prefix(':').is_some_and(|port| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
        }),
        // User information precedes the name.
        None => false,
    };
    !name.is_empty() && has_valid_port
}

/// A rejection before the body was read. The rest of the body would be taken for the next request,
/// so it is read to its end; otherwise the connection is closed and the response says so.
async fn refuse(error: ErrorResponse, body: Body, app: &App) -> Response {
    let is_read = body.is_end_stream() || drain(body, app).await;
    let mut response = error.into_response();
    if !is_read {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Discards a body; true if it ended within the limits.
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
        Ok(Err(_)) => Err(ErrorResponse::new(ErrorCode::BadRequest, "the body is incomplete")),
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

/// Completes every response, counts and logs it.
pub(crate) async fn observe(
    State(state): State<RouterState>,
    request: Request,
    next: Next,
) -> Response {
    let (begun, app) = (Instant::now(), &state.app);
    let extensions = request.extensions();
    let request_id = extensions.get::<RequestId>().map(|id| id.header_value().clone());
    let request_id = request_id.unwrap_or(HeaderValue::from_static(""));
    let method = known(request.method());
    let placement = extensions.get::<Placement>().copied().unwrap_or(Placement::Below);
    let path = extensions.get::<MatchedPath>().filter(|_| placement == Placement::Below);
    let route = path.and_then(|path| state.routes.find(path.as_str()));
    let route = route.map(|route| Arc::clone(&route.path));
    let client = extensions.get::<ClientAddress>().map(|client| client.0);
    let trace = TraceContext::of(request.headers());
    let trace = trace.or_else(|| app.observer.is_some().then(TraceContext::start));
    let mut response = match placement {
        Placement::Bare => to_prefix(app),
        Placement::Below | Placement::Outside => next.run(request).await,
    };
    let is_bare = response.extensions().get::<ApiError>().is_none();
    if is_bare && response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response = too_late();
    }
    let names = Names { request_id: &request_id, trace, prefix: app.prefix.as_str() };
    let error = write_body(&mut response, names);
    let (status, taken) = (response.status().as_u16(), begun.elapsed());
    app.metrics.count_request(method, route.as_ref(), status, taken);
    let code = error.as_ref().map_or("", |error| error.code.info().word);
    let identity = response.extensions_mut().remove::<Identity>().unwrap_or_default();
    let app = Arc::clone(app);
    let entry = AccessEntry {
        app: Arc::clone(&app),
        begun,
        method,
        route,
        status,
        code,
        identity,
        client,
        request_id,
        trace,
    };
    if let Some(error) = &error {
        app.refusals.note(&entry, error);
        log_failure(&entry, error);
    }
    set_headers(response.headers_mut(), app.has_tls);
    if let Some(header) = trace.and_then(|trace| trace.header()) {
        response.headers_mut().insert(TRACERESPONSE, header);
    }
    response.map(|body| entry.log_with(body))
}

fn log_failure(entry: &AccessEntry, error: &ApiError) {
    if entry.status < 500 || !is_first_this_second() {
        return;
    }
    tracing::warn!(
        request_id = entry.request_id.to_str().unwrap_or_default(),
        method = entry.method,
        route = entry.route.as_deref().unwrap_or("none"),
        status = entry.status,
        code = entry.code,
        detail = error.detail,
        "request failed"
    );
}

/// The dashboard's links are relative, so its address must end in a slash.
fn to_prefix(app: &App) -> Response {
    let location = HeaderValue::from_str(&format!("{}/", app.prefix.as_str()));
    let location = location.unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, location)]).into_response()
}

/// The response if a handler panics. The panic hook logs the details; the client learns only that
/// it is a bug.
pub(crate) fn panicked(_: Box<dyn Any + Send>) -> Response {
    ErrorResponse::new(ErrorCode::Internal, "this is a bug in outlay; please report it")
        .into_response()
}

fn too_late() -> Response {
    let error = ApiError::new(
        ErrorCode::Busy,
        "there was no response in time; the request may or may not have been carried out",
    )
    .hint("repeat the request: asks with their Idempotency-Key, reports unchanged");
    ErrorResponse::from(error).into_response()
}

/// The connection accepts somewhat longer headers, so that clients just above the limit get an
/// explanation.
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
        format!("the request line and headers have more than {most} bytes"),
    );
    Err(refused.hint("the limit is header_bytes").into())
}

/// An unreachable store fails thousands of requests per second. The log gets one of them, the
/// metrics count all.
fn is_first_this_second() -> bool {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    static LAST: AtomicU64 = AtomicU64::new(0);
    let second = BEGUN.get_or_init(Instant::now).elapsed().as_secs() + 1;
    LAST.swap(second, Ordering::Relaxed) != second
}

/// Clients may send any method; metrics and logs distinguish only a few.
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

/// An invalid request id is dropped, and the request gets a new one.
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

/// Assigns ids to requests without one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MakeId;

impl MakeRequestId for MakeId {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&new_id()).ok().map(RequestId::new)
    }
}

/// Unique within a process by a counter, between processes by chance.
pub(super) fn new_id() -> String {
    static PROCESS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(|| getrandom::u32().unwrap_or_default());
    let mut id = String::with_capacity(25);
    // The text is always a valid header value.
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
    async fn valid_ids_are_kept_and_others_replaced() {
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

    #[test]
    fn a_host_is_a_name_or_address_with_an_optional_port() {
        for host in ["a", "example.com:80", "127.0.0.1", "[::1]:7341", "[2001:db8::1]", "a:"] {
            assert!(is_valid_host(host.as_bytes()), "{host}");
        }
        for host in
            ["", " ", "a b", "user@a", "a:b", "a:70000", "a:-1", "a:+1", ":80", "a/b", "a,b:1:2"]
        {
            assert!(!is_valid_host(host.as_bytes()), "{host}");
        }
    }
}
