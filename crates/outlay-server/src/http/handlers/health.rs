//! Health, metrics and the API description, for operators.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::error::ErrorCode;
use crate::http::App;
use crate::http::error::{ErrorResponse, ProblemDetails};

/// Whether the process responds.
#[utoipa::path(
    get,
    path = "/livez",
    operation_id = "livez",
    tag = "operations",
    responses((status = 200, description = "It responds.", body = String, content_type = "text/plain")),
    security(())
)]
pub(crate) async fn livez() -> Response {
    plain("alive\n")
}

/// Whether the service accepts requests: the store is writable and the service is not stopping.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "readyz",
    tag = "operations",
    responses(
        (status = 200, description = "Ready.", body = String, content_type = "text/plain"),
        (status = 503, description = "Not ready.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(())
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<Response, ErrorResponse> {
    if app.is_stopping.load(Ordering::SeqCst) {
        return Err(ErrorResponse::new(ErrorCode::Busy, "the service is about to stop"));
    }
    if app.service.failure().is_some() {
        return Err(ErrorResponse::new(ErrorCode::Busy, "the store has failed"));
    }
    let store = Arc::clone(app.service.store());
    match tokio::task::spawn_blocking(move || store.health()).await {
        Ok(Ok(())) => Ok(plain("ready\n")),
        Ok(Err(error)) => {
            // This path needs no token, so the details go to the log only.
            tracing::warn!(error = error.what, "the store is not healthy");
            Err(ErrorResponse::new(ErrorCode::Busy, "the store is not writable"))
        }
        Err(_) => Err(ErrorResponse::new(ErrorCode::Internal, "the store could not be checked")),
    }
}

/// Metrics for Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "operations",
    responses(
        (status = 200, description = "As OpenMetrics text.", body = String, content_type = "application/openmetrics-text"),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, ErrorResponse> {
    let store = Arc::clone(app.service.store());
    // An unresponsive disk or database must not block the thread.
    let store = tokio::task::spawn_blocking(move || store.metrics()).await.unwrap_or_default();
    let text = app
        .metrics
        .text(app.connections.count(), store)
        .map_err(|_| ErrorResponse::new(ErrorCode::Internal, "the metrics cannot be written"))?;
    let media =
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, media)], text).into_response())
}

/// This description.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "operations",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object, content_type = "application/json")),
    security(())
)]
pub(crate) async fn openapi(State(app): State<Arc<App>>) -> Response {
    (
        [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        app.description.clone(),
    )
        .into_response()
}

fn plain(text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))], text)
        .into_response()
}
