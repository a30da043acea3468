//! The flag by which another thread cancels a search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that another thread may set; never set by default.
#[derive(Debug, Clone, Default)]
pub(super) struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    pub(super) fn new(flag: Option<Arc<AtomicBool>>) -> Self {
        Self(flag)
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
