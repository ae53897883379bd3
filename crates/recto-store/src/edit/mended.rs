//! A log as a repair would write it, without writing it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::io;
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use recto_log::SessionId;
use recto_session::LineSource;
use recto_session::Session;
use recto_session::Span;
use recto_session::edit::Draft;
use recto_session::edit::EditError as PlanError;
use recto_session::edit::Rewrite;
use recto_session::edit::repair::Applied;
use recto_session::edit::repair::Clients;
use recto_session::edit::repair::Fix;
use recto_session::edit::repair::RepairOptions;
use recto_session::edit::repair::repair;
use recto_session::request::Generation;
use recto_session::request::Reach;
use recto_session::request::Sent;
use recto_session::request::reach;

use crate::StoreError;
use crate::edit::draft_text::write_draft;
use crate::edit::draft_text::written;
use crate::edit::opened_log::OpenedLog;

/// A log that was put right in memory, for whoever goes on with it. The file stays as it is.
#[derive(Debug)]
pub struct Mended {
    /// The session as it would be in the repaired log.
    pub session: Session,
    /// What the newest clients would send of it. Only these lines can be read.
    pub reach: Reach,
    /// What was put right.
    pub fixes: Vec<Applied>,
    lines: HashMap<u64, Vec<u8>>,
}

impl Mended {
    /// Reads a log and puts right whatever a repair would. None if there is nothing that it
    /// could. Calls without a result stay: a client that resumes answers them.
    pub fn read(path: &Path) -> Result<Option<Mended>, StoreError> {
        let own = path.file_stem().and_then(|name| name.to_str()?.parse::<SessionId>().ok());
        let Some(own) = own else { return Ok(None) };
        let opened = OpenedLog::read(path)?;
        let options = RepairOptions {
            only: None,
            except: BTreeSet::from([Fix::CallWithoutResult, Fix::LinearChain]),
            clients: Clients::Writer,
            own,
            written: Timestamp::now(),
            elsewhere: &|_| None,
        };
        let plan = match repair(&opened.manuscript, &options, &opened) {
            Ok(plan) if plan.draft.is_unchanged() => return Ok(None),
            Ok(plan) => plan,
            Err(PlanError::NothingToDo | PlanError::NoConversation) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let session = written(&opened, &plan.draft, &Rewrite::none())?;
        let reach = reach(&session, Generation::latest());
        let lines = lines_of(&opened, &plan.draft, &session, &reach)?;
        Ok(Some(Mended { session, reach, fixes: plan.fixes, lines }))
    }
}

impl LineSource for Mended {
    fn line(&self, span: Span) -> io::Result<Cow<'_, [u8]>> {
        let line = self.lines.get(&span.offset).map(|line| Cow::Borrowed(line.as_slice()));
        line.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The lines that are sent, by where they begin in the new log.
fn lines_of(
    opened: &OpenedLog,
    draft: &Draft<'_>,
    session: &Session,
    reach: &Reach,
) -> Result<HashMap<u64, Vec<u8>>, StoreError> {
    let spans = reach.sent.iter().filter_map(|sent| match sent {
        Sent::Line(line) => Some(session.node(line.node).span()),
        Sent::Added(_) => None,
    });
    let mut spans: Vec<Span> = spans.collect();
    spans.sort_unstable_by_key(|span| span.offset);
    spans.dedup_by_key(|span| span.offset);
    let mut cutter = Cutter { spans, next: 0, offset: 0, lines: HashMap::new() };
    write_draft(opened, draft, &Rewrite::none(), &mut cutter)?;
    Ok(cutter.lines)
}

/// Keeps some spans of what is written.
struct Cutter {
    spans: Vec<Span>,
    /// The first span that is not whole.
    next: usize,
    offset: u64,
    lines: HashMap<u64, Vec<u8>>,
}

impl Write for Cutter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.offset + bytes.len() as u64;
        while let Some(span) = self.spans.get(self.next).filter(|span| span.offset < end) {
            let from = span.offset.max(self.offset) - self.offset;
            let to = (span.offset + span.length).min(end) - self.offset;
            let part = bytes.get(from as usize..to as usize).unwrap_or_default();
            self.lines.entry(span.offset).or_default().extend_from_slice(part);
            if span.offset + span.length > end {
                break;
            }
            self.next += 1;
        }
        self.offset = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recto_session::request::RequestOptions;
    use recto_session::request::request;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    fn line(number: u32, parent: Option<u32>, text: &str) -> String {
        let uuid = |number: u32| format!("00000000-0000-4000-8000-{number:012}");
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", uuid(parent)));
        let (kind, message) = match number % 2 {
            1 => ("user", format!(r#"{{"role":"user","content":"{text}"}}"#)),
            _ => (
                "assistant",
                format!(
                    r#"{{"id":"m{number}","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{text}"}}]}}"#
                ),
            ),
        };
        format!(
            r#"{{"parentUuid":{parent},"sessionId":"{ID}","type":"{kind}","uuid":"{}","timestamp":"2026-11-16T08:00:{number:02}Z","version":"2.1.325","message":{message}}}"#,
            uuid(number)
        )
    }

    #[test]
    fn what_a_repair_brings_back_is_there_and_the_file_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{ID}.jsonl"));
        let whole = [line(1, None, "one"), line(2, Some(1), "two")];
        // The third line hangs on one that is missing, and a torn line stands between.
        let torn = r#"{"type":"user","uuid":"#;
        let rest = [line(3, Some(77), "three"), line(4, Some(3), "four")];
        let text = format!("{}\n{torn}\n{}\n", whole.join("\n"), rest.join("\n"));
        std::fs::write(&path, &text).unwrap();
        let mended = Mended::read(&path).unwrap().unwrap();
        let fixes: Vec<&str> = mended.fixes.iter().map(|fix| fix.fix.name()).collect();
        assert_eq!(fixes, ["damaged-line", "missing-parent"]);
        let sent = request(&mended.session, &mended.reach, &mended, &RequestOptions::default());
        let sent = String::from_utf8(sent.messages).unwrap();
        for word in ["one", "two", "three", "four"] {
            assert!(sent.contains(word), "{sent}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        std::fs::write(&path, format!("{}\n", whole.join("\n"))).unwrap();
        assert!(Mended::read(&path).unwrap().is_none());
    }
}
