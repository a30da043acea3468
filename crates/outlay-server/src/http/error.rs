//! Error responses: RFC 9457.
//!
//! Handlers and middleware return the error alone. Its body is written by the outermost layer, which
//! knows the id of the request.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::trace_context::TraceContext;
use crate::error::{ApiError, ErrorCode, ErrorInfo};

/// The media type of every error.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// The reason for rejecting a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDetails {
    /// Stable URI of the error type.
    #[serde(rename = "type")]
    pub kind: String,
    /// A short description of the error type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// One sentence about this request.
    pub detail: String,
    /// Stable identifier of the error type.
    pub code: String,
    /// JSON pointer into the body, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The same as in the header `x-request-id`; it also appears in the log.
    pub request_id: String,
    /// The trace of the request, if it has a `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// All errors, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// The stored outcome, for a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub stored: Option<serde_json::Value>,
}

/// One of several errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    /// JSON pointer into the body.
    pub pointer: String,
    /// Description of the error.
    pub detail: String,
}

/// Parts of the body of an error that belong to the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) request_id: &'a HeaderValue,
    pub(crate) trace: Option<TraceContext>,
    /// The path prefix of the service.
    pub(crate) prefix: &'a str,
}

impl ProblemDetails {
    pub(crate) fn new(refused: &ApiError, names: Names<'_>) -> Self {
        let ErrorInfo { word, status, title, .. } = refused.code.info();
        Self {
            kind: format!("{}/problems/{word}", names.prefix),
            title: title.to_owned(),
            status,
            detail: refused.detail.clone(),
            code: word.to_owned(),
            pointer: refused.pointer.clone(),
            hint: refused.hint.clone(),
            request_id: names.request_id.to_str().unwrap_or_default().to_owned(),
            trace_id: names.trace.map(|trace| trace.id()),
            errors: refused
                .errors
                .iter()
                .map(|(pointer, detail)| Fault { pointer: pointer.clone(), detail: detail.clone() })
                .collect(),
            stored: refused.stored.as_deref().cloned(),
        }
    }
}

/// An error with an optional header, as a response.
#[derive(Debug)]
pub(crate) struct ErrorResponse {
    error: Box<ApiError>,
    header: Option<Box<(HeaderName, HeaderValue)>>,
}

impl ErrorResponse {
    pub(crate) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        ApiError::new(code, detail).into()
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some(Box::new((name, value)));
        self
    }
}

impl From<ApiError> for ErrorResponse {
    fn from(error: ApiError) -> Self {
        Self { error: Box::new(error), header: None }
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let ErrorInfo { status, .. } = self.error.code.info();
        let mut response = Response::new(Body::empty());
        *response.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        match status {
            401 => headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            503 => headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1")),
            // The rest of the body is not read, so the connection cannot be reused.
            408 | 413 | 431 => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"))
            }
            _ => None,
        };
        if let Some((name, value)) = self.header.map(|header| *header) {
            headers.insert(name, value);
        }
        response.extensions_mut().insert(*self.error);
        response
    }
}

/// Writes the body of an error, with the id of the request.
pub(crate) fn write_body(response: &mut Response, names: Names<'_>) -> Option<ApiError> {
    let error = response.extensions_mut().remove::<ApiError>()?;
    let body = serde_json::to_vec(&ProblemDetails::new(&error, names)).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    // It is that of the empty body.
    headers.remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(body);
    Some(error)
}
