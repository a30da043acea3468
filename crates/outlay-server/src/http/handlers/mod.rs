//! One file per kind of resource; each handler carries its OpenAPI description.

pub(super) mod allocate;
pub(super) mod campaigns;
pub(super) mod compactions;
pub(super) mod dashboard;
pub(super) mod event_stream;
pub(super) mod feedback;
pub(super) mod health;
pub(super) mod problem_types;
pub(super) mod rounds;
pub(super) mod tokens;
