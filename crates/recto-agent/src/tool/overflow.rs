//! Output that is too large for a result: a file, and the beginning of it.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use super::outcome::Content;
use super::outcome::ToolOutcome;
use super::path;
use super::session::Session;

/// Texts of a server with more characters go to a file.
const MOST_IN_BLOCKS: usize = 50_000;

/// How much of it the model sees.
const PREVIEW: usize = 2000;

fn place(session: &Session, name: &str) -> io::Result<PathBuf> {
    let directory = session.places.results();
    fs::create_dir_all(&directory)?;
    Ok(directory.join(format!("{name}.txt")))
}

/// Moves a file of output to those that are kept.
pub(super) fn keep_file(session: &Session, from: &Path, name: &str) -> io::Result<PathBuf> {
    let to = place(session, name)?;
    // The two directories may be on different disks.
    if fs::rename(from, &to).is_err() {
        fs::copy(from, &to)?;
    }
    Ok(to)
}

/// Keeps a text.
pub(super) fn keep_text(session: &Session, text: &str, name: &str) -> io::Result<PathBuf> {
    let to = place(session, name)?;
    fs::write(&to, text)?;
    Ok(to)
}

/// Keeps blocks of texts that are too long together, and gives what stands for them.
pub(super) fn keep_long_blocks(session: &Session, blocks: &[Value], name: &str) -> Option<String> {
    let texts = blocks.iter().map(|block| block.get("text").and_then(Value::as_str));
    let texts: Vec<&str> = texts.collect::<Option<_>>()?;
    let count: usize = texts.iter().map(|text| text.encode_utf16().count()).sum();
    if count <= MOST_IN_BLOCKS {
        return None;
    }
    let text = serde_json::to_string_pretty(blocks).ok()?;
    keep_beside(&text, &session.places.results(), &format!("{name}.json")).ok()
}

/// Keeps a text in a folder, and gives what stands for it.
pub(crate) fn keep_beside(text: &str, folder: &Path, name: &str) -> io::Result<String> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    fs::write(&path, text)?;
    Ok(preview(text, text.len() as u64, &path))
}

/// What stands for an output that was kept.
pub(super) fn preview(text: &str, size: u64, kept: &Path) -> String {
    let units: Vec<u16> = text.encode_utf16().take(PREVIEW).collect();
    let head = String::from_utf16_lossy(&units);
    let line_end = head.rfind('\n').filter(|at| *at > PREVIEW / 2);
    let head = line_end.and_then(|at| head.get(..at)).unwrap_or(&head);
    let dots = if head.len() < text.len() { "\n..." } else { "" };
    format!(
        "<persisted-output>\nOutput too large ({}). Full output saved to: {}\n\nPreview (first \
         2KB):\n{head}{dots}\n</persisted-output>",
        path::size(size),
        kept.display()
    )
}

/// The same outcome, with a text that is too long in a file.
pub(super) fn keep_if_long(
    mut outcome: ToolOutcome,
    session: &Session,
    most: usize,
    name: &str,
) -> ToolOutcome {
    if let Content::Text(text) = &outcome.content
        && text.encode_utf16().count() > most
        && let Ok(kept) = keep_text(session, text, name)
    {
        outcome.content = Content::Text(preview(text, text.len() as u64, &kept));
    }
    outcome
}
