//! The service on the wire: `/v1`, health, metrics, and the description of it all.
//!
//! ```text
//! server -> router -> middleware (id, log, metrics, panics, token, body, time) -> handler -> service
//! ```

mod answers;
mod auth;
mod connection_limit;
mod error;
mod extract;
mod handlers;
mod json;
mod middleware;
mod parameters;
mod rate_limit;
mod router;
mod server;
mod tls;
mod write_timeout;

pub use error::{Fault, ProblemDetails};
pub use handlers::allocate::{AllocateAnswer, AllocateRequest, AllocatedTask};
pub use handlers::feedback::{BulkTold, RefusedLine};
pub use handlers::tokens::{NewToken, ScopeWord, TokenInfo, TokenList, TokenMade};
pub use router::{description, openapi_json};
pub use server::{Ending, Server, Settings, StartError};
pub use tls::TlsFiles;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::body::Bytes;

use crate::limits::Limits;
use crate::metrics::{Metrics, Shed};
use crate::service::CampaignService;
use crate::tokens::Tokens;
use answers::{Answers, Writer};
use connection_limit::ConnectionLimit;
use error::ErrorResponse;
use rate_limit::RateLimit;

/// What all handlers share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) service: CampaignService,
    pub(crate) tokens: Tokens,
    pub(crate) metrics: Metrics,
    pub(crate) connections: Arc<ConnectionLimit>,
    /// No new requests are wanted: the service stops.
    pub(crate) is_stopping: AtomicBool,
    pub(crate) answers: Answers,
    rates: RateLimit,
    description: Bytes,
    has_tls: bool,
}

impl App {
    pub(crate) fn new(
        service: CampaignService,
        tokens: Tokens,
        metrics: Metrics,
        has_tls: bool,
    ) -> Self {
        let connections = ConnectionLimit::new(service.limits().connections);
        let rates = RateLimit::new(service.limits().requests_per_second);
        let answers = Answers::new(metrics.shed(Shed::Answers));
        Self {
            service,
            tokens,
            metrics,
            connections,
            is_stopping: AtomicBool::new(false),
            answers,
            rates,
            description: openapi_json().into(),
            has_tls,
        }
    }

    /// Waits until a large answer about a campaign may be prepared.
    pub(crate) async fn large_answer<'a>(
        &'a self,
        campaign: &'a str,
    ) -> Result<Writer<'a>, ErrorResponse> {
        self.answers.writer(self.service.background(), campaign).await
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.service.limits()
    }
}
