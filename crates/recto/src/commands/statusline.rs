//! `recto statusline`: a line for the bottom of the client.
//!
//! The client runs it after every message, so it reads what the client says and
//! the tail of one log, and nothing else. Whatever is missing is left out: a
//! status line that fails is a blank one.

use std::io;
use std::io::IsTerminal;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use recto_log::json::Object;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_store::LastState;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::duration;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::short_model;

/// Print a status line for Claude Code
///
/// Reads the JSON that Claude Code gives a status line on standard input, and the end of the
/// session's log: model, directory, git branch, context (tokens, and percent of the window),
/// cost and duration of the session. Omits unknown values; the exit code is 0 even then.
///
/// Placeholders in a TEMPLATE of --format: {model} {directory} {branch} {tokens} {percent}
/// {window} {cost} {duration} {session} {version}. A part in brackets is omitted if a value in
/// it is unknown; {{ and [[ print a brace and a bracket.
///
/// In settings.json of Claude Code:
///   "statusLine": {"type": "command", "command": "recto statusline --color always"}
///
/// Examples:
///   recto statusline --format '{model}[ on {branch}][ · {percent}]' < status.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatuslineArgs {}

/// The largest input that is read, and how long it is waited for.
const MOST_INPUT: usize = 1024 * 1024;
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The window of models whose size nobody says.
const WINDOW: u64 = 200_000;
const LARGE_WINDOW: u64 = 1_000_000;

/// The widest text of one part.
const WIDEST: usize = 60;

/// What is known.
#[derive(Debug, Default)]
struct Status {
    model: Option<String>,
    directory: Option<String>,
    branch: Option<String>,
    tokens: Option<u64>,
    window: Option<u64>,
    cost: Option<f64>,
    milliseconds: Option<u64>,
    session: Option<String>,
    version: Option<String>,
}

pub(crate) fn cmd_statusline(
    environment: &Environment,
    output: &mut Output,
    _args: &StatuslineArgs,
) -> Result<Outcome, CommandError> {
    if io::stdin().is_terminal() {
        output.remark("standard input is a terminal; expected Claude Code's JSON");
        return Ok(Outcome::Done);
    }
    let input = read_input();
    let status = Status::of(&input, environment.user_home.as_deref());
    if output.json && output.format.is_none() {
        output.json_line(status.json())?;
        return Ok(Outcome::Done);
    }
    let line = match &output.format {
        Some(format) => fill(format, &|name| status.value(name)),
        None => status.line(output),
    };
    output.line(&line)?;
    Ok(Outcome::Done)
}

