//! Create, read, change and delete campaigns.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::IntoParams;

use crate::api::{
    CampaignChange, CampaignList, CampaignState, CurveList, EventList, NewCampaign, NewProblem,
};
use crate::error::{ApiError, ErrorCode};
use crate::http::App;
use crate::http::answers::Answers;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::{
    Caller, CampaignId, FreeJson, HasFreePart, QueryParameters, StrictJson,
};
use crate::http::parameters::{InCampaign, NamedPage, Page, within};
use crate::service::CurvePart;

impl HasFreePart for NewProblem {
    const RECORDS: &'static [&'static str] = &[];
}

impl HasFreePart for NewCampaign {
    const RECORDS: &'static [&'static str] = &["guards"];
}

/// Create a campaign.
///
/// You choose the id. Repeating the request changes nothing and returns 200.
#[utoipa::path(
    put,
    path = "/v1/campaigns/{campaign}",
    operation_id = "begin_campaign",
    tag = "campaigns",
    params(InCampaign),
    request_body = NewCampaign,
    responses(
        (status = 201, description = "Created.", body = CampaignState, headers(("etag" = String), ("location" = String))),
        (status = 200, description = "It exists already with the same settings.", body = CampaignState, headers(("etag" = String))),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    FreeJson(request): FreeJson<NewCampaign>,
) -> Result<Response, ErrorResponse> {
    let (state, is_new) = app.service.create(&id, request, &caller.0).await?;
    let tag = etag(&state);
    if is_new {
        let place = HeaderValue::from_str(&format!("{}/v1/campaigns/{id}", app.prefix.as_str()))
            .unwrap_or(HeaderValue::from_static("/v1/campaigns"));
        return Ok((
            StatusCode::CREATED,
            [(header::ETAG, tag), (header::LOCATION, place)],
            Json(&*state),
        )
            .into_response());
    }
    Ok(([(header::ETAG, tag)], Json(&*state)).into_response())
}

/// Read the state of a campaign.
#[utoipa::path(
    get,
    path = "/v1/campaigns/{campaign}",
    operation_id = "get_campaign",
    tag = "campaigns",
    params(
        InCampaign,
        ("if-none-match" = Option<String>, Header, description = "The `ETag` of an earlier response; if it is still current, the response is an empty 304"),
    ),
    responses(
        (status = 200, description = "The state.", body = CampaignState, headers(("etag" = String))),
        (status = 304, description = "Unchanged.", headers(("etag" = String))),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    CampaignId(id): CampaignId,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let head = |tag: HeaderValue| {
        [(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))]
    };
    // The tag is known without computing the next split.
    if headers.contains_key(header::IF_NONE_MATCH)
        && let Some(tag) = app.service.campaign_tag(&id).await?
    {
        let tag = quoted(&tag.to_string());
        if is_known(&headers, &tag) {
            return Ok((StatusCode::NOT_MODIFIED, head(tag)).into_response());
        }
    }
    let state = app.service.campaign(&id).await?;
    let head = head(etag(&state));
    if !Answers::is_large(state.tasks.len()) {
        return Ok((head, Json(&*state)).into_response());
    }
    Ok((head, app.large_answer(&id).await?.json(Shared(state)).await?).into_response())
}

