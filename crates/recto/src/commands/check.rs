//! `recto check`: damage in logs.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use clap::Args;
use recto_log::LineReader;
use recto_log::Problem;
use recto_log::ProblemKind;
use recto_log::Severity;
use recto_log::decode;
use recto_log::json::ObjectWriter;
use recto_session::Session;
use recto_session::health::Health;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_store::SessionFile;
use recto_store::StoreError;
use recto_store::in_order;
use recto_store::open_file;

use crate::commands::check_health;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::select::target::Target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// How many problems of one log are kept; the rest are counted.
const KEPT: usize = 1000;

/// Look for damage: lines that are lost, sessions that do not hang together
///
/// Every line of the log and of its subagents' logs is read. Damage is a line
/// that is lost to readers: torn, mixed, NUL bytes, no object, invalid UTF-8.
/// It is also what a resume would lose, because a link is broken, and what the
/// API would refuse. Notes are lines that are odd but whole. Nothing is changed.
///
/// How much a resume brings back is said for clients like 2.0.50, 2.1.29 and
/// the latest, in percent of the messages that are not left out on purpose:
/// what a compaction replaced and branches left by a rewind are not missed.
///
/// Exit code 1 means that damage was found.
///
/// Examples:
///   recto check latest
///   recto check --all
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckArgs {
    /// The session
    #[arg(required_unless_present = "all")]
    session: Option<String>,
    /// Check every log of the home
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Show notes too
    #[arg(long)]
    notes: bool,
}

/// Every log of the home that says something: main logs and those of subagents.
pub(crate) fn all_logs(home: &Home, inventory: &Inventory) -> Vec<LogFile> {
    let mut logs = home.logs(inventory);
    logs.retain(|log| log.is_agent() || log.bytes() > 0);
    // The largest first, so that no thread is left alone with it at the end.
    logs.sort_by_key(|log| std::cmp::Reverse(log.bytes()));
    logs
}

/// What was found in one log.
#[derive(Default)]
struct Report {
    name: String,
    path: PathBuf,
    lines: u64,
    damaged_lines: u64,
    by_kind: BTreeMap<ProblemKind, u64>,
    problems: Vec<Problem>,
    health: Option<Health>,
    failure: Option<String>,
}

impl Report {
    fn read(
        log: &LogFile,
        keep: usize,
        buffer: &mut Vec<u8>,
        agents: impl FnOnce() -> Vec<LogFile>,
    ) -> Report {
        let (name, path) = (log.name(), log.path.clone());
        let mut report = Report { name, path, ..Report::default() };
        let mut session = (!log.is_agent()).then(Session::new);
        if let Err(error) = report.read_lines(keep, buffer, session.as_mut()) {
            report.failure = Some(error.to_string());
        }
        report.health = session.and_then(|session| check_health::look_at(&session, agents));
        report
    }

    fn read_lines(
        &mut self,
        keep: usize,
        buffer: &mut Vec<u8>,
        mut session: Option<&mut Session>,
    ) -> Result<(), StoreError> {
        let mut lines = LineReader::with_buffer(open_file(&self.path)?, std::mem::take(buffer));
        while let Some(line) = lines.next_line()? {
            self.lines += 1;
            let (entry, problems) = decode(line);
            if let Some(session) = &mut session {
                session.push(&entry);
            }
            if problems.iter().any(|problem| problem.kind.severity() == Severity::Damage) {
                self.damaged_lines += 1;
            }
            for problem in problems {
                *self.by_kind.entry(problem.kind).or_default() += 1;
                if self.problems.len() < keep {
                    self.problems.push(problem);
                }
            }
        }
        *buffer = lines.into_buffer();
        Ok(())
    }

    fn is_bad(&self) -> bool {
        let is_sick = self.health.as_ref().is_some_and(check_health::is_bad);
        self.damaged_lines > 0 || self.failure.is_some() || is_sick
    }

    /// How much is lost, to compare reports by.
    fn damage(&self) -> u64 {
        self.damaged_lines + self.health.as_ref().map_or(0, check_health::lost)
    }
}

