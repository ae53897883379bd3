//! Secrets of a session, gathered from all its files.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use recto_log::LineReader;
use recto_session::redact::Level;
use recto_session::redact::RedactError;
use recto_session::redact::Redactor;
use recto_store::open_file;

use crate::error::CommandError;
use crate::terminal::overflow::each_line;

/// How much counts as a secret: the same options in every command that shares sessions.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct LevelArgs {
    /// Replace every value under a secret's name, weak passwords too (default)
    #[arg(long, conflicts_with = "plain")]
    strict: bool,
    /// Replace only known token formats and random values
    #[arg(long)]
    plain: bool,
}

impl LevelArgs {
    /// The level that was asked for, if one was.
    pub(crate) fn given(self) -> Option<Level> {
        match (self.strict, self.plain) {
            (false, false) => None,
            (_, true) => Some(Level::Plain),
            (true, false) => Some(Level::Strict),
        }
    }

    pub(crate) fn level(self) -> Level {
        self.given().unwrap_or_default()
    }
}

/// Goes through the files, so that a secret is known where it stands alone.
pub(crate) fn collect(redactor: Redactor, files: &[PathBuf]) -> Result<Redactor, CommandError> {
    let mut collector = redactor.collector();
    for path in files {
        if is_log(path) {
            let mut lines = LineReader::new(open_file(path)?);
            while let Some(line) = lines.next_line()? {
                collector.line(line.bytes);
            }
        } else {
            each_line(path, |line| {
                collector.text(line);
                Ok(())
            })?;
        }
    }
    collector.finish().map_err(refused)
}

/// What is no JSON object is a text: long results, and pieces of them.
pub(crate) fn redact_text(redactor: &Redactor, bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let redacted = redactor.text(&text);
    (!redacted.findings.is_empty()).then(|| redacted.text.into_owned().into_bytes())
}

pub(crate) fn refused(error: RedactError) -> CommandError {
    CommandError::user("bad-pattern", error.to_string())
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json")
}
