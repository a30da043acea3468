//! A request that was let through, as its handler sees it; whatever is wrong with a part of it is
//! refused with its name.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Query;
use axum::http::{HeaderMap, Uri};
use matchit::Params;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::App;
use super::error::ErrorResponse;
use crate::error::{ApiError, ErrorCode};

/// A request that was let through.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(super) place: &'a Place<'a>,
    pub(super) address: Uri,
    pub(super) headers: HeaderMap,
    /// The token's public part, empty without tokens.
    pub(crate) caller: Arc<str>,
    pub(super) body: Bytes,
}

impl<'a> Call<'a> {
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Lets go of what the request has brought; what is needed of it must have been taken. To be
    /// called before waiting for a disk: while a piece is held hyper cannot use its buffer again,
    /// and makes a new one of eight kilobytes to see whether the client is still there.
    pub(crate) fn release(&mut self) {
        self.address = Uri::default();
        self.headers.clear();
        self.body = Bytes::new();
    }

    /// The campaign that the address names.
    pub(crate) fn campaign(&self) -> Result<Cow<'a, str>, ErrorResponse> {
        self.part("campaign")
    }

    /// The round that the address names.
    pub(crate) fn round(&self) -> Result<u64, ErrorResponse> {
        let part = self.part("round")?;
        let round = part.parse().ok().filter(|round| i64::try_from(*round).is_ok());
        round.ok_or_else(|| {
            let refused = ApiError::new(ErrorCode::BadParameter, "the address names no round");
            refused.hint(format!("a round is a whole number from 1 to {}", i64::MAX)).into()
        })
    }

    /// A part of the address by its name.
    pub(crate) fn part(&self, name: &str) -> Result<Cow<'a, str>, ErrorResponse> {
        self.place
            .part(name)?
            .ok_or_else(|| ErrorResponse::new(ErrorCode::Internal, "the address has no such part"))
    }

    /// The part of the address after the question mark.
    pub(crate) fn asked<T: DeserializeOwned>(&self) -> Result<T, ErrorResponse> {
        asked(&self.address)
    }

    /// A body whose every key is known.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, ErrorResponse> {
        Ok(super::json::read(&self.body, self.app.limits().json_depth)?)
    }

    /// A body with a part of any shape, and records at these keys.
    pub(crate) fn free_body<T: DeserializeOwned>(
        &self,
        records: &[&str],
    ) -> Result<T, ErrorResponse> {
        Ok(super::json::read_free(&self.body, self.app.limits().json_depth, records)?)
    }

    /// The body as it is.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.body
    }
}

fn asked<T: DeserializeOwned>(address: &Uri) -> Result<T, ErrorResponse> {
    let Query(asked) = Query::try_from_uri(address).map_err(|error| {
        let text = error.body_text();
        let what = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
        ErrorResponse::new(
            ErrorCode::BadParameter,
            format!("the part after ? cannot be read: {what}"),
        )
    })?;
    Ok(asked)
}

/// The variable parts of an address.
#[derive(Debug)]
pub(crate) struct Place<'a>(pub(super) Params<'a, 'a>);

impl Place<'_> {
    /// One of them, if the address has it.
    pub(crate) fn part(&self, name: &str) -> Result<Option<Cow<'_, str>>, ErrorResponse> {
        let decoded =
            self.0.get(name).map(|part| percent_decode_str(part).decode_utf8()).transpose();
        decoded.map_err(|_| ErrorResponse::new(ErrorCode::BadParameter, "the address is not UTF-8"))
    }
}