/// Reads until the input ends, holds a whole object, or nothing more comes: who
/// leaves the pipe open must not make the client wait.
fn read_input() -> Vec<u8> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = io::stdin().read(&mut piece) {
            if sender.send(piece[..read].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut input = Vec::new();
    while let Ok(piece) = receiver.recv_timeout(LONGEST_WAIT) {
        input.extend(piece);
        let is_whole = input.trim_ascii_end().ends_with(b"}") && Object::parse(&input).is_ok();
        if is_whole || input.len() > MOST_INPUT {
            break;
        }
    }
    input
}

impl Status {
    fn of(input: &[u8], user_home: Option<&Path>) -> Status {
        // Of an input that is cut, what is whole counts.
        let input = Object::parse_prefix(input.trim_ascii());
        let text = |value: Option<Value<'_>>| {
            let text = value.and_then(Value::as_str)?;
            Some(text.into_owned()).filter(|text| !text.trim().is_empty())
        };
        let inside = |outer: &str, name: &str| input.get(outer).and_then(|value| value.get(name));
        let log = text(input.get("transcript_path"));
        let log = log.and_then(|path| LastState::read(Path::new(&path)).ok()).unwrap_or_default();
        let model_id = text(inside("model", "id")).or(log.model);
        let short = model_id.as_deref().map(|model| short_model(model).to_owned());
        let directory = text(inside("workspace", "current_dir")).or(text(input.get("cwd")));
        let tokens = log.context.or_else(|| usage_of(inside("context_window", "current_usage")?));
        let window = inside("context_window", "context_window_size").and_then(Value::as_u64);
        let window = window.filter(|window| *window > 0);
        let cost = inside("cost", "total_cost_usd").and_then(Value::as_f64);
        Status {
            model: text(inside("model", "display_name")).or(short),
            directory: directory.map(|directory| path_from_home(&directory, user_home)),
            branch: log.branch.filter(|branch| !branch.is_empty() && branch != "HEAD"),
            tokens,
            window: window.or_else(|| guessed_window(tokens?, model_id.as_deref())),
            cost: cost.filter(|cost| cost.is_finite() && *cost >= 0.0),
            milliseconds: inside("cost", "total_duration_ms").and_then(Value::as_u64),
            session: text(input.get("session_id")),
            version: text(input.get("version")),
        }
    }

    fn percent(&self) -> Option<u64> {
        let (tokens, window) = (u128::from(self.tokens?), u128::from(self.window?));
        u64::try_from(tokens * 100 / window).ok()
    }

    /// The value of a placeholder, as it is shown. None if there is no such one.
    fn value(&self, name: &str) -> Option<String> {
        let text =
            |text: &Option<String>| fit(&one_line(text.as_deref().unwrap_or_default()), WIDEST);
        let number = |number: Option<String>| number.unwrap_or_default();
        Some(match name {
            "model" => text(&self.model),
            "directory" => text(&self.directory),
            "branch" => text(&self.branch),
            "session" => text(&self.session),
            "version" => text(&self.version),
            "tokens" => number(self.tokens.map(short_count)),
            "window" => number(self.window.map(short_count)),
            "percent" => number(self.percent().map(|percent| format!("{percent} %"))),
            "cost" => number(self.cost.map(|cost| format!("${cost:.2}"))),
            "duration" => number(self.milliseconds.map(duration)),
            _ => return None,
        })
    }

    /// All that is known, one after the other.
    fn line(&self, output: &Output) -> String {
        let value = |name: &str| self.value(name).unwrap_or_default();
        let context = match (self.tokens, self.window) {
            (Some(_), Some(_)) => {
                format!("{} of {} ({})", value("tokens"), value("window"), value("percent"))
            }
            _ => value("tokens"),
        };
        let fullness = match self.percent() {
            Some(80..) => Look::Bad,
            Some(50..) => Look::Warning,
            Some(_) => Look::Good,
            None => Look::Plain,
        };
        let parts = [
            (Look::Model, value("model")),
            (Look::Plain, value("directory")),
            (Look::Tool, value("branch")),
            (fullness, context),
            (Look::Plain, value("cost")),
            (Look::Faint, value("duration")),
        ];
        let parts = parts.iter().filter(|(_, text)| !text.is_empty());
        let parts: Vec<String> = parts.map(|(look, text)| output.paint(*look, text)).collect();
        parts.join(" · ")
    }

    fn json(&self) -> ObjectWriter {
        let mut object = ObjectWriter::new();
        for (name, text) in [
            ("session", &self.session),
            ("model", &self.model),
            ("directory", &self.directory),
            ("branch", &self.branch),
            ("version", &self.version),
        ] {
            object = object.string_or_null(name, text.as_deref());
        }
        let numbers = [
            ("context_tokens", self.tokens),
            ("window_tokens", self.window),
            ("context_percent", self.percent()),
            ("duration_ms", self.milliseconds),
        ];
        for (name, number) in numbers {
            let text = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
            object = object.json(name, text.as_bytes());
        }
        let cost = self.cost.map_or_else(|| "null".to_owned(), |cost| cost.to_string());
        object.json("cost_usd", cost.as_bytes())
    }
}

/// What the client says of the last request.
fn usage_of(usage: Value<'_>) -> Option<u64> {
    let names = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let counts = names.iter().filter_map(|name| usage.get(name)?.as_u64());
    Some(counts.fold(0, u64::saturating_add)).filter(|tokens| *tokens > 0)
}

/// Clients that do not say how large the window is have one of two sizes.
fn guessed_window(tokens: u64, model: Option<&str>) -> Option<u64> {
    let is_large = model.is_some_and(|model| model.contains("[1m]")) || tokens > WINDOW;
    let window = if is_large { LARGE_WINDOW } else { WINDOW };
    Some(window).filter(|window| tokens <= *window)
}

