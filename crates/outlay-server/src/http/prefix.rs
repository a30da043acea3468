//! The path below which everything is served, for proxies that share one host among services.

use std::str::FromStr;

use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// A path such as `/outlay`; empty if everything is at the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathPrefix(String);

/// Where a request is with respect to the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Below it; its path no longer has it.
    Below,
    /// The prefix itself, without a slash at its end.
    Bare,
    /// Elsewhere.
    Outside,
}

/// Probes reach the process directly, so these paths also work without the prefix.
const EVERYWHERE: [&str; 2] = ["/livez", "/readyz"];

impl PathPrefix {
    /// The prefix as a text, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Removes the prefix from the path of a request.
    pub(crate) fn strip(&self, uri: &mut Uri) -> Placement {
        if self.0.is_empty() || EVERYWHERE.contains(&uri.path()) {
            return Placement::Below;
        }
        let whole = uri.path_and_query().map_or("", PathAndQuery::as_str);
        let Some(rest) = whole.strip_prefix(&self.0) else { return Placement::Outside };
        if rest.is_empty() || rest.starts_with('?') {
            return Placement::Bare;
        }
        if !rest.starts_with('/') {
            return Placement::Outside;
        }
        let Ok(rest) = PathAndQuery::from_str(rest) else { return Placement::Outside };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(rest);
        match Uri::from_parts(parts) {
            Ok(stripped) => {
                *uri = stripped;
                Placement::Below
            }
            Err(_) => Placement::Outside,
        }
    }
}

impl FromStr for PathPrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let prefix = text.strip_suffix('/').unwrap_or(text);
        if prefix.is_empty() {
            return Ok(Self::default());
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_segment =
            |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain);
        match prefix.strip_prefix('/') {
            Some(path) if path.split('/').all(is_segment) => Ok(Self(prefix.to_owned())),
            _ => Err(format!(
                "`{text}` is not a path prefix; expected a path of letters, digits and -._~ such as \
                 /outlay"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_plain_paths() {
        let parsed = |text: &str| text.parse().map(|prefix: PathPrefix| prefix.0);
        assert_eq!(parsed(""), Ok(String::new()));
        assert_eq!(parsed("/"), Ok(String::new()));
        assert_eq!(parsed("/outlay"), Ok("/outlay".to_owned()));
        assert_eq!(parsed("/a/b.c/"), Ok("/a/b.c".to_owned()));
        for text in ["outlay", "//", "/a//b", "/a/../b", "/a b", "/a?b", "/ü", "/%41", "/a\n"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_paths_below_the_prefix_are_served() {
        let strip = |path: &str| {
            let mut uri: Uri = path.parse().unwrap();
            let placement = "/a/b".parse::<PathPrefix>().unwrap().strip(&mut uri);
            (placement, uri.to_string())
        };
        for (path, rest) in [
            ("/a/b/", "/"),
            ("/a/b/v1/campaigns?limit=3", "/v1/campaigns?limit=3"),
            ("/a/b//x", "//x"),
            ("http://host/a/b/x", "http://host/x"),
            ("/livez", "/livez"),
            ("/a/b/readyz", "/readyz"),
        ] {
            assert_eq!(strip(path), (Placement::Below, rest.to_owned()), "{path}");
        }
        assert_eq!(strip("/a/b").0, Placement::Bare);
        assert_eq!(strip("/a/b?x").0, Placement::Bare);
        for path in ["/", "/a", "/a/bc", "/v1/campaigns", "/b/a/x", "/metrics", "*"] {
            assert_eq!(strip(path).0, Placement::Outside, "{path}");
        }
    }
}
