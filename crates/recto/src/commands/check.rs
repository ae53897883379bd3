//! `recto check`: damage in logs.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use clap::Args;
use rayon::prelude::*;
use recto_log::LineReader;
use recto_log::Problem;
use recto_log::ProblemKind;
use recto_log::Severity;
use recto_log::decode;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::StoreError;
use recto_store::open_file;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::output::Look;
use crate::output::Output;
use crate::output::Progress;
use crate::target;
use crate::target::Target;
use crate::text::Column;
use crate::text::Table;
use crate::text::count;
use crate::text::one_line;
use crate::text::plural;

/// How many problems of one log are kept; the rest are counted.
const KEPT: usize = 1000;

/// Look for damaged lines
///
/// Every line of the log and of its subagents' logs is read. Damage is a line
/// that is lost to readers: torn, mixed, NUL bytes, no object, invalid UTF-8.
/// Notes are lines that are odd but whole. Nothing is changed.
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

/// A log to read.
pub(crate) struct Log {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// What to call it.
    pub(crate) name: String,
}

/// Every log of the home: main logs and those of subagents.
pub(crate) fn all_logs(home: &Home, inventory: &Inventory) -> Vec<Log> {
    let mut logs: Vec<Log> = inventory
        .sessions
        .par_iter()
        .filter(|session| session.bytes > 0)
        .map(|session| Log {
            path: session.path.clone(),
            bytes: session.bytes,
            name: session.id.to_string(),
        })
        .collect();
    logs.extend(home.all_agents(inventory).into_iter().map(|agent| Log {
        name: format!("agent-{}", agent.id),
        path: agent.path,
        bytes: agent.bytes,
    }));
    // The largest first, so that no thread is left alone with it at the end.
    logs.sort_by_key(|log| std::cmp::Reverse(log.bytes));
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
    failure: Option<String>,
}

impl Report {
    fn read(name: &str, path: &Path, keep: usize) -> Report {
        let mut report = Report { name: name.into(), path: path.into(), ..Report::default() };
        if let Err(error) = report.read_lines(keep) {
            report.failure = Some(error.to_string());
        }
        report
    }

    fn read_lines(&mut self, keep: usize) -> Result<(), StoreError> {
        let mut lines = LineReader::new(open_file(&self.path)?);
        while let Some(line) = lines.next_line()? {
            self.lines += 1;
            let (_, problems) = decode(line);
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
        Ok(())
    }

    fn is_bad(&self) -> bool {
        self.damaged_lines > 0 || self.failure.is_some()
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
    let all = logs.iter().map(|log| log.bytes).sum();
    let done = AtomicU64::new(0);
    let progress = Progress::new("checking", output);
    // With many logs the table needs counts only.
    let keep = if args.all && !output.json { 0 } else { KEPT };
    let mut reports: Vec<Report> = logs
        .par_iter()
        .map(|log| {
            let report = Report::read(&log.name, &log.path, keep);
            progress.tell(done.fetch_add(log.bytes, Ordering::Relaxed), all);
            report
        })
        .collect();
    progress.done();
    reports.sort_by(|a, b| b.damaged_lines.cmp(&a.damaged_lines).then_with(|| a.name.cmp(&b.name)));
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
fn logs_of(home: &Home, inventory: &Inventory, found: &Target) -> Vec<Log> {
    let bytes = found.session.as_ref().map_or(0, |session| session.bytes);
    let mut logs = vec![Log { path: found.path.clone(), bytes, name: found.name.clone() }];
    if let Some(session) = &found.session {
        logs.extend(home.agents_of(inventory, session).into_iter().map(|agent| Log {
            name: format!("agent-{}", agent.id),
            path: agent.path,
            bytes: agent.bytes,
        }));
    }
    logs
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
        if !shown.is_empty() {
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
        if let Some(failure) = &report.failure {
            output.line(&output.paint(Look::Bad, &one_line(failure)))?;
        }
    }
    write_sum(reports, output)
}

fn write_table(reports: &[Report], output: &mut Output) -> Result<(), CommandError> {
    let mut table = Table::new(&[Column::Left, Column::Right, Column::Flexible]);
    for report in reports.iter().filter(|report| report.is_bad()) {
        let what = report.failure.as_deref().map_or_else(
            || {
                let kinds = report.by_kind.iter();
                let kinds = kinds.filter(|(kind, _)| kind.severity() == Severity::Damage);
                let kinds: Vec<String> =
                    kinds.map(|(kind, number)| format!("{} {kind}", count(*number))).collect();
                kinds.join(", ")
            },
            one_line,
        );
        let lines = format!("{} of {}", count(report.damaged_lines), plural(report.lines, "line"));
        table.row([report.name.clone(), lines, what]);
    }
    for cells in table.layout(output.width) {
        output.line(cells.join("  ").trim_end())?;
    }
    write_sum(reports, output)
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
    let unread = reports.iter().filter(|report| report.failure.is_some()).count() as u64;
    let mut sum = format!("{} in {}: ", plural(lines, "line"), plural(reports.len() as u64, "log"));
    let look = if damaged + unread == 0 {
        sum.push_str("no damage");
        Look::Good
    } else {
        sum.push_str(&format!("{} damaged", count(damaged)));
        Look::Bad
    };
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
