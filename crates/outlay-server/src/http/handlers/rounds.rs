//! Rounds: asked for, and looked back at.

use axum::Json;
use axum::http::{HeaderMap, StatusCode};

use crate::error::ErrorCode;
use crate::http::call::Call;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::parameters::{InCampaign, Page};
use crate::shapes::{Ask, RoundList, Rounds};

const KEY: &str = "idempotency-key";

/// Ask for rounds.
///
/// All of them have the same split. With an `Idempotency-Key` the same request can be sent again
/// for a day and gets the same rounds.
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
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["decide"]))
)]
pub(crate) async fn post(call: &mut Call<'_>) -> Result<(StatusCode, Json<Rounds>), ErrorResponse> {
    let (id, key, ask) = (call.campaign()?, key(call.headers())?.map(str::to_owned), call.body()?);
    call.release();
    let rounds = call.app.service.ask(&id, ask, key.as_deref(), &call.caller).await?;
    Ok((StatusCode::CREATED, Json(rounds)))
}

/// The client's name for its request, if it has one. What may be a key the service knows.
fn key(headers: &HeaderMap) -> Result<Option<&str>, ErrorResponse> {
    let mut keys = headers.get_all(KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    match key.to_str() {
        Ok(key) if keys.next().is_none() => Ok(Some(key)),
        _ => Err(ErrorResponse::new(
            ErrorCode::BadParameter,
            "Idempotency-Key must be given once, and in visible ASCII characters",
        )),
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
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn list(call: &Call<'_>) -> Result<Json<RoundList>, ErrorResponse> {
    let page: Page = call.asked()?;
    let limit = page.limit(call.app)?;
    Ok(Json(call.app.service.rounds(&call.campaign()?, page.after.unwrap_or(0), limit).await?))
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
