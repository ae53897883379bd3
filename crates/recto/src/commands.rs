//! The commands, one file each.

pub(crate) mod agents;
pub(crate) mod anonymize;
pub(crate) mod blame;
pub(crate) mod branches;
pub(crate) mod browse;
pub(crate) mod check;
pub(crate) mod clone;
pub(crate) mod collect;
#[cfg(feature = "cloud")]
pub(crate) mod collect_join;
#[cfg(feature = "cloud")]
pub(crate) mod collect_otlp;
pub(crate) mod collect_policy;
pub(crate) mod collect_prune;
pub(crate) mod collect_service;
pub(crate) mod collect_status;
pub(crate) mod collect_store;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod compress;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod context_view;
pub(crate) mod costs;
pub(crate) mod demo;
pub(crate) mod drift;
pub(crate) mod export;
pub(crate) mod file_uses;
pub(crate) mod files;
pub(crate) mod fleet;
pub(crate) mod fork;
pub(crate) mod grep;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod hit_args;
pub(crate) mod home;
#[cfg(feature = "hub")]
pub(crate) mod hub;
pub(crate) mod index;
pub(crate) mod lake;
#[cfg_attr(not(feature = "lake"), path = "commands/lake_absent.rs")]
pub(crate) mod lake_tables;
#[cfg(feature = "lake")]
pub(crate) mod lake_team;
pub(crate) mod licenses;
pub(crate) mod log;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod mock;
pub(crate) mod move_session;
pub(crate) mod overview;
pub(crate) mod pack;
pub(crate) mod plans;
pub(crate) mod prices;
pub(crate) mod query;
pub(crate) mod query_show;
pub(crate) mod redact;
pub(crate) mod redo;
pub(crate) mod rename;
pub(crate) mod repair;
pub(crate) mod repair_all;
pub(crate) mod replay;
pub(crate) mod replay_tools;
pub(crate) mod request;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod scratch;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod shim;
pub(crate) mod show;
pub(crate) mod show_follow;
pub(crate) mod stats;
pub(crate) mod stats_all;
pub(crate) mod stats_charts;
pub(crate) mod stats_text;
pub(crate) mod status;
pub(crate) mod statusline;
pub(crate) mod strip;
pub(crate) mod todos;
pub(crate) mod tools;
pub(crate) mod trim;
pub(crate) mod turns;
pub(crate) mod undo;
pub(crate) mod undo_files;
pub(crate) mod unpack;
pub(crate) mod usage;
pub(crate) mod usage_explain;
pub(crate) mod usage_show;
pub(crate) mod watch;

use crate::cli::Cli;
use crate::cli::Command;
use crate::config::Setting;
use crate::edit::nothing::tell_nothing;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target::open_home;
use crate::select::target::open_or_make_home;
use crate::terminal::output::Output;

