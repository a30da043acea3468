//! The pages of ordinary and of awkward decisions.
