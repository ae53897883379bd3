//! A session as a document, sent as it is made.

use std::io;

use axum::body::Body;
use axum::extract::Path;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;
use bytes::Bytes;
use recto_session::export::Format;
use recto_store::StoreError;
use recto_view::ExportFormat;
use recto_view::ExportSource;
use tokio::sync::mpsc;

use super::session_id;
use crate::answer::Failure;
use crate::answer::Piped;
use crate::answer::content;
use crate::context::Context;
use crate::parameters::Parameters;

/// The names of formats, and what a browser is told of them. None is shown as a
/// page of this server: each is a file to keep.
const FORMATS: [(&str, ExportFormat, &str); 5] = [
    ("md", ExportFormat::Document(Format::Markdown), "text/markdown; charset=utf-8"),
    ("html", ExportFormat::Document(Format::Html), "text/html; charset=utf-8"),
    ("json", ExportFormat::Items, "application/json"),
    ("xml", ExportFormat::Document(Format::Xml), "application/xml"),
    ("txt", ExportFormat::Document(Format::Text), "text/plain; charset=utf-8"),
];

/// Why a document ends early.
enum Ended {
    /// The client went away.
    Gone,
    Store(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Ended {
        Ended::Store(error)
    }
}

pub(super) async fn export(
    State(context): State<Context>,
    Path(session): Path<String>,
    mut parameters: Parameters,
) -> Result<Response<Body>, Failure> {
    let id = session_id(&session)?;
    let wanted = parameters.text("format").unwrap_or_else(|| "md".to_owned());
    parameters.finish()?;
    let format = FORMATS.iter().find(|(name, _, _)| *name == wanted);
    let (name, format, content_type) = *format.ok_or_else(|| {
        Failure::bad_request("bad-format", "unknown format").with_hint("md, html, json, xml or txt")
    })?;
    let found = context.answer(move |library| library.find(id)).await?;
    // Who does not read keeps a thread, of which the others need some.
    let turn = context.exports.clone().acquire_owned().await;
    let turn = turn.map_err(|_| Failure::internal("the server ends"))?;
    let (sender, receiver) = mpsc::channel(4);
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let name = id.to_string();
        let path = &found.file.path;
        let source = ExportSource { path, name: &name, is_agent: false, redactor: None };
        let done =
            recto_view::export_log(context.library.home(), source, format, &mut |text: &str| {
                let piece = Bytes::copy_from_slice(text.as_bytes());
                sender.blocking_send(Ok(piece)).map_err(|_| Ended::Gone)
            });
        if let Err(Ended::Store(error)) = done {
            // The beginning is sent already: the client must see that it is not all.
            let _ = sender.blocking_send(Err(io::Error::other(error.to_string())));
        }
    });
    let mut response = content(StatusCode::OK, content_type, Body::new(Piped::new(receiver)));
    let disposition = format!("attachment; filename=\"{id}.{name}\"");
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}
