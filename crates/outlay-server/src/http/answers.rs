//! Large responses: serialised in the background, and bounded in total over all connections,
//! however slowly clients read.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::error::ErrorResponse;
use crate::error::{ApiError, ErrorCode};
use crate::service::background::Background;

/// Memory for responses that wait for their clients, in kibibytes. Including responses in
/// preparation and their source data, less than 256 MB are used.
const BUDGET: usize = 192 * 1024;
const UNIT: usize = 1024;
/// Largest number of large responses that are serialised at the same time.
const WRITERS: usize = 2;
/// Time to wait for other clients to read their responses.
const PATIENCE: Duration = Duration::from_secs(10);
/// Size of the pieces in which a response is passed to its connection, which copies what it sends.
const PIECE: usize = 64 * 1024;
/// Responses about more tasks than this are large: more than some 20 kB, and a tenth of a
/// millisecond to serialise.
const LARGE_TASKS: usize = 256;
/// Cost of a large response in the turns of the campaigns.
const TYPICAL_BYTES: usize = 256 * 1024;

/// Memory for large responses.
#[derive(Debug)]
pub(crate) struct Answers {
    kibibytes: Arc<Semaphore>,
    writers: Arc<Semaphore>,
    patience: Duration,
    /// Number of responses that were not sent.
    shed: Counter,
}

/// Permit to prepare a large response, whose source data may be as large.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    answers: &'a Answers,
    background: &'a Background,
    campaign: &'a str,
    _permit: OwnedSemaphorePermit,
}

impl Answers {
    pub(crate) fn new(shed: Counter) -> Self {
        Self {
            shed,
            patience: PATIENCE,
            kibibytes: Arc::new(Semaphore::new(BUDGET)),
            writers: Arc::new(Semaphore::new(WRITERS)),
        }
    }

    /// True if a response about this number of tasks is large.
    pub(crate) fn is_large(tasks: usize) -> bool {
        tasks > LARGE_TASKS
    }

    /// Waits for a permit to prepare a large response about a campaign.
    pub(crate) async fn writer<'a>(
        &'a self,
        background: &'a Background,
        campaign: &'a str,
    ) -> Result<Writer<'a>, ErrorResponse> {
        let permit = self.acquire(&self.writers, 1).await?;
        Ok(Writer { answers: self, background, campaign, _permit: permit })
    }

    /// Waits for memory for this many bytes of a response.
    pub(crate) async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let size = bytes.div_ceil(UNIT).min(BUDGET);
        self.acquire(&self.kibibytes, u32::try_from(size).unwrap_or(0)).await
    }

    async fn acquire(
        &self,
        of: &Arc<Semaphore>,
        permits: u32,
    ) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let acquired = timeout(self.patience, Arc::clone(of).acquire_many_owned(permits)).await;
        acquired.ok().and_then(Result::ok).ok_or_else(|| {
            self.shed.inc();
            let detail = "too many large responses are waiting for clients that do not read them";
            ApiError::new(ErrorCode::Busy, detail)
                .hint("request a smaller page, or try again later")
                .into()
        })
    }
}

impl Writer<'_> {
    /// Serialises a response.
    pub(crate) async fn json<T: Serialize + Send + 'static>(
        self,
        answer: T,
    ) -> Result<Response, ErrorResponse> {
        let write = move || serde_json::to_vec(&answer);
        let bytes = self.background.run(self.campaign, TYPICAL_BYTES, write).await?;
        let bytes = bytes.map_err(|_| {
            ErrorResponse::new(ErrorCode::Internal, "this is a bug in outlay; please report it")
        })?;
        let size = bytes.len().div_ceil(UNIT).min(BUDGET);
        let permit =
            self.answers.acquire(&self.answers.kibibytes, u32::try_from(size).unwrap_or(0)).await?;
        let bytes = Bytes::from_owner(Counted { bytes, _permit: permit });
        let media = HeaderValue::from_static("application/json");
        Ok(([(header::CONTENT_TYPE, media)], Body::new(Pieces(bytes))).into_response())
    }
}

/// Bytes that release their memory when the last piece has been sent, or the connection is closed.
struct Counted {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that is sent in pieces.
struct Pieces(Bytes);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let size = self.0.len().min(PIECE);
        let piece = self.0.split_to(size);
        Poll::Ready((size > 0).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn an_answer_holds_its_memory_until_its_last_byte_is_sent() {
        let (answers, background) = (Answers::new(Counter::default()), Background::new().unwrap());
        let text = "x".repeat(1_000_000);
        let writer = answers.writer(&background, "c").await.unwrap();
        let response = writer.json(text.clone()).await.unwrap();
        let left = answers.kibibytes.available_permits();
        assert_eq!(left, BUDGET - (text.len() + 2).div_ceil(UNIT));
        assert_eq!(answers.writers.available_permits(), WRITERS);
        let whole = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(whole, format!("\"{text}\""));
        assert_eq!(answers.kibibytes.available_permits(), BUDGET);
    }

    #[tokio::test]
    async fn without_memory_an_answer_is_refused() {
        let patience = Duration::from_millis(20);
        let answers = Answers { patience, ..Answers::new(Counter::default()) };
        let background = Background::new().unwrap();
        let write =
            async |text: String| answers.writer(&background, "c").await.unwrap().json(text).await;
        let held = answers.acquire(&answers.kibibytes, BUDGET as u32 - 10).await.unwrap();
        assert!(write("x".repeat(100_000)).await.is_err());
        assert_eq!(answers.shed.get(), 1);
        drop(held);
        assert!(write("x".repeat(100_000)).await.is_ok());
    }
}
