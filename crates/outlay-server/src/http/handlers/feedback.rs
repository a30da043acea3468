//! What came back of rounds.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorCode};
use crate::http::App;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::{Caller, CampaignId, Lines, RoundNumber, StrictJson};
use crate::http::parameters::{InCampaign, InRound};
use crate::shapes::{BulkLine, Corrected, Correction, Feedback, Told};

/// Tell what came back of a round.
///
/// Wholly or in part, late, and as often as you like: every (round, task) counts once. If anything
/// contradicts what was told before, nothing of the report is taken.
#[utoipa::path(
    put,
    path = "/v1/campaigns/{campaign}/rounds/{round}/feedback",
    operation_id = "tell",
    tag = "feedback",
    params(InRound),
    request_body = Feedback,
    responses(
        (status = 200, description = "Counted.", body = Told),
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
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

/// What became of a bulk report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BulkTold {
    /// Outcomes of all lines that were new.
    pub accepted: u64,
    /// Outcomes of all lines that had come before, and the same.
    pub duplicate: u64,
    /// New ones that came after their round had expired; they count.
    pub late: u64,
    /// Lines of which nothing was taken, and why.
    pub refused: Vec<RefusedLine>,
}

/// A line of which nothing was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RefusedLine {
    /// Which one, counted from 1.
    pub line: u64,
    /// Why, as a word that programs may rely on.
    pub code: String,
    /// Why, in a sentence.
    pub detail: String,
    /// JSON pointer to the place in the line, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What is stored instead, for a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub stored: Option<serde_json::Value>,
}

/// Tell what came back of many rounds.
///
/// A JSON object a line. All lines are kept together and durably; a line that is refused, or cannot
/// be understood, does not hinder the others. Where no line can be understood the whole report is
/// refused.
#[utoipa::path(
    post,
    path = "/v1/campaigns/{campaign}/feedback",
    operation_id = "tell_many",
    tag = "feedback",
    params(InCampaign),
    request_body(content = BulkLine, content_type = "application/x-ndjson", description = "A line a round, up to 10000"),
    responses(
        (status = 200, description = "Counted, except for the lines named.", body = BulkTold),
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
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
    let mut sum = BulkTold { accepted: 0, duplicate: 0, late: 0, refused: Vec::new() };
    for (line, read) in numbered {
        let missing = || Err(ApiError::new(ErrorCode::Internal, "the line has no result"));
        match read.and_then(|()| told.next().unwrap_or_else(missing)) {
            Ok(Told { accepted, duplicate, late }) => {
                sum.accepted += accepted;
                sum.duplicate += duplicate;
                sum.late += late;
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

/// Correct what was told.
///
/// The only way to change history, and the first report stays in it.
#[utoipa::path(
    post,
    path = "/v1/campaigns/{campaign}/rounds/{round}/corrections",
    operation_id = "correct",
    tag = "feedback",
    params(InRound),
    request_body = Correction,
    responses(
        (status = 200, description = "Counted instead.", body = Corrected),
        (status = "4XX", description = "Refused.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "Not done.", body = ProblemDetails, content_type = "application/problem+json"),
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
