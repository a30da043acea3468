//! The service on the wire: `/v1`, health, metrics, and the description of it all.
//!
//! ```text
//! connection -> site -> envelope (id, headers, log, metrics) -> gate (token, body) -> handler -> desk
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
mod site;
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
    rates: Rates,
    description: String,
    has_tls: bool,
}

impl App {
    pub(crate) fn new(desk: Desk, tokens: Tokens, metrics: Metrics, has_tls: bool) -> Self {
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

/// Every path but the figures, with its description.
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
    let mut api = paths().merge(figures()).into_openapi();
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

fn figures() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(health::metrics))
}
