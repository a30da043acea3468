//! Compaction of old rounds on request.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorCode};
use crate::http::App;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::StrictJson;
use crate::service::SweepReport;

/// Time limit of one request; the response says whether there is more to do.
const LONGEST: Duration = Duration::from_secs(5);

/// The longest time to retain rounds: a hundred years.
const MAX_RETAIN_SECONDS: u64 = 3_155_760_000;

/// Which rounds to compact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactionRequest {
    /// Compact rounds that expired longer ago than this.
    #[serde(deserialize_with = "crate::int64::number")]
    #[schema(minimum = 0, maximum = 3_155_760_000_u64)]
    pub retain_seconds: u64,
    /// Only count them.
    #[serde(default)]
    pub dry_run: bool,
}

/// Replace old rounds by their counts, and remove the rows of deleted campaigns.
///
/// The counts of campaigns do not change. Reports for the rounds are no longer accepted.
#[utoipa::path(
    post,
    path = "/v1/compactions",
    operation_id = "compact",
    tag = "operations",
    request_body = CompactionRequest,
    responses(
        (status = 200, description = "Done, or done in part; see `is_done`.", body = SweepReport),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    StrictJson(request): StrictJson<CompactionRequest>,
) -> Result<Json<SweepReport>, ErrorResponse> {
    if request.retain_seconds > MAX_RETAIN_SECONDS {
        let detail = format!("retain_seconds must be at most {MAX_RETAIN_SECONDS}");
        let error = ApiError::new(ErrorCode::BadRequest, detail).at("/retain_seconds");
        return Err(error.into());
    }
    let retain = Duration::from_secs(request.retain_seconds);
    Ok(Json(app.service.sweep(retain, request.dry_run, LONGEST).await?))
}
