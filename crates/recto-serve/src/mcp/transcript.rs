//! `read_session`: a session as text, a part at a time.

use std::path::Path;

use recto_log::LineReader;
use recto_log::UserText;
use recto_log::decode;
use recto_session::Feed;
use recto_session::Item;
use recto_session::NoteKind;
use recto_session::Shown;
use recto_session::redact::Redactor;
use recto_store::Digest;
use recto_store::open_file;

use super::archive::Archive;
use super::archive::Meant;
use super::archive::Refusal;
use super::archive::say_with;
use super::arguments::Arguments;
use super::reply::MOST;
use super::reply::cut;

/// What is kept free for the end.
const RESERVE: usize = 2 * 1024;
/// How much is given of a text; of calls and results less, unless one turn is asked for.
const TEXT: usize = 16 * 1024;
const RESULT: usize = 2 * 1024;

/// Which part is asked for.
struct Wanted {
    turn: Option<u32>,
    from_turn: u32,
    from_item: u32,
    thinking: bool,
    /// Replaces the secrets of this log.
    redactor: Option<Redactor>,
}

impl Wanted {
    fn say(&self, text: &str) -> String {
        say_with(self.redactor.as_ref(), text)
    }
}

impl Archive {
    pub(super) fn read(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let session = arguments.required_text("session")?;
        let turn = arguments.number("turn", u32::MAX)?;
        let from_turn = arguments.number("from_turn", u32::MAX)?;
        let mut wanted = Wanted {
            turn,
            from_turn: turn.or(from_turn).unwrap_or(0),
            from_item: arguments.number("from_item", u32::MAX)?.unwrap_or(0),
            thinking: arguments.flag("thinking")?,
            redactor: None,
        };
        arguments.finish()?;
        if turn.is_some() && from_turn.is_some() {
            return Err(Refusal::new("give `turn` or `from_turn`, not both"));
        }
        if wanted.from_item > 0 && turn.is_none() && from_turn.is_none() {
            return Err(Refusal::new("`from_item` needs `turn` or `from_turn`"));
        }
        let (name, path, is_agent) =
            match self.choose(&self.0.library.home().inventory(), &session)? {
                Meant::Session(session) => (session.id.to_string(), session.path.clone(), false),
                Meant::Agent(agent) => (agent.name(), agent.path, true),
            };
        wanted.redactor = self.redactor_of(&path)?;
        let head = head(&name, &Digest::read(&path, is_agent)?, &wanted);
        let mut part = Part { text: head, turn: 0, item: 0, last_turn: 0, stopped: None };
        read_part(&path, &wanted, &mut part)?;
        part.finish(&name, &wanted)
    }
}

fn read_part(path: &Path, wanted: &Wanted, part: &mut Part) -> Result<(), Refusal> {
    let mut lines = LineReader::new(open_file(path)?);
    let mut feed = Feed::default();
    while let Some(line) = lines.next_line()? {
        for shown in feed.next(&decode(line).0) {
            add(&shown, wanted, part);
        }
        // What comes later in a log can still belong to a turn before; but not often
        // enough to read the rest of a large one.
        let is_past = wanted.turn.is_some_and(|turn| part.last_turn > turn);
        if part.stopped.is_some() || is_past {
            return Ok(());
        }
    }
    for shown in feed.rest() {
        add(&shown, wanted, part);
    }
    Ok(())
}

fn add(shown: &Shown, wanted: &Wanted, part: &mut Part) {
    part.last_turn = part.last_turn.max(shown.turn);
    let is_wanted = match wanted.turn {
        Some(turn) => shown.turn == turn,
        None => shown.turn >= wanted.from_turn,
    };
    if part.stopped.is_some() || !is_wanted {
        return;
    }
    let Some(text) = told(shown, wanted) else { return };
    if shown.turn != part.turn {
        (part.turn, part.item) = (shown.turn, 0);
    }
    let item = part.item;
    part.item += 1;
    if shown.turn == wanted.from_turn && item < wanted.from_item {
        return;
    }
    if part.text.len() + text.len() > MOST - RESERVE {
        part.stopped = Some((shown.turn, item));
        return;
    }
    part.text.push_str(&text);
}

