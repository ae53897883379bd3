//! `EnterWorktree` and `ExitWorktree`: another checkout of the repository to work in.
//!
//! Owns: making and removing checkouts below `.claude/worktrees`, for a session and for
//! subagents that want one of their own. The log of the session stays where it is.

use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use super::context::Call;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::session::Session;

pub(super) const ENTER_ABOUT: &str = "Moves the session into a git worktree: a new one on its \
own branch, or with `path` an existing one. Only if the user asks for a worktree.";

pub(super) const EXIT_ABOUT: &str = "Leaves the worktree that EnterWorktree moved the session \
into, and keeps or removes it.";

pub(super) const ENTER: Schema = Schema::closed(&[
    Field::optional("name", Kind::String, "The name of the new worktree"),
    Field::optional("path", Kind::String, "An existing worktree to enter"),
]);

pub(super) const EXIT: Schema = Schema::closed(&[
    Field::required("action", Kind::OneOf(&["keep", "remove"]), "What to do with the worktree"),
    Field::optional("discard_changes", Kind::Boolean, "Remove it even if work would be lost"),
]);

const NO_GIT: &str = "not in a git repository and no WorktreeCreate hooks are configured. \
Configure WorktreeCreate/WorktreeRemove hooks in settings.json to use worktree isolation with \
other VCS systems.";

/// A checkout that is worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit that it began at; none if it was there before.
    pub base: Option<String>,
    /// Where the session was before.
    pub original: PathBuf,
}

/// Why there is no worktree for somebody.
pub(super) fn no_git(what: &str) -> ToolOutcome {
    ToolOutcome::failed(format!("Cannot create {what}: {NO_GIT}"))
}

