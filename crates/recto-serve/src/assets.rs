//! The files of the pages: style and scripts, inside the program.
//!
//! A file has two addresses. With a hash in its name it never changes, and a
//! browser keeps it; by its plain name, as scripts import each other, the browser
//! asks each time whether it is still the same.

use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::HeaderMap;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use sha2::Digest as _;
use sha2::Sha256;

use crate::answer::Failure;
use crate::answer::content;
use crate::context::Context;

/// One file.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
    hash: String,
}

macro_rules! assets {
    ($(($name:literal, $content_type:literal)),* $(,)?) => {
        vec![$(Asset::new(
            $name,
            $content_type,
            include_bytes!(concat!("../assets/", $name)),
        )),*]
    };
}

static ALL: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    assets![
        ("style.css", "text/css; charset=utf-8"),
        ("app.js", "text/javascript; charset=utf-8"),
        ("edits.js", "text/javascript; charset=utf-8"),
        ("reader.css", "text/css; charset=utf-8"),
        ("figures.css", "text/css; charset=utf-8"),
        ("reader.js", "text/javascript; charset=utf-8"),
        ("highlight.js", "text/javascript; charset=utf-8"),
        ("media.js", "text/javascript; charset=utf-8"),
        ("prune.js", "text/javascript; charset=utf-8"),
        ("costs.js", "text/javascript; charset=utf-8"),
        ("turn_menu.js", "text/javascript; charset=utf-8"),
        ("find.js", "text/javascript; charset=utf-8"),
        ("marks.js", "text/javascript; charset=utf-8"),
        ("notices.js", "text/javascript; charset=utf-8"),
        ("search.js", "text/javascript; charset=utf-8"),
        ("shared.js", "text/javascript; charset=utf-8"),
        ("theme.js", "text/javascript; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ]
});

impl Asset {
    fn new(name: &'static str, content_type: &'static str, bytes: &'static [u8]) -> Asset {
        let digest = Sha256::digest(bytes);
        let hash = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Asset { name, content_type, bytes, hash }
    }

    /// `style.0123456789abcdef.css`
    fn hashed_name(&self) -> String {
        let (stem, extension) = self.name.rsplit_once('.').unwrap_or((self.name, ""));
        format!("{stem}.{}.{extension}", self.hash)
    }
}

/// The address of a file that never changes.
pub(crate) fn address(name: &str) -> String {
    let asset = ALL.iter().find(|asset| asset.name == name);
    let name = asset.map_or_else(|| name.to_owned(), Asset::hashed_name);
    format!("/assets/{name}")
}

pub(crate) fn routes() -> Router<Context> {
    Router::new().route("/{name}", get(asset))
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response<Body> {
    let hashed = ALL.iter().find(|asset| asset.hashed_name() == name);
    let found = hashed.or_else(|| ALL.iter().find(|asset| asset.name == name));
    let Some(asset) = found else {
        return Failure::not_found("there is no such file").into_response();
    };
    let tag = format!("\"{}\"", asset.hash);
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == *tag);
    let mut response = if is_known {
        content(StatusCode::NOT_MODIFIED, asset.content_type, Body::empty())
    } else {
        content(StatusCode::OK, asset.content_type, asset.bytes)
    };
    let keep = if hashed.is_some() { "private, max-age=31536000, immutable" } else { "no-cache" };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_the_hash_of_the_content() {
        for asset in ALL.iter() {
            let address = address(asset.name);
            assert!(address.starts_with("/assets/") && address.contains(&asset.hash), "{address}");
            assert_eq!(asset.hash.len(), 16);
        }
        assert_ne!(ALL[0].hash, ALL[1].hash);
    }
}