/// An item as text; nothing if it is not shown.
fn told(shown: &Shown, wanted: &Wanted) -> Option<String> {
    // Secrets are replaced before anything is cut.
    let long = |text: &str| cut(&wanted.say(text), TEXT);
    let result = if wanted.turn.is_some() { TEXT } else { RESULT };
    let short = |text: &str| cut(&wanted.say(text), result);
    let time = shown.origin.time.map(|time| format!(" · {time:.0}")).unwrap_or_default();
    Some(match &shown.item {
        Item::Prompt { text, pictures, kind, is_queued } => {
            let who = if *kind == UserText::AgentTask { "TASK" } else { "USER" };
            let queued = if *is_queued { " (queued)" } else { "" };
            let pictures =
                if *pictures > 0 { format!(" ({pictures} images)") } else { String::new() };
            format!("\n## Turn {}{time}\n\n{who}{queued}{pictures}: {}\n", shown.turn, long(text))
        }
        Item::Answer { text } => format!("\nASSISTANT: {}\n", long(text)),
        Item::Thinking { text } if wanted.thinking && !text.is_empty() => {
            format!("\nTHINKING: {}\n", long(text))
        }
        Item::Thinking { .. } => return None,
        Item::Call { name, input, .. } => {
            let input = String::from_utf8_lossy(input);
            format!("\nCALL {}: {}\n", cut(&wanted.say(name), 200), short(&input))
        }
        Item::Result { text, is_error, overflow, .. } => {
            let mark = if *is_error { "RESULT (failed)" } else { "RESULT" };
            let more = match overflow {
                Some(_) => "\n(the whole result is in a file that is not given here)",
                None => "",
            };
            format!("\n{mark}: {}{more}\n", short(text))
        }
        Item::Note { kind: NoteKind::Meta, .. } => return None,
        Item::Note { kind, text } => format!("\nNOTE ({}): {}\n", kind.name(), short(text)),
    })
}

/// What is known of the session.
fn head(name: &str, digest: &Digest, wanted: &Wanted) -> String {
    let facts = [
        Some(name.to_owned()),
        digest.title.as_ref().map(|(title, _)| title.clone()),
        digest.cwd.clone(),
        digest.branch.clone(),
        digest.model.clone(),
        digest.started.map(|time| format!("{time:.0}")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().map(|fact| wanted.say(&fact)).collect();
    cut(&facts.join(" · "), 1000) + "\n"
}

/// The part of a session that was read so far.
struct Part {
    text: String,
    /// The turn of the last item, and how many of its items were seen.
    turn: u32,
    item: u32,
    /// The last turn that was seen at all.
    last_turn: u32,
    /// The item that there was no room for.
    stopped: Option<(u32, u32)>,
}

impl Part {
    fn finish(mut self, name: &str, wanted: &Wanted) -> Result<String, Refusal> {
        if let (None, Some(turn), 0) = (self.stopped, wanted.turn, self.item) {
            let last = self.last_turn;
            return Err(Refusal(format!(
                "there is no turn {turn}; the last one that was seen is {last}"
            )));
        }
        let end = match (self.stopped, wanted.turn) {
            (Some((turn, item)), one) => {
                let which = if one.is_some() { "turn" } else { "from_turn" };
                let mut next = serde_json::json!({"session": name, which: turn, "from_item": item});
                if wanted.thinking {
                    next["thinking"] = true.into();
                }
                format!("\n[there is more; continue with read_session {next}]\n")
            }
            (None, Some(turn)) => format!("\n[end of turn {turn}]\n"),
            (None, None) => format!("\n[end of the session, {} turns]\n", self.last_turn),
        };
        self.text.push_str(&end);
        Ok(self.text)
    }
}
