//! Spans for an OpenTelemetry collector: one per request, sent by OTLP over HTTP.
//!
//! The environment variables of OpenTelemetry apply, such as `OTEL_EXPORTER_OTLP_ENDPOINT`,
//! `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_SERVICE_NAME`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor,
};
use outlay_server::http::{RequestObserver, RequestSummary};

use crate::failure::Failure;

/// For one batch of spans to be sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Collects spans and sends them in batches on a separate thread.
#[derive(Debug)]
pub(super) struct Spans {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
}

impl Spans {
    /// Starts if the environment names a collector.
    pub(super) fn start() -> Result<Option<Arc<Self>>, Failure> {
        let variables = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !variables.iter().any(is_set) {
            return Ok(None);
        }
        Self::send_to(None).map(Arc::new).map(Some)
    }

    /// Sends spans to this address, or to the one of the environment.
    fn send_to(endpoint: Option<&str>) -> Result<Self, Failure> {
        let mut builder = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(Client::new());
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let exporter = builder
            .build()
            .map_err(|error| Failure(format!("cannot export spans to OpenTelemetry: {error}")))?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("outlay");
        }
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        processor.set_resource(&resource.build());
        let scope = InstrumentationScope::builder("outlay").with_version(env!("CARGO_PKG_VERSION"));
        Ok(Self { processor, scope: scope.build() })
    }

    /// Sends what is left.
    pub(super) fn shutdown(&self) {
        if let Err(error) = self.processor.shutdown() {
            tracing::warn!(%error, "some spans were not sent");
        }
    }
}

impl RequestObserver for Spans {
    fn observe(&self, request: &RequestSummary<'_>) {
        if let Some(span) = span(request, &self.scope) {
            self.processor.on_end(span);
        }
    }
}

/// The span of a request, with the attributes of the semantic conventions for HTTP servers; `None`
/// if the caller does not record the trace, which the processor does not check.
fn span(request: &RequestSummary<'_>, scope: &InstrumentationScope) -> Option<SpanData> {
    let trace = request.trace.filter(|trace| trace.is_sampled)?;
    let span_context = SpanContext::new(
        TraceId::from(trace.trace_id),
        SpanId::from(trace.span_id),
        TraceFlags::SAMPLED,
        false,
        TraceState::default(),
    );
    let mut attributes = vec![
        KeyValue::new("http.request.method", request.method),
        KeyValue::new("http.route", request.route.to_owned()),
        KeyValue::new("http.response.status_code", i64::from(request.status)),
        KeyValue::new("http.response.body.size", i64::try_from(request.bytes).unwrap_or(i64::MAX)),
        KeyValue::new("outlay.request_id", request.request_id.to_owned()),
    ];
    let optional = [
        ("client.address", request.client.map(|client| client.ip().to_string())),
        ("outlay.token", request.token.map(str::to_owned)),
        ("outlay.token_name", request.token_name.map(str::to_owned)),
        ("outlay.campaign", request.campaign.map(str::to_owned)),
        ("error.type", (!request.code.is_empty()).then(|| request.code.to_owned())),
    ];
    let optional = optional.into_iter().filter_map(|(key, value)| Some((key, value?)));
    attributes.extend(optional.map(|(key, value)| KeyValue::new(key, value)));
    let end_time = SystemTime::now();
    Some(SpanData {
        span_context,
        parent_span_id: trace.parent_id.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: trace.parent_id.is_some(),
        span_kind: SpanKind::Server,
        name: format!("{} {}", request.method, request.route).into(),
        start_time: end_time.checked_sub(request.duration).unwrap_or(end_time),
        end_time,
        attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: if request.status >= 500 { Status::error(request.code) } else { Status::Unset },
        instrumentation_scope: scope.clone(),
    })
}

/// Sends batches with the client that the program has anyway.
#[derive(Debug)]
struct Client(ureq::Agent);

impl Client {
    fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(SEND_TIMEOUT))
            .http_status_as_error(false);
        Self(config.build().into())
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.0.run(request.map(|body| body.to_vec()))?;
        let (parts, mut body) = response.into_parts();
        Ok(Response::from_parts(parts, body.read_to_vec()?.into()))
    }
}

impl HttpClient for Client {
    /// Blocks: it is only called on the thread of the processor.
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.send(request) })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use outlay_server::http::TraceContext;

    use super::*;

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_collector_receives_the_span_of_a_request() {
        let collector = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/v1/traces", collector.local_addr().unwrap());
        let received = std::thread::spawn(move || {
            let (mut stream, _) = collector.accept().unwrap();
            let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
            while !contains(&bytes, b"/v1/campaigns/{campaign}") {
                let count = stream.read(&mut part).unwrap();
                assert!(count > 0, "{}", String::from_utf8_lossy(&bytes));
                bytes.extend_from_slice(&part[..count]);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            bytes
        });
        let spans = Spans::send_to(Some(&endpoint)).unwrap();
        let trace = TraceContext {
            trace_id: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
            parent_id: Some(7),
            span_id: 9,
            is_sampled: true,
        };
        let request = RequestSummary {
            method: "PUT",
            route: "/v1/campaigns/{campaign}",
            status: 201,
            code: "",
            duration: Duration::from_millis(3),
            bytes: 17,
            token: Some("7GkW2hTqXb1"),
            token_name: None,
            campaign: Some("shop"),
            client: None,
            request_id: "id",
            trace: Some(trace),
        };
        spans.observe(&request);
        let unsampled = TraceContext { is_sampled: false, ..trace };
        spans.observe(&RequestSummary {
            campaign: Some("dark"),
            trace: Some(unsampled),
            ..request
        });
        spans.shutdown();
        let bytes = received.join().unwrap();
        assert!(bytes.starts_with(b"POST /v1/traces "), "{}", String::from_utf8_lossy(&bytes));
        for part in [&b"shop"[..], b"service.name", b"outlay", &trace.trace_id.to_be_bytes()] {
            assert!(contains(&bytes, part), "{part:?}");
        }
        assert!(!contains(&bytes, b"dark"), "the caller does not record this trace");
    }
}
