//! `recto request`: what a client would send on resume.

use std::collections::BTreeMap;

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_session::request::DropReason;
use recto_session::request::Dropped;
use recto_session::request::Generation;
use recto_session::request::Outcome as Resume;
use recto_session::request::Reach;
use recto_session::request::Request;
use recto_session::request::RequestOptions;
use recto_session::request::Search;
use recto_session::request::Sent;
use recto_session::request::Verified;
use recto_session::request::reach;
use recto_session::request::request;
use recto_session::request::verify;
use recto_store::Home;
use recto_store::Loaded;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::bytes;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Preview the request sent on resume
///
/// Rebuilds the messages from the log by the rules of a version of Claude Code: which line it
/// resumes from, which lines it finds, which it drops, what it adds. The next prompt, and what
/// Claude Code adds when it starts, are not in the log and not shown.
///
/// Newer logs contain the hashes of sent messages; `verified` counts the ones that match.
///
/// Exit code 1 means that Claude Code would not resume.
///
/// Examples:
///   recto request latest
///   recto request 3f2a1b4c --as 2.1.29
///   recto request latest --json | jq .messages
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RequestArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// The version of Claude Code, such as 2.1.29
    #[arg(long = "as", value_name = "VERSION", default_value = "latest")]
    version: String,
}

/// Everything that is said of a request.
struct Answer {
    version: String,
    reach: Reach,
    request: Request,
    verified: Verified,
    loaded: Loaded,
}

pub(crate) fn cmd_request(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RequestArgs,
) -> Result<Outcome, CommandError> {
    let Some(generation) = Generation::of_version(&args.version) else {
        let message = format!("invalid client version `{}`", one_line(&args.version));
        return Err(CommandError::user("bad-version", message)
            .with_hint("versions look like 2.0.50 or 2.1.325; `latest` is the newest known"));
    };
    let found = target::find(home, &home.inventory(), environment, &args.session)?;
    let loaded = Loaded::read_as(&found.path, generation)?;
    let reach = reach(&loaded.session, generation);
    let request = request(&loaded.session, &reach, &loaded, &RequestOptions::default());
    let verified = verify(&loaded.session, &loaded, Search::Quick);
    let answer = Answer { version: args.version.clone(), reach, request, verified, loaded };
    if output.json {
        output.json_line(answer.json())?;
    } else {
        output.page();
        answer.write(output)?;
    }
    if let Some(size) = answer.request.too_large {
        output.remark(&format!("not assembling the messages: {size}"));
    }
    Ok(match answer.reach.outcome {
        Resume::Resumed => Outcome::Done,
        Resume::Refused { .. } | Resume::Hangs { .. } => Outcome::Found,
    })
}

impl Answer {
    fn json(&self) -> ObjectWriter {
        let dropped = self.request.dropped.iter().fold(ArrayWriter::new(), |array, dropped| {
            let row = ObjectWriter::new().number("line", dropped.line);
            array.json(&row.string("reason", dropped.reason.name()).finish())
        });
        let added = self.added().fold(ArrayWriter::new(), |array, text| array.string(&text));
        let leaf = self.request.leaf.map(|leaf| self.loaded.session.node(leaf).uuid().to_string());
        let verified = ObjectWriter::new()
            .number("known", self.verified.known as u64)
            .number("of", self.verified.of as u64)
            .finish();
        let messages: &[u8] = match self.request.messages.as_slice() {
            [] => b"null",
            messages => messages,
        };
        ObjectWriter::new()
            .string("as", &self.version)
            .string("generation", self.reach.generation.name())
            .string("outcome", self.reach.outcome.name())
            .string_or_null("why", self.reach.outcome.why().as_deref())
            .string_or_null("leaf", leaf.as_deref())
            .json("messages", messages)
            .json("verified", &verified)
            .json("dropped", &dropped.finish())
            .json("added", &added.finish())
    }

    /// What the client makes up, in words.
    fn added(&self) -> impl Iterator<Item = String> {
        self.reach.sent.iter().filter_map(|sent| match sent {
            Sent::Added(addition) => Some(addition.to_string()),
            Sent::Line(_) => None,
        })
    }

