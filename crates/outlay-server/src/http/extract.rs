//! What handlers take from a request; whatever is wrong with a part of it is refused with its name.

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

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A variable part of the address by its name.
pub(crate) async fn path_part(
    parts: &mut Parts,
    name: &str,
) -> Result<Option<String>, ErrorResponse> {
    let parameters = parts
        .extract::<RawPathParams>()
        .await
        .map_err(|_| ErrorResponse::new(ErrorCode::BadParameter, "the address is not UTF-8"))?;
    let part = parameters.iter().find(|(key, _)| *key == name);
    Ok(part.map(|(_, value)| value.to_owned()))
}

async fn needed_part(parts: &mut Parts, name: &str) -> Result<String, ErrorResponse> {
    path_part(parts, name)
        .await?
        .ok_or_else(|| ErrorResponse::new(ErrorCode::Internal, "the address has no such part"))
}

/// The campaign that the address names.
#[derive(Debug)]
pub(crate) struct CampaignId(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for CampaignId {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        needed_part(parts, "campaign").await.map(Self)
    }
}

/// The round that the address names.
#[derive(Debug)]
pub(crate) struct RoundNumber(pub(crate) u64);

impl<S: Send + Sync> FromRequestParts<S> for RoundNumber {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let part = needed_part(parts, "round").await?;
        let round = part.parse().ok().filter(|round| i64::try_from(*round).is_ok());
        round.map(Self).ok_or_else(|| {
            let error = ApiError::new(ErrorCode::BadParameter, "the address names no round");
            error.hint(format!("a round is a whole number from 1 to {}", i64::MAX)).into()
        })
    }
}

/// The token that the address names.
#[derive(Debug)]
pub(crate) struct TokenId(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for TokenId {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        needed_part(parts, "id").await.map(Self)
    }
}

/// The part of the address after the question mark.
#[derive(Debug)]
pub(crate) struct QueryParameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let Query(parameters) = Query::try_from_uri(&parts.uri).map_err(|error| {
            let text = error.body_text();
            let what = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            ErrorResponse::new(
                ErrorCode::BadParameter,
                format!("the part after ? cannot be read: {what}"),
            )
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
        // Whatever passed `auth` has one.
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| ErrorResponse::new(ErrorCode::Internal, "the request has no caller"))
    }
}

/// The client's name for its request, if it has one. Which names are allowed the service knows.
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
            "Idempotency-Key must be given once, and in visible ASCII characters",
        )),
    }
}

/// The body as it is. It was read within its limits before the handler was chosen, see
/// [`receive`](super::middleware::receive).
async fn whole_body(request: Request, app: &Arc<App>) -> Result<Bytes, ErrorResponse> {
    Bytes::from_request(request, app).await.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => super::middleware::body_too_large(app),
        _ => ErrorResponse::new(ErrorCode::BadRequest, "the body broke off"),
    })
}

/// Larger bodies are read off the threads that answer requests.
const READ_HERE: usize = 64 * 1024;

fn not_read() -> ErrorResponse {
    ErrorResponse::new(ErrorCode::Internal, "this is a bug in outlay; please report it")
}

/// A JSON body whose every key is known.
#[derive(Debug)]
pub(crate) struct StrictJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<App>> for StrictJson<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ErrorResponse> {
        let (body, depth) = (whole_body(request, app).await?, app.limits().json_depth);
        if body.len() <= READ_HERE {
            return Ok(Self(json::read(&body, depth)?));
        }
        let read = tokio::task::spawn_blocking(move || json::read(&body, depth)).await;
        Ok(Self(read.map_err(|_| not_read())??))
    }
}

/// A body with a problem in it, which may have any shape.
pub(crate) trait HasFreePart {
    /// Keys of its parts that are records.
    const RECORDS: &'static [&'static str];
}

/// A JSON body with a part of any shape.
#[derive(Debug)]
pub(crate) struct FreeJson<T>(pub(crate) T);

impl<T: DeserializeOwned + HasFreePart + Send + 'static> FromRequest<Arc<App>> for FreeJson<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ErrorResponse> {
        let (body, depth) = (whole_body(request, app).await?, app.limits().json_depth);
        if body.len() <= READ_HERE {
            return Ok(Self(json::read_free(&body, depth, T::RECORDS)?));
        }
        let read = move || json::read_free(&body, depth, T::RECORDS);
        let read = tokio::task::spawn_blocking(read).await;
        Ok(Self(read.map_err(|_| not_read())??))
    }
}

/// A body of several JSON documents.
#[derive(Debug)]
pub(crate) struct Lines(pub(crate) Bytes);

impl FromRequest<Arc<App>> for Lines {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ErrorResponse> {
        whole_body(request, app).await.map(Self)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

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