/// Pause, reopen or close a campaign.
#[utoipa::path(
    patch,
    path = "/v1/campaigns/{campaign}",
    operation_id = "change_campaign",
    tag = "campaigns",
    params(
        InCampaign,
        ("if-match" = String, Header, pattern = r#"^(\*|"[0-9]{1,18}(\.[0-9]{1,18}){0,3}")$"#, example = "\"1.0.0.0\"", description = "The `ETag` of the campaign as you know it, or `*`. Only its version is compared, so rounds and feedback in between do not matter"),
    ),
    request_body = CampaignChange,
    responses(
        (status = 200, description = "Done.", body = CampaignState, headers(("etag" = String))),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    headers: HeaderMap,
    StrictJson(change): StrictJson<CampaignChange>,
) -> Result<Response, ErrorResponse> {
    let service = &app.service;
    let version = match wanted_version(&headers)? {
        Some(version) => version,
        None => service.version(&id).await?,
    };
    let state = service.set_status(&id, change, version, &caller.0).await?;
    Ok(([(header::ETAG, etag(&state))], Json(&*state)).into_response())
}

/// Replace the problem of a campaign: add and retire tasks, and change curves, bounds, the budget
/// and `reward_max` (upwards). The learner keeps what it has learned.
///
/// Rounds that were issued before keep their tasks, spends and curves. A problem that is in force
/// already changes nothing and returns 200, whatever `If-Match` says, so the request can be
/// repeated.
#[utoipa::path(
    put,
    path = "/v1/campaigns/{campaign}/problem",
    operation_id = "amend_campaign",
    tag = "campaigns",
    params(
        InCampaign,
        ("if-match" = String, Header, pattern = r#"^(\*|"[0-9]{1,18}(\.[0-9]{1,18}){0,3}")$"#, example = "\"1.0.0.0\"", description = "The `ETag` of the campaign as you know it, or `*`. Only its version is compared, so rounds and feedback in between do not matter"),
    ),
    request_body = NewProblem,
    responses(
        (status = 200, description = "Done.", body = CampaignState, headers(("etag" = String))),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn amend(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    headers: HeaderMap,
    FreeJson(request): FreeJson<NewProblem>,
) -> Result<Response, ErrorResponse> {
    let version = wanted_version(&headers)?;
    let state = app.service.amend(&id, request, version, &caller.0).await?;
    let head = [(header::ETAG, etag(&state))];
    if !Answers::is_large(state.tasks.len()) {
        return Ok((head, Json(&*state)).into_response());
    }
    Ok((head, app.large_answer(&id).await?.json(Shared(state)).await?).into_response())
}

/// Whether a campaign that is not closed may be deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Force {
    /// `true` deletes a campaign that is open or paused; by default only a closed one is deleted.
    #[serde(default)]
    force: bool,
}

/// Delete a campaign with its rounds and outcomes, permanently.
///
/// The id is free immediately. Tokens that are restricted to it remain.
#[utoipa::path(
    delete,
    path = "/v1/campaigns/{campaign}",
    operation_id = "delete_campaign",
    tag = "campaigns",
    params(
        InCampaign,
        Force,
        ("if-match" = String, Header, pattern = r#"^(\*|"[0-9]{1,18}(\.[0-9]{1,18}){0,3}")$"#, example = "\"1.0.0.0\"", description = "The `ETag` of the campaign as you know it, or `*`. Only its version is compared"),
    ),
    responses(
        (status = 204, description = "Deleted."),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["admin"]))
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    CampaignId(id): CampaignId,
    QueryParameters(Force { force }): QueryParameters<Force>,
    headers: HeaderMap,
) -> Result<StatusCode, ErrorResponse> {
    let version = match wanted_version(&headers)? {
        Some(version) => version,
        None => app.service.version(&id).await?,
    };
    app.service.delete(&id, version, force, &caller.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List campaigns in the order of their ids.
#[utoipa::path(
    get,
    path = "/v1/campaigns",
    operation_id = "list_campaigns",
    tag = "campaigns",
    params(NamedPage),
    responses(
        (status = 200, description = "A page of campaigns.", body = CampaignList),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    QueryParameters(page): QueryParameters<NamedPage>,
) -> Result<Json<CampaignList>, ErrorResponse> {
    let limit = page.limit(&app)?;
    Ok(Json(app.service.campaigns(page.after.as_deref(), limit).await?))
}

/// List the events of a campaign in order.
#[utoipa::path(
    get,
    path = "/v1/campaigns/{campaign}/events",
    operation_id = "list_events",
    tag = "campaigns",
    params(InCampaign, Page),
    responses(
        (status = 200, description = "A page of events.", body = EventList),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    CampaignId(id): CampaignId,
    QueryParameters(page): QueryParameters<Page>,
) -> Result<Response, ErrorResponse> {
    let (limit, writer) = (page.limit(&app)?, app.large_answer(&id).await?);
    let mut list = app.service.events(&id, page.after.unwrap_or(0), limit).await?;
    app.tokens.add_names(&mut list.events);
    writer.json(list).await
}

/// The requested part and resolution of the curves.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Fineness {
    /// Points per curve, 2 to 1000; default 100. Fewer if there are many tasks: at most 100,000 in
    /// total.
    #[param(minimum = 2, maximum = 1000)]
    points: Option<u64>,
    /// Only the curve of the task with this name; default: all tasks.
    task: Option<String>,
    /// The largest spend; the budget if absent or larger than the budget.
    #[param(exclusive_minimum = 0)]
    up_to: Option<f64>,
}

/// Points of the response curves of a campaign, for plots.
#[utoipa::path(
    get,
    path = "/v1/campaigns/{campaign}/curves",
    operation_id = "get_curves",
    tag = "campaigns",
    params(InCampaign, Fineness),
    responses(
        (status = 200, description = "One curve per task.", body = CurveList),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn curves(
    State(app): State<Arc<App>>,
    CampaignId(id): CampaignId,
    QueryParameters(fineness): QueryParameters<Fineness>,
) -> Result<Response, ErrorResponse> {
    let points = within(fineness.points, 100, app.limits().page, "points")?;
    if points < 2 {
        return Err(ErrorResponse::new(ErrorCode::BadParameter, "points must be at least 2"));
    }
    let part = CurvePart { points, task: fineness.task, up_to: fineness.up_to };
    let writer = app.large_answer(&id).await?;
    writer.json(app.service.curves(&id, part).await?).await
}

/// A shared state.
#[derive(Debug)]
struct Shared(Arc<CampaignState>);

impl Serialize for Shared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Changes whenever the shown state does. Only the version is compared when a change is made.
fn etag(state: &CampaignState) -> HeaderValue {
    quoted(&format!(
        "{}.{}.{}.{}",
        state.version, state.rounds, state.stats_version, state.open_rounds
    ))
}

fn quoted(tag: &str) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{tag}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

pub(super) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let known = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','));
    let mut known = known.map(|one| one.trim()).map(|one| one.strip_prefix("W/").unwrap_or(one));
    known.any(|one| one == "*" || one.as_bytes() == tag.as_bytes())
}

