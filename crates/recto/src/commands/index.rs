//! `recto index`: the index of `recto search`.

use clap::Args;
use clap::ValueEnum;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::index::Status;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::bytes;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;

/// Show, update or verify the search index
///
/// `status` shows the index size and progress, and changes nothing. `update` adds what is new,
/// `rebuild` builds the index from scratch. `verify` compares it with the logs, text by text,
/// and lists what differs. The index is a cache: you can delete it at any time.
///
/// Examples:
///   recto index
///   recto index rebuild
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct IndexArgs {
    /// What to do
    #[arg(default_value = "status", value_name = "WHAT")]
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Show its size and progress
    Status,
    /// Add what is new
    Update,
    /// Build it from scratch
    Rebuild,
    /// Compare it with the logs
    Verify,
}

pub(crate) fn cmd_index(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &IndexArgs,
) -> Result<Outcome, CommandError> {
    let cache = environment.cache_directory()?;
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    match args.action {
        Action::Status => {}
        Action::Update | Action::Rebuild => {
            let is_new = args.action == Action::Rebuild;
            let progress = Progress::new("indexing", output);
            let tell = |done, all| progress.tell_bytes(done, all);
            let skipped = home.build_index(&inventory, &cache, is_new, &tell);
            progress.done();
            for skipped in skipped? {
                output.remark(&skipped.to_string());
            }
        }
        Action::Verify => {
            let status = home.index_status(&inventory, &cache)?;
            if !status.exists {
                let message = "there is no index yet";
                let error = CommandError::user("not-found", message);
                return Err(error.with_hint("`recto search` builds one"));
            }
            let progress = Progress::new("comparing", output);
            let tell = |done, all| progress.tell_bytes(done, all);
            let verified = home.verify_index(&inventory, &cache, &tell);
            progress.done();
            let verified = verified?;
            if output.json {
                let mut differences = ArrayWriter::new();
                for one in &verified.differences {
                    let object =
                        ObjectWriter::new().string("log", &one.log).string("what", &one.what);
                    differences = differences.json(&object.finish());
                }
                output.json_line(
                    ObjectWriter::new()
                        .number("logs", verified.logs)
                        .number("documents", verified.documents)
                        .number("changed", verified.changed)
                        .json("differences", &differences.finish()),
                )?;
            } else {
                for one in &verified.differences {
                    output.line(&format!("{}: {}", one_line(&one.log), one_line(&one.what)))?;
                }
                output.line(&format!(
                    "{} and {} compared, {}",
                    plural(verified.logs, "log"),
                    plural(verified.documents, "text"),
                    plural(verified.differences.len() as u64, "difference")
                ))?;
                if verified.changed > 0 {
                    let changed = plural(verified.changed, "log");
                    output.line(&format!("{changed} written meanwhile and not compared"))?;
                }
            }
            let is_same = verified.differences.is_empty();
            return Ok(if is_same { Outcome::Done } else { Outcome::Found });
        }
    }
    write_status(&home.index_status(&inventory, &cache)?, environment, output)
}

fn write_status(
    status: &Status,
    environment: &Environment,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let path = status.path.to_string_lossy();
    if output.json {
        output.json_line(
            ObjectWriter::new()
                .string("path", &path)
                .boolean("exists", status.exists)
                .number("bytes", status.bytes)
                .number("logs", status.logs)
                .number("log_bytes", status.log_bytes)
                .number("documents", status.documents)
                .number("stale", status.stale)
                .number("gone", status.gone)
                .boolean("being_built", status.is_being_built),
        )?;
        return Ok(Outcome::Done);
    }
    let shown = one_line(&path_from_home(&path, environment.user_home.as_deref()));
    if !status.exists {
        output.line(&format!("no index yet; the first `recto search` builds {shown}"))?;
        return Ok(Outcome::Done);
    }
    output.line(&shown)?;
    output.line(&format!(
        "{} for {} of {} and {}",
        bytes(status.bytes),
        plural(status.logs, "log"),
        bytes(status.log_bytes),
        plural(status.documents, "text")
    ))?;
    let state = match (status.is_being_built, status.stale + status.gone) {
        (true, _) => format!("being built by another process, {} to go", count(status.stale)),
        (false, 0) => "up to date".to_owned(),
        (false, changed) => {
            format!("{} changed since; the next search adds them", plural(changed, "log"))
        }
    };
    output.line(&state)?;
    Ok(Outcome::Done)
}
