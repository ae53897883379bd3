//! Secrets of a session, gathered from all its files.

use std::path::Path;
use std::path::PathBuf;

use recto_log::LineReader;
use recto_session::redact::RedactError;
use recto_session::redact::Redactor;
use recto_store::open_file;

use crate::error::CommandError;
use crate::terminal::overflow::each_line;

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

pub(crate) fn refused(error: RedactError) -> CommandError {
    CommandError::user("bad-pattern", error.to_string())
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json")
}
