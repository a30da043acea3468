//! The service of outlay: campaigns shared over HTTP.
//!
//! Requests go to the [`service`], which knows the campaigns. The [`store`] writes every decision
//! and outcome before the request is answered.

pub mod api;
pub mod archive;
pub mod clock;
pub mod error;
pub mod http;
mod int64;
pub mod limits;
mod metrics;
mod named_numbers;
pub mod open_files;
pub mod problem_file;
mod process_metrics;
pub mod service;
pub mod store;
pub mod tokens;
