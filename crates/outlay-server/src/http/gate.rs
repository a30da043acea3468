//! What every request passes before its handler: who asks, what it brings, how long it may take.
//!
//! Which token a path needs is read from the API's own description, so that what is documented is what is asked for. A path and method
//! without an entry are not let through.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use utoipa::openapi::OpenApi;

use super::App;
use super::connections::Taken;
use super::problem::Refusal;
use crate::refusal::{Code, Refused};
use crate::tokens::{Scope, Subject};

/// The name that the API's description gives to tokens.
pub(crate) const SCHEME: &str = "token";

/// Whoever asks: the token's public part, empty without tokens.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Arc<str>);

/// What one method of one path needs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Door {
    method: Method,
    scope: Option<Scope>,
    /// What the body must be; absent: there is none.
    media: Option<String>,
}

/// What every path needs.
#[derive(Debug, Default)]
pub(crate) struct Doors(HashMap<String, Vec<Door>>);

impl Doors {
    /// From the API's description.
    pub(crate) fn of(api: &OpenApi) -> Self {
        let api = serde_json::to_value(api).unwrap_or_default();
        let paths = api["paths"].as_object().into_iter().flatten();
        Self(paths.map(|(path, item)| (path.clone(), doors(item))).collect())
    }
}

fn doors(item: &serde_json::Value) -> Vec<Door> {
    let operations = item.as_object().into_iter().flatten();
    operations.filter_map(|(method, operation)| door(method, operation)).collect()
}

/// None if the description does not say who may pass: then nobody may.
fn door(method: &str, operation: &serde_json::Value) -> Option<Door> {
    let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).ok()?;
    let needed = operation["security"].as_array()?.first()?.as_object()?;
    let scope = match needed.get(SCHEME) {
        None => None,
        Some(scopes) => Some(Scope::named(scopes[0].as_str()?)?),
    };
    let media = operation["requestBody"]["content"].as_object().and_then(|content| content.keys().next().cloned());
    Some(Door { method, scope, media })
}

/// Lets a request through to its handler, or answers for it.
pub(crate) async fn gate(
    State(app): State<Arc<App>>,
    path: MatchedPath,
    parameters: Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let passed = async {
        let parameters = parameters.map_err(|_| Refusal::new(Code::BadParameter, "the address is not UTF-8"))?;
        let campaign = parameters.iter().find(|(name, _)| *name == "campaign").map(|(_, id)| id);
        let doors = app.doors.0.get(path.as_str()).map(Vec::as_slice).unwrap_or_default();
        let door = find(doors, request.method())?;
        let caller = admit(&app, door, path.as_str(), campaign, request.headers())?;
        let (mut head, body) = request.into_parts();
        head.extensions.insert(caller);
        let seat = head.extensions.remove::<Arc<Taken>>();
        let body = match &door.media {
            Some(media) => {
                check_media(&head.headers, media)?;
                read(body, &head.headers, &app).await?
            }
            None => Bytes::new(),
        };
        // The whole request is there: from here on the connection is not closed for somebody else's.
        Ok((Request::from_parts(head, Body::from(body)), seat.map(|seat| seat.busy())))
    };
    let (request, _busy) = match passed.await {
        Ok(passed) => passed,
        Err(refusal) => return Refusal::into_response(refusal),
    };
    // In a task of its own: what has begun is finished even if nobody waits for it any more.
    match tokio::time::timeout(app.limits().request_timeout, tokio::spawn(next.run(request))).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => Refusal::new(Code::Internal, "this is a bug in outlay; please report it").into_response(),
        Err(_) => Refusal::from(
            Refused::new(Code::Busy, "there was no answer in time; whether the request was carried out is not known")
                .hint("send the same again: rounds with their Idempotency-Key, feedback as it is"),
        )
        .into_response(),
    }
}

fn find<'a>(doors: &'a [Door], method: &Method) -> Result<&'a Door, Refusal> {
    // Whatever may be got may be asked for without its body.
    let wanted = if method == Method::HEAD { &Method::GET } else { method };
    doors.iter().find(|door| door.method == *wanted).ok_or_else(|| {
        let allowed: Vec<&str> = doors.iter().map(|door| door.method.as_str()).collect();
        let allow = HeaderValue::from_str(&allowed.join(", ")).unwrap_or(HeaderValue::from_static(""));
        Refusal::new(Code::WrongMethod, format!("the address takes {}", allowed.join(", "))).with_header(header::ALLOW, allow)
    })
}