    fn write(&self, output: &mut Output) -> Result<(), CommandError> {
        let generation = self.reach.generation.name();
        let look = if self.reach.outcome == Resume::Resumed { Look::Strong } else { Look::Bad };
        let does = match self.reach.outcome {
            Resume::Resumed => "resume",
            Resume::Refused { .. } => "refuse",
            Resume::Hangs { .. } => "hang",
        };
        let mut head = format!("clients {generation} {does}");
        if let Some(leaf) = self.request.leaf {
            head += &format!(", from line {}", count(self.loaded.session.node(leaf).line));
        }
        if let Some(why) = self.reach.outcome.why() {
            head += &format!(": {why}");
        }
        output.line(&output.paint(look, &head))?;
        self.write_messages(output)?;
        for text in self.added() {
            output.line(&format!("added: {text}"))?;
        }
        self.write_dropped(output)?;
        for unreadable in &self.request.unreadable {
            let line = count(unreadable.line);
            let text = format!("line {line} could not be read again: {}", unreadable.error);
            output.line(&output.paint(Look::Bad, &text))?;
        }
        if self.verified.of > 0 {
            let (known, of) = (self.verified.known, self.verified.of);
            let look = if known == of { Look::Good } else { Look::Warning };
            let text = format!("verified {} of {}", known, plural(of as u64, "sent message"));
            output.line(&output.paint(look, &text))?;
        }
        Ok(())
    }

    fn write_messages(&self, output: &mut Output) -> Result<(), CommandError> {
        let Ok(messages) = Value::parse(&self.request.messages) else { return Ok(()) };
        let mut table =
            Table::new(&[Column::Right, Column::Left, Column::DetailRight, Column::Flexible]);
        for (number, message) in (1u64..).zip(messages.elements()) {
            let role = one_line(&message.str("role").unwrap_or_default());
            let size = bytes(message.bytes().len() as u64);
            table.row([count(number), role, size, blocks(message)]);
        }
        for cells in table.aligned(output.width.map(|width| width.saturating_sub(2))) {
            output.line(&format!("  {}", cells.join("  ").trim_end()))?;
        }
        Ok(())
    }

    fn write_dropped(&self, output: &mut Output) -> Result<(), CommandError> {
        let dropped = &self.request.dropped;
        if dropped.is_empty() {
            return Ok(());
        }
        output.line(&format!("not sent: {}", plural(dropped.len() as u64, "line")))?;
        let mut by_reason: BTreeMap<DropReason, Vec<u64>> = BTreeMap::new();
        for Dropped { line, reason } in dropped {
            by_reason.entry(*reason).or_default().push(*line);
        }
        for (reason, lines) in by_reason {
            let number = count(lines.len() as u64);
            let text = format!("  {number} {}: {}", reason.about(), ranges(&lines));
            output.line(&output.paint(Look::Faint, &text))?;
        }
        Ok(())
    }
}

/// The blocks of a message, each with its kind and size.
fn blocks(message: Value<'_>) -> String {
    let Some(content) = message.get("content") else { return String::new() };
    if content.is_string() {
        return "text".into();
    }
    let block = |block: Value<'_>| {
        let kind = block.str("type").unwrap_or_default();
        let name = block.str("name").map_or(String::new(), |name| format!(" {name}"));
        one_line(&format!("{kind}{name}"))
    };
    let blocks: Vec<String> = content.elements().map(block).collect();
    blocks.join(", ")
}

/// Line numbers in order, those in a row as a range; the first few of many.
fn ranges(lines: &[u64]) -> String {
    const MOST: usize = 12;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &line in lines {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 >= line => *end = line,
            _ => ranges.push((line, line)),
        }
    }
    let shown = ranges.iter().take(MOST).map(|(start, end)| match start == end {
        true => count(*start),
        false => format!("{}–{}", count(*start), count(*end)),
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if ranges.len() > MOST {
        text += ", …";
    }
    text
}
