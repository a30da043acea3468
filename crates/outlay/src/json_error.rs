//! The error of JSON that cannot be read or written.

use std::sync::Arc;

/// JSON that cannot be read or written. A learner of your own reports a state that it rejects with
/// `serde::de::Error::custom`.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct JsonError(Arc<serde_json::Error>);

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl PartialEq for JsonError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}
