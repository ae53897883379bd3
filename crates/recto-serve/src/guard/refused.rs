//! A refusal as a page, for browsers. The files of the pages need the token, so its style is in
//! it; the policy names that style by its hash, and allows nothing else.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;
use maud::DOCTYPE;
use maud::PreEscaped;
use maud::html;
use sha2::Digest as _;
use sha2::Sha256;

use super::headers::dress;

/// Everything is in here: a browser that is refused gets no files.
const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;\
max-width:34rem;margin:18vh auto 0;padding:0 1.5rem}h1{font-size:1.4rem}p{white-space:pre-line}\
small{opacity:.7}";

/// The policy of such a page.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = base64(&Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
});

/// How long the text of a refusal is at most.
const LONGEST: usize = 4096;

/// Makes a page of a refusal. The text is the server's own.
pub(crate) async fn dress_page(refused: Response<Body>) -> Response<Body> {
    let (mut parts, body) = refused.into_parts();
    let text = axum::body::to_bytes(body, LONGEST).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let title = match parts.status {
        StatusCode::UNAUTHORIZED => "This browser is not logged in",
        StatusCode::FORBIDDEN => "Request refused",
        StatusCode::MISDIRECTED_REQUEST => "Unknown host",
        StatusCode::METHOD_NOT_ALLOWED => "Method not allowed",
        _ => "Invalid request",
    };
    let is_waiting = parts.status == StatusCode::UNAUTHORIZED;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Once another tab has logged in, this one is let in, too.
                @if is_waiting { meta http-equiv="refresh" content="5"; }
                title { (title) " · recto" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    p { (text.trim()) }
                    @if is_waiting { p { small { "This page retries every five seconds." } } }
                }
            }
        }
    };
    parts
        .headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    parts.headers.remove(header::CONTENT_LENGTH);
    let mut response = dress(Response::from_parts(parts, Body::from(page.into_string())));
    if let Ok(policy) = HeaderValue::from_str(&POLICY) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let held = three.iter().fold(0u32, |held, byte| (held << 8) | u32::from(*byte));
        let held = held << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = LETTERS[(held >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
