//! `recto redact`: a session without its secrets.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use recto_log::DEFAULT_LINE_CAP;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::LineSource;
use recto_session::NodeId;
use recto_session::Span;
use recto_session::edit::Draft;
use recto_session::edit::LineFilter;
use recto_session::redact::Finding;
use recto_session::redact::Level;
use recto_session::redact::Options;
use recto_session::redact::Outcome as Redacted;
use recto_session::redact::Pattern;
use recto_session::redact::Redactor;
use recto_session::redact::ThinkingChange;
use recto_store::Home;
use recto_store::OpenedLog;
use recto_store::StoreError;

use crate::edit::copies;
use crate::edit::editor::EditArgs;
use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::Job;
use crate::edit::editor::Mode;
use crate::edit::editor::Source;
use crate::edit::nothing::tell_nothing;
use crate::edit::redaction::LevelArgs;
use crate::edit::redaction::collect;
use crate::edit::redaction::redact_text;
use crate::edit::redaction::refused;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::overflow::each_line;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Replace keys, tokens and passwords in a session
///
/// Every secret becomes `[REDACTED:rule:hash]`, in subagent logs and long results too; equal
/// secrets get equal placeholders. Ids, hashes and signatures stay, so the session still
/// resumes; thinking that contains a secret is removed, because its signature would no longer
/// match. File snapshots are not copied; with --in-place they stay unchanged.
///
/// --strict, the default, replaces known token formats, private keys, credentials in headers
/// and URLs, and values with the name of a secret: `PGPASSWORD=…`, `--api-key …`,
/// `password: …`. --plain skips weak passwords and other values that are not random.
///
/// --check only reports what would be replaced; the exit code is 1 if there is anything.
///
/// With --in-place, recto deletes its search index, which contains words of the old log, and
/// lists the places where copies may remain. --history replaces secrets in `history.jsonl`
/// too. --purge deletes recto's backups of the session, so the redaction cannot be undone; it
/// asks twice.
///
/// Examples:
///   recto redact latest --check
///   recto redact 3f2a --in-place --history --purge
///   recto redact 3f2a --pattern "ticket=ACME-[0-9]+" --path /home/alice
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RedactArgs {
    /// The session
    session: String,
    /// Only report what would be replaced
    #[arg(long)]
    check: bool,
    /// Replace what matches a regular expression, under a name
    #[arg(long, value_name = "NAME=REGEX", value_parser = parse_pattern)]
    pattern: Vec<Pattern>,
    /// Replace a path, also where other paths start with it
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// Replace a name, such as a user's or a machine's
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Replace secrets in `history.jsonl` too, which has all typed prompts
    #[arg(long, requires = "in_place")]
    history: bool,
    /// Delete recto's backups of the session; this cannot be undone
    #[arg(long, requires = "in_place", conflicts_with_all = ["dry_run", "check"])]
    purge: bool,
    /// Do not ask for confirmation of --purge
    #[arg(long, requires = "purge")]
    yes: bool,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    edit: EditArgs,
}

fn parse_pattern(text: &str) -> Result<Pattern, String> {
    match text.split_once('=') {
        Some((name, regex)) if !name.is_empty() && !regex.is_empty() => {
            Ok(Pattern { name: name.to_owned(), regex: regex.to_owned() })
        }
        _ => Err("write a pattern as NAME=REGEX".to_owned()),
    }
}

impl RedactArgs {
    fn redactor(&self) -> Result<Redactor, CommandError> {
        let options = Options {
            level: self.level.level(),
            patterns: self.pattern.clone(),
            paths: self.path.clone(),
            names: self.name.clone(),
            ..Options::default()
        };
        Redactor::new(options).map_err(refused)
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![self.session.clone()];
        for pattern in &self.pattern {
            words.extend(["--pattern".to_owned(), pattern.name.clone()]);
        }
        if self.level.given() == Some(Level::Plain) {
            words.push("--plain".to_owned());
        }
        // Paths and names are what is to be hidden.
        words
    }
}

