//! The events of a campaign as server-sent events.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::{IntoParams, ToSchema};

use crate::api::EventEntry;
use crate::error::{ApiError, ErrorCode};
use crate::http::App;
use crate::http::auth::is_still_admitted;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::{CampaignId, QueryParameters};
use crate::http::parameters::InCampaign;
use crate::service::EventFeed;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// After this time without an event a comment is sent, so that proxies keep the connection and a
/// client that is gone is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time within which a stream notices that the service stops.
const TICK: Duration = Duration::from_millis(500);
/// Time within which a stream ends after its token was revoked.
const TOKEN_CHECK: Duration = Duration::from_secs(5);
/// Largest share of the connections that streams may take.
const PART_OF_CONNECTIONS: usize = 2;

/// Start and end of a stream.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Span {
    /// Only events after this one; `Last-Event-ID` takes precedence. Without either, only new
    /// events.
    #[serde(default, deserialize_with = "crate::int64::maybe")]
    after: Option<u64>,
    /// End the stream after this many seconds; unlimited by default.
    #[param(minimum = 1, maximum = 86400)]
    max_seconds: Option<u64>,
}

/// The header of a client that continues a stream.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it describes a header in the API; `last_event_id` reads it")]
pub(crate) struct Resume {
    /// The id of the last event that the client received.
    #[param(rename = "last-event-id", value_type = u64, required = false)]
    last_event_id: Option<u64>,
}

/// One event of the stream.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes the fields of an event in the API")]
pub(crate) struct StreamedEvent {
    /// The event's `seq`, for `Last-Event-ID`.
    id: String,
    /// The event's `kind`.
    event: String,
    /// The event as JSON, as in the list of events.
    data: String,
}

/// The number of streams, bounded.
#[derive(Debug)]
pub(crate) struct EventStreams(Arc<Semaphore>);

impl EventStreams {
    pub(crate) fn new(connections: usize) -> Self {
        Self(Arc::new(Semaphore::new((connections / PART_OF_CONNECTIONS).max(1))))
    }

    fn take(&self) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| {
            let error = ApiError::new(ErrorCode::Busy, "too many event streams are open");
            error.hint("read GET …/events page by page, or try again later").into()
        })
    }
}

/// Receive events as they happen.
///
/// Each is sent as a server-sent event with its `seq` as id, its `kind` as event type and the same
/// JSON as in the list. After an interruption, send the last id as `Last-Event-ID`. If the campaign
/// is deleted, the last event has type `deleted`. Several replicas on one database may send an
/// event twice.
#[utoipa::path(
    get,
    path = "/v1/campaigns/{campaign}/events/stream",
    operation_id = "stream_events",
    tag = "campaigns",
    params(
        InCampaign,
        Span,
        Resume,
    ),
    responses(
        (status = 200, description = "Events until the client or the service ends the connection.", body = StreamedEvent, content_type = "text/event-stream"),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["read"]))
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    CampaignId(id): CampaignId,
    QueryParameters(span): QueryParameters<Span>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let after = last_event_id(&headers)?.or(span.after);
    if span.max_seconds.is_some_and(|seconds| !(1..=86400).contains(&seconds)) {
        let detail = "max_seconds must be between 1 and 86400";
        return Err(ErrorResponse::new(ErrorCode::BadParameter, detail));
    }
    let permit = app.event_streams.take()?;
    let feed = app.service.event_feed(&id, after).await?;
    let source = Source {
        app,
        headers,
        feed,
        page: VecDeque::new(),
        sent: Sent::default(),
        ends_at: span.max_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        checked: Instant::now(),
        is_over: false,
        room: None,
        _permit: permit,
    };
    let events = stream::unfold(source, async |mut source| {
        let event = source.next().await?;
        Some((Ok::<_, Infallible>(event), source))
    });
    let events = Box::pin(events);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, ErrorResponse> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    let number = number.filter(|number| i64::try_from(*number).is_ok());
    number.map(Some).ok_or_else(|| {
        let detail = "Last-Event-ID must be the id of an event, a whole number";
        ErrorResponse::new(ErrorCode::BadParameter, detail)
    })
}

