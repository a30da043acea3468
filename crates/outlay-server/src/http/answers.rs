//! Large answers: written off the threads that answer requests, and bounded in sum over all
//! connections, however slowly their clients read.

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

/// Answers that are kept for their clients, in kibibytes. With those that are being written, and
/// what they are written from, it is less than 256 MB.
const BUDGET: usize = 192 * 1024;
const UNIT: usize = 1024;
/// Large answers that are written at the same time.
const WRITERS: usize = 2;
/// For others to read their answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pieces in which an answer is handed to its connection, which copies what it sends.
const PIECE: usize = 64 * 1024;
/// Answers about more tasks than this are large: more than some 20 kB, and a tenth of a millisecond
/// to write.
const LARGE_TASKS: usize = 256;
/// What a large answer counts for in the turns of the campaigns.
const TYPICAL_BYTES: usize = 256 * 1024;

/// The room for large answers.
#[derive(Debug)]
pub(crate) struct Answers {
    kibibytes: Arc<Semaphore>,
    writers: Arc<Semaphore>,
    patience: Duration,
    /// Answers that were not given.
    shed: Counter,
}

/// The right to prepare a large answer: what it is written from may be as large.
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

    /// Whether an answer about this number of tasks is large.
    pub(crate) fn is_large(tasks: usize) -> bool {
        tasks > LARGE_TASKS
    }

    /// Waits until a large answer about a campaign may be prepared.
    pub(crate) async fn writer<'a>(
        &'a self,
        background: &'a Background,
        campaign: &'a str,
    ) -> Result<Writer<'a>, ErrorResponse> {
        let permit = self.acquire(&self.writers, 1).await?;
        Ok(Writer { answers: self, background, campaign, _permit: permit })
    }

    /// Waits for room for so many bytes of an answer.
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
            let detail = "too many large answers wait for clients that do not read them";
            ApiError::new(ErrorCode::Busy, detail)
                .hint("request a smaller page, or try again later")
                .into()
        })
    }
}

impl Writer<'_> {
    /// Writes an answer.
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

/// Bytes that give their room back when the last piece of them has been sent, or its connection is
/// closed.
struct Counted {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that is handed out in pieces.
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
    async fn an_answer_keeps_its_room_until_its_last_byte_is_gone() {
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
    async fn without_room_there_is_no_answer() {
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
