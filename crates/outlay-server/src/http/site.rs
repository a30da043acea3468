//! Everything that can be asked for at one address: what is behind doors, and pages that are open to everybody.
//!
//! The two have a router each, and which one a request gets to see is decided before either is asked: what is behind doors cannot be
//! reached around them. The steps are plain calls and not layers of the router, which would be cloned and boxed for every request.

use std::pin::{Pin, pin};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use utoipa_axum::router::OpenApiRouter;

use super::connections::Taken;
use super::envelope::{Envelope, check_head};
use super::gate::{self, Doors, Found};
use super::problem::Refusal;
use super::{App, dashboard, figures, paths};
use crate::refusal::{Code, Refused};

/// What one address has to offer.
#[derive(Debug)]
pub(crate) struct Site {
    app: Arc<App>,
    doors: Doors,
    behind: TowerToHyperService<Router>,
    pages: TowerToHyperService<Router>,
}

impl Site {
    /// Everything; without the figures if they are to be had elsewhere.
    pub(crate) fn new(app: Arc<App>, has_figures: bool) -> Self {
        let paths = if has_figures { paths().merge(figures()) } else { paths() };
        Self::with(app, paths, dashboard::routes(), &dashboard::PATHS)
    }

    /// The figures and nothing else, for an address of their own.
    pub(crate) fn of_figures(app: Arc<App>) -> Self {
        Self::with(app, figures(), Router::new(), &[])
    }

    fn with(app: Arc<App>, paths: OpenApiRouter<Arc<App>>, pages: Router<Arc<App>>, names: &[&str]) -> Self {
        let (behind, api) = paths.split_for_parts();
        let service = |router: Router<Arc<App>>| TowerToHyperService::new(router.fallback(nothing).with_state(Arc::clone(&app)));
        let (behind, pages) = (service(behind), service(pages));
        Self { doors: Doors::new(&api, names), behind, pages, app }
    }

    /// The answer to a request, whatever it is.
    pub(crate) async fn answer(&self, request: Request<Incoming>, seat: &Taken) -> Response {
        let address = request.uri().clone();
        let found = self.doors.find(address.path());
        let envelope = Envelope::new(&request, found.as_ref().map(|found| Arc::clone(&found.entry.path)));
        let inside = pin!(self.inside(found, request, seat));
        envelope.around(&self.app, inside).await
    }

    async fn inside(&self, found: Option<Found<'_, '_>>, request: Request<Incoming>, seat: &Taken) -> Response {
        if let Err(refusal) = check_head(&request, self.app.limits().header_bytes) {
            return refusal.into_response();
        }
        match found {
            None => nothing().await,
            Some(found) if found.entry.is_page() => {
                let _busy = seat.busy();
                finished(self.pages.call(request.map(|_| Body::empty()))).await
            }
            Some(found) => match gate::pass(&self.app, &found, request, seat).await {
                Ok((request, _busy)) => {
                    let answer = pin!(finished(self.behind.call(request)));
                    self.in_time(answer).await
                }
                Err(refusal) => refusal.into_response(),
            },
        }
    }

    /// Whoever asks and goes away, or waits too long, leaves nothing half done: what the desk has begun it finishes.
    async fn in_time(&self, answer: Pin<&mut impl Future<Output = Response>>) -> Response {
        tokio::time::timeout(self.app.limits().request_timeout, answer).await.unwrap_or_else(|_| {
            let refused = Refused::new(Code::Busy, "there was no answer in time; whether the request was carried out is not known")
                .hint("send the same again: rounds with their Idempotency-Key, feedback as it is");
            Refusal::from(refused).into_response()
        })
    }
}

async fn nothing() -> Response {
    Refusal::new(Code::NoRoute, "nothing is at this address").into_response()
}

/// A router always has an answer.
async fn finished(answer: impl Future<Output = Result<Response, std::convert::Infallible>>) -> Response {
    match answer.await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
