//! Requests to a running service.

use std::time::Duration;

use outlay_server::http::ProblemDetails;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Environment variable with the admin token of a running service. A flag would be visible in
/// process listings.
const TOKEN_VARIABLE: &str = "OUTLAY_TOKEN";

/// For requests without a body.
pub(crate) const NO_BODY: Option<&()> = None;

/// A running service.
pub(crate) struct Service {
    url: String,
    token: Option<String>,
}

impl Service {
    const TIMEOUT: Duration = Duration::from_secs(20);

    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            token: std::env::var(TOKEN_VARIABLE).ok(),
        }
    }

    /// Sends a request and reads the JSON of the response.
    pub(crate) fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        let text = self.request(method, path, &[], body)?;
        serde_json::from_str(&text).map_err(|error| {
            Failure(format!("{} did not respond like an outlay service: {error}", self.url))
        })
    }

    /// Sends a request and returns the body of the response.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&impl Serialize>,
    ) -> Result<String, Failure> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(Self::TIMEOUT))
            .http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        let mut request =
            ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {}", token.trim()));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let cannot =
            |error: &dyn std::fmt::Display| Failure(format!("cannot reach {}: {error}", self.url));
        let text = body.map(serde_json::to_string).transpose()?;
        let answered = match text {
            Some(text) => agent.run(request.header("content-type", "application/json").body(text)?),
            None => agent.run(request.body(())?),
        };
        let mut answer = answered.map_err(|error| cannot(&error))?;
        let text = answer.body_mut().read_to_string().map_err(|error| cannot(&error))?;
        if answer.status().is_success() {
            return Ok(text);
        }
        match serde_json::from_str::<ProblemDetails>(&text) {
            Ok(problem) if problem.status == 401 => Err(Failure(format!(
                "{}: {}; set {TOKEN_VARIABLE} to an admin token",
                self.url, problem.detail
            ))),
            Ok(problem) => Err(Failure(format!("{}: {}", self.url, problem.detail))),
            Err(_) => Err(Failure(format!("{} responded with {}", self.url, answer.status()))),
        }
    }
}
