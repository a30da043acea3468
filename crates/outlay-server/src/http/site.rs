//! Everything that can be asked for at one address: what is behind doors, and pages that are open
//! to everybody.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use axum::http::{HeaderMap, Request};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;

use super::connections::Taken;
use super::envelope::{Envelope, check_head};
use super::error::ErrorResponse;
use super::gate::{self, Doors, Found};
use super::handlers::dashboard;
use super::{App, description};
use crate::error::{ApiError, ErrorCode};

/// Where the figures are.
const FIGURES: &str = "/metrics";

/// How often in the time that a request may take its connection looks whether it has taken too
/// long.
pub(crate) const LOOKS: u32 = 8;

/// What one address has to offer.
#[derive(Debug)]
pub(crate) struct Site {
    app: Arc<App>,
    doors: Doors,
}

impl Site {
    /// Everything; without the figures if they are to be had elsewhere.
    pub(crate) fn new(app: Arc<App>, has_figures: bool) -> Self {
        let doors =
            Doors::new(&description(), |path| has_figures || path != FIGURES, &dashboard::PATHS);
        Self { app, doors }
    }

    /// The figures and nothing else, for an address of their own.
    pub(crate) fn of_figures(app: Arc<App>) -> Self {
        Self { app, doors: Doors::new(&description(), |path| path == FIGURES, &[]) }
    }

    /// The answer to a request, whatever it is.
    pub(crate) async fn answer(&self, request: Request<Incoming>, seat: &Taken) -> Response {
        // A copy: see `Call::release`.
        let path = request.uri().path().to_owned();
        let found = self.doors.find(&path);
        let envelope =
            Envelope::new(&request, found.as_ref().map(|found| Arc::clone(&found.entry.path)));
        let inside = pin!(self.inside(found, request, seat));
        envelope.around(&self.app, inside).await
    }

    async fn inside(
        &self,
        found: Option<Found<'_>>,
        request: Request<Incoming>,
        seat: &Taken,
    ) -> Response {
        if let Err(refusal) = check_head(&request, self.app.limits().header_bytes) {
            return refusal.into_response();
        }
        let Some(found) = found else {
            return ErrorResponse::new(ErrorCode::NoRoute, "nothing is at this address")
                .into_response();
        };
        if found.entry.is_page() {
            let _busy = seat.busy();
            return dashboard::answer(request.method(), &found.place, request.headers());
        }
        match gate::pass(&self.app, &found, request, seat).await {
            Ok((operation, mut call, _busy)) => {
                let response = {
                    let answer = pin!(operation.carry_out(&mut call));
                    self.in_time(answer).await
                };
                settled(response, call.headers)
            }
            Err(refusal) => refusal.into_response(),
        }
    }

    /// Whoever asks and goes away, or waits too long, leaves nothing half done: what the service has
    /// begun it finishes.
    ///
    /// It has no timer of its own, which would be set and taken away for every request: its
    /// connection [looks after it](LOOKS).
    async fn in_time(&self, mut answer: Pin<&mut impl Future<Output = Response>>) -> Response {
        let (begun, patience) = (Instant::now(), self.app.limits().request_timeout);
        poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Pending if begun.elapsed() >= patience => Poll::Ready(too_late()),
            answer => answer,
        })
        .await
    }
}

/// An answer whose headers are where the request's were: there are about as many, and hyper hands
/// the same room to the next request.
fn settled(mut response: Response, mut room: HeaderMap) -> Response {
    room.clear();
    room.extend(std::mem::take(response.headers_mut()));
    *response.headers_mut() = room;
    response
}

fn too_late() -> Response {
    let refused = ApiError::new(
        ErrorCode::Busy,
        "there was no answer in time; whether the request was carried out is not known",
    )
    .hint("send the same again: rounds with their Idempotency-Key, feedback as it is");
    ErrorResponse::from(refused).into_response()
}
