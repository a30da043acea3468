//! The access log, and the log of denied requests.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderValue;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};

use super::App;
use super::trace_context::TraceContext;
use crate::error::{ApiError, ErrorCode};

/// Remote address of the connection; behind a proxy, that of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) SocketAddr);

/// Token and campaign of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Identity {
    /// Public part of the token; of a denied request, the presented one.
    pub(crate) token: Option<Arc<str>>,
    pub(crate) token_name: Option<Arc<str>>,
    /// A valid id; there may be no such campaign.
    pub(crate) campaign: Option<String>,
}

/// A finished request.
#[derive(Debug, Clone, Copy)]
pub struct RequestSummary<'a> {
    /// Its method, `other` for unusual ones.
    pub method: &'static str,
    /// Its path as the API describes it, such as `/v1/campaigns/{campaign}`; `none` if unknown.
    pub route: &'a str,
    /// HTTP status of the response.
    pub status: u16,
    /// Code of the error, empty without one.
    pub code: &'static str,
    /// From the last header of the request to the end of the response's body.
    pub duration: Duration,
    /// Size of the response's body.
    pub bytes: u64,
    /// Public part of the token.
    pub token: Option<&'a str>,
    /// Name of the token.
    pub token_name: Option<&'a str>,
    /// The campaign that the path names.
    pub campaign: Option<&'a str>,
    /// Remote address of the connection.
    pub client: Option<SocketAddr>,
    /// Its `x-request-id`.
    pub request_id: &'a str,
    /// Its place in a distributed trace.
    pub trace: Option<TraceContext>,
}

/// Receives every request that was answered, except health probes.
pub trait RequestObserver: Send + Sync + std::fmt::Debug {
    /// Called once for each request; must not block.
    fn observe(&self, request: &RequestSummary<'_>);
}

/// Properties of a request that are known when its response starts.
#[derive(Debug)]
pub(crate) struct AccessEntry {
    pub(crate) app: Arc<App>,
    pub(crate) begun: Instant,
    pub(crate) method: &'static str,
    pub(crate) route: Option<Arc<str>>,
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) identity: Identity,
    pub(crate) client: Option<SocketAddr>,
    pub(crate) request_id: HeaderValue,
    pub(crate) trace: Option<TraceContext>,
}

impl AccessEntry {
    /// Logs the request once the size of its response is known: now, or when its body ends.
    pub(crate) fn log_with(self, body: Body) -> Body {
        match body.size_hint().exact() {
            Some(bytes) => {
                self.log(bytes);
                body
            }
            None => Body::new(CountedBody { body, bytes: 0, entry: self }),
        }
    }

    fn log(&self, bytes: u64) {
        let route = self.route.as_deref().unwrap_or("none");
        // Probes arrive every few seconds from every load balancer and carry no information.
        if matches!(route, "/livez" | "/readyz") {
            return;
        }
        let summary = RequestSummary {
            method: self.method,
            route,
            status: self.status,
            code: self.code,
            duration: self.begun.elapsed(),
            bytes,
            token: self.identity.token.as_deref(),
            token_name: self.identity.token_name.as_deref(),
            campaign: self.identity.campaign.as_deref(),
            client: self.client,
            request_id: self.request_id.to_str().unwrap_or_default(),
            trace: self.trace,
        };
        if self.app.access_log {
            write_line(&summary);
        }
        if let Some(observer) = &self.app.observer {
            observer.observe(&summary);
        }
    }
}

fn write_line(request: &RequestSummary<'_>) {
    let trace_id = request.trace.map(|trace| trace.id());
    tracing::info!(
        method = request.method,
        route = request.route,
        status = request.status,
        code = (!request.code.is_empty()).then_some(request.code),
        ms = (request.duration.as_secs_f64() * 1e6).round() / 1e3,
        bytes = request.bytes,
        token = request.token,
        token_name = request.token_name,
        campaign = request.campaign,
        client = request.client.map(tracing::field::display),
        request_id = request.request_id,
        trace_id = trace_id.as_deref(),
        "request"
    );
}

