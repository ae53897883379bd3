//! `recto collect policy`: what leaves this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use recto_collect::Outlook;
use recto_collect::Policy;
use recto_store::Home;
use recto_store::keep::MachineSecret;
use recto_store::read_chosen;
use serde::Serialize;

use crate::commands::collect;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path;
use crate::terminal::output::Output;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Show what would leave this machine
///
/// The file collect.toml in recto's settings directory says which projects are sent to a store
/// beyond this machine, how much of each session, and what is redacted. Without the file,
/// everything is sent with its secrets replaced. With --dry-run, goes through the archive and
/// lists what would be replaced and what stays.
///
/// Examples:
///   recto collect policy
///   recto collect policy --dry-run
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PolicyArgs {
    /// Go through the archive
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct PolicyRow<'a> {
    file: Option<String>,
    policy: &'a str,
    content: &'static str,
    files: Option<u64>,
    would_send: Option<u64>,
    would_send_bytes: Option<u64>,
    withheld: Option<BTreeMap<&'static str, u64>>,
}

/// The policy of the user, and the file that it is from.
pub(crate) fn policy(
    home: &Home,
    environment: &Environment,
) -> Result<(Policy, Option<PathBuf>), CommandError> {
    let secret = MachineSecret::of(home);
    let file = environment.settings_file("collect.toml").filter(|path| file_path::exists(path));
    let Some(path) = file else { return Ok((Policy::standard(&secret), None)) };
    let text = String::from_utf8_lossy(&read_chosen(&path)?).into_owned();
    let policy = Policy::read(&text, &path, &secret, environment.user_home.as_deref())?;
    Ok((policy, Some(path)))
}

pub(crate) fn cmd_policy(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &PolicyArgs,
) -> Result<Outcome, CommandError> {
    let (policy, file) = policy(home, environment)?;
    let data = environment.data_directory()?;
    let planned = match args.dry_run {
        true => {
            let archive = collect::open_archive(home, &data.root().join("archive"))?;
            Some(Outlook::of(&archive, &policy)?)
        }
        false => None,
    };
    let shown = file.map(|path| path.to_string_lossy().into_owned());
    if output.json {
        output.row(&PolicyRow {
            file: shown,
            policy: policy.name(),
            content: policy.content.name(),
            files: planned.as_ref().map(|planned| planned.files),
            would_send: planned.as_ref().map(|planned| planned.would_send),
            would_send_bytes: planned.as_ref().map(|planned| planned.bytes),
            withheld: planned.map(|planned| planned.withheld),
        })?;
        return Ok(Outcome::Done);
    }
    let from = shown.map_or_else(|| "the default".to_owned(), |path| one_line(&path));
    output.line(&format!("{} ({from})", policy.name()))?;
    if let Some(planned) = planned {
        output.line(&format!(
            "would send {} of {}, {}",
            planned.would_send,
            plural(planned.files, "file"),
            bytes(planned.bytes)
        ))?;
        for (path, findings) in &planned.redacted {
            let count = plural(*findings, "secret");
            output.line(&format!("  {}: {count} replaced", one_line(path)))?;
        }
        for (path, reason) in &planned.kept_back {
            output.line(&format!("  {}: withheld ({})", one_line(path), reason.name()))?;
        }
    }
    Ok(Outcome::Done)
}
