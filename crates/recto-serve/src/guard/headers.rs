//! What every answer says to the browser: load nothing from elsewhere, run
//! nothing that is not a file of ours, be in no frame, keep nothing.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::header;

/// No inline script and no inline style: text of a log that got into a page as
/// markup would still do nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";

/// Bytes of a log are no page, whatever they contain: nothing of them runs or loads.
const UNTRUSTED_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// Marks an answer whose bytes are those of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Untrusted;

const ALWAYS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Puts the headers onto an answer. Only an answer that says how long it may be
/// kept is kept.
pub(crate) fn dress(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if response.extensions().get::<Untrusted>().is_some() {
        let policy = HeaderValue::from_static(UNTRUSTED_POLICY);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    let headers = response.headers_mut();
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    response
}