pub(super) fn check_enter(call: &Call<'_>) -> Result<(), ToolOutcome> {
    if let Some(name) = call.optional("name").filter(|name| !is_name(name)) {
        let message = format!(
            "Invalid worktree name \"{name}\": each \"/\"-separated segment must be non-empty \
             and contain only letters, digits, dots, underscores, and dashes"
        );
        let issues = json!([{"code": "custom", "message": message, "path": ["name"]}]);
        let issues = serde_json::to_string_pretty(&issues).unwrap_or_default();
        let text = format!("InputValidationError: {issues}");
        return Err(ToolOutcome::tagged(&text, text.clone()));
    }
    let is_inside = call.session.state().worktree.is_some();
    if is_inside && call.optional("path").is_none() {
        return Err(ToolOutcome::refused(
            "Already in a worktree session. Pass `path` to switch into another existing \
             worktree, or use ExitWorktree to leave this one before creating a new worktree.",
        ));
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_part =
        |part: &str| !part.is_empty() && part != "." && part != ".." && part.chars().all(is_plain);
    name.split('/').all(is_part)
}

pub(super) async fn enter(call: &Call<'_>) -> ToolOutcome {
    let session = call.session;
    let original = match &session.state().worktree {
        Some(worktree) => worktree.original.clone(),
        None => session.places.project.clone(),
    };
    let entered = match call.optional("path") {
        Some(path) => existing(session, path, original).await,
        None => {
            let name = match call.optional("name") {
                Some(name) => name.replace('/', "+"),
                None => uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect(),
            };
            create(&original, &name).await.map(|worktree| (worktree, "Created"))
        }
    };
    let (worktree, how) = match entered {
        Ok(entered) => entered,
        Err(outcome) => return *outcome,
    };
    let (path, branch) = (worktree.path.display().to_string(), worktree.branch.clone());
    session.set_cwd(&worktree.path);
    session.state().worktree = Some(worktree);
    let message = format!(
        "{how} worktree at “{path}” on branch “{branch}”. The session is now working in the \
         worktree. Use ExitWorktree to leave mid-session, or exit the session to be prompted."
    );
    let structured = json!({"worktreePath": path, "worktreeBranch": branch, "message": message});
    ToolOutcome::text(message, structured)
}

type Failed = Box<ToolOutcome>;

/// A new checkout of what the repository of a directory has now.
pub(super) async fn create(directory: &Path, name: &str) -> Result<Worktree, Failed> {
    let Ok(root) = root(directory).await else { return Err(Box::new(no_git("a worktree"))) };
    let failed =
        |why: String| Box::new(ToolOutcome::failed(format!("Cannot create a worktree: {why}")));
    let path = root.join(".claude/worktrees").join(name);
    let branch = format!("worktree-{name}");
    let base = git(directory, &["rev-parse", "HEAD"]).await.map_err(failed)?;
    let place = path.to_string_lossy().into_owned();
    let words = ["worktree", "add", "--quiet", "-b", &branch, &place, &base];
    git(directory, &words).await.map_err(failed)?;
    Ok(Worktree { path, branch, base: Some(base), original: directory.to_owned() })
}

async fn existing(
    session: &Session,
    path: &str,
    original: PathBuf,
) -> Result<(Worktree, &'static str), Failed> {
    let Ok(root) = root(&original).await else { return Err(Box::new(no_git("a worktree"))) };
    let failed =
        |why: String| Box::new(ToolOutcome::failed(format!("Cannot enter worktree: {why}")));
    let named = session.cwd().join(path);
    let Ok(found) = named.canonicalize() else {
        let shown = named.display();
        return Err(failed(format!(
            "{path}: ENOENT: no such file or directory, realpath '{shown}'"
        )));
    };
    let managed = root.join(".claude/worktrees");
    let is_known = git(&original, &["worktree", "list", "--porcelain"]).await;
    let line = format!("worktree {}", found.display());
    let is_known = is_known.is_ok_and(|list| list.lines().any(|known| known == line));
    if !found.starts_with(&managed) || !is_known {
        return Err(failed(format!(
            "{path} is not under {}. Switching from this session is limited to worktrees \
             managed by Claude Code (created under .claude/worktrees/ of this repository).",
            managed.display()
        )));
    }
    let branch = git(&found, &["branch", "--show-current"]).await.map_err(failed)?;
    Ok((Worktree { path: found, branch, base: None, original }, "Entered"))
}

pub(super) fn check_exit(call: &Call<'_>) -> Result<(), ToolOutcome> {
    let Some(worktree) = call.session.state().worktree.clone() else {
        return Err(ToolOutcome::refused(
            "No-op: there is no active EnterWorktree session to exit. This tool only operates \
             on worktrees created by EnterWorktree in the current session — it will not touch \
             worktrees created manually or in a previous session. No filesystem changes were \
             made.",
        ));
    };
    if call.text("action") == "remove" && worktree.base.is_none() {
        let (path, original) = (worktree.path.display(), worktree.original.display());
        return Err(ToolOutcome::refused(format!(
            "This session is not the owner of the worktree at “{path}” — it either entered a \
             pre-existing worktree via EnterWorktree({{path}}) or resumed into a checkout whose \
             liveness lock another running Claude Code session still holds — so this tool will \
             not remove it. Use action: \"keep\" to return to “{original}”. If no other session \
             is using it, remove it yourself with `git worktree remove`; while a live session's \
             lock is present, git will refuse and name the owner."
        )));
    }
    Ok(())
}

pub(super) async fn exit(call: &Call<'_>) -> ToolOutcome {
    let session = call.session;
    let Some(worktree) = session.state().worktree.clone() else {
        return ToolOutcome::refused("There is no worktree to leave.");
    };
    let Worktree { path, branch, original, .. } = &worktree;
    let back = format!("Session is now back in “{}”.", original.display());
    let is_removed = call.text("action") == "remove";
    let mut structured = json!({
        "action": if is_removed { "remove" } else { "keep" },
        "originalCwd": original,
        "worktreePath": path,
        "worktreeBranch": branch,
    });
    let message = if is_removed {
        let (files, commits) = changes(&worktree).await;
        let lost = lost(files, commits);
        if let Some(lost) = lost.as_ref().filter(|_| !call.is("discard_changes")) {
            let on = if commits > 0 { format!(" on “{branch}”") } else { String::new() };
            return ToolOutcome::refused(format!(
                "Worktree has {lost}{on}. Removing will discard this work permanently. Confirm \
                 with the user, then re-invoke with discard_changes: true — or use action: \
                 \"keep\" to preserve the worktree."
            ));
        }
        if let Err(why) = remove(&worktree).await {
            return ToolOutcome::failed(format!("Cannot remove the worktree: {why}"));
        }
        structured["discardedFiles"] = files.into();
        structured["discardedCommits"] = commits.into();
        let lost = lost.map_or_else(String::new, |lost| format!(" Discarded {lost}."));
        format!("Exited and removed worktree at “{}”.{lost} {back}", path.display())
    } else {
        let path = path.display();
        format!("Exited worktree. Your work is preserved at “{path}” on branch “{branch}”. {back}")
    };
    session.set_cwd(original);
    session.state().worktree = None;
    structured["restoredCwd"] = json!(original);
    structured["originalCwdMissing"] = false.into();
    structured["message"] = message.as_str().into();
    ToolOutcome::text(message, structured)
}

/// What would be lost, in words.
fn lost(files: usize, commits: usize) -> Option<String> {
    let many = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let parts: Vec<String> =
        [many(files, "uncommitted file"), many(commits, "commit")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// Files that are not committed, and commits that nothing else has.
async fn changes(worktree: &Worktree) -> (usize, usize) {
    let files = git(&worktree.path, &["status", "--porcelain"]).await;
    let files = files.map_or(0, |text| text.lines().count());
    let Some(base) = &worktree.base else { return (files, 0) };
    let range = format!("{base}..HEAD");
    let commits = git(&worktree.path, &["rev-list", "--count", &range]).await;
    (files, commits.ok().and_then(|text| text.parse().ok()).unwrap_or(0))
}

async fn remove(worktree: &Worktree) -> Result<(), String> {
    let path = worktree.path.to_string_lossy().into_owned();
    git(&worktree.original, &["worktree", "remove", "--force", &path]).await?;
    git(&worktree.original, &["branch", "--quiet", "-D", &worktree.branch]).await?;
    Ok(())
}

/// Removes the checkout of a subagent that changed nothing there; the checkout if it stays.
pub(crate) async fn settle(worktree: Worktree) -> Option<Worktree> {
    let is_unchanged = changes(&worktree).await == (0, 0);
    let is_gone = is_unchanged && remove(&worktree).await.is_ok();
    (!is_gone).then_some(worktree)
}

/// The directory of the repository itself, also from inside a worktree.
async fn root(directory: &Path) -> Result<PathBuf, String> {
    let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let common = PathBuf::from(git(directory, &words).await?);
    Ok(common.parent().unwrap_or(&common).to_owned())
}

async fn git(directory: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = tokio::process::Command::new("git");
    // A repository's own scripts are not part of what was allowed.
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
    command.args(words).current_dir(directory);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}
