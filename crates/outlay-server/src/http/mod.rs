//! The HTTP interface: `/v1`, health, metrics and the API description.
//!
//! ```text
//! server -> router -> middleware (id, log, metrics, panics, token, body, time) -> handler -> service
//! ```

mod access_log;
mod answers;
mod auth;
mod connection_limit;
mod error;
mod extract;
mod handlers;
mod head_timeout;
mod json;
mod middleware;
mod parameters;
mod prefix;
mod rate_limit;
mod router;
mod server;
mod tls;
mod trace_context;
mod write_timeout;

pub use access_log::{RequestObserver, RequestSummary};
pub use error::{Fault, ProblemDetails};
pub use handlers::allocate::{AllocateAnswer, AllocateRequest, AllocatedTask};
pub use handlers::compactions::CompactionRequest;
pub use handlers::feedback::{BulkTold, RefusedLine};
pub use handlers::tokens::{NewToken, ScopeWord, TokenInfo, TokenList, TokenMade};
pub use prefix::PathPrefix;
pub use router::{description, openapi_json};
pub use server::{Ending, Server, Settings, StartError};
pub use tls::TlsFiles;
pub use trace_context::TraceContext;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::body::Bytes;

use crate::limits::Limits;
use crate::metrics::{Metrics, Shed};
use crate::service::CampaignService;
use crate::tokens::Tokens;
use access_log::{PlainHttpWarning, RefusalLog};
use answers::{Answers, Writer};
use connection_limit::ConnectionLimit;
use error::ErrorResponse;
use handlers::event_stream::EventStreams;
use rate_limit::RateLimit;

/// State shared by all handlers.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) service: CampaignService,
    pub(crate) tokens: Tokens,
    pub(crate) metrics: Metrics,
    pub(crate) connections: Arc<ConnectionLimit>,
    /// The service is about to stop, so `/readyz` fails.
    pub(crate) is_stopping: AtomicBool,
    /// No more connections are accepted.
    pub(crate) is_closing: AtomicBool,
    pub(crate) answers: Answers,
    pub(crate) prefix: PathPrefix,
    pub(crate) event_streams: EventStreams,
    rates: RateLimit,
    refusals: RefusalLog,
    access_log: bool,
    observer: Option<Arc<dyn RequestObserver>>,
    /// Set if tokens may be sent unencrypted.
    plain_http: Option<PlainHttpWarning>,
    description: Bytes,
    has_tls: bool,
}

impl App {
    pub(crate) fn new(
        service: CampaignService,
        tokens: Tokens,
        metrics: Metrics,
        settings: &Settings,
    ) -> Self {
        let most = service.limits().connections;
        let connections = ConnectionLimit::new(most);
        let rates = RateLimit::new(service.limits().requests_per_second);
        let answers = Answers::new(metrics.shed(Shed::Answers));
        Self {
            service,
            tokens,
            metrics,
            connections,
            is_stopping: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            answers,
            prefix: settings.prefix.clone(),
            event_streams: EventStreams::new(most),
            rates,
            refusals: RefusalLog::default(),
            access_log: settings.access_log,
            observer: settings.observer.clone(),
            plain_http: settings.public_plain_address().map(PlainHttpWarning::start),
            description: router::openapi_below(&settings.prefix).into(),
            has_tls: settings.tls.is_some(),
        }
    }

    /// Waits for a permit to prepare a large response about a campaign.
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
