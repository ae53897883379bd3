//! What all tools share.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use jiff::Timestamp;
use recto_log::LineReader;
use recto_log::SessionId;
use recto_session::hostile::clean;
use recto_session::redact::Options;
use recto_session::redact::RedactError;
use recto_session::redact::Redactor;
use recto_session::redact::ThinkingPolicy;
use recto_store::Choice;
use recto_store::Filter;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_store::Selector;
use recto_store::SessionFile;
use recto_store::StoreError;
use recto_store::open_file;
use recto_store::parse_time;
use recto_view::ViewError;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use super::McpOptions;
use super::arguments::Arguments;
use super::reply::cut;

/// How much of a log is looked through for secrets before any of it is told.
const LOOKED_THROUGH: u64 = 64 * 1024 * 1024;

/// Why a call has no answer, in words for the agent.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl Refusal {
    pub(super) fn new(text: impl Into<String>) -> Refusal {
        Refusal(text.into())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal(error.to_string())
    }
}

impl From<ViewError> for Refusal {
    fn from(error: ViewError) -> Refusal {
        match error {
            ViewError::Refused { message, hint: Some(hint), .. } => {
                Refusal(format!("{message}; {hint}"))
            }
            error => Refusal(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        Refusal(error.to_string())
    }
}

/// A text without its secrets, if they are to be replaced, and without characters that
/// only an agent would read: people who look over its shoulder must see what it sees.
pub(super) fn say_with(redactor: Option<&Redactor>, text: &str) -> String {
    let text = clean(text);
    match redactor {
        Some(redactor) => redactor.text(&without_cut_word(&text)).text.into_owned(),
        None => text.into_owned(),
    }
}

/// A text that was cut before it came here, without the word that it was cut in: the
/// first half of a secret is not known for one.
fn without_cut_word(text: &str) -> Cow<'_, str> {
    let Some(begin) = text.strip_suffix('…') else { return Cow::Borrowed(text) };
    let whole = begin.rfind(char::is_whitespace).map_or("", |end| &begin[..end]);
    // A key of several lines, too, may have lost its end.
    let key = whole.rfind("-----BEGIN").filter(|at| !whole[*at..].contains("-----END"));
    Cow::Owned(format!("{} …", whole[..key.unwrap_or(whole.len())].trim_end()))
}

/// The log that a call means.
#[derive(Debug)]
pub(super) enum Meant {
    Session(SessionFile),
    Agent(LogFile),
}

/// The sessions of a home, and how they are told.
pub(super) struct Archive(pub(super) McpOptions);

impl Archive {
    pub(super) fn now(&self) -> Timestamp {
        self.0.library.now()
    }

    /// A text of a log without its secrets.
    pub(super) fn say(&self, text: &str) -> String {
        say_with(self.0.redactor.as_ref(), text)
    }

    /// What replaces the secrets of a whole log: also those that can be told for one at
    /// another place only.
    pub(super) fn redactor_of(&self, path: &Path) -> Result<Option<Redactor>, Refusal> {
        let Some(redactor) = &self.0.redactor else { return Ok(None) };
        let level = redactor.level();
        let refused = |error: RedactError| Refusal(error.to_string());
        let options = Options { level, thinking: ThinkingPolicy::Replace, ..Options::default() };
        let mut collector = Redactor::new(options).map_err(refused)?.collector();
        let mut lines = LineReader::new(open_file(path)?.take(LOOKED_THROUGH));
        while let Some(line) = lines.next_line()? {
            collector.line(line.bytes);
        }
        collector.finish().map(Some).map_err(refused)
    }

    /// A row with its texts cut and without their secrets.
    pub(super) fn told(&self, row: &impl Serialize, most: usize) -> Value {
        let mut value = json!(row);
        self.tell(&mut value, most);
        value
    }

    fn tell(&self, value: &mut Value, most: usize) {
        match value {
            Value::String(text) => *text = cut(&self.say(text), most),
            Value::Array(items) => items.iter_mut().for_each(|item| self.tell(item, most)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.tell(member, most));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn say_some(&self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.say(text))
    }

    /// The filters that several tools take.
    pub(super) fn filter(&self, arguments: &mut Arguments) -> Result<Filter, Refusal> {
        let since = self.time(arguments, "since")?;
        let until = self.time(arguments, "until")?;
        Ok(Filter {
            project: arguments.text("project")?,
            since,
            until,
            model: arguments.text("model")?,
            branch: arguments.text("branch")?,
        })
    }

    pub(super) fn time(
        &self,
        arguments: &mut Arguments,
        name: &str,
    ) -> Result<Option<Timestamp>, Refusal> {
        arguments.text(name)?.map(|text| self.read_time(name, &text)).transpose()
    }

    pub(super) fn read_time(&self, name: &str, text: &str) -> Result<Timestamp, Refusal> {
        parse_time(text, self.now(), self.0.library.zone()).ok_or_else(|| {
            Refusal::new(format!(
                "`{name}` takes a date (2026-11-16), a time (2026-11-16T09:30) or a span before \
                 now (7d, 12h, 30m)"
            ))
        })
    }

    /// The session or subagent of a name. A path is none.
    pub(super) fn choose(&self, inventory: &Inventory, text: &str) -> Result<Meant, Refusal> {
        let selector = Selector::parse(text);
        if matches!(selector, Selector::Path(_)) {
            let why = "`session` takes an id, the beginning of one, a title, or `latest`; no path";
            return Err(Refusal::new(why));
        }
        let named = |several: Vec<(SessionId, Option<String>)>| -> String {
            let one = |(id, title): (SessionId, Option<String>)| match title {
                Some(title) => format!("\n{id}  {}", self.say(&title)),
                None => format!("\n{id}"),
            };
            several.into_iter().map(one).collect()
        };
        match self.0.library.home().choose(inventory, &selector) {
            Choice::Session(session) => Ok(Meant::Session(session)),
            Choice::Agent(agent) => Ok(Meant::Agent(agent)),
            Choice::Ambiguous(several) => {
                Err(Refusal(format!("more than one session matches:{}", named(several))))
            }
            Choice::NotFound(near) if near.is_empty() => Err(Refusal::new("no session matches")),
            Choice::NotFound(near) => {
                Err(Refusal(format!("no session matches; these are the nearest:{}", named(near))))
            }
            Choice::File(_) => Err(Refusal::new("no session matches")),
        }
    }

    /// The session of a name.
    pub(super) fn choose_session(
        &self,
        inventory: &Inventory,
        text: &str,
    ) -> Result<SessionFile, Refusal> {
        match self.choose(inventory, text)? {
            Meant::Session(session) => Ok(session),
            Meant::Agent(_) => Err(Refusal::new("this is a subagent; use its session")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_that_a_text_was_cut_in_is_not_told() {
        assert_eq!(without_cut_word("use ghp_a1B2 now"), "use ghp_a1B2 now");
        assert_eq!(without_cut_word("use ghp_a1B2…"), "use …");
        assert_eq!(without_cut_word("ghp_a1B2…"), " …");
        assert_eq!(without_cut_word("a -----BEGIN KEY----- MIIE abcd…"), "a …");
        let whole = "a -----BEGIN KEY----- MII -----END KEY----- and mo…";
        assert_eq!(without_cut_word(whole), "a -----BEGIN KEY----- MII -----END KEY----- and …");
    }
}