/// Recently sent events, if events with lower numbers may still appear.
#[derive(Debug, Default)]
struct Sent {
    seqs: BTreeSet<u64>,
    order: VecDeque<(Instant, u64)>,
}

impl Sent {
    /// With several replicas an event may appear this long after one with a higher number.
    const LATE: Duration = Duration::from_secs(5);
    /// Largest number of remembered events.
    const MOST: usize = 2000;

    /// Records that an event is sent; false if it was sent before.
    fn add(&mut self, seq: u64) -> bool {
        let is_new = self.seqs.insert(seq);
        if is_new {
            self.order.push_back((Instant::now(), seq));
        }
        is_new
    }

    /// The last event before which no other event can appear, if there is a new one.
    fn settled(&mut self) -> Option<u64> {
        let mut settled = None;
        while let Some((at, seq)) = self.order.front().copied()
            && (at.elapsed() >= Self::LATE || self.order.len() > Self::MOST)
        {
            self.order.pop_front();
            self.seqs.remove(&seq);
            settled = settled.max(Some(seq));
        }
        settled
    }
}

/// Source of the events of one stream: one page at a time, read when the client has received the
/// previous one.
struct Source {
    app: Arc<App>,
    headers: HeaderMap,
    feed: EventFeed,
    page: VecDeque<EventEntry>,
    sent: Sent,
    ends_at: Option<Instant>,
    checked: Instant,
    is_over: bool,
    /// Memory reserved for the page.
    room: Option<OwnedSemaphorePermit>,
    _permit: OwnedSemaphorePermit,
}

impl Source {
    /// The next event; none at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            if let Some(entry) = self.page.pop_front() {
                if !self.feed.is_shared() {
                    self.feed.advance(entry.seq);
                }
                return Some(event(&entry));
            }
            self.room = None;
            if self.is_to_end() {
                return None;
            }
            if let Some(seq) = self.sent.settled() {
                self.feed.advance(seq);
            }
            if let Some(last) = self.read().await {
                return last;
            }
        }
        None
    }

    /// Reads another page or waits briefly. Returns the last event or the end of the stream, if
    /// reached.
    async fn read(&mut self) -> Option<Option<Event>> {
        let size = self.feed.page_bytes();
        let Ok(room) = self.app.answers.room(size).await else { return Some(None) };
        match self.app.service.next_events(&mut self.feed).await {
            Ok(page) => {
                let is_new =
                    |entry: &EventEntry| !self.feed.is_shared() || self.sent.add(entry.seq);
                self.page = page.into_iter().filter(is_new).collect();
                if self.page.is_empty() {
                    drop(room);
                    if self.feed.is_at_end() {
                        self.feed.wait(TICK).await;
                    }
                } else {
                    self.room = Some(room);
                }
                None
            }
            Err(error) if error.code == ErrorCode::NoCampaign => {
                self.is_over = true;
                Some(Some(Event::default().event("deleted").data("{}")))
            }
            // The client reconnects.
            Err(_) => Some(None),
        }
    }

    fn is_to_end(&mut self) -> bool {
        let is_due = self.ends_at.is_some_and(|ends_at| Instant::now() >= ends_at);
        if is_due || self.app.is_stopping.load(Ordering::SeqCst) {
            return true;
        }
        if self.checked.elapsed() < TOKEN_CHECK {
            return false;
        }
        self.checked = Instant::now();
        !is_still_admitted(&self.app, &self.headers)
    }
}

fn event(entry: &EventEntry) -> Event {
    let kind = serde_json::to_value(&entry.what).unwrap_or_default();
    let kind = kind["kind"].as_str().unwrap_or("event").to_owned();
    let data = serde_json::to_string(entry).unwrap_or_default();
    Event::default().id(entry.seq.to_string()).event(kind).data(data)
}