/// The version in `If-Match`; none for `*`.
fn wanted_version(headers: &HeaderMap) -> Result<Option<u64>, ErrorResponse> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        let refused = ApiError::new(ErrorCode::NeedsIfMatch, "If-Match is missing");
        return Err(refused.hint("send the ETag of a GET, such as If-Match: \"1.0.0.0\"").into());
    };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let version = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .filter(|text| !text.contains('"'));
    let version =
        version.and_then(|text| text.split('.').next()).and_then(|text| text.parse().ok());
    match version {
        Some(version) => Ok(Some(version)),
        None => {
            let refused =
                ApiError::new(ErrorCode::BadParameter, "If-Match is not an ETag of this service");
            Err(refused
                .hint("send the ETag of a GET with its quotes, such as If-Match: \"1.0.0.0\"")
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &'static str) -> Result<Option<u64>, ErrorResponse> {
        wanted_version(&HeaderMap::from_iter([(header::IF_MATCH, HeaderValue::from_static(text))]))
    }

    #[test]
    fn if_match_names_a_version() {
        assert_eq!(version("\"3.17.204\"").unwrap(), Some(3));
        assert_eq!(version("\"3\"").unwrap(), Some(3));
        assert_eq!(version("*").unwrap(), None);
        for text in ["3", "\"\"", "\"x.1.2\"", "\"3", "W/\"3.1.1\"", "\"1.0.0\", \"2.0.0\""] {
            assert!(version(text).is_err(), "{text}");
        }
    }

    #[test]
    fn if_none_match_may_be_a_list() {
        let tag = HeaderValue::from_static("\"1.2.3\"");
        let known = |text: &'static str| {
            is_known(
                &HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(text))]),
                &tag,
            )
        };
        assert!(
            known("\"1.2.3\"")
                && known("W/\"1.2.3\"")
                && known("\"0.0.0\", \"1.2.3\"")
                && known("*")
        );
        assert!(!known("\"1.2.4\"") && !known("1.2.3") && !known(""));
    }
}