/// Runs what was typed.
pub(crate) fn run(
    cli: &Cli,
    environment: &Environment,
    settings: &[Setting],
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    // Opened by those that need it: `recto prices` works where there is no home.
    let home = || open_home(&cli.global, environment);
    if let Some((name, hint)) = cli.command.as_ref().and_then(without_rows)
        && output.json
    {
        let message = format!("`recto {name}` does not support --json or --format");
        return Err(CommandError::user("no-rows", message).with_hint(hint));
    }
    match &cli.command {
        None if browse::is_possible(environment, output) => {
            browse::open(&home()?, environment, output, String::new())
        }
        None => overview::cmd_overview(&home()?, environment, output),
        Some(Command::Browse(args)) => browse::cmd_browse(&home()?, environment, output, args),
        Some(Command::Ls(args)) => ls::cmd_ls(&home()?, environment, output, args),
        Some(Command::Show(args)) => show::cmd_show(&home()?, environment, output, args),
        Some(Command::Search(args)) => search::cmd_search(&home()?, environment, output, args),
        Some(Command::Grep(args)) => grep::cmd_grep(&home()?, environment, output, args),
        Some(Command::Index(args)) => index::cmd_index(&home()?, environment, output, args),
        Some(Command::Home(args)) => home::cmd_home(&home()?, environment, output, args),
        Some(Command::Turns(args)) => turns::cmd_turns(&home()?, environment, output, args),
        Some(Command::Tools(args)) => tools::cmd_tools(&home()?, environment, output, args),
        Some(Command::Watch(args)) => watch::cmd_watch(&home()?, environment, output, args),
        Some(Command::Status(args)) => status::cmd_status(&home()?, environment, output, args),
        Some(Command::Stats(args)) => stats::cmd_stats(&home()?, environment, output, args),
        Some(Command::Usage(args)) => usage::cmd_usage(&home()?, environment, output, args),
        Some(Command::Agents(args)) => agents::cmd_agents(&home()?, environment, output, args),
        Some(Command::Plans(args)) => plans::cmd_plans(&home()?, environment, output, args),
        Some(Command::Blame(args)) => blame::cmd_blame(&home()?, environment, output, args),
        Some(Command::Branches(args)) => {
            branches::cmd_branches(&home()?, environment, output, args)
        }
        Some(Command::Todos(args)) => todos::cmd_todos(&home()?, environment, output, args),
        Some(Command::Scratch(args)) => scratch::cmd_scratch(&home()?, environment, output, args),
        Some(Command::History(args)) => history::cmd_history(&home()?, environment, output, args),
        Some(Command::Export(args)) => export::cmd_export(&home()?, environment, output, args),
        Some(Command::Request(args)) => request::cmd_request(&home()?, environment, output, args),
        Some(Command::Replay(args)) => replay::cmd_replay(&home()?, environment, output, args),
        Some(Command::Mock(args)) => mock::cmd_mock(&cli.global, environment, output, args),
        Some(Command::Run(args)) => {
            let home = open_or_make_home(&cli.global, environment)?;
            run::cmd_run(&home, environment, output, args)
        }
        Some(Command::Resume(args)) => resume::cmd_resume(&home()?, environment, output, args),
        Some(Command::Shim(args)) => shim::cmd_shim(output, args),
        Some(Command::Rename(args)) => rename::cmd_rename(&home()?, environment, output, args),
        Some(Command::Rm(args)) => rm::cmd_rm(&home()?, environment, output, args),
        Some(Command::Undo(args)) => undo::cmd_undo(&home()?, environment, output, args),
        Some(Command::Redo(args)) => redo::cmd_redo(&home()?, environment, output, args),
        Some(Command::Log(args)) => log::cmd_log(&home()?, environment, output, args),
        Some(Command::Clone(args)) => clone::cmd_clone(&home()?, environment, output, args),
        Some(Command::Trim(args)) => {
            let edited = trim::cmd_trim(&home()?, environment, output, args);
            or_nothing("trim", output, edited)
        }
        Some(Command::Strip(args)) => {
            let edited = strip::cmd_strip(&home()?, environment, output, args);
            or_nothing("strip", output, edited)
        }
        Some(Command::Compress(args)) => {
            let edited = compress::cmd_compress(&home()?, environment, output, args);
            or_nothing("compress", output, edited)
        }
        Some(Command::Repair(args)) if args.list => repair::list(output),
        Some(Command::Repair(args)) => repair::cmd_repair(&home()?, environment, output, args),
        Some(Command::Redact(args)) => {
            let edited = redact::cmd_redact(&home()?, environment, output, args);
            or_nothing("redact", output, edited)
        }
        Some(Command::Anonymize(args)) => anonymize::cmd_anonymize(home, environment, output, args),
        Some(Command::Fork(args)) => {
            let edited = fork::cmd_fork(&home()?, environment, output, args);
            or_nothing("fork", output, edited)
        }
        Some(Command::Merge(args)) => {
            let edited = merge::cmd_merge(&home()?, environment, output, args);
            or_nothing("merge", output, edited)
        }
        Some(Command::Move(args)) => {
            let edited = move_session::cmd_move(&home()?, environment, output, args);
            or_nothing("move", output, edited)
        }
        Some(Command::Pack(args)) => pack::cmd_pack(&home()?, environment, output, args),
        Some(Command::Collect(args)) => collect::cmd_collect(&home()?, environment, output, args),
        Some(Command::Query(args)) => query::cmd_query(home, environment, output, args),
        Some(Command::Lake(args)) => lake_tables::cmd_lake(environment, output, args),
        Some(Command::Fleet(args)) => fleet::cmd_fleet(environment, output, args),
        #[cfg(feature = "hub")]
        Some(Command::Hub(args)) => hub::cmd_hub(environment, output, args),
        Some(Command::Restore(args)) => restore::cmd_restore(&home()?, environment, output, args),
        Some(Command::Unpack(args)) => unpack::cmd_unpack(&home()?, environment, output, args),
        Some(Command::Files(args)) => files::cmd_files(&home()?, environment, output, args),
        Some(Command::Drift(args)) => drift::cmd_drift(&home()?, environment, output, args),
        Some(Command::Check(args)) => check::cmd_check(&home()?, environment, output, args),
        Some(Command::Mcp(args)) => mcp::cmd_mcp(&home()?, environment, args),
        Some(Command::Serve(args)) => serve::cmd_serve(&home()?, environment, output, args),
        Some(Command::Context(args)) => context::cmd_context(&home()?, environment, output, args),
        Some(Command::Config(_)) => config::cmd_config(environment, settings, output),
        Some(Command::Licenses(_)) => licenses::cmd_licenses(output),
        Some(Command::Help(args)) => help::cmd_help(args, output),
        Some(Command::Demo) => demo::cmd_demo(environment, output),
        Some(Command::Complete(args)) => {
            complete::cmd_complete(&cli.global, environment, output, args)
        }
        Some(Command::Completions(args)) => completions::cmd_completions(args, output),
        Some(Command::Man(args)) => man::cmd_man(args, output),
        Some(Command::Statusline(args)) => statusline::cmd_statusline(environment, output, args),
        Some(Command::Prices(args)) => prices::cmd_prices(environment, output, args),
    }
}

/// The commands that write documents, scripts and answers of their own form, and what to do
/// instead.
fn without_rows(command: &Command) -> Option<(&'static str, &'static str)> {
    Some(match command {
        Command::Export(_) => ("export", "use `--to json` to write a session as JSON"),
        Command::Licenses(_) => ("licenses", "run it without the option"),
        Command::Man(_) => ("man", "run it without the option"),
        Command::Completions(_) => ("completions", "run it without the option"),
        Command::Help(_) => ("help", "run it without the option"),
        Command::Demo => ("demo", "run it without the option"),
        Command::Mcp(_) => ("mcp", "run it without the option: it speaks JSON-RPC"),
        _ => return None,
    })
}

/// An edit that finds nothing to change has done what was asked: it says so, and ends well.
fn or_nothing(
    operation: &str,
    output: &mut Output,
    edited: Result<Outcome, CommandError>,
) -> Result<Outcome, CommandError> {
    match edited {
        Err(error) if error.kind() == "nothing-to-do" => {
            tell_nothing(operation, output, &error.to_string())
        }
        other => other,
    }
}
