//! Rounds: asked for, and looked back at.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};

use super::App;
use super::extract::{Asked, Caller, InCampaign, Page, Place, Sent, body};
use super::problem::{Problem, Refusal};
use crate::refusal::Code;
use crate::shapes::{Ask, RoundList, Rounds};

const KEY: &str = "idempotency-key";

/// Ask for rounds.
///
/// All of them have the same split. With an `Idempotency-Key` the same request can be sent again for a day and gets the same rounds.
#[utoipa::path(
    post,
    path = "/v1/campaigns/{campaign}/rounds",
    operation_id = "ask",
    tag = "rounds",
    params(
        InCampaign,
        ("idempotency-key" = Option<String>, Header, pattern = "^[!-~]{1,256}$", description = "Your name for this request, up to 256 visible ASCII characters"),
    ),
    request_body = Ask,
    responses(
        (status = 201, description = "Handed out.", body = Rounds),
        (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = ["decide"]))
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    Place(InCampaign { campaign: id }): Place<InCampaign>,
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    Sent(bytes): Sent,
) -> Result<(StatusCode, Json<Rounds>), Refusal> {
    let ask: Ask = body(&bytes, &app)?;
    let rounds = app.desk.ask(&id, ask, key.as_deref(), &caller.0).await?;
    Ok((StatusCode::CREATED, Json(rounds)))
}

/// The client's name for its request, if it has one.
#[derive(Debug)]
pub(crate) struct IdempotencyKey(Option<String>);

impl FromRequestParts<Arc<App>> for IdempotencyKey {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Refusal> {
        Ok(Self(key(&parts.headers)?.map(str::to_owned)))
    }
}

/// What may be a key the desk knows.
fn key(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut keys = headers.get_all(KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    match key.to_str() {
        Ok(key) if keys.next().is_none() => Ok(Some(key)),
        _ => Err(Refusal::new(Code::BadParameter, "Idempotency-Key must be given once, and in visible ASCII characters")),
    }
}

/// Rounds in order, with what came back of them.
#[utoipa::path(
    get,
    path = "/v1/campaigns/{campaign}/rounds",
    operation_id = "list_rounds",
    tag = "rounds",
    params(InCampaign, Page),
    responses(
        (status = 200, description = "A page of them.", body = RoundList),
        (status = "4XX", description = "Refused.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Place(InCampaign { campaign: id }): Place<InCampaign>,
    Asked(page): Asked<Page>,
) -> Result<Json<RoundList>, Refusal> {
    let limit = page.limit(&app)?;
    Ok(Json(app.desk.rounds(&id, page.after.unwrap_or(0), limit).await?))
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
                headers.append(KEY, HeaderValue::from_bytes(key).unwrap());
            }
            key(&headers).map(|key| key.map(str::to_owned))
        };
        assert_eq!(with(&[]).unwrap(), None);
        assert_eq!(with(&[b"job-7"]).unwrap().as_deref(), Some("job-7"));
        for wrong in [&[b"\xff".as_slice()] as &[&[u8]], &[b"a", b"b"]] {
            assert!(with(wrong).is_err(), "{wrong:?}");
        }
    }
}
