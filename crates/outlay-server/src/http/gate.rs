//! What every request passes before its handler: who asks, what it brings, how long it may take.
//!
//! Which token a path needs is read from the API's own description, so that what is documented is
//! what is asked for. A path and method without an entry are not let through.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use matchit::Router;
use utoipa::openapi::OpenApi;

use super::App;
use super::call::{Call, Place};
use super::connections::{Busy, Taken};
use super::error::ErrorResponse;
use super::operations::Operation;
use crate::error::{ApiError, ErrorCode};
use crate::tokens::{Scope, Subject};

/// The name that the API's description gives to tokens.
pub(crate) const SCHEME: &str = "token";

/// What one method of one path needs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Door {
    method: Method,
    operation: Operation,
    scope: Option<Scope>,
    /// What the body must be; absent: there is none.
    media: Option<String>,
}

/// A path that can be asked for.
#[derive(Debug)]
pub(crate) struct Entry {
    /// As it is described, with names for its variable parts.
    pub(crate) path: Arc<str>,
    /// What each method needs; absent for a page, which everybody may see.
    doors: Option<Vec<Door>>,
}

impl Entry {
    pub(crate) fn is_page(&self) -> bool {
        self.doors.is_none()
    }
}

/// An entry with the variable parts of an address.
pub(crate) struct Found<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) place: Place<'a>,
}

/// What every path needs.
#[derive(Debug, Default)]
pub(crate) struct Doors(Router<Entry>);

impl Doors {
    /// From the API's description, those of its paths that are wanted, and pages that need nothing.
    pub(crate) fn new(api: &OpenApi, is_wanted: impl Fn(&str) -> bool, pages: &[&str]) -> Self {
        let mut all = Self::default();
        let api = serde_json::to_value(api).unwrap_or_default();
        for (path, item) in
            api["paths"].as_object().into_iter().flatten().filter(|(path, _)| is_wanted(path))
        {
            all.add(path, Some(doors(item)));
        }
        pages.iter().for_each(|page| all.add(page, None));
        all
    }

    /// A path that fits no other one stays out: it is then nowhere to be found.
    fn add(&mut self, path: &str, doors: Option<Vec<Door>>) {
        if let Err(error) = self.0.insert(path, Entry { path: Arc::from(path), doors }) {
            tracing::error!(path, %error, "a path cannot be reached");
        }
    }

    /// What is at an address.
    pub(crate) fn find<'a>(&'a self, address: &'a str) -> Option<Found<'a>> {
        self.0
            .at(address)
            .ok()
            .map(|found| Found { entry: found.value, place: Place(found.params) })
    }
}

fn doors(item: &serde_json::Value) -> Vec<Door> {
    let operations = item.as_object().into_iter().flatten();
    operations.filter_map(|(method, operation)| door(method, operation)).collect()
}

/// None if the description does not say who may pass, or to what: then nobody may.
fn door(method: &str, operation: &serde_json::Value) -> Option<Door> {
    let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).ok()?;
    let needed = operation["security"].as_array()?.first()?.as_object()?;
    let scope = match needed.get(SCHEME) {
        None => None,
        Some(scopes) => Some(Scope::named(scopes[0].as_str()?)?),
    };
    let media = operation["requestBody"]["content"]
        .as_object()
        .and_then(|content| content.keys().next().cloned());
    let operation = Operation::named(operation["operationId"].as_str()?)?;
    Some(Door { method, operation, scope, media })
}

/// Lets a request through to its handler; its seat cannot be taken away from then on.
pub(crate) async fn pass<'a>(
    app: &'a Arc<App>,
    found: &'a Found<'a>,
    request: Request<Incoming>,
    seat: &'a Taken,
) -> Result<(Operation, Call<'a>, Busy<'a>), ErrorResponse> {
    let door = find(found.entry.doors.as_deref().unwrap_or_default(), request.method())?;
    let caller = admit(app, door, found, request.headers())?;
    let (head, body) = request.into_parts();
    let body = match &door.media {
        Some(media) => {
            check_media(&head.headers, media)?;
            read(body, &head.headers, app).await?
        }
        None => Bytes::new(),
    };
    Ok((
        door.operation,
        Call { app, place: &found.place, address: head.uri, headers: head.headers, caller, body },
        seat.busy(),
    ))
}

fn find<'a>(doors: &'a [Door], method: &Method) -> Result<&'a Door, ErrorResponse> {
    // Whatever may be got may be asked for without its body.
    let wanted = if method == Method::HEAD { &Method::GET } else { method };
    doors.iter().find(|door| door.method == *wanted).ok_or_else(|| {
        let allowed: Vec<&str> = doors.iter().map(|door| door.method.as_str()).collect();
        let allow =
            HeaderValue::from_str(&allowed.join(", ")).unwrap_or(HeaderValue::from_static(""));
        ErrorResponse::new(
            ErrorCode::WrongMethod,
            format!("the address takes {}", allowed.join(", ")),
        )
        .with_header(header::ALLOW, allow)
    })
}

