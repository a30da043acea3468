//! Parts of a request as handlers take them; whatever is wrong with them is refused with its name.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::App;
use super::gate::Admitted;
use super::problem::Refusal;
use crate::refusal::{Code, Refused};

/// The variable parts of the path.
#[derive(Debug)]
pub(crate) struct Place<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for Place<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        let Path(place) = Path::<T>::from_request_parts(parts, app).await.map_err(|error| {
            let refused = Refused::new(Code::BadParameter, format!("the address cannot be read: {}", error.body_text()));
            refused.hint("a round is a whole number from 1 on")
        })?;
        Ok(Self(place))
    }
}

/// The part of the address after the question mark.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        let Query(asked) = Query::<T>::from_request_parts(parts, app).await.map_err(|error| {
            let text = error.body_text();
            let what = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            Refusal::new(Code::BadParameter, format!("the part after ? cannot be read: {what}"))
        })?;
        Ok(Self(asked))
    }
}

/// Whoever asks: the token's public part, empty without tokens.
#[derive(Debug)]
pub(crate) struct Caller(pub(crate) Arc<str>);

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Refusal> {
        admitted(parts).map(|admitted| Self(Arc::clone(&admitted.caller)))
    }
}

/// The whole body.
#[derive(Debug)]
pub(crate) struct Sent(pub(crate) Bytes);

impl FromRequestParts<Arc<App>> for Sent {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Refusal> {
        admitted(parts).map(|admitted| Self(admitted.body.clone()))
    }
}

fn admitted(parts: &Parts) -> Result<&Admitted, Refusal> {
    parts.extensions.get::<Admitted>().ok_or_else(|| Refusal::new(Code::Internal, "nobody has looked at the token"))
}

/// The campaign that an address names.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct InCampaign {
    /// Its id: up to 128 letters, digits, `-`, `_`, `.`
    #[param(pattern = "^[A-Za-z0-9._-]{1,128}$", example = "shop")]
    pub(crate) campaign: String,
}

/// The round that an address names.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct InRound {
    /// Its campaign's id
    #[param(pattern = "^[A-Za-z0-9._-]{1,128}$", example = "shop")]
    pub(crate) campaign: String,
    /// Its number
    #[param(minimum = 1, example = 1)]
    #[serde(deserialize_with = "crate::whole::number")]
    pub(crate) round: u64,
}

/// A page of a list that is numbered.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// Only what comes after this one: `next` of the page before; from the start if absent.
    #[serde(default, deserialize_with = "crate::whole::maybe")]
    pub(crate) after: Option<u64>,
    /// How many at most, up to 1000; 100 if absent.
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
    pub(crate) fn limit(&self, app: &App) -> Result<usize, Refusal> {
        within(self.limit, 100, app.limits().page, "limit")
    }
}

impl NamedPage {
    pub(crate) fn limit(&self, app: &App) -> Result<usize, Refusal> {
        within(self.limit, 100, app.limits().page, "limit")
    }
}

/// A number between 1 and the most there is.
pub(crate) fn within(asked: Option<u64>, default: usize, most: usize, name: &str) -> Result<usize, Refusal> {
    let asked = asked.unwrap_or(default.min(most) as u64);
    match usize::try_from(asked) {
        Ok(asked) if (1..=most).contains(&asked) => Ok(asked),
        _ => Err(Refusal::new(Code::BadParameter, format!("{name} must be between 1 and {most}, not {asked}"))),
    }
}

/// A body whose every key is known.
pub(crate) fn body<T: DeserializeOwned>(bytes: &Bytes, app: &App) -> Result<T, Refusal> {
    Ok(super::json::read(bytes, app.limits().json_depth)?)
}

/// A body with a part of any shape, and records at these keys.
pub(crate) fn free_body<T: DeserializeOwned>(bytes: &Bytes, app: &App, records: &[&str]) -> Result<T, Refusal> {
    Ok(super::json::read_free(bytes, app.limits().json_depth, records)?)
}
