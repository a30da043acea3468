//! Reports and corrections of outcomes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::{BulkLine, Corrected, Correction, Feedback, Told};
use crate::error::{ApiError, ErrorCode};
use crate::http::App;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::{Caller, CampaignId, Lines, RoundNumber, StrictJson};
use crate::http::parameters::{InCampaign, InRound};

/// Report outcomes of a round.
///
/// Reports may be partial, late and repeated: each pair of round and task counts once. If an
/// outcome contradicts an earlier one, the whole report is rejected.
#[utoipa::path(
    put,
    path = "/v1/campaigns/{campaign}/rounds/{round}/feedback",
    operation_id = "tell",
    tag = "feedback",
    params(InRound),
    request_body = Feedback,
    responses(
        (status = 200, description = "Counted.", body = Told),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["report"]))
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    RoundNumber(round): RoundNumber,
    StrictJson(feedback): StrictJson<Feedback>,
) -> Result<Json<Told>, ErrorResponse> {
    Ok(Json(app.service.tell(&id, round, feedback, &caller.0).await?))
}

/// Result of a bulk report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BulkTold {
    /// Number of new outcomes of all lines.
    pub accepted: u64,
    /// Number of outcomes that repeat an earlier one.
    pub duplicate: u64,
    /// Number of new outcomes that arrived after their round had expired; they count.
    pub late: u64,
    /// Number of new outcomes whose reward was above the largest one and was clipped; absent if there
    /// is none.
    #[serde(default, skip_serializing_if = "crate::api::is_zero")]
    #[schema(required = false)]
    pub clipped: u64,
    /// Rejected lines with the reasons.
    pub refused: Vec<RefusedLine>,
}

/// A rejected line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RefusedLine {
    /// Its number, starting at 1.
    pub line: u64,
    /// Stable identifier of the error type.
    pub code: String,
    /// One sentence about the error.
    pub detail: String,
    /// JSON pointer into the line, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The stored outcome, for a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub stored: Option<serde_json::Value>,
}

/// Report outcomes of many rounds.
///
/// One JSON object per line. All accepted lines are committed together. A line that is rejected or
/// is not valid JSON does not affect the others. If no line is valid JSON, the whole report is
/// rejected.
#[utoipa::path(
    post,
    path = "/v1/campaigns/{campaign}/feedback",
    operation_id = "tell_many",
    tag = "feedback",
    params(InCampaign),
    request_body(content = BulkLine, content_type = "application/x-ndjson", description = "One line per round, up to 10000"),
    responses(
        (status = 200, description = "Counted, except for the listed lines.", body = BulkTold),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["report"]))
)]
pub(crate) async fn bulk(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    Lines(lines): Lines<BulkLine>,
) -> Result<Json<BulkTold>, ErrorResponse> {
    let (mut understood, mut numbered) =
        (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()));
    for (number, line) in lines {
        numbered.push((number, line.map(|line| understood.push(line))));
    }
    let mut told = app.service.tell_many(&id, understood, &caller.0).await?.into_iter();
    let mut sum = BulkTold { accepted: 0, duplicate: 0, late: 0, clipped: 0, refused: Vec::new() };
    for (line, read) in numbered {
        let missing = || Err(ApiError::new(ErrorCode::Internal, "the line has no result"));
        match read.and_then(|()| told.next().unwrap_or_else(missing)) {
            Ok(Told { accepted, duplicate, late, clipped }) => {
                sum.accepted += accepted;
                sum.duplicate += duplicate;
                sum.late += late;
                sum.clipped += clipped;
            }
            Err(ApiError { code, detail, pointer, stored, .. }) => {
                sum.refused.push(RefusedLine {
                    line,
                    code: code.info().word.to_owned(),
                    detail,
                    pointer,
                    stored: stored.map(|stored| *stored),
                });
            }
        }
    }
    Ok(Json(sum))
}

/// Correct an outcome.
///
/// The previous outcome stays on record.
#[utoipa::path(
    post,
    path = "/v1/campaigns/{campaign}/rounds/{round}/corrections",
    operation_id = "correct",
    tag = "feedback",
    params(InRound),
    request_body = Correction,
    responses(
        (status = 200, description = "Counted instead.", body = Corrected),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn correct(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    RoundNumber(round): RoundNumber,
    StrictJson(correction): StrictJson<Correction>,
) -> Result<Json<Corrected>, ErrorResponse> {
    Ok(Json(app.service.correct(&id, round, correction, &caller.0).await?))
}
