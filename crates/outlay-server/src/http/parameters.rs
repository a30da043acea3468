//! What an address may say, as it is described.

use serde::Deserialize;
use utoipa::IntoParams;

use super::App;
use super::error::ErrorResponse;
use crate::error::ErrorCode;

/// The campaign that an address names: [`CampaignId`](super::extract::CampaignId).
#[derive(IntoParams)]
#[expect(dead_code, reason = "it only describes")]
#[into_params(parameter_in = Path)]
pub(crate) struct InCampaign {
    /// Its id: up to 128 letters, digits, `-`, `_`, `.`, the last one not at its beginning
    #[param(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$", example = "shop")]
    campaign: String,
}

/// The round that an address names: [`RoundNumber`](super::extract::RoundNumber).
#[derive(IntoParams)]
#[expect(dead_code, reason = "it only describes")]
#[into_params(parameter_in = Path)]
pub(crate) struct InRound {
    /// Its campaign's id
    #[param(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$", example = "shop")]
    campaign: String,
    /// Its number
    #[param(minimum = 1, example = 1)]
    round: u64,
}

/// A page of a list that is numbered.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// Only what comes after this one: `next` of the page before; from the start if absent.
    #[serde(default, deserialize_with = "crate::whole::maybe")]
    pub(crate) after: Option<u64>,
    /// How many at most, up to 1000; 100 if absent. Where tasks are many a page has fewer: at most
    /// 100,000 tasks in all its entries.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
}

/// A page of a list that is named.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NamedPage {
    /// Only what comes after this one: `next` of the page before; from the start if absent.
    pub(crate) after: Option<String>,
    /// How many at most, up to 1000; 100 if absent.
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

/// A number between 1 and the most there is.
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
