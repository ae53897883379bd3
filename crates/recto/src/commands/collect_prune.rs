//! `recto collect prune`: a smaller archive.

use std::path::Path;

use clap::Args;
use recto_store::Home;
use recto_store::StoreError;
use recto_store::keep::Catalog;
use recto_store::keep::PruneChoice;
use recto_store::keep::PruneReport;
use recto_store::keep::merge;
use recto_view::PruneRow;

use crate::commands::collect::TargetArgs;
use crate::commands::collect::open_archive;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::parse_size;
use crate::select::filter::read_time;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Merge small segments, and delete old files from the archive
///
/// Without options, only merges: many small segments of one file become few large ones, and all
/// are compressed harder. This takes about a minute per gigabyte of logs. With
/// --older-than, --project or --larger-than, shows what would be deleted; --yes deletes it. Files
/// that the home no longer has are the only copies: deleting them needs --force.
///
/// Examples:
///   recto collect prune
///   recto collect prune --older-than 2y
///   recto collect prune --larger-than 10GB --yes
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PruneArgs {
    /// Delete files last written before then: a date, a time, or a span such as 2y
    #[arg(long, value_name = "WHEN")]
    older_than: Option<String>,
    /// Delete files of one project directory, by its name below projects/
    #[arg(long, value_name = "KEY")]
    project: Option<String>,
    /// Delete the oldest files until the archive has this size or less, such as 10GB
    #[arg(long, value_name = "SIZE")]
    larger_than: Option<String>,
    /// Delete without asking
    #[arg(long)]
    yes: bool,
    /// Delete the only copies too
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

pub(crate) fn cmd_prune(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    root: &Path,
    args: &PruneArgs,
) -> Result<Outcome, CommandError> {
    let archive = open_archive(home, root)?;
    let mut row = PruneRow::default();
    let choice = choice(environment, args)?;
    if let Some(choice) = choice {
        let catalog = Catalog::read(&archive).map_err(StoreError::from)?;
        let plan = PruneReport::plan(&archive, home, &catalog, &choice)?;
        row.files = plan.files.len() as u64;
        row.bytes = plan.files.iter().map(|(_, bytes)| bytes).sum();
        row.only_copies = plan.only_copies as u64;
        if !output.json {
            for (file, size) in &plan.files {
                output.line(&format!("{:>8}  {}", bytes(*size), one_line(&file.path)))?;
            }
        }
        if plan.only_copies > 0 && !args.force {
            let message = format!(
                "{} of {} exist only in the archive",
                plan.only_copies,
                plural(row.files, "file")
            );
            let error = CommandError::user("only-copy", message);
            return Err(error.with_hint("use --force to delete the only copies"));
        }
        let question = format!(
            "Delete {} ({}) from the archive? This cannot be undone.",
            plural(row.files, "file"),
            bytes(row.bytes)
        );
        if row.files > 0 && (args.yes || journal::confirm(&question, output)?) {
            plan.drop_files(&archive)?;
            row.done = true;
        }
    } else {
        let progress = Progress::new("merging", output);
        let report = merge(&archive, &|done, files| progress.tell(done, files));
        progress.done();
        let report = report?;
        row.done = report.merged + report.tightened > 0;
        row.add_merge(&report);
    }
    if output.json {
        output.row(&row)?;
    } else if row.merged + row.tightened > 0 {
        output.line(&format!(
            "merged {} into {}, recompressed {}, saving {}",
            plural(row.merged, "segment"),
            row.merged_into,
            row.tightened,
            bytes(row.saved)
        ))?;
    } else if row.files > 0 && row.done {
        let (files, size) = (plural(row.files, "file"), bytes(row.bytes));
        output.line(&format!("deleted {files}, {size}"))?;
    } else {
        output.line("nothing to do")?;
    }
    Ok(Outcome::Done)
}

/// What is to be deleted; nothing if only segments are merged.
fn choice(
    environment: &Environment,
    args: &PruneArgs,
) -> Result<Option<PruneChoice>, CommandError> {
    let before = args.older_than.as_deref();
    let before = before.map(|when| read_time("--older-than", when, environment.now()));
    let size = |text: &str| {
        parse_size(text).ok_or_else(|| {
            let message = format!("invalid value `{}` for --larger-than", one_line(text));
            CommandError::user("usage", message).with_hint("use a size such as 10GB")
        })
    };
    let choice = PruneChoice {
        before: before.transpose()?,
        project: args.project.clone(),
        keep_bytes: args.larger_than.as_deref().map(size).transpose()?,
    };
    let is_any = choice.before.is_some() || choice.project.is_some() || choice.keep_bytes.is_some();
    Ok(is_any.then_some(choice))
}
