//! The routes of the service. A route, its handler and its description are one declaration.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn_with_state, map_request};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::request_id::{PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::timeout::TimeoutLayer;
use utoipa::OpenApi;
use utoipa::openapi::Server;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::App;
use super::auth::{RouteTable, SCHEME};
use super::error::{ErrorResponse, Fault, ProblemDetails};
use super::handlers::{
    allocate, campaigns, compactions, dashboard, event_stream, feedback, health, problem_types,
    rounds, tokens,
};
use super::middleware::{
    MakeId, REQUEST_ID, RouterState, drop_bad_request_id, observe, panicked, receive,
};
use super::prefix::PathPrefix;
use crate::error::ErrorCode;

/// Smaller responses are not compressed.
const COMPRESSED_FROM: u64 = 1024;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "outlay",
        description = "Campaigns that allocate a budget to tasks and learn from the outcomes. Request rounds and report their outcomes, which may arrive late, repeatedly and in any order.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ProblemDetails, Fault)),
    servers((url = "/"))
)]
struct Api;

type Routes = OpenApiRouter<Arc<App>>;

fn campaign_routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(campaigns::list))
        .routes(routes!(campaigns::get, campaigns::put, campaigns::patch, campaigns::delete))
        .routes(routes!(campaigns::amend))
        .routes(routes!(campaigns::curves))
        .routes(routes!(campaigns::events))
        .routes(routes!(event_stream::get))
        .routes(routes!(compactions::post))
        .routes(routes!(rounds::list, rounds::post))
        .routes(routes!(feedback::put))
        .routes(routes!(feedback::bulk))
        .routes(routes!(feedback::correct))
        .routes(routes!(allocate::post))
        .routes(routes!(tokens::list, tokens::post))
        .routes(routes!(tokens::delete))
        .routes(routes!(health::openapi))
        .routes(routes!(problem_types::explain))
}

fn health_routes() -> Routes {
    OpenApiRouter::new().routes(routes!(health::livez)).routes(routes!(health::readyz))
}

fn metrics_routes() -> Routes {
    OpenApiRouter::new().routes(routes!(health::metrics))
}

/// The description of the API.
#[must_use]
pub fn description() -> utoipa::openapi::OpenApi {
    let all = OpenApiRouter::with_openapi(Api::openapi())
        .merge(campaign_routes())
        .merge(health_routes())
        .merge(metrics_routes());
    let mut api = all.into_openapi();
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(
        "`outlay token create` creates one; without any token, authentication is off.",
    ));
    let components = api.components.get_or_insert_default();
    components.add_security_scheme(SCHEME, SecurityScheme::Http(token.build()));
    api
}

/// The description of the API as `docs/reference/openapi.json` has it.
#[must_use]
pub fn openapi_json() -> String {
    openapi_below(&PathPrefix::default())
}

/// The description of the API for a service below a path.
pub(crate) fn openapi_below(prefix: &PathPrefix) -> String {
    let mut api = description();
    if !prefix.as_str().is_empty() {
        api.servers = Some(vec![Server::new(prefix.as_str())]);
    }
    let mut text = api.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// All routes; without the metrics if they have a separate address.
pub(crate) fn main(app: Arc<App>, has_metrics: bool) -> Router {
    let routes = campaign_routes().merge(health_routes());
    let routes = if has_metrics { routes.merge(metrics_routes()) } else { routes };
    let (routes, api) = routes.split_for_parts();
    let pages = Router::new()
        .route(dashboard::INDEX, get(dashboard::index))
        .route(dashboard::FILES, get(dashboard::file));
    let table = RouteTable::new(&api, &[dashboard::INDEX, dashboard::FILES]);
    with_middleware(app, routes.merge(pages), table, no_route)
}

/// Health and metrics, for a separate address.
pub(crate) fn operations(app: Arc<App>) -> Router {
    let (routes, api) = health_routes().merge(metrics_routes()).split_for_parts();
    with_middleware(app, routes, RouteTable::new(&api, &[]), no_route)
}

/// Health, for connections beyond the limit; other requests get 503.
pub(crate) fn reserve(app: Arc<App>) -> Router {
    let (routes, api) = health_routes().split_for_parts();
    with_middleware(app, routes, RouteTable::new(&api, &[]), no_connection)
}

fn no_route() -> ErrorResponse {
    ErrorResponse::new(ErrorCode::NoRoute, "the service has no such path")
}

fn no_connection() -> ErrorResponse {
    let detail = "all connections are in use by requests in progress";
    let close = HeaderValue::from_static("close");
    ErrorResponse::new(ErrorCode::Busy, detail).with_header(header::CONNECTION, close)
}

/// Combines the layers into one, so that the futures of a request are boxed only once.
fn with_middleware(
    app: Arc<App>,
    routes: Router<Arc<App>>,
    table: RouteTable,
    otherwise: fn() -> ErrorResponse,
) -> Router {
    let state = RouterState { app: Arc::clone(&app), routes: Arc::new(table), otherwise };
    // Compression would delay the events of a stream.
    let compressed = SizeAbove::new(COMPRESSED_FROM).and(NotForContentType::SSE);
    let gzip = CompressionLayer::new().gzip(true).compress_when(compressed);
    // Work in progress is finished even after the timeout, see `CampaignService`.
    let timeout = TimeoutLayer::with_status_code(
        StatusCode::SERVICE_UNAVAILABLE,
        app.limits().request_timeout,
    );
    // The first is the outermost.
    let layers = (
        map_request(drop_bad_request_id),
        SetRequestIdLayer::new(REQUEST_ID, MakeId),
        PropagateRequestIdLayer::new(REQUEST_ID),
        from_fn_with_state(state.clone(), observe),
        gzip,
        CatchPanicLayer::custom(panicked),
        from_fn_with_state(state, receive),
        timeout,
    );
    routes.with_state(app).layer(layers)
}
