//! The service on the wire: `/v1`, health, metrics, and the description of it all.
//!
//! ```text
//! connection -> envelope (id, headers, log, metrics) -> gate (token, body, time) -> handler -> desk
//! ```

mod allocate;
mod campaigns;
mod codes;
mod connections;
mod dashboard;
mod envelope;
mod extract;
mod feedback;
mod gate;
mod health;
mod json;
mod problem;
mod rates;
mod rounds;
mod server;
mod tls;
mod tokens;

pub use allocate::{AllocateAnswer, AllocateRequest, AllocatedTask};
pub use feedback::{BulkTold, RefusedLine};
pub use problem::{Fault, Problem};
pub use server::{Ending, Server, Settings, StartError};
pub use tls::TlsFiles;
pub use tokens::{NewToken, ScopeWord, TokenInfo, TokenList, TokenMade};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use tokio::sync::Semaphore;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::desk::Desk;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::tokens::Tokens;
use connections::Connections;
use gate::Doors;
use problem::Refusal;
use rates::Rates;

/// What all handlers share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) desk: Desk,
    pub(crate) tokens: Tokens,
    pub(crate) metrics: Metrics,
    pub(crate) connections: Arc<Connections>,
    /// No new requests are wanted: the service stops.
    pub(crate) is_stopping: AtomicBool,
    /// Problems that may be solved at the same time: solving is work for a core, not for a queue.
    solvers: Semaphore,
    doors: Doors,
    rates: Rates,
    description: String,
    has_tls: bool,
}

impl App {
    pub(crate) fn new(desk: Desk, tokens: Tokens, metrics: Metrics, has_tls: bool) -> Self {
        let api = description();
        let connections = Connections::new(desk.limits().connections);
        let rates = Rates::new(desk.limits().requests_per_second);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            desk,
            tokens,
            metrics,
            connections,
            is_stopping: AtomicBool::new(false),
            solvers: Semaphore::new(cores),
            doors: Doors::of(&api),
            rates,
            description: openapi_json(),
            has_tls,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.desk.limits()
    }
}

/// The parts of the description that are not about one path.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "outlay",
        description = "Campaigns that split a budget over tasks and learn from what comes back. Ask for rounds, tell what happened: late, twice and in any order is fine.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(problem::Problem, problem::Fault)),
    servers((url = "/"))
)]
struct Api;

/// Every path, with its description.
fn paths() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(campaigns::list))
        .routes(routes!(campaigns::get, campaigns::put, campaigns::patch))
        .routes(routes!(campaigns::curves))
        .routes(routes!(campaigns::events))
        .routes(routes!(rounds::list, rounds::post))
        .routes(routes!(feedback::put))
        .routes(routes!(feedback::bulk))
        .routes(routes!(feedback::correct))
        .routes(routes!(allocate::post))
        .routes(routes!(tokens::list, tokens::post))
        .routes(routes!(tokens::delete))
        .routes(routes!(health::livez))
        .routes(routes!(health::readyz))
        .routes(routes!(health::openapi))
        .routes(routes!(codes::explain))
}

/// The description of the API.
#[must_use]
pub fn description() -> utoipa::openapi::OpenApi {
    let mut api = paths().routes(routes!(health::metrics)).into_openapi();
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("`outlay token create` makes one; a store without tokens needs none."));
    let components = api.components.get_or_insert_default();
    components.add_security_scheme(gate::SCHEME, SecurityScheme::Http(token.build()));
    api
}

/// The description of the API as `docs/openapi.json` has it.
#[must_use]
pub fn openapi_json() -> String {
    let mut text = description().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// Everything that can be asked for; without the figures if they are to be had elsewhere.
pub(crate) fn router(app: Arc<App>, has_figures: bool) -> Router {
    let (router, _) = paths().split_for_parts();
    let router = if has_figures { router.merge(figures()) } else { router };
    enclosed(router.route_layer(from_fn_with_state(Arc::clone(&app), gate::gate)).merge(dashboard::routes()), app)
}

/// The figures and nothing else, for an address of their own.
pub(crate) fn figures_router(app: Arc<App>) -> Router {
    enclosed(figures().route_layer(from_fn_with_state(Arc::clone(&app), gate::gate)), app)
}

fn figures() -> Router<Arc<App>> {
    OpenApiRouter::new().routes(routes!(health::metrics)).split_for_parts().0
}

fn enclosed(router: Router<Arc<App>>, app: Arc<App>) -> Router {
    router
        .fallback(|| async { Refusal::new(crate::refusal::Code::NoRoute, "nothing is at this address").into_response() })
        .layer(from_fn_with_state(Arc::clone(&app), envelope::envelope))
        .with_state(app)
}