/// Lines up to this length are looked at as a whole.
const WHOLE: u64 = DEFAULT_LINE_CAP as u64;
/// Longer ones are looked at in pieces that overlap by more than a secret is long.
const PIECE: u64 = 8 * 1024 * 1024;
const OVERLAP: u64 = 64 * 1024;

/// What was found in a line.
struct Found {
    /// The name of the file, if it is not the log of the session.
    file: Option<String>,
    line: u64,
    finding: Finding,
}

pub(crate) fn cmd_redact(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RedactArgs,
) -> Result<Outcome, CommandError> {
    let source = Source::open(home, environment, &args.session)?;
    let mut parts = home.parts_of(&source.inventory, &source.session)?.files;
    let history = home.known_history();
    if args.history {
        parts.extend(history.clone());
    }
    let redactor = Arc::new(collect(args.redactor()?, &parts)?);
    let (mut found, thinking) = look(&source.opened, &redactor)?;
    for part in parts.iter().filter(|path| **path != source.session.path) {
        // The client puts old versions of files back as they are.
        if !part.starts_with(home.file_history()) {
            look_beside(part, &redactor, &mut found)?;
        }
    }
    if args.check {
        return tell(output, &found);
    }
    if found.is_empty() {
        return tell_nothing("redact", output, "no secrets were found");
    }
    let mut draft = Draft::new(&source.opened.manuscript);
    for id in &thinking {
        draft.remove(*id);
    }
    draft.relink();
    let mut notes = by_rule(&found, output);
    if !thinking.is_empty() {
        notes.push(format!(
            "{} of thinking removed, because it contained a secret",
            plural(thinking.len() as u64, "line")
        ));
    }
    let looked = Arc::clone(&redactor);
    let filter = LineFilter::new(move |line| match redactor.line(line) {
        Redacted::Changed(change) => Some(change.bytes),
        Redacted::Unchanged => redact_text(&redactor, line),
    });
    let goal = Goal::of(&source, &args.edit, "redacted");
    let is_done = args.edit.in_place && args.edit.new.mode() == Mode::Publish;
    if args.purge && !args.yes && !copies::may_purge(output)? {
        output.remark("nothing was changed");
        return Ok(Outcome::Found);
    }
    let mut details = vec![("secrets", found.len().to_string().into_bytes())];
    let mut copies = Vec::new();
    if is_done {
        let unredacted = history.filter(|_| !args.history);
        copies = copies::places(home, &source.session, unredacted.as_deref(), &looked, args.purge)?;
        let all = copies.iter().fold(ArrayWriter::new(), |all, place| all.string(place));
        details.push(("copies", all.finish()));
    }
    let own = found.iter().filter(|one| one.file.is_none()).map(|one| one.line);
    let filtered_lines = own.collect::<BTreeSet<u64>>().len() - thinking.len();
    let is_final = is_done && args.purge;
    let job = Job::new("redact", args.words(), draft);
    let job = Job { notes, details, filtered_lines, is_final, ..job };
    let job = job.filtered(filter, parts);
    let mode = args.edit.new.mode();
    let outcome = Editor { home, environment, output, source: &source }.finish(goal, mode, job)?;
    if is_done {
        copies::remove_index(home, environment, output);
        copies::remove_tables(environment, output);
        if args.purge {
            copies::purge(home, environment, output, source.session.id)?;
        }
        for place in copies {
            output.remark(&format!("copies may still be in {}", one_line(&place)));
        }
    }
    Ok(outcome)
}