/// A body of unknown size, logged when it ends or is abandoned.
struct CountedBody {
    body: Body,
    bytes: u64,
    entry: AccessEntry,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut next = self.body.frame();
        let polled = Pin::new(&mut next).poll(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        self.entry.log(self.bytes);
    }
}

/// Log of denied requests, limited so that a client that tries thousands of tokens cannot fill it.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<Option<Window>>);

#[derive(Debug)]
struct Window {
    begun: Instant,
    logged: u32,
    suppressed: u64,
}

/// Length of a window.
const WINDOW: Duration = Duration::from_secs(10);
/// Largest number of lines per window.
const LINES: u32 = 10;

impl RefusalLog {
    /// Logs a response with status 401 or 403.
    pub(crate) fn note(&self, entry: &AccessEntry, error: &ApiError) {
        if !matches!(error.code, ErrorCode::Unauthorised | ErrorCode::Forbidden) {
            return;
        }
        let Some(suppressed) = self.admit(Instant::now()) else { return };
        tracing::warn!(
            status = entry.status,
            code = entry.code,
            detail = error.detail,
            method = entry.method,
            route = entry.route.as_deref().unwrap_or("none"),
            token = entry.identity.token.as_deref(),
            token_name = entry.identity.token_name.as_deref(),
            client = entry.client.map(tracing::field::display),
            request_id = entry.request_id.to_str().unwrap_or_default(),
            suppressed,
            "access denied"
        );
    }

    /// Returns whether to write a line: the number of lines suppressed before it.
    fn admit(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = Window { begun: now, logged: 0, suppressed: 0 };
        let window = window.get_or_insert(new);
        if now.saturating_duration_since(window.begun) >= WINDOW {
            *window = Window { begun: now, logged: 0, suppressed: window.suppressed };
        }
        if window.logged == LINES {
            window.suppressed += 1;
            return None;
        }
        window.logged += 1;
        Some(std::mem::take(&mut window.suppressed))
    }
}

/// Warns when tokens are sent unencrypted over a network.
#[derive(Debug)]
pub(crate) struct PlainHttpWarning(Mutex<Instant>);

/// Shortest time between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(3600);

impl PlainHttpWarning {
    /// Warns for the first time.
    pub(crate) fn start(address: SocketAddr) -> Self {
        tracing::warn!(
            %address,
            "tokens are accepted over plain HTTP on an address that others can reach, so they can \
             be read on the way; set --tls-cert and --tls-key, or put a proxy with TLS in front"
        );
        Self(Mutex::new(Instant::now()))
    }

    /// Called when a token was accepted. Local connections and requests that a proxy has received
    /// over TLS are not at risk.
    pub(crate) fn note(&self, client: Option<SocketAddr>, is_forwarded_tls: bool) {
        let is_local = client.is_none_or(|client| client.ip().to_canonical().is_loopback());
        if is_local || is_forwarded_tls || !self.is_due(Instant::now()) {
            return;
        }
        tracing::warn!(
            client = client.map(tracing::field::display),
            "a token was accepted over plain HTTP; set --tls-cert and --tls-key, or put a proxy with \
             TLS in front that sends `X-Forwarded-Proto: https`"
        );
    }

    fn is_due(&self, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = now.saturating_duration_since(*last) >= WARN_EVERY;
        if is_due {
            *last = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_logged_ten_times_in_ten_seconds() {
        let (log, begun) = (RefusalLog::default(), Instant::now());
        let lines = |now| (0..100).filter_map(|_| log.admit(now)).collect::<Vec<u64>>();
        assert_eq!(lines(begun), [0; 10]);
        assert!(lines(begun + Duration::from_secs(9)).is_empty());
        let later = lines(begun + Duration::from_secs(10));
        assert_eq!((later[0], later.len()), (190, 10), "with the number of those left out");
    }

    #[test]
    fn the_warning_is_repeated_once_an_hour() {
        let warning = PlainHttpWarning::start("192.0.2.1:80".parse().unwrap());
        let begun = *warning.0.lock().unwrap();
        let due = |seconds| warning.is_due(begun + Duration::from_secs(seconds));
        assert_eq!(
            [0, 3599, 3600, 3601, 7199, 7200].map(due),
            [false, false, true, false, false, true]
        );
    }
}
