//! The command line: what can be typed.

use std::process::ExitCode;

use clap::Parser;
use clap::Subcommand;
use clap::error::ContextKind;
use clap::error::ContextValue;
use clap::error::ErrorKind;

use crate::commands::agents::AgentsArgs;
use crate::commands::anonymize::AnonymizeArgs;
use crate::commands::blame::BlameArgs;
use crate::commands::branches::BranchesArgs;
use crate::commands::browse::BrowseArgs;
use crate::commands::check::CheckArgs;
use crate::commands::clone::CloneArgs;
use crate::commands::collect::CollectArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::compress::CompressArgs;
use crate::commands::context::ContextArgs;
use crate::commands::drift::DriftArgs;
use crate::commands::export::ExportArgs;
use crate::commands::files::FilesArgs;
use crate::commands::find::FindArgs;
use crate::commands::fork::ForkArgs;
use crate::commands::grep::GrepArgs;
use crate::commands::history::HistoryArgs;
use crate::commands::home::HomeArgs;
use crate::commands::index::IndexArgs;
use crate::commands::log::LogArgs;
use crate::commands::ls::LsArgs;
use crate::commands::man::ManArgs;
use crate::commands::mcp::McpArgs;
use crate::commands::merge::MergeArgs;
use crate::commands::mock::MockArgs;
use crate::commands::move_session::MoveArgs;
use crate::commands::pack::PackArgs;
use crate::commands::plans::PlansArgs;
use crate::commands::prices::PricesArgs;
use crate::commands::redact::RedactArgs;
use crate::commands::redo::RedoArgs;
use crate::commands::rename::RenameArgs;
use crate::commands::repair::RepairArgs;
use crate::commands::replay::ReplayArgs;
use crate::commands::request::RequestArgs;
use crate::commands::restore::RestoreArgs;
use crate::commands::resume::ResumeArgs;
use crate::commands::rm::RmArgs;
use crate::commands::run::RunArgs;
use crate::commands::scratch::ScratchArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::shim::ShimArgs;
use crate::commands::show::ShowArgs;
use crate::commands::stats::StatsArgs;
use crate::commands::status::StatusArgs;
use crate::commands::statusline::StatuslineArgs;
use crate::commands::strip::StripArgs;
use crate::commands::todos::TodosArgs;
use crate::commands::tools::ToolsArgs;
use crate::commands::trim::TrimArgs;
use crate::commands::turns::TurnsArgs;
use crate::commands::undo::UndoArgs;
use crate::commands::unpack::UnpackArgs;
use crate::commands::usage::UsageArgs;
use crate::commands::watch::WatchArgs;
use crate::global::Global;
use crate::terminal::text::safe;

/// Find, read, check and edit the sessions of Claude Code.
///
/// Without a command, recto opens a browser on a terminal: sessions, transcripts,
/// search. Elsewhere it prints an overview of the home: how many sessions there
/// are, which ones run now, and the newest ones.
///
/// A SESSION is an id, the beginning of an id, a title or a part of one, the
/// path of a log, `agent-ID` for a subagent, `latest`, `current` (named by
/// SESSION_CONTEXT), or `-` to read it from standard input.
#[derive(Debug, Parser)]
#[command(name = "recto", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Browse(BrowseArgs),
    Ls(LsArgs),
    Show(ShowArgs),
    Find(FindArgs),
    Grep(GrepArgs),
    Stats(StatsArgs),
    Context(ContextArgs),
    Usage(UsageArgs),
    Prices(PricesArgs),
    Turns(TurnsArgs),
    Branches(BranchesArgs),
    Tools(ToolsArgs),
    Agents(AgentsArgs),
    Files(FilesArgs),
    Blame(BlameArgs),
    Plans(PlansArgs),
    Todos(TodosArgs),
    History(HistoryArgs),
    Export(ExportArgs),
    Serve(ServeArgs),
    Status(StatusArgs),
    Watch(WatchArgs),
    Mcp(McpArgs),
    Statusline(StatuslineArgs),
    Scratch(ScratchArgs),
    Request(RequestArgs),
    Replay(ReplayArgs),
    Mock(MockArgs),
    Run(Box<RunArgs>),
    Resume(Box<ResumeArgs>),
    Shim(ShimArgs),
    Rename(RenameArgs),
    Rm(RmArgs),
    Undo(UndoArgs),
    Redo(RedoArgs),
    Log(LogArgs),
    Clone(CloneArgs),
    Fork(ForkArgs),
    Trim(TrimArgs),
    Strip(StripArgs),
    Compress(CompressArgs),
    Repair(RepairArgs),
    Redact(RedactArgs),
    Anonymize(AnonymizeArgs),
    Merge(MergeArgs),
    Move(MoveArgs),
    Pack(PackArgs),
    Unpack(UnpackArgs),
    Collect(CollectArgs),
    Restore(RestoreArgs),
    Home(HomeArgs),
    Index(IndexArgs),
    Drift(DriftArgs),
    Check(CheckArgs),
    /// Show what recto does, on a sample home that comes with it
    ///
    /// Nothing of yours is read or written: the sample is put into a temporary
    /// directory and removed again.
    ///
    /// Example:
    ///   recto demo
    #[command(verbatim_doc_comment)]
    Demo,
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The command line of the client, where this program has its name.
#[derive(Debug, Parser)]
#[command(name = "claude", disable_version_flag = true, disable_help_subcommand = true)]
struct ClientCli {
    #[command(flatten)]
    run: RunArgs,
    /// The version of the protocol, and who speaks it
    #[arg(short = 'v', long)]
    version: bool,
    /// Say more on standard error
    #[arg(long, hide = true)]
    debug: bool,
    #[arg(long, hide = true)]
    debug_to_stderr: bool,
}

/// What was typed to this program, or how it ends at once.
pub(crate) fn parse(is_client: bool) -> Result<Cli, ExitCode> {
    if !is_client {
        return Cli::try_parse().map_err(|error| fail(with_tips(error)));
    }
    let typed = ClientCli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => fail(error),
        _ => {
            crate::terminal::output::complain(&safe(&error.render().to_string()));
            ExitCode::from(1)
        }
    })?;
    if typed.version {
        crate::terminal::output::tell_version(crate::running::COMPATIBLE);
        return Err(ExitCode::SUCCESS);
    }
    Ok(Cli { global: Global::default(), command: Some(Command::Run(Box::new(typed.run))) })
}

/// Adds a tip for what people type most often without quotes: `find error -warning`.
pub(crate) fn with_tips(mut error: clap::Error) -> clap::Error {
    let is_find = matches!(
        error.get(ContextKind::Usage),
        Some(ContextValue::StyledStr(usage)) if usage.to_string().contains("recto find ")
    );
    if is_find && error.kind() == ErrorKind::UnknownArgument {
        let tip = "put the query in quotes: recto find 'error -warning'";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Says what was typed wrong. What was typed is in the message, and may be a name that a
/// shell completed: nothing in it acts on the terminal.
pub(crate) fn fail(error: clap::Error) -> ExitCode {
    let message = error.render().to_string();
    let shown = safe(&message);
    if shown == message {
        error.exit();
    }
    // Colours are part of the message, and could not be told from those that were typed.
    crate::terminal::output::complain(&shown);
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
