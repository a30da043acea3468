//! Pages that explain error types.

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa::IntoParams;

use crate::error::{ErrorCode, ErrorInfo};
use crate::http::error::{ErrorResponse, ProblemDetails};

/// The code in the path.
#[derive(IntoParams)]
#[expect(dead_code, reason = "only for the API description")]
#[into_params(parameter_in = Path)]
pub(crate) struct InCode {
    /// The `code` of an error
    #[param(pattern = "^[a-z-]{1,40}$", example = "conflict")]
    code: String,
}

/// Explain an error: its meaning and what to do about it.
#[utoipa::path(
    get,
    path = "/problems/{code}",
    operation_id = "explain",
    tag = "operations",
    params(InCode),
    responses(
        (status = 200, description = "A short text.", body = String, content_type = "text/plain"),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(())
)]
pub(crate) async fn explain(Path(code): Path<String>) -> Result<Response, ErrorResponse> {
    let code = ErrorCode::named(&code)
        .ok_or_else(|| ErrorResponse::new(ErrorCode::NoRoute, "no error has this code"))?;
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, media)], page(code)).into_response())
}

fn page(code: ErrorCode) -> String {
    let ErrorInfo { word, status, title, meaning, advice } = code.info();
    format!("{title}\n\ncode {word}, HTTP status {status}\n\n{meaning}\n\nWhat to do: {advice}\n")
}