/// A number in four columns or so.
fn short_count(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..100_000 => format!("{:.1}k", number as f64 / 1000.0),
        100_000..1_000_000 => format!("{}k", number / 1000),
        _ => format!("{:.1}M", number as f64 / 1_000_000.0),
    }
}

/// Puts values into a format. What is no placeholder stays as it was written, so
/// that a wrong name is seen.
fn fill(format: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut line = String::new();
    // Where the part in brackets began, and whether all in it is known.
    let mut group: Option<(usize, bool)> = None;
    let mut rest = format;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let placeholder =
            after.split_once('}').and_then(|(name, after)| Some((value(name)?, after)));
        rest = after;
        match (c, placeholder) {
            ('{' | '[', _) if after.starts_with(c) => {
                line.push(c);
                rest = &after[1..];
            }
            ('{', Some((text, after))) => {
                if let Some((_, is_known)) = &mut group {
                    *is_known &= !text.is_empty();
                }
                line.push_str(&text);
                rest = after;
            }
            ('[', _) if group.is_none() => group = Some((line.len(), true)),
            (']', _) if group.is_some() => {
                if let Some((start, false)) = group.take() {
                    line.truncate(start);
                }
            }
            _ => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(format: &str) -> String {
        fill(format, &|name| match name {
            "model" => Some("Opus".into()),
            "branch" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn a_part_in_brackets_needs_all_that_is_in_it() {
        assert_eq!(filled("{model}[ on {branch}]!"), "Opus!");
        assert_eq!(filled("[{model}: ]x[{model}{branch}]"), "Opus: x");
        assert_eq!(filled("{{model}} [[x] {branch}."), "{model}} [x] .");
        assert_eq!(filled("[plain]"), "plain");
    }

    #[test]
    fn what_is_no_placeholder_stays() {
        for odd in ["{typo}", "{", "}", "]", "{model", "é{", "{\u{1f600}}"] {
            assert_eq!(filled(odd), odd);
        }
        assert_eq!(filled("[open {model}"), "open Opus");
    }

    #[test]
    fn numbers_are_short_and_windows_are_guessed() {
        let numbers = [0, 999, 1000, 45_678, 123_456, 1_200_000];
        let shown: Vec<String> = numbers.iter().map(|number| short_count(*number)).collect();
        assert_eq!(shown, ["0", "999", "1.0k", "45.7k", "123k", "1.2M"]);
        assert_eq!(guessed_window(10, Some("claude-opus-5-5")), Some(200_000));
        assert_eq!(guessed_window(10, Some("claude-opus-5-5[1m]")), Some(1_000_000));
        assert_eq!(guessed_window(200_001, None), Some(1_000_000));
        assert_eq!(guessed_window(2_000_000, None), None);
    }

    #[test]
    fn odd_input_gives_what_can_be_had() {
        let model = |input: &str| Status::of(input.as_bytes(), None).model;
        assert_eq!(
            model(r#"{"model":{"id":"claude-opus-5-5","display_name":"Opus"},"x":[1,"#).as_deref(),
            Some("Opus")
        );
        assert_eq!(
            model(r#"{"model":{"id":"claude-opus-5-5","display_name":7}}"#).as_deref(),
            Some("opus-5-5")
        );
        for odd in ["", "null", "[]", "{", "\u{0}", r#"{"model":"x"}"#, r#"{"model":null}"#] {
            assert_eq!(model(odd), None, "{odd}");
        }
        let odd = r#"{"cost":{"total_cost_usd":-1,"total_duration_ms":-5},"context_window":{"context_window_size":0,"current_usage":{"input_tokens":50}},"transcript_path":"/dev/zero"}"#;
        let status = Status::of(odd.as_bytes(), None);
        assert_eq!((status.cost, status.milliseconds), (None, None));
        assert_eq!(
            (status.tokens, status.window, status.percent()),
            (Some(50), Some(200_000), Some(0))
        );
    }
}
