//! `recto check`: damage in logs.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use clap::Args;
use recto_log::Problem;
use recto_log::Severity;
use recto_session::health::Health;
use recto_session::request::Generation;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_store::in_order;
use recto_view::HEALTH_GENERATIONS;
use recto_view::LogCheck;
use recto_view::is_sick;
use recto_view::lost_lines;
use recto_view::reach_details;
use recto_view::reach_summary;
use recto_view::reach_text;
use recto_view::session_problems;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
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

/// Check logs for corruption and broken links
///
/// Reads every line of the log and of its subagents' logs. Damage is a line that readers lose:
/// torn, mixed, NUL bytes, not an object, invalid UTF-8. Damage is also what a resume would
/// lose because a link is broken, and what the API would reject. Notes are unusual but intact
/// lines. Changes nothing.
///
/// Reports how much a resume brings back for every generation of clients (without SESSION for
/// clients like 2.0.50, 2.1.29 and the latest), as a percentage of the messages that are
/// not skipped on purpose: messages replaced by a compaction and branches left by a rewind
/// do not count. It also reports the messages lost in each turn, and what each branch
/// would send.
///
/// Broken links are always reported, even if the newest client recovers from them.
///
/// Exit code 1 means that damage was found: a line is damaged, the newest client loses
/// messages, or a client like the one that wrote the log, or a newer one, no longer reaches
/// a prompt.
///
/// Examples:
///   recto check latest
///   recto check
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckArgs {
    /// The session [default: every log of the home]
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
            logs_of(home, &inventory, found)
        }
    };
    let is_all = args.all || args.session.is_none();
    let generations: &[Generation] =
        if is_all { &recto_view::HEALTH_GENERATIONS } else { &Generation::ALL };
    let all = logs.iter().map(|log| log.bytes()).sum();
    let done = AtomicU64::new(0);
    let progress = Progress::new("checking", output);
    // With many logs the table needs counts only.
    let keep = if is_all && !output.json { 0 } else { KEPT };
    let mut reports = in_order(
        &logs,
        |log| (&log.path, log.bytes()),
        |buffer, log| {
            let agents =
                || log.main().map_or(Vec::new(), |session| home.agents_of(&inventory, &session));
            let report = LogCheck::read(log, keep, buffer, generations, agents);
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
        let least = if args.notes { Severity::Note } else { Severity::Damage };
        for report in &reports {
            output.rows(&report.rows(least))?;
        }
    } else if is_all {
        write_table(&reports, output)?;
    } else {
        write_problems(&reports, args.notes, output)?;
    }
    let bad = reports.iter().any(LogCheck::is_bad);
    Ok(if bad { Outcome::Found } else { Outcome::Done })
}

/// The log that was named, and those of its subagents.
fn logs_of(home: &Home, inventory: &Inventory, found: LogFile) -> Vec<LogFile> {
    match found.main() {
        Some(session) => home.logs_of(inventory, &session),
        None => vec![found],
    }
}

fn write_problems(
    reports: &[LogCheck],
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
    for (severity, look) in [(Severity::Damage, Look::Bad), (Severity::Note, Look::Faint)] {
        for problem in session_problems(health, severity, notes) {
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
    output.line(&format!("  {}", reach_summary(health)))?;
    reach_details(health).iter().try_for_each(|line| output.line(&format!("  {line}")))
}

fn write_table(reports: &[LogCheck], output: &mut Output) -> Result<(), CommandError> {
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    let mut table = Table::new(&[Left, Right, Right, Right, Right, Flexible]);
    let [old, middle, new] = HEALTH_GENERATIONS.map(recto_view::client_name);
    let head = ["", "damaged", old, middle, new, ""].map(str::to_owned);
    for report in reports.iter().filter(|report| report.is_bad()) {
        if table.is_empty() {
            table.row(head.clone());
        }
        let reach = |at: usize| {
            let reaches = report.health.as_ref().map(|health| &health.reaches);
            reaches.and_then(|reaches| reaches.get(at)).map_or(String::new(), reach_text)
        };
        let lines = format!("{} of {}", count(report.damaged_lines), plural(report.lines, "line"));
        table.row([report.name.clone(), lines, reach(0), reach(1), reach(2), what(report)]);
    }
    for cells in table.layout(output.width) {
        output.line(cells.join(output.gap()).trim_end())?;
    }
    write_sum(reports, output)
}

/// The damage of a log in a few words.
fn what(report: &LogCheck) -> String {
    if let Some(failure) = &report.failure {
        return one_line(failure);
    }
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for problem in
        report.health.iter().flat_map(|health| session_problems(health, Severity::Damage, false))
    {
        *kinds.entry(problem.class.name()).or_default() += 1;
    }
    let of_lines = report.by_kind.iter().filter(|(kind, _)| kind.severity() == Severity::Damage);
    let of_lines = of_lines.map(|(kind, number)| format!("{} {kind}", count(*number)));
    let of_health = kinds.iter().map(|(kind, number)| format!("{} {kind}", count(*number)));
    of_lines.chain(of_health).collect::<Vec<_>>().join(", ")
}

fn write_sum(reports: &[LogCheck], output: &mut Output) -> Result<(), CommandError> {
    let lines: u64 = reports.iter().map(|report| report.lines).sum();
    let damaged: u64 = reports.iter().map(|report| report.damaged_lines).sum();
    let notes: u64 = reports
        .iter()
        .flat_map(|report| &report.by_kind)
        .filter(|(kind, _)| kind.severity() == Severity::Note)
        .map(|(_, number)| number)
        .sum();
    let sick: Vec<&Health> = reports.iter().filter_map(|report| report.health.as_ref()).collect();
    let lost: u64 = sick.iter().map(|health| lost_lines(health)).sum();
    let refusals = sick.iter().filter(|health| is_sick(health)).count() as u64;
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