pub(crate) fn cmd_check(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &CheckArgs,
) -> Result<Outcome, CommandError> {
    let inventory = home.inventory();
    let logs = match &args.session {
        None => {
            target::tell_skipped(&inventory, output);
            all_logs(home, &inventory)
        }
        Some(text) => {
            let found = target::find(home, &inventory, environment, text)?;
            logs_of(home, &inventory, &found)
        }
    };
    let all = logs.iter().map(|log| log.bytes()).sum();
    let done = AtomicU64::new(0);
    let progress = Progress::new("checking", output);
    // With many logs the table needs counts only.
    let keep = if args.all && !output.json { 0 } else { KEPT };
    let mut reports = in_order(
        &logs,
        |log| (&log.path, log.bytes()),
        |buffer, log| {
            let agents = || {
                let session = SessionFile::of(log.clone());
                session.map_or(Vec::new(), |session| home.agents_of(&inventory, &session))
            };
            let report = Report::read(log, keep, buffer, agents);
            progress.tell(done.fetch_add(log.bytes(), Ordering::Relaxed), all);
            report
        },
    );
    progress.done();
    reports.sort_by(|a, b| b.damage().cmp(&a.damage()).then_with(|| a.name.cmp(&b.name)));
    if args.session.is_some()
        && let [only] = reports.as_slice()
        && let Some(failure) = &only.failure
    {
        return Err(CommandError::user("unreadable", failure.clone()));
    }
    if output.json {
        write_json(&reports, args.notes, output)?;
    } else if args.all {
        write_table(&reports, output)?;
    } else {
        write_problems(&reports, args.notes, output)?;
    }
    let bad = reports.iter().any(Report::is_bad);
    Ok(if bad { Outcome::Found } else { Outcome::Done })
}

/// The log that was named, and those of its subagents.
fn logs_of(home: &Home, inventory: &Inventory, found: &Target) -> Vec<LogFile> {
    match &found.session {
        Some(session) => home.logs_of(inventory, session),
        None => vec![LogFile::alone(found.path.clone(), found.agent())],
    }
}

fn write_problems(
    reports: &[Report],
    notes: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    for report in reports {
        let shown: Vec<&Problem> = report
            .problems
            .iter()
            .filter(|problem| notes || problem.kind.severity() == Severity::Damage)
            .collect();
        if !shown.is_empty() || report.health.is_some() {
            output.line(&output.paint(Look::Strong, &one_line(&report.path.to_string_lossy())))?;
        }
        for problem in &shown {
            let look = match problem.kind.severity() {
                Severity::Damage => Look::Bad,
                Severity::Note => Look::Faint,
            };
            let detail = one_line(&problem.detail);
            let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
            output.line(&format!(
                "  line {}, byte {}: {}: {}{detail}",
                count(problem.line),
                count(problem.offset),
                output.paint(look, problem.kind.name()),
                problem.kind.about(),
            ))?;
        }
        if let Some(health) = &report.health {
            write_health(health, notes, output)?;
        }
        if let Some(failure) = &report.failure {
            output.line(&output.paint(Look::Bad, &one_line(failure)))?;
        }
    }
    write_sum(reports, output)
}

fn write_health(health: &Health, notes: bool, output: &mut Output) -> Result<(), CommandError> {
    let shown = [(Severity::Damage, Look::Bad), (Severity::Note, Look::Faint)];
    for (severity, look) in shown.into_iter().filter(|(_, look)| notes || *look == Look::Bad) {
        for problem in check_health::shown(health, severity) {
            output.line(&format!(
                "  line {}: {}: {}",
                count(problem.line),
                output.paint(look, problem.class.name()),
                one_line(&problem.consequence),
            ))?;
        }
    }
    if health.unlisted > 0 {
        output.line(&format!("  and {} more", plural(health.unlisted, "problem")))?;
    }
    output.line(&format!("  {}", check_health::summary(health)))
}

fn write_table(reports: &[Report], output: &mut Output) -> Result<(), CommandError> {
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    let mut table = Table::new(&[Left, Right, Right, Right, Right, Flexible]);
    let [old, middle, new] = check_health::GENERATIONS.map(recto_view::client_name);
    let head = ["", "damaged", old, middle, new, ""].map(str::to_owned);
    for report in reports.iter().filter(|report| report.is_bad()) {
        if table.is_empty() {
            table.row(head.clone());
        }
        let reach = |at: usize| {
            let reaches = report.health.as_ref().map(|health| &health.reaches);
            reaches
                .and_then(|reaches| reaches.get(at))
                .map_or(String::new(), check_health::reach_text)
        };
        let lines = format!("{} of {}", count(report.damaged_lines), plural(report.lines, "line"));
        table.row([report.name.clone(), lines, reach(0), reach(1), reach(2), what(report)]);
    }
    for cells in table.layout(output.width) {
        output.line(cells.join("  ").trim_end())?;
    }
    write_sum(reports, output)
}

