//! `recto lake`: the sessions of a team as tables in a store.
//!
//! The command line is the same in every build; without the feature `lake` each command says that
//! it is not built in.

// What was typed is not looked at then.
#![cfg_attr(not(feature = "lake"), allow(dead_code))]

use clap::Args;
use clap::Subcommand;

use crate::commands::prices::PricesOption;

/// Turn a team's sessions into tables
///
/// The tables are Delta tables in the store itself. `recto query --store` queries them, and so do
/// DuckDB, Polars, ClickHouse, Spark and Trino, without recto. Only recto writes them.
///
/// Examples:
///   recto lake build --store s3://team-sessions/claude
///   recto query --store s3://team-sessions/claude cost-by-user
///   recto lake ddl --store s3://team-sessions/claude --engine duckdb
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LakeArgs {
    #[command(subcommand)]
    pub(super) command: LakeCommand,
}

/// Which store.
#[derive(Debug, Args)]
pub(super) struct LakeStore {
    /// The store: s3://, gs://, az://, or a directory
    #[arg(long, value_name = "URL")]
    pub(super) store: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum LakeCommand {
    Build(BuildArgs),
    Rebuild(RebuildArgs),
    Status(StatusArgs),
    Optimize(OptimizeArgs),
    Vacuum(VacuumArgs),
    Erase(EraseArgs),
    Files(FilesArgs),
    Ddl(DdlArgs),
}

/// Add new segments to the tables
///
/// Several builders can run at once; every line is in the tables once. A builder that is killed
/// loses nothing: the next one finishes its work.
///
/// Example:
///   recto lake build --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    pub(super) store: LakeStore,
    #[command(flatten)]
    pub(super) prices: PricesOption,
}

/// Build all tables again, then switch to them
///
/// Use it after an update of recto that reads logs better, or after damage. Readers keep the old
/// tables until the new ones are complete; `recto lake vacuum` removes the old ones later.
///
/// Example:
///   recto lake rebuild --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct RebuildArgs {
    #[command(flatten)]
    pub(super) store: LakeStore,
    #[command(flatten)]
    pub(super) prices: PricesOption,
}

/// Show versions, files, rows and sizes of the tables
///
/// Example:
///   recto lake status --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    pub(super) store: LakeStore,
}

/// Merge small files of the tables
///
/// Example:
///   recto lake optimize --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct OptimizeArgs {
    #[command(flatten)]
    pub(super) store: LakeStore,
    /// Only tables with at least this many small files
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(super) at_least: usize,
}

/// Remove files that the tables no longer use
///
/// Shows what would be removed; --yes removes it. Readers that started before a file was replaced
/// may still need it for a while.
///
/// Example:
///   recto lake vacuum --store s3://team-sessions/claude --yes
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct VacuumArgs {
    #[command(flatten)]
    pub(super) store: LakeStore,
    /// Keep files that were replaced within this many hours
    #[arg(long, value_name = "HOURS", default_value_t = 168)]
    pub(super) retain_hours: u32,
    /// Remove without asking
    #[arg(long)]
    pub(super) yes: bool,
}

/// Erase what a machine, a user or a session has in the tables and the archive
///
/// Shows what would be erased; --yes erases it. Removes the rows, the files that contained them
/// and the archived segments, and leaves a note so that nothing comes back. recto's own queries
/// keep working; other engines that opened a table before fail on a removed file, unless --grace
/// gives them time.
///
/// Examples:
///   recto lake erase --store s3://team-sessions/claude --user alice
///   recto lake erase --store s3://team-sessions/claude --machine 5b0c91d24e6f7a83 --yes
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[group(id = "whose", required = true, multiple = false, args = ["machine", "user", "session"])]
pub(super) struct EraseArgs {
    #[command(flatten)]
    pub(super) store: LakeStore,
    /// Everything of a machine
    #[arg(long, value_name = "MACHINE")]
    pub(super) machine: Option<String>,
    /// Everything of the machines of a user
    #[arg(long, value_name = "USER")]
    pub(super) user: Option<String>,
    /// A session, by its whole id
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
    /// Keep files with the rows for so many seconds, for queries that are running
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(super) grace: u64,
    /// Erase without asking
    #[arg(long)]
    pub(super) yes: bool,
}

/// List the current files of a table
///
/// For engines that read Parquet but not Delta.
///
/// Example:
///   recto lake files usage --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct FilesArgs {
    /// The table
    #[arg(value_name = "TABLE")]
    pub(super) table: String,
    #[command(flatten)]
    pub(super) store: LakeStore,
}

/// Print statements that add the tables to an engine
///
/// Engines: spark, duckdb, clickhouse, trino, polars.
///
/// Example:
///   recto lake ddl --engine duckdb --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct DdlArgs {
    /// The engine
    #[arg(long, value_name = "ENGINE")]
    pub(super) engine: String,
    #[command(flatten)]
    pub(super) store: LakeStore,
}