fn admit(app: &App, door: &Door, path: &str, campaign: Option<&str>, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let nobody = || Caller(Arc::from(""));
    let Some(scope) = door.scope else { return Ok(nobody()) };
    if app.tokens.is_open() {
        check_host(headers)?;
        return Ok(nobody());
    }
    let Some(token) = bearer(headers) else {
        let refused = Refused::new(Code::Unauthorised, "the request has no token");
        return Err(refused.hint("send it as `Authorization: Bearer outlay_…`").into());
    };
    let holder = app.tokens.admit(token, app.desk.clock().now())?;
    let subject = match campaign {
        Some(campaign) => Subject::Campaign(campaign),
        // A problem that is sent along is nobody's campaign.
        None if path == "/v1/allocate" => Subject::Nothing,
        None => Subject::Everything,
    };
    holder.may(scope, subject)?;
    app.rates.take(&holder.id, Instant::now()).map_err(|seconds| {
        let most = app.limits().requests_per_second;
        let refused = Refused::new(Code::TooManyRequests, format!("the token asks more than {most} times a second"));
        Refusal::from(refused.hint("the limit is requests_per_second")).with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    })?;
    Ok(Caller(Arc::from(holder.id)))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Without tokens only this machine is to be served. A page in its browser that has given its own name our address would still get
/// through; its requests carry that name.
fn check_host(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(host) = headers.get(header::HOST) else { return Ok(()) };
    let host = host.to_str().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_local = name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_local {
        return Ok(());
    }
    let refused = Refused::new(Code::Forbidden, "without tokens the service answers to the names of this machine only");
    Err(refused.hint("make a token with `outlay token create`, or ask for 127.0.0.1").into())
}

fn check_media(headers: &HeaderMap, wanted: &str) -> Result<(), Refusal> {
    let wrong = |detail: String| Refusal::new(Code::WrongMediaType, detail);
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(wrong("the body is compressed; send it as it is".to_owned()));
    }
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let plain = given.split(';').next().unwrap_or_default().trim();
    if plain.eq_ignore_ascii_case(wanted) { Ok(()) } else { Err(wrong(format!("the body must be sent as `Content-Type: {wanted}`"))) }
}

/// Reads the whole body, within its limits of size and time.
async fn read(body: Body, headers: &HeaderMap, app: &App) -> Result<Bytes, Refusal> {
    let (most, patience) = (app.limits().body_bytes, app.limits().body_timeout);
    let too_large = || {
        let refused = Refused::new(Code::TooLarge, format!("the body has more than {most} bytes"));
        Refusal::from(refused.hint("the limit is body_bytes; send several requests"))
    };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()).and_then(|text| text.parse::<u64>().ok());
    if announced.is_some_and(|announced| announced > most as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(patience, Limited::new(body, most).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Refusal::new(Code::BadRequest, "the body broke off")),
        Err(_) => Err(Refusal::new(Code::Timeout, format!("the body did not arrive within {} s", patience.as_secs_f64()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        let check = |host: &'static str| check_host(&HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))])).is_ok();
        for host in ["localhost", "LOCALHOST:7341", "127.0.0.1:7341", "127.8.8.8", "[::1]:7341"] {
            assert!(check(host), "{host}");
        }
        for host in ["example.com", "example.com:7341", "10.0.0.1", "localhost.example.com", "[2001:db8::1]:80", "", "::1.example.com"] {
            assert!(!check(host), "{host}");
        }
    }

    #[test]
    fn media_types() {
        let check = |given: &'static str| {
            check_media(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(given))]), "application/json").is_ok()
        };
        assert!(check("application/json") && check("Application/JSON; charset=utf-8"));
        assert!(!check("text/plain") && !check("") && !check("application/json2"));
        assert!(check_media(&HeaderMap::new(), "application/json").is_err());
    }

    #[test]
    fn what_does_not_say_who_may_pass_lets_nobody_pass() {
        let operation = |security: serde_json::Value| serde_json::json!({ "security": security });
        assert_eq!(door("get", &serde_json::json!({})), None);
        assert_eq!(door("get", &operation(serde_json::json!([]))), None);
        assert_eq!(door("get", &operation(serde_json::json!([{ "token": [] }]))), None);
        assert_eq!(door("get", &operation(serde_json::json!([{ "token": ["wizard"] }]))), None);
        assert_eq!(door("get", &operation(serde_json::json!([{}]))).unwrap().scope, None);
        assert_eq!(door("get", &operation(serde_json::json!([{ "token": ["read"] }]))).unwrap().scope, Some(Scope::Read));
    }
}
