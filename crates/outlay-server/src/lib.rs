//! The service of outlay: campaigns shared over HTTP.
//!
//! A request goes to the [`service`], which knows the campaigns; what it decides or takes is written
//! by the [`store`] before anybody is answered.

pub mod archive;
pub mod clock;
pub mod error;
pub mod http;
pub mod limits;
mod metrics;
pub mod open_files;
pub mod problem_file;
mod process_metrics;
pub mod service;
pub mod shapes;
pub mod store;
pub mod tokens;
mod whole;
