//! `recto undo --files` and `recto redo --files`: files that an agent changed; and the diff of
//! `recto files --diff`.

use std::path::Path;
use std::path::PathBuf;

use recto_store::Home;
use recto_store::SessionFile;
use recto_store::rewind;
use recto_store::rewind::FileChange;
use recto_store::rewind::FileTurns;
use recto_store::rewind::RewindPlan;
use serde::Serialize;

use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::safe;

/// Lines around a change that are shown, too.
const CONTEXT: usize = 3;

/// A file that was or would be set back, as `--json` tells it.
#[derive(Debug, Serialize)]
struct FileBackRow {
    session: String,
    path: String,
    lines_added: usize,
    lines_removed: usize,
    done: bool,
}

fn find(home: &Home, environment: &Environment, text: &str) -> Result<SessionFile, CommandError> {
    journal::session_of(&target::find(home, &home.inventory(), environment, text)?)
}

fn kept(environment: &Environment, session: &SessionFile) -> Result<PathBuf, CommandError> {
    Ok(environment.data_directory()?.root().join("rewinds").join(session.id.to_string()))
}

/// Takes back what the last turn that changed files did to them.
pub(crate) fn undo_files(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    text: &str,
    is_dry: bool,
) -> Result<Outcome, CommandError> {
    let session = find(home, environment, text)?;
    let turns = FileTurns::read(home, &session)?;
    let Some((prompt, plan)) = turns.last_changed()? else {
        output.remark("no file changes to undo: every file matches its snapshots");
        return Ok(Outcome::Found);
    };
    if !is_dry {
        rewind::carry_out(&plan, &kept(environment, &session)?)?;
    }
    tell(output, &session, &turns.directory, &plan, is_dry)?;
    let before = fit(&one_line(&prompt.text), 60);
    let files = plural(plan.changes.len() as u64, "file");
    let verb = if is_dry { "would restore" } else { "restored" };
    output.remark(&format!("{verb} {files} to before the prompt: {before}"));
    if !is_dry {
        output.remark(&format!("`recto redo --files {}` redoes the changes", short_id(&session)));
    }
    Ok(Outcome::Done)
}

/// Brings back what the last `undo --files` took.
pub(crate) fn redo_files(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    text: &str,
) -> Result<Outcome, CommandError> {
    let session = find(home, environment, text)?;
    let Some(plan) = rewind::bring_back(&kept(environment, &session)?)? else {
        output.remark("nothing to redo: no undo or rewind has changed files of this session");
        return Ok(Outcome::Found);
    };
    let directory = FileTurns::read(home, &session)?.directory;
    tell(output, &session, &directory, &plan, false)?;
    let files = plural(plan.changes.len() as u64, "file");
    output.remark(&format!("redid the changes to {files}"));
    Ok(Outcome::Done)
}

fn tell(
    output: &mut Output,
    session: &SessionFile,
    directory: &Path,
    plan: &RewindPlan,
    is_dry: bool,
) -> Result<(), CommandError> {
    for change in &plan.changes {
        let (added, removed) = sums(change);
        if output.json {
            output.row(&FileBackRow {
                session: session.id.to_string(),
                path: change.path.display().to_string(),
                lines_added: added,
                lines_removed: removed,
                done: !is_dry,
            })?;
            continue;
        }
        let shown = change.path.strip_prefix(directory).unwrap_or(&change.path);
        output.line(&format!("+{added} -{removed}  {}", one_line(&shown.to_string_lossy())))?;
    }
    for (path, why) in &plan.left {
        output.remark(&one_line(&format!("not restored: {}: {why}", path.display())));
    }
    Ok(())
}

fn short_id(session: &SessionFile) -> String {
    session.id.to_string().chars().take(8).collect()
}

fn text(bytes: Option<&Vec<u8>>) -> String {
    String::from_utf8_lossy(bytes.map(Vec::as_slice).unwrap_or_default()).into_owned()
}

fn sums(change: &FileChange) -> (usize, usize) {
    let (now, then) = (text(change.now.as_ref()), text(change.then.as_ref()));
    let (old, new): (Vec<&str>, Vec<&str>) = (now.lines().collect(), then.lines().collect());
    let steps = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let changed = steps.iter().filter(|step| step.tag() != similar::DiffTag::Equal);
    changed.fold((0, 0), |(added, removed), step| {
        (added + step.new_range().len(), removed + step.old_range().len())
    })
}

/// Shows what a session did to the tree: its files as they were before it, and as they are.
pub(crate) fn show_diff(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    name: &str,
) -> Result<Outcome, CommandError> {
    let session = find(home, environment, name)?;
    let turns = FileTurns::read(home, &session)?;
    let plan = turns.whole_plan()?;
    output.page();
    for change in &plan.changes {
        let path = change.path.strip_prefix(&turns.directory).unwrap_or(&change.path);
        let path = one_line(&path.to_string_lossy());
        let side = |content: &Option<Vec<u8>>, mark: &str| match content {
            Some(_) => format!("{mark}/{path}"),
            None => "/dev/null".to_owned(),
        };
        output.line(&output.paint(Look::Strong, &format!("--- {}", side(&change.then, "a"))))?;
        output.line(&output.paint(Look::Strong, &format!("+++ {}", side(&change.now, "b"))))?;
        let (old, new) = (text(change.then.as_ref()), text(change.now.as_ref()));
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let steps = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
        for group in similar::group_diff_ops(steps, CONTEXT) {
            write_hunk(output, &old, &new, &group)?;
        }
    }
    for (path, why) in &plan.left {
        output.remark(&one_line(&format!("not shown: {}: {why}", path.display())));
    }
    if plan.changes.is_empty() {
        output.remark("no differences between the snapshots of the log and the files");
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

fn write_hunk(
    output: &mut Output,
    old: &[&str],
    new: &[&str],
    group: &[similar::DiffOp],
) -> Result<(), CommandError> {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
    let (from, to) = (first.old_range().start, last.old_range().end);
    let (start, end) = (first.new_range().start, last.new_range().end);
    let head = format!("@@ -{},{} +{},{} @@", from + 1, to - from, start + 1, end - start);
    output.line(&output.paint(Look::Faint, &head))?;
    for step in group {
        let (tag, from, to) = step.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            for line in &old[from] {
                output.line(&format!(" {}", shown(line)))?;
            }
            continue;
        }
        for line in &old[from] {
            output.line(&output.paint(Look::Bad, &format!("-{}", shown(line))))?;
        }
        for line in &new[to] {
            output.line(&output.paint(Look::Good, &format!("+{}", shown(line))))?;
        }
    }
    Ok(())
}

fn shown(line: &str) -> String {
    safe(line).replace('\n', " ")
}
