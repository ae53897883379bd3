//! `recto drift`: what in the logs recto does not know.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use clap::Args;
use rayon::prelude::*;
use recto_log::Drift;
use recto_log::LineReader;
use recto_log::decode;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::StoreError;
use recto_store::each_alone;
use recto_store::open_file;

use crate::commands::check::all_logs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::output::remark;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::plural;

/// Report log fields recto doesn't recognise
///
/// The log format changes every few days. recto keeps everything it does not recognise; this
/// report lists it by client version. It names types and fields only, never their values, so
/// you can paste it into a bug report.
///
/// Exit code 1 means that something unknown was found.
///
/// Examples:
///   recto drift
///   recto drift latest --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DriftArgs {
    /// Check only this session [default: all logs of the home]
    session: Option<String>,
}

pub(crate) fn cmd_drift(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &DriftArgs,
) -> Result<Outcome, CommandError> {
    let inventory = home.inventory();
    let logs: Vec<(PathBuf, u64)> = match &args.session {
        Some(text) => {
            let found = target::find(home, &inventory, environment, text)?;
            vec![(found.path, 0)]
        }
        None => {
            target::tell_skipped(&inventory, output);
            all_logs(home, &inventory).into_iter().map(|log| (log.path, log.state.size())).collect()
        }
    };
    let drift = drift_of(&logs, output)?;
    if output.json {
        for (finding, number) in drift.findings() {
            output.json_line(
                ObjectWriter::new()
                    .string("what", finding.kind.name())
                    .string("name", &finding.name)
                    .string("version", &finding.version)
                    .number("count", number),
            )?;
        }
    } else {
        write_text(&drift, output)?;
    }
    Ok(if drift.findings().next().is_some() { Outcome::Found } else { Outcome::Done })
}

fn drift_of(logs: &[(PathBuf, u64)], output: &Output) -> Result<Drift, CommandError> {
    let all = logs.iter().map(|(_, bytes)| bytes).sum();
    let done = AtomicU64::new(0);
    let progress = Progress::new("reading", output);
    let drift = each_alone(logs)
        .map_init(Vec::new, |buffer, (path, bytes)| {
            let drift = drift_of_file(path, buffer);
            progress.tell(done.fetch_add(*bytes, Ordering::Relaxed), all);
            // One log of many that cannot be read is no reason to stop.
            drift.or_else(|error| {
                if logs.len() == 1 {
                    return Err(error);
                }
                remark(&format!("skipped: {error}"));
                Ok(Drift::default())
            })
        })
        .try_reduce(Drift::default, |mut a, b| {
            a.merge(b);
            Ok(a)
        });
    progress.done();
    Ok(drift?)
}

fn drift_of_file(path: &std::path::Path, buffer: &mut Vec<u8>) -> Result<Drift, StoreError> {
    let mut lines = LineReader::with_buffer(open_file(path)?, std::mem::take(buffer));
    let mut drift = Drift::default();
    while let Some(line) = lines.next_line()? {
        drift.add(&decode(line).0);
    }
    *buffer = lines.into_buffer();
    Ok(drift)
}

fn write_text(drift: &Drift, output: &mut Output) -> Result<(), CommandError> {
    let lines: u64 = drift.lines().map(|(_, count)| count).sum();
    let versions: Vec<String> = drift
        .lines()
        .filter(|(version, _)| *version != "?")
        .map(|(version, number)| format!("{version} ({})", count(number)))
        .collect();
    output.line(&format!("recto {}, {}", env!("CARGO_PKG_VERSION"), plural(lines, "line")))?;
    if !versions.is_empty() {
        output.line(&format!("client versions: {}", versions.join(", ")))?;
    }
    let mut table = Table::new(&[Column::Left, Column::Left, Column::Left, Column::Right]);
    for (finding, number) in drift.findings() {
        table.row([
            finding.kind.name().into(),
            finding.name.clone(),
            finding.version.clone(),
            count(number),
        ]);
    }
    if table.is_empty() {
        return output.line(&output.paint(Look::Good, "No unknown fields."));
    }
    output.line("")?;
    for cells in table.layout(output.width) {
        output.line(cells.join(output.gap()).trim_end())?;
    }
    Ok(())
}
