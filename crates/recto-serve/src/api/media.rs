//! Images and documents of a log, as bytes.
//!
//! The bytes are a stranger's. Images that every browser can show are sent as what they are, and
//! everything else is a file to keep; nothing is a page, and no browser guesses what it could be.

use std::collections::HashMap;

use axum::body::Body;
use axum::extract::Path;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;
use recto_session::MediaKind;
use recto_view::Library;

use super::session::Log;
use crate::answer::Failure;
use crate::answer::content;
use crate::context::Context;
use crate::guard::Untrusted;
use crate::parameters::Parameters;

pub(super) async fn media(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    parameters: Parameters,
) -> Result<Response<Body>, Failure> {
    let log = Log::of(&parts)?;
    parameters.finish()?;
    let missing = || Failure::not_found("the log has no such image or document");
    let number = |name: &str| parts.get(name).and_then(|text| text.parse().ok());
    let line: u64 = number("line").ok_or_else(missing)?;
    let place: u64 = number("number").ok_or_else(missing)?;
    let work = move |library: &Library| {
        let reading = library.read_any(log.session, log.agent.as_ref())?;
        recto_view::media_of(&reading, line, place as usize)
    };
    let (kind, bytes) = context.answer(work).await?;
    let mut response = content(StatusCode::OK, content_type(kind), bytes);
    response.extensions_mut().insert(Untrusted);
    if !kind.is_image() {
        let end = if kind == MediaKind::Pdf { "pdf" } else { "bin" };
        let disposition = format!("attachment; filename=\"line-{line}-{place}.{end}\"");
        if let Ok(value) = HeaderValue::from_str(&disposition) {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
        }
    }
    Ok(response)
}

fn content_type(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Png => "image/png",
        MediaKind::Jpeg => "image/jpeg",
        MediaKind::Gif => "image/gif",
        MediaKind::Webp => "image/webp",
        MediaKind::Pdf => "application/pdf",
        MediaKind::Other | MediaKind::Elsewhere => "application/octet-stream",
    }
}
