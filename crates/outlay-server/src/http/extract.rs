//! Extractors for handlers. Errors name the invalid part of the request.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::RequestPartsExt;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use serde::de::DeserializeOwned;

use super::App;
use super::error::ErrorResponse;
use super::json;
use crate::error::{ApiError, ErrorCode};
use crate::limits::Limits;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A variable part of the path by its name.
pub(crate) async fn path_part(
    parts: &mut Parts,
    name: &str,
) -> Result<Option<String>, ErrorResponse> {
    let parameters = parts
        .extract::<RawPathParams>()
        .await
        .map_err(|_| ErrorResponse::new(ErrorCode::BadParameter, "the path is not valid UTF-8"))?;
    let part = parameters.iter().find(|(key, _)| *key == name);
    Ok(part.map(|(_, value)| value.to_owned()))
}

async fn needed_part(parts: &mut Parts, name: &str) -> Result<String, ErrorResponse> {
    path_part(parts, name)
        .await?
        .ok_or_else(|| ErrorResponse::new(ErrorCode::Internal, "the path has no such parameter"))
}

/// The campaign in the path.
#[derive(Debug)]
pub(crate) struct CampaignId(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for CampaignId {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        needed_part(parts, "campaign").await.map(Self)
    }
}

/// The round in the path.
#[derive(Debug)]
pub(crate) struct RoundNumber(pub(crate) u64);

impl<S: Send + Sync> FromRequestParts<S> for RoundNumber {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let part = needed_part(parts, "round").await?;
        let round = part.parse().ok().filter(|round| i64::try_from(*round).is_ok());
        round.map(Self).ok_or_else(|| {
            let error = ApiError::new(ErrorCode::BadParameter, "the path does not name a round");
            error.hint(format!("a round is a whole number from 1 to {}", i64::MAX)).into()
        })
    }
}

/// The token in the path.
#[derive(Debug)]
pub(crate) struct TokenId(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for TokenId {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        needed_part(parts, "id").await.map(Self)
    }
}

/// The query string.
#[derive(Debug)]
pub(crate) struct QueryParameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let Query(parameters) = Query::try_from_uri(&parts.uri).map_err(|error| {
            let text = error.body_text();
            let what = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            ErrorResponse::new(ErrorCode::BadParameter, format!("the query is invalid: {what}"))
        })?;
        Ok(Self(parameters))
    }
}

/// The public part of the token that the request was authorised with; empty without tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller(pub(crate) Arc<str>);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        // Every authorised request has one.
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| ErrorResponse::new(ErrorCode::Internal, "the request has no caller"))
    }
}

/// The idempotency key, if there is one. The service validates it.
#[derive(Debug)]
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        idempotency_key(&parts.headers).map(|key| Self(key.map(str::to_owned)))
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, ErrorResponse> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    match key.to_str() {
        Ok(key) if keys.next().is_none() => Ok(Some(key)),
        _ => Err(ErrorResponse::new(
            ErrorCode::BadParameter,
            "Idempotency-Key must be given once, in visible ASCII characters",
        )),
    }
}

/// The raw body. It was read within its limits before the handler was called, see
/// [`receive`](super::middleware::receive).
async fn whole_body(request: Request, app: &Arc<App>) -> Result<Bytes, ErrorResponse> {
    Bytes::from_request(request, app).await.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => super::middleware::body_too_large(app),
        _ => ErrorResponse::new(ErrorCode::BadRequest, "the body is incomplete"),
    })
}

/// Larger bodies are parsed in the background. This many bytes take some tenths of a millisecond.
const READ_HERE: usize = 16 * 1024;

/// Parses a body with `read`; a large one in the background, when its campaign has its turn.
async fn read_body<T: Send + 'static>(
    request: Request,
    app: &Arc<App>,
    read: impl FnOnce(&[u8], &Limits) -> Result<T, ErrorResponse> + Send + 'static,
) -> Result<T, ErrorResponse> {
    let campaign = campaign_of(request.uri().path()).to_owned();
    let body = whole_body(request, app).await?;
    if body.len() <= READ_HERE {
        return read(&body, app.limits());
    }
    let (bytes, service) = (body.len(), app.service.clone());
    let read = move || read(&body, service.limits());
    app.service.background().run(&campaign, bytes, read).await?
}