/// The damage of a log in a few words.
fn what(report: &Report) -> String {
    if let Some(failure) = &report.failure {
        return one_line(failure);
    }
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for problem in
        report.health.iter().flat_map(|health| check_health::shown(health, Severity::Damage))
    {
        *kinds.entry(problem.class.name()).or_default() += 1;
    }
    let of_lines = report.by_kind.iter().filter(|(kind, _)| kind.severity() == Severity::Damage);
    let of_lines = of_lines.map(|(kind, number)| format!("{} {kind}", count(*number)));
    let of_health = kinds.iter().map(|(kind, number)| format!("{} {kind}", count(*number)));
    of_lines.chain(of_health).collect::<Vec<_>>().join(", ")
}

fn write_sum(reports: &[Report], output: &mut Output) -> Result<(), CommandError> {
    let lines: u64 = reports.iter().map(|report| report.lines).sum();
    let damaged: u64 = reports.iter().map(|report| report.damaged_lines).sum();
    let notes: u64 = reports
        .iter()
        .flat_map(|report| &report.by_kind)
        .filter(|(kind, _)| kind.severity() == Severity::Note)
        .map(|(_, number)| number)
        .sum();
    let sick: Vec<&Health> = reports.iter().filter_map(|report| report.health.as_ref()).collect();
    let lost: u64 = sick.iter().map(|health| check_health::lost(health)).sum();
    let refusals = sick.iter().filter(|health| check_health::is_bad(health)).count() as u64;
    let unread = reports.iter().filter(|report| report.failure.is_some()).count() as u64;
    let mut sum = format!("{} in {}: ", plural(lines, "line"), plural(reports.len() as u64, "log"));
    let look = if damaged + unread + refusals == 0 {
        sum.push_str("no damage");
        Look::Good
    } else {
        sum.push_str(&format!("{} damaged", count(damaged)));
        Look::Bad
    };
    if refusals > 0 {
        let lost = plural(lost, "message");
        sum.push_str(&format!(
            ", {} with problems ({lost} lost on resume)",
            plural(refusals, "session")
        ));
    }
    if unread > 0 {
        sum.push_str(&format!(", {} could not be read", plural(unread, "log")));
    }
    if notes > 0 {
        sum.push_str(&format!(", {}", plural(notes, "note")));
    }
    output.line(&output.paint(look, &sum))
}

fn write_json(reports: &[Report], notes: bool, output: &mut Output) -> Result<(), CommandError> {
    for report in reports {
        let path = report.path.to_string_lossy();
        for problem in &report.problems {
            let severity = problem.kind.severity();
            if !notes && severity == Severity::Note {
                continue;
            }
            output.json_line(
                ObjectWriter::new()
                    .string("log", &report.name)
                    .string("path", &path)
                    .number("line", problem.line)
                    .number("offset", problem.offset)
                    .string("kind", problem.kind.name())
                    .string(
                        "severity",
                        if severity == Severity::Damage { "damage" } else { "note" },
                    )
                    .string("detail", &problem.detail),
            )?;
        }
        if let Some(health) = &report.health {
            write_health_json(report, health, notes, output)?;
        }
        if let Some(failure) = &report.failure {
            output.json_line(
                ObjectWriter::new()
                    .string("log", &report.name)
                    .string("path", &path)
                    .string("kind", "unreadable")
                    .string("severity", "damage")
                    .string("detail", failure),
            )?;
        }
    }
    Ok(())
}

fn write_health_json(
    report: &Report,
    health: &Health,
    notes: bool,
    output: &mut Output,
) -> Result<(), CommandError> {
    let row = |line: Option<u64>, kind: &str, severity: &str| {
        let line = line.map_or("null".to_owned(), |line| line.to_string());
        ObjectWriter::new()
            .string("log", &report.name)
            .string("path", &report.path.to_string_lossy())
            .json("line", line.as_bytes())
            .json("offset", b"null")
            .string("kind", kind)
            .string("severity", severity)
    };
    let shown = [(Severity::Damage, "damage"), (Severity::Note, "note")];
    for (severity, name) in
        shown.into_iter().filter(|(severity, _)| notes || *severity == Severity::Damage)
    {
        for problem in check_health::shown(health, severity) {
            let row = row(Some(problem.line), problem.class.name(), name);
            output.json_line(row.string("detail", &problem.consequence))?;
        }
    }
    let is_lost = check_health::lost(health) > 0;
    if is_lost || notes {
        let row = row(None, "reach", if is_lost { "damage" } else { "note" });
        let row = row.string("detail", &check_health::summary(health));
        let reach = serde_json::to_vec(&recto_view::reach_rows(health)).map_err(io::Error::from)?;
        output.json_line(row.json("reach", &reach))?;
    }
    Ok(())
}
