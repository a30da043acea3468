//! The dashboard: static files that are part of the program. They contain no data; the page uses
//! the API like any other client.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::campaigns::is_known;
use crate::error::ErrorCode;
use crate::http::error::ErrorResponse;

/// Everything from this host, nothing inline, no framing, no form targets.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// A file with its tag.
struct Asset {
    name: &'static str,
    media: &'static str,
    content: &'static str,
    tag: HeaderValue,
}

macro_rules! assets {
    ($($media:ident $name:literal,)*) => {
        [$(($name, $media, include_str!(concat!("../../dashboard/", $name)))),*]
    };
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let files = assets![
        HTML "index.html",
        CSS "page.css",
        SVG "icon.svg",
        SCRIPT "main.js",
        SCRIPT "api.js",
        SCRIPT "dom.js",
        SCRIPT "refresh.js",
        SCRIPT "words.js",
        SCRIPT "colours.js",
        SCRIPT "chart.js",
        SCRIPT "token.js",
        SCRIPT "campaigns.js",
        SCRIPT "campaign.js",
        SCRIPT "follow.js",
        SCRIPT "guards.js",
        SCRIPT "split.js",
        SCRIPT "quality.js",
        SCRIPT "delivery.js",
        SCRIPT "history.js",
        SCRIPT "curves.js",
        SCRIPT "rounds.js",
        SCRIPT "events.js",
        SCRIPT "export.js",
        SCRIPT "uplot/uPlot.iife.min.js",
        CSS "uplot/uPlot.min.css",
        TEXT "uplot/LICENSE",
    ];
    files
        .into_iter()
        .map(|(name, media, content)| Asset { name, media, content, tag: tag(content) })
        .collect()
});

/// The tag of a text.
fn tag(content: &str) -> HeaderValue {
    let digest = Sha256::digest(content.as_bytes());
    let digits: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{digits}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// The page.
pub(in crate::http) const INDEX: &str = "/";
/// Its files.
pub(in crate::http) const FILES: &str = "/dashboard/{*file}";

pub(in crate::http) async fn index(headers: HeaderMap) -> Response {
    asset("index.html", &headers)
}

pub(in crate::http) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    asset(&name, &headers)
}

fn asset(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return ErrorResponse::new(ErrorCode::NoRoute, "the service has no such path")
            .into_response();
    };
    let head = [
        (header::ETAG, asset.tag.clone()),
        // Cached, but revalidated each time, so that an update never mixes old and new files.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    if is_known(headers, &asset.tag) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(header::CONTENT_TYPE, HeaderValue::from_static(asset.media))], asset.content)
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(name: &str, known: Option<&HeaderValue>) -> Response {
        asset(name, &known.map(|tag| (header::IF_NONE_MATCH, tag.clone())).into_iter().collect())
    }

    #[test]
    fn every_file_in_the_folder_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dashboard");
        let mut names = Vec::new();
        for below in ["", "uplot/"] {
            let entries =
                std::fs::read_dir(format!("{folder}/{below}")).unwrap().map(Result::unwrap);
            let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
            names.extend(
                files.map(|entry| format!("{below}{}", entry.file_name().into_string().unwrap())),
            );
        }
        names.retain(|name| name != "uplot/README.md");
        names.sort();
        let mut served: Vec<_> = ASSETS.iter().map(|asset| asset.name).collect();
        served.sort_unstable();
        assert_eq!(served, names);
    }

    #[test]
    fn files_have_a_type_a_policy_and_a_tag() {
        for asset in ASSETS.iter() {
            let whole = answer(asset.name, None);
            assert_eq!(whole.status(), StatusCode::OK);
            assert_eq!(whole.headers()[header::CONTENT_TYPE], asset.media);
            assert_eq!(whole.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
            assert_eq!(answer(asset.name, Some(&asset.tag)).status(), StatusCode::NOT_MODIFIED);
            assert_eq!(
                answer(asset.name, Some(&HeaderValue::from_static("\"other\""))).status(),
                StatusCode::OK
            );
        }
        assert_eq!(answer("../mod.rs", None).status(), StatusCode::NOT_FOUND);
        assert_eq!(answer("", None).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn pages_have_no_inline_or_external_resources() {
        let page = ASSETS.iter().find(|asset| asset.name == "index.html").unwrap().content;
        assert!(!page.contains("style=") && !page.contains("<style") && !page.contains(" onclick"));
        assert_eq!(
            page.matches("<script").count(),
            page.matches("<script src=\"dashboard/").count()
                + page.matches("<script type=\"module\" src=\"dashboard/").count()
        );
        for asset in ASSETS.iter().filter(|asset| !asset.name.starts_with("uplot/")) {
            // Nor from the root of this host, because the service may have a path prefix.
            for elsewhere in
                ["https://", "//cdn", "innerHTML", "eval(", "\"/dashboard", "\"/v1", "`/v1"]
            {
                assert!(!asset.content.contains(elsewhere), "{} has {elsewhere}", asset.name);
            }
        }
    }
}
