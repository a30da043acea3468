//! Authorisation: the scope that a route needs, and the token of a request.
//!
//! The required scope is read from the API description, so that documentation and behaviour agree.
//! A path and method without an entry are not served.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use utoipa::openapi::OpenApi;

use super::App;
use super::access_log::{ClientAddress, Identity};
use super::error::ErrorResponse;
use super::extract::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::tokens::{Scope, Subject, public_part};

/// Name of the security scheme in the API description.
pub(crate) const SCHEME: &str = "token";

/// Requirements of one method of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    method: Method,
    scope: Option<Scope>,
    /// Media type of the body; absent: no body.
    pub(crate) media: Option<String>,
}

/// A path of the API.
#[derive(Debug)]
pub(crate) struct Route {
    /// As in the API description, with names for its variable parts.
    pub(crate) path: Arc<str>,
    operations: Vec<Operation>,
}

impl Route {
    /// The operation for a method.
    pub(crate) fn operation(&self, method: &Method) -> Result<&Operation, ErrorResponse> {
        // HEAD is allowed wherever GET is.
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let found = self.operations.iter().find(|operation| operation.method == *wanted);
        found.ok_or_else(|| {
            let allowed: Vec<&str> =
                self.operations.iter().map(|operation| operation.method.as_str()).collect();
            let allow =
                HeaderValue::from_str(&allowed.join(", ")).unwrap_or(HeaderValue::from_static(""));
            let detail = format!("the path supports {}", allowed.join(", "));
            ErrorResponse::new(ErrorCode::WrongMethod, detail).with_header(header::ALLOW, allow)
        })
    }
}

/// All routes.
#[derive(Debug, Default)]
pub(crate) struct RouteTable(HashMap<String, Route>);

impl RouteTable {
    /// From the API description, and pages that need no token.
    pub(crate) fn new(api: &OpenApi, pages: &[&str]) -> Self {
        let api = serde_json::to_value(api).unwrap_or_default();
        let described = api["paths"].as_object().into_iter().flatten();
        let described = described.map(|(path, item)| (path.as_str(), operations(item)));
        let page = || vec![Operation { method: Method::GET, scope: None, media: None }];
        let pages = pages.iter().map(|path| (*path, page()));
        let route = |(path, operations): (&str, Vec<Operation>)| {
            (path.to_owned(), Route { path: Arc::from(path), operations })
        };
        Self(described.chain(pages).map(route).collect())
    }

    /// The entry of a matched path.
    pub(crate) fn find(&self, path: &str) -> Option<&Route> {
        self.0.get(path)
    }
}

fn operations(item: &serde_json::Value) -> Vec<Operation> {
    let operations = item.as_object().into_iter().flatten();
    operations.filter_map(|(method, described)| operation(method, described)).collect()
}

/// `None` if the description lacks a security requirement; the operation is then not served.
fn operation(method: &str, described: &serde_json::Value) -> Option<Operation> {
    let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).ok()?;
    let needed = described["security"].as_array()?.first()?.as_object()?;
    let scope = match needed.get(SCHEME) {
        None => None,
        Some(scopes) => Some(Scope::named(scopes[0].as_str()?)?),
    };
    let media = described["requestBody"]["content"]
        .as_object()
        .and_then(|content| content.keys().next().cloned());
    Some(Operation { method, scope, media })
}

/// True if the token of an authorised request is still valid.
pub(crate) fn is_still_admitted(app: &App, headers: &HeaderMap) -> bool {
    let now = app.service.clock().now();
    app.tokens.is_open()
        || bearer(headers).is_some_and(|token| app.tokens.admit(token, now).is_ok())
}

/// The caller, if the request is permitted.
pub(crate) async fn authorize(
    app: &App,
    route: &Route,
    operation: &Operation,
    campaign: Option<&str>,
    parts: &Parts,
    identity: &mut Identity,
) -> Result<Caller, ErrorResponse> {
    let headers = &parts.headers;
    let Some(scope) = operation.scope else { return Ok(Caller::default()) };
    if let Some(token) = bearer(headers) {
        app.tokens.look_up(token).await;
    }
    if app.tokens.is_open() {
        check_host(headers)?;
        return Ok(Caller::default());
    }
    let Some(token) = bearer(headers) else {
        let error = ApiError::new(ErrorCode::Unauthorised, "the request has no token");
        return Err(error.hint("send one as `Authorization: Bearer outlay_…`").into());
    };
    identity.token = public_part(token).map(Arc::from);
    let holder = app.tokens.admit(token, app.service.clock().now())?;
    identity.token_name = holder.name.clone();
    if let Some(warning) = &app.plain_http {
        let client = parts.extensions.get::<ClientAddress>().map(|client| client.0);
        warning.note(client, is_forwarded_tls(headers));
    }
    if holder.is_to_be_noted {
        app.service.note_use(&holder.id);
    }
    let subject = match campaign {
        Some(campaign) => Subject::Campaign(campaign),
        // A problem in the request body belongs to no campaign.
        None if &*route.path == "/v1/allocate" => Subject::Nothing,
        None => Subject::Everything,
    };
    holder.may(scope, subject)?;
    app.rates.take(&holder.id, Instant::now()).map_err(|seconds| {
        let most = app.limits().requests_per_second;
        let error = ApiError::new(
            ErrorCode::TooManyRequests,
            format!("the token has sent more than {most} requests per second"),
        );
        ErrorResponse::from(error.hint("the limit is requests_per_second"))
            .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    })?;
    Ok(Caller(Arc::from(holder.id)))
}

/// Whether a proxy has received the request over TLS.
fn is_forwarded_tls(headers: &HeaderMap) -> bool {
    let forwarded = headers.get(HeaderName::from_static("x-forwarded-proto"));
    forwarded.is_some_and(|scheme| scheme.as_bytes().eq_ignore_ascii_case(b"https"))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Without tokens only local requests are served. A web page could still reach the service by
/// giving its own host name our address (DNS rebinding); such requests carry that name.
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
        "authentication is off, so only requests to the names of this machine are accepted",
    );
    Err(refused.hint("create a token with `outlay token create`, or use the host 127.0.0.1").into())
}

pub(crate) fn check_media(headers: &HeaderMap, wanted: &str) -> Result<(), ErrorResponse> {
    let wrong = |detail: String| ErrorResponse::new(ErrorCode::WrongMediaType, detail);
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(wrong("compressed bodies are not supported".to_owned()));
    }
    let given =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let plain = given.split(';').next().unwrap_or_default().trim();
    if plain.eq_ignore_ascii_case(wanted) {
        Ok(())
    } else {
        Err(wrong(format!("expected `Content-Type: {wanted}`")))
    }
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
    fn operations_without_valid_security_are_rejected() {
        let described = |security: serde_json::Value| serde_json::json!({ "security": security });
        assert_eq!(operation("get", &serde_json::json!({})), None);
        assert_eq!(operation("get", &described(serde_json::json!([]))), None);
        assert_eq!(operation("get", &described(serde_json::json!([{ "token": [] }]))), None);
        assert_eq!(
            operation("get", &described(serde_json::json!([{ "token": ["wizard"] }]))),
            None
        );
        assert_eq!(operation("get", &described(serde_json::json!([{}]))).unwrap().scope, None);
        assert_eq!(
            operation("get", &described(serde_json::json!([{ "token": ["read"] }]))).unwrap().scope,
            Some(Scope::Read)
        );
    }
}
