//! Parameters of paths and queries, for the API description.

use serde::Deserialize;
use utoipa::IntoParams;

use super::App;
use super::error::ErrorResponse;
use crate::error::ErrorCode;

/// The campaign in a path: [`CampaignId`](super::extract::CampaignId).
#[derive(IntoParams)]
#[expect(dead_code, reason = "only for the API description")]
#[into_params(parameter_in = Path)]
pub(crate) struct InCampaign {
    /// Its id: up to 128 letters, digits, `-`, `_`, `.`, not starting with `.`
    #[param(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$", example = "shop")]
    campaign: String,
}

/// The round in a path: [`RoundNumber`](super::extract::RoundNumber).
#[derive(IntoParams)]
#[expect(dead_code, reason = "only for the API description")]
#[into_params(parameter_in = Path)]
pub(crate) struct InRound {
    /// Id of its campaign
    #[param(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$", example = "shop")]
    campaign: String,
    /// Its number
    #[param(minimum = 1, example = 1)]
    round: u64,
}

/// A page of a numbered list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// Only entries after this one: `next` of the previous page; default: from the start.
    #[serde(default, deserialize_with = "crate::int64::maybe")]
    pub(crate) after: Option<u64>,
    /// Largest number of entries, up to 1000; default 100. Pages of campaigns with many tasks are
    /// shorter: at most 100,000 tasks in all entries.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// A page of a list of ids.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NamedPage {
    /// Only entries after this one: `next` of the previous page; default: from the start.
    pub(crate) after: Option<String>,
    /// Largest number of entries, up to 1000; default 100.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

impl Page {
    pub(crate) fn limit(&self, app: &App) -> Result<usize, ErrorResponse> {
        within(self.limit, 100, app.limits().page, "limit")
    }
}

impl NamedPage {
    pub(crate) fn limit(&self, app: &App) -> Result<usize, ErrorResponse> {
        within(self.limit, 100, app.limits().page, "limit")
    }
}

/// A number from 1 to a maximum.
pub(crate) fn within(
    asked: Option<u64>,
    default: usize,
    most: usize,
    name: &str,
) -> Result<usize, ErrorResponse> {
    let asked = asked.unwrap_or(default.min(most) as u64);
    match usize::try_from(asked) {
        Ok(asked) if (1..=most).contains(&asked) => Ok(asked),
        _ => Err(ErrorResponse::new(
            ErrorCode::BadParameter,
            format!("{name} must be between 1 and {most}, not {asked}"),
        )),
    }
}
