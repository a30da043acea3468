//! Request and list rounds.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::api::{Ask, RoundList, Rounds};
use crate::http::App;
use crate::http::answers::Answers;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::{Caller, CampaignId, IdempotencyKey, QueryParameters, StrictJson};
use crate::http::parameters::{InCampaign, Page};

/// Request rounds.
///
/// All of them have the same split. With an `Idempotency-Key` the request can be repeated for a day
/// and returns the same rounds.
#[utoipa::path(
    post,
    path = "/v1/campaigns/{campaign}/rounds",
    operation_id = "ask",
    tag = "rounds",
    params(
        InCampaign,
        ("idempotency-key" = Option<String>, Header, pattern = "^[!-~]{1,256}$", description = "Identifies the request; up to 256 visible ASCII characters"),
    ),
    request_body = Ask,
    responses(
        (status = 201, description = "Handed out.", body = Rounds),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["decide"]))
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    IdempotencyKey(key): IdempotencyKey,
    StrictJson(ask): StrictJson<Ask>,
) -> Result<Response, ErrorResponse> {
    let rounds = app.service.ask(&id, ask, key.as_deref(), &caller.0).await?;
    if !Answers::is_large(rounds.tasks.len()) {
        return Ok((StatusCode::CREATED, Json(rounds)).into_response());
    }
    Ok((StatusCode::CREATED, app.large_answer(&id).await?.json(rounds).await?).into_response())
}

/// List rounds in order, with their outcomes.
#[utoipa::path(
    get,
    path = "/v1/campaigns/{campaign}/rounds",
    operation_id = "list_rounds",
    tag = "rounds",
    params(InCampaign, Page),
    responses(
        (status = 200, description = "A page of rounds.", body = RoundList),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    CampaignId(id): CampaignId,
    QueryParameters(page): QueryParameters<Page>,
) -> Result<Response, ErrorResponse> {
    let (limit, writer) = (page.limit(&app)?, app.large_answer(&id).await?);
    writer.json(app.service.rounds(&id, page.after.unwrap_or(0), limit).await?).await
}
