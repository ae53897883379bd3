//! The tail of a log, which says how things stand now.

use std::sync::LazyLock;

use memchr::memmem;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::decode;

use super::Digest;
use super::Parts;
use super::Side;
use super::last_prompt_text;
use super::model_of;
use crate::read::lines_back::LinesBack;

/// Looks at the lines of the tail, the last one first, and only at those that
/// can still say something new.
pub(super) fn digest_tail(tail: &[u8], digest: &mut Digest, parts: &mut Parts) {
    let mut last = Digest::default();
    let mut titles = Parts::default();
    let finders = &*FINDERS;
    for line in LinesBack(tail) {
        let says_state = last.ended.is_none() || last.version.is_none() || last.model.is_none();
        if !says_state && !may_tell(line, finders) {
            continue;
        }
        let (entry, _) = decode(RawLine::alone(line));
        digest_line_backwards(&entry, &mut last, &mut titles);
    }
    parts.has_conversation |= titles.has_conversation;
    parts.assistant_lines += titles.assistant_lines;
    parts.custom = titles.custom.or(parts.custom.take());
    parts.ai = titles.ai.or(parts.ai.take());
    titles.summaries.append(&mut parts.summaries);
    parts.summaries = titles.summaries;
    digest.ended = last.ended.or(digest.ended);
    // The branch belongs to the line that tells the version.
    if last.version.is_some() {
        digest.version = last.version;
        digest.branch = last.branch;
    }
    digest.model = last.model.or(digest.model.take());
    digest.last_prompt = last.last_prompt.or(digest.last_prompt.take());
}

/// What marks a line of the tail that must be looked at in any case.
const TELLING: [&[u8]; 3] = [b"-title\"", b"\"summary\"", b"\"last-prompt\""];

static FINDERS: LazyLock<[memmem::Finder<'static>; 3]> =
    LazyLock::new(|| TELLING.map(memmem::Finder::new));

/// Whether a line may hold a title or the last prompt. Clients write the type of
/// such a line first; of others, only short ones are searched.
fn may_tell(line: &[u8], finders: &[memmem::Finder<'_>]) -> bool {
    const SHORT: usize = 1024;
    let start = match line.strip_prefix(b"{\"type\":") {
        Some(rest) => &rest[..rest.len().min(32)],
        None if line.len() <= SHORT => line,
        None => return false,
    };
    finders.iter().any(|finder| finder.find(start).is_some())
}

/// The last line of each kind counts, which is the first one seen backwards.
fn digest_line_backwards(entry: &Entry<'_>, last: &mut Digest, parts: &mut Parts) {
    last.ended = last.ended.or_else(|| entry.timestamp());
    // Requests tell a version too, but no branch.
    if last.version.is_none()
        && entry.kind().in_chain()
        && let Some(version) = entry.version()
    {
        last.version = Some(version.into_owned());
        last.branch = entry.git_branch().map(|branch| branch.into_owned());
    }
    match entry.kind() {
        Kind::CustomTitle if parts.custom.is_none() => parts.note_title(entry, Side::Tail),
        Kind::AiTitle if parts.ai.is_none() => parts.note_title(entry, Side::Tail),
        Kind::Summary => parts.note_title(entry, Side::Tail),
        Kind::LastPrompt if last.last_prompt.is_none() => {
            last.last_prompt = last_prompt_text(entry);
        }
        Kind::User => parts.has_conversation = true,
        Kind::Assistant => {
            parts.has_conversation = true;
            parts.assistant_lines += 1;
            last.model = last.model.take().or_else(|| model_of(entry));
        }
        _ => {}
    }
}
