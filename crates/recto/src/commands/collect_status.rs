//! `recto collect status` and `verify`: how far an archive on this disk is, and whether it is whole.

use std::path::Path;

use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::StoreError;
use recto_store::keep::CollectOptions;
use recto_store::keep::CollectStatus;
use recto_store::keep::KeepError;
use recto_store::keep::VerifyReport;
use recto_view::CollectStatusRow;
use recto_view::VerifyRow;

use crate::commands::collect::no_archive;
use crate::commands::collect::open_archive;
use crate::commands::collect::shown;
use crate::commands::home::due_sessions;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::age;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

pub(crate) fn status(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    data: &DataDirectory,
    root: &Path,
) -> Result<Outcome, CommandError> {
    let kinds = CollectOptions::default().kinds;
    let status = match CollectStatus::read(home, data, root, &kinds) {
        Err(StoreError::Keep(KeepError::NoArchive { .. })) => return Err(no_archive(root)),
        status => status?,
    };
    let now = environment.now();
    let setting = home.cleanup_setting(environment.working_directory.as_deref());
    let due = due_sessions(home, &setting, now, 7);
    let at_risk: Vec<String> = due
        .iter()
        .filter(|due| !status.safe.contains(&due.session.path))
        .map(|due| due.session.id.to_string())
        .collect();
    let has_risk = !at_risk.is_empty();
    if output.json {
        output.row(&CollectStatusRow::new(root, &status, at_risk))?;
    } else {
        output.line(&format!("{}  {}", shown(root, environment), bytes(status.stored)))?;
        let kept = status.files - status.behind.len() as u64;
        let when = match status.collected {
            Some(time) => format!("last checked: {}", age(time, now)),
            None => "never checked".to_owned(),
        };
        output.line(&format!(
            "  archived      {} of {}, {when}",
            kept,
            plural(status.files, "file")
        ))?;
        if !status.behind.is_empty() {
            output.line(&format!(
                "  changed       {}, {}",
                plural(status.behind.len() as u64, "file"),
                bytes(status.behind_bytes)
            ))?;
        }
        if status.only_archived > 0 {
            let count = plural(status.only_archived, "file");
            output.line(&format!("  only archived {count} that the home no longer has"))?;
        }
        if has_risk {
            output.line(&format!(
                "  at risk       {} to be deleted within 7 days, not archived: {}",
                plural(at_risk.len() as u64, "session"),
                at_risk.iter().map(|id| &id[..8]).collect::<Vec<_>>().join(" ")
            ))?;
            output.line("Run `recto collect` now.")?;
        }
    }
    Ok(if has_risk { Outcome::Found } else { Outcome::Done })
}

pub(crate) fn verify(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    root: &Path,
) -> Result<Outcome, CommandError> {
    let archive = open_archive(home, root)?;
    let progress = Progress::new("verifying", output);
    let kinds = CollectOptions::default().kinds;
    let report =
        VerifyReport::of(&archive, home, &kinds, &mut |at| progress.tell(at.done, at.files));
    progress.done();
    let report = report?;
    if output.json {
        output.row(&VerifyRow::from(&report))?;
    } else {
        for problem in &report.problems {
            output.line(&one_line(&problem.to_string()))?;
        }
        for path in &report.differing {
            output.line(&format!("not archived unchanged: {}", shown(path, environment)))?;
        }
        for (path, missing) in &report.behind {
            let path = shown(path, environment);
            output.line(&format!("not archived yet: {path}, {}", bytes(*missing)))?;
        }
        output.line(&format!(
            "{} read back, {} in {}; {} compared with the home",
            plural(report.segments, "segment"),
            bytes(report.bytes),
            bytes(report.stored),
            plural(report.sources, "file")
        ))?;
    }
    Ok(if report.is_sound() { Outcome::Done } else { Outcome::Found })
}