/// The campaign in the path; requests without one share their turns.
fn campaign_of(path: &str) -> &str {
    path.split('/').skip_while(|part| *part != "campaigns").nth(1).unwrap_or_default()
}

/// A JSON body with known keys only.
#[derive(Debug)]
pub(crate) struct StrictJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<App>> for StrictJson<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ErrorResponse> {
        let read = |body: &[u8], limits: &Limits| Ok(json::read(body, limits.json_depth)?);
        read_body(request, app, read).await.map(Self)
    }
}

/// A body that contains a problem, which is free-form JSON.
pub(crate) trait HasFreePart {
    /// Keys of its parts that must be objects.
    const RECORDS: &'static [&'static str];
}

/// A JSON body with a free-form part.
#[derive(Debug)]
pub(crate) struct FreeJson<T>(pub(crate) T);

impl<T: DeserializeOwned + HasFreePart + Send + 'static> FromRequest<Arc<App>> for FreeJson<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ErrorResponse> {
        let read = |body: &[u8], limits: &Limits| {
            Ok(json::read_free(body, limits.json_depth, T::RECORDS)?)
        };
        read_body(request, app, read).await.map(Self)
    }
}

/// A line with its number in the body.
pub(crate) type Line<T> = (u64, Result<T, ApiError>);

/// A body with one JSON document per line; empty lines are skipped. At least one line must be
/// valid.
#[derive(Debug)]
pub(crate) struct Lines<T>(pub(crate) Vec<Line<T>>);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<App>> for Lines<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ErrorResponse> {
        read_body(request, app, lines).await.map(Self)
    }
}

fn lines<T: DeserializeOwned>(
    bytes: &[u8],
    limits: &Limits,
) -> Result<Vec<Line<T>>, ErrorResponse> {
    let most = limits.bulk_lines;
    let mut lines = VecDeque::new();
    let numbered = bytes
        .split(|byte| *byte == b'\n')
        .zip(1..)
        .filter(|(line, _)| !line.trim_ascii().is_empty());
    for (line, number) in numbered {
        if lines.len() == most {
            let refused = ApiError::new(
                ErrorCode::TooLarge,
                format!("the report has more than {most} lines"),
            );
            return Err(refused.hint("the limit is bulk_lines; send several requests").into());
        }
        lines.push_back((number, json::read(line, limits.json_depth)));
    }
    if lines.is_empty() {
        return Err(ErrorResponse::new(ErrorCode::BadRequest, "the report has no lines"));
    }
    if lines.iter().all(|(_, line)| line.is_err())
        && let Some((number, Err(first))) = lines.pop_front()
    {
        // A pointer would refer to the line, and the body is not one document.
        return Err(ApiError {
            detail: format!("line {number}: {}", first.detail),
            pointer: None,
            ..first
        }
        .into());
    }
    Ok(lines.into())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn campaigns_of_addresses() {
        assert_eq!(campaign_of("/v1/campaigns/shop/rounds/7/feedback"), "shop");
        assert_eq!(campaign_of("/prefix/v1/campaigns/shop"), "shop");
        assert_eq!(campaign_of("/v1/allocate"), "");
    }

    #[test]
    fn keys() {
        let with = |keys: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for key in keys {
                headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(key).unwrap());
            }
            idempotency_key(&headers).map(|key| key.map(str::to_owned))
        };
        assert_eq!(with(&[]).unwrap(), None);
        assert_eq!(with(&[b"job-7"]).unwrap().as_deref(), Some("job-7"));
        for wrong in [&[b"\xff".as_slice()] as &[&[u8]], &[b"a", b"b"]] {
            assert!(with(wrong).is_err(), "{wrong:?}");
        }
    }
}
