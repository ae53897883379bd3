//! Another title for a session, as the client's `/rename` gives it.

use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

use jiff::Timestamp;
use recto_log::build::Envelope;
use recto_log::build::MetaLine;
use recto_log::json::ObjectWriter;
use recto_session::request::Generation;

use crate::DataDirectory;
use crate::Digest;
use crate::Home;
use crate::SessionFile;
use crate::StoreError;
use crate::TitleSource;
use crate::edit::error::EditError;
use crate::open_file;
use crate::publish::Change;
use crate::publish::FileIdentity;
use crate::publish::Intent;
use crate::publish::Journal;
use crate::publish::Operation;
use crate::read::digest::TEXT_MOST;

/// How long a title may be, in bytes: listings give no more of one.
const LONGEST_TITLE: usize = TEXT_MOST;

/// What a session can be called: one line of text, or nothing to take the title
/// back that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title(String);

impl Title {
    /// White space around it is no part of it.
    pub fn new(text: &str) -> Result<Title, StoreError> {
        let text = text.trim();
        if text.chars().any(char::is_control) || text.len() > LONGEST_TITLE {
            return Err(EditError::BadTitle.into());
        }
        Ok(Title(text.to_owned()))
    }

    /// The title.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who gets which title.
#[derive(Debug, Clone)]
pub struct Renaming<'a> {
    /// The home of the session.
    pub home: &'a Home,
    /// Where operations are recorded: the directory of the journal.
    pub data: &'a DataDirectory,
    /// The session.
    pub session: &'a SessionFile,
    /// Its title from now on.
    pub title: &'a Title,
    /// The order as it was given, for the record.
    pub arguments: Vec<String>,
    /// The time.
    pub time: Timestamp,
    /// Whether everything is tried and nothing done.
    pub is_dry: bool,
}

/// What a new title changed.
#[derive(Debug, Clone)]
pub struct Renamed {
    /// What was changed, or would be.
    pub changes: Vec<Change>,
    /// The operation; none if nothing was done.
    pub operation: Option<Operation>,
}

impl Journal {
    /// Adds to the log what the client's `/rename` adds. The time of the log stays,
    /// so that the client still continues the session that it would have. A session
    /// that a client works on is refused.
    pub fn rename(&mut self, renaming: Renaming<'_>) -> Result<Renamed, StoreError> {
        let Renaming { home, data, session, title, arguments, time, is_dry } = renaming;
        home.may_edit(data, session, time)?;
        let mut transaction = self.begin(Intent {
            home,
            name: "rename",
            arguments,
            time,
            source: Some(session.id),
            result: Some(session.id),
        })?;
        let title = title.as_str();
        let mut source = open_file(&session.path)?;
        let identity = FileIdentity::of_file(&source)?;
        let lines = lines(session, title)?;
        let staged = transaction.replace(&session.path, &identity, |out| {
            let copied = std::io::copy(&mut source, out)?;
            if copied > 0 && !ends_with_line_end(&mut source)? {
                // A torn line stays a line of its own, as the client has it.
                out.write_all(b"\n")?;
            }
            Ok(out.write_all(&lines)?)
        })?;
        // The client keeps the title in a second place, which must not disagree.
        if let Some(path) = home.sidecars_of(session).custom_title {
            let identity = FileIdentity::of(&path)?;
            let content = ObjectWriter::new().string("customTitle", title).finish();
            transaction.replace(&path, &identity, |out| Ok(out.write_all(&content)?))?;
        }
        let found = Digest::read(staged.path(), false)?.title;
        let is_read_back = match &found {
            Some((found, TitleSource::Custom)) => found == title,
            Some(_) | None => title.is_empty(),
        };
        if !is_read_back {
            return Err(EditError::TitleNotReadBack.into());
        }
        let changes = transaction.changes();
        let operation = if is_dry { None } else { Some(transaction.commit()?) };
        Ok(Renamed { changes, operation })
    }
}

/// What the client that wrote the log adds to it for a title.
fn lines(session: &SessionFile, title: &str) -> Result<Vec<u8>, StoreError> {
    let envelope = Envelope::of_session(session.id);
    let mut lines = envelope.meta(&MetaLine::CustomTitle(title.into()));
    lines.push(b'\n');
    let version = Digest::read(&session.path, false)?.version;
    let generation = version.and_then(|version| Generation::of_version(&version));
    if !title.is_empty() && generation >= Some(Generation::V2_1_200) {
        lines.extend(envelope.meta(&MetaLine::AgentName(title.into())));
        lines.push(b'\n');
    }
    Ok(lines)
}

fn ends_with_line_end(file: &mut (impl Read + Seek)) -> Result<bool, StoreError> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(Title::new("  Mend it \n").unwrap().as_str(), "Mend it");
        assert_eq!(Title::new(" ").unwrap().as_str(), "");
        for bad in ["two\nlines", "a\u{1b}[31m", "a\tb", "\u{85}x\u{9b}y"] {
            assert_eq!(Title::new(bad).unwrap_err().kind(), "bad-title", "{bad:?}");
        }
    }
}