/// Goes through the log: what is found, and which lines are thinking that goes.
fn look(opened: &OpenedLog, redactor: &Redactor) -> Result<(Vec<Found>, Vec<NodeId>), StoreError> {
    let mut found = Vec::new();
    let mut thinking = Vec::new();
    for (place, line) in opened.manuscript.lines().iter().enumerate() {
        let number = place as u64 + 1;
        let told = |finding| Found { file: None, line: number, finding };
        if line.span.length > WHOLE {
            found.extend(look_into_long_line(opened, line.span, redactor)?.into_iter().map(told));
            continue;
        }
        // A line that cannot be read could hold a secret.
        let bytes = opened.line(line.span)?;
        let Redacted::Changed(change) = redactor.line(&bytes) else { continue };
        found.extend(change.findings.into_iter().map(told));
        if matches!(change.thinking, ThinkingChange::RemoveLine) {
            thinking.extend(opened.manuscript.node_at(place));
        }
    }
    Ok((found, thinking))
}

/// Goes through a line that is longer than readers keep, piece by piece. What is in two
/// pieces, where they overlap, is told once.
fn look_into_long_line(
    opened: &OpenedLog,
    span: Span,
    redactor: &Redactor,
) -> Result<Vec<Finding>, StoreError> {
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let end = span.offset + span.length;
    let mut offset = span.offset;
    while offset < end {
        let length = (PIECE + OVERLAP).min(end - offset);
        let bytes = opened.line(Span { offset, length })?;
        let findings = redactor.text(&String::from_utf8_lossy(&bytes)).findings;
        let is_new = |one: &Finding| known.insert((one.rule.to_string(), one.hash.to_string()));
        found.extend(findings.into_iter().filter(is_new));
        offset += PIECE;
    }
    Ok(found)
}

/// Goes through a file beside the log.
fn look_beside(
    path: &Path,
    redactor: &Redactor,
    found: &mut Vec<Found>,
) -> Result<(), CommandError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut number = 0;
    each_line(path, |line| {
        number += 1;
        let findings = match redactor.line(line.as_bytes()) {
            Redacted::Changed(change) => change.findings,
            Redacted::Unchanged => redactor.text(line).findings,
        };
        let told = |finding| Found { file: name.clone(), line: number, finding };
        found.extend(findings.into_iter().map(told));
        Ok(())
    })
}

/// How often each rule fits, as lines of a table.
fn by_rule(found: &[Found], output: &Output) -> Vec<String> {
    let mut rules: BTreeMap<&str, (u64, BTreeMap<&str, ()>)> = BTreeMap::new();
    for one in found {
        let row = rules.entry(&one.finding.rule).or_default();
        row.0 += 1;
        row.1.insert(&one.finding.hash, ());
    }
    let mut table = Table::new(&[Column::Flexible, Column::Right, Column::Right]);
    for (rule, (times, secrets)) in rules {
        table.row([
            one_line(rule),
            plural(secrets.len() as u64, "secret"),
            format!("{} times", count(times)),
        ]);
    }
    let lines = table.aligned(output.width).into_iter();
    lines.map(|cells| cells.join("  ").trim_end().to_owned()).collect()
}

fn tell(output: &mut Output, found: &[Found]) -> Result<Outcome, CommandError> {
    if output.json {
        for one in found {
            let finding = &one.finding;
            let object = ObjectWriter::new()
                .string("rule", &finding.rule)
                .string("hash", &finding.hash)
                .string_or_null("file", one.file.as_deref())
                .number("line", one.line)
                .string("key", &finding.key)
                .number("length", finding.length as u64)
                .boolean("in_thinking", finding.is_in_thinking);
            output.json_line(object)?;
        }
    } else {
        for line in by_rule(found, output) {
            output.line(&line)?;
        }
        for one in found {
            let finding = &one.finding;
            output.line(&format!(
                "{}line {}  {}  in {}",
                one.file.as_ref().map_or(String::new(), |file| format!("{}, ", one_line(file))),
                count(one.line),
                one_line(&finding.placeholder()),
                one_line(&finding.key)
            ))?;
        }
        if found.is_empty() {
            output.line("no secrets were found")?;
        }
    }
    Ok(if found.is_empty() { Outcome::Done } else { Outcome::Found })
}