/// The token's public part, empty where none is needed.
fn admit(
    app: &App,
    door: &Door,
    found: &Found<'_>,
    headers: &HeaderMap,
) -> Result<Arc<str>, ErrorResponse> {
    let campaign = found.place.part("campaign")?;
    let Some(scope) = door.scope else { return Ok(Arc::default()) };
    if app.tokens.is_open() {
        check_host(headers)?;
        return Ok(Arc::default());
    }
    let Some(token) = bearer(headers) else {
        let refused = ApiError::new(ErrorCode::Unauthorised, "the request has no token");
        return Err(refused.hint("send it as `Authorization: Bearer outlay_…`").into());
    };
    let holder = app.tokens.admit(token, app.service.clock().now())?;
    if holder.is_to_be_noted {
        app.service.note_use(&holder.id);
    }
    let subject = match campaign.as_deref() {
        Some(campaign) => Subject::Campaign(campaign),
        // A problem that is sent along is nobody's campaign.
        None if &*found.entry.path == "/v1/allocate" => Subject::Nothing,
        None => Subject::Everything,
    };
    holder.may(scope, subject)?;
    app.rates.take(&holder.id, Instant::now()).map_err(|seconds| {
        let most = app.limits().requests_per_second;
        let refused = ApiError::new(
            ErrorCode::TooManyRequests,
            format!("the token asks more than {most} times a second"),
        );
        ErrorResponse::from(refused.hint("the limit is requests_per_second"))
            .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    })?;
    Ok(Arc::from(holder.id))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Without tokens only this machine is to be served. A page in its browser that has given its own
/// name our address would still get through; its requests carry that name.
fn check_host(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let Some(host) = headers.get(header::HOST) else { return Ok(()) };
    let host = host.to_str().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_local = name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_local {
        return Ok(());
    }
    let refused = ApiError::new(
        ErrorCode::Forbidden,
        "without tokens the service answers to the names of this machine only",
    );
    Err(refused.hint("make a token with `outlay token create`, or ask for 127.0.0.1").into())
}

fn check_media(headers: &HeaderMap, wanted: &str) -> Result<(), ErrorResponse> {
    let wrong = |detail: String| ErrorResponse::new(ErrorCode::WrongMediaType, detail);
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(wrong("the body is compressed; send it as it is".to_owned()));
    }
    let given =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let plain = given.split(';').next().unwrap_or_default().trim();
    if plain.eq_ignore_ascii_case(wanted) {
        Ok(())
    } else {
        Err(wrong(format!("the body must be sent as `Content-Type: {wanted}`")))
    }
}

/// Reads the whole body, within its limits of size and time.
async fn read(body: Incoming, headers: &HeaderMap, app: &App) -> Result<Bytes, ErrorResponse> {
    let (most, patience) = (app.limits().body_bytes, app.limits().body_timeout);
    let too_large = || {
        let refused =
            ApiError::new(ErrorCode::TooLarge, format!("the body has more than {most} bytes"));
        ErrorResponse::from(refused.hint("the limit is body_bytes; send several requests"))
    };
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<u64>().ok());
    if announced.is_some_and(|announced| announced > most as u64) {
        return Err(too_large());
    }
    let mut whole = pin!(gather(Limited::new(body, most)));
    let gathered = match soon(whole.as_mut()).await {
        Some(gathered) => Ok(gathered),
        None => tokio::time::timeout(patience, whole).await,
    };
    match gathered {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(ErrorResponse::new(ErrorCode::BadRequest, "the body broke off")),
        Err(_) => Err(ErrorResponse::new(
            ErrorCode::Timeout,
            format!("the body did not arrive within {} s", patience.as_secs_f64()),
        )),
    }
}

/// What is ready at the second look, if it is. The first one tells hyper that the body is wanted;
/// if it came with the head it is there at the second, and needs no timer.
async fn soon<F: Future + Unpin>(mut work: F) -> Option<F::Output> {
    let mut has_looked = false;
    poll_fn(|context| match Pin::new(&mut work).poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if has_looked => Poll::Ready(None),
        Poll::Pending => {
            has_looked = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// Most bodies come in one piece, and are not copied.
async fn gather(
    mut body: Limited<Incoming>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if first.is_empty() {
            first = piece;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&piece);
        }
    }
    Ok(if all.is_empty() { first } else { Bytes::from(all) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        let check = |host: &'static str| {
            check_host(&HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]))
                .is_ok()
        };
        for host in ["localhost", "LOCALHOST:7341", "127.0.0.1:7341", "127.8.8.8", "[::1]:7341"] {
            assert!(check(host), "{host}");
        }
        for host in [
            "example.com",
            "example.com:7341",
            "10.0.0.1",
            "localhost.example.com",
            "[2001:db8::1]:80",
            "",
            "::1.example.com",
        ] {
            assert!(!check(host), "{host}");
        }
    }

    #[test]
    fn media_types() {
        let check = |given: &'static str| {
            check_media(
                &HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(given))]),
                "application/json",
            )
            .is_ok()
        };
        assert!(check("application/json") && check("Application/JSON; charset=utf-8"));
        assert!(!check("text/plain") && !check("") && !check("application/json2"));
        assert!(check_media(&HeaderMap::new(), "application/json").is_err());
    }

    #[test]
    fn what_does_not_say_who_may_pass_lets_nobody_pass() {
        let operation = |security: serde_json::Value| serde_json::json!({ "operationId": "tell", "security": security });
        assert_eq!(door("get", &serde_json::json!({})), None);
        assert_eq!(door("get", &operation(serde_json::json!([]))), None);
        assert_eq!(door("get", &operation(serde_json::json!([{ "token": [] }]))), None);
        assert_eq!(door("get", &operation(serde_json::json!([{ "token": ["wizard"] }]))), None);
        assert_eq!(
            door("get", &serde_json::json!({ "operationId": "nothing", "security": [{}] })),
            None
        );
        assert_eq!(door("get", &operation(serde_json::json!([{}]))).unwrap().scope, None);
        assert_eq!(
            door("get", &operation(serde_json::json!([{ "token": ["read"] }]))).unwrap().scope,
            Some(Scope::Read)
        );
    }
}
