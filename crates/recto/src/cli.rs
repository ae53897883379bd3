//! The command line: what can be typed.

use std::process::ExitCode;

use clap::CommandFactory;
use clap::FromArgMatches;
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
use crate::commands::complete::CompleteArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::compress::CompressArgs;
use crate::commands::config::ConfigArgs;
use crate::commands::context::ContextArgs;
use crate::commands::drift::DriftArgs;
use crate::commands::export::ExportArgs;
use crate::commands::files::FilesArgs;
use crate::commands::fleet::FleetArgs;
use crate::commands::fork::ForkArgs;
use crate::commands::grep::GrepArgs;
use crate::commands::help;
use crate::commands::help::HelpArgs;
use crate::commands::history::HistoryArgs;
use crate::commands::home::HomeArgs;
#[cfg(feature = "hub")]
use crate::commands::hub::HubArgs;
use crate::commands::index::IndexArgs;
use crate::commands::lake::LakeArgs;
use crate::commands::licenses::LicensesArgs;
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
use crate::commands::query::QueryArgs;
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
use crate::commands::search::SearchArgs;
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
use crate::environment::Environment;
use crate::global::Global;
use crate::misuse;
use crate::terminal::output::Output;
use crate::terminal::text::safe;

/// The version, with what else a bug report should name.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("RECTO_COMMIT"),
    ", ",
    env!("RECTO_TARGET"),
    ", prices from ",
    env!("RECTO_PRICE_DATE"),
    ")"
);

/// Search, read, watch, repair and edit your Claude Code sessions
///
/// Without a command on a terminal, recto opens a browser for sessions, transcripts and
/// search. Elsewhere it prints an overview of the home: the number of sessions, the running
/// ones and the newest ones.
///
/// A SESSION is an id or id prefix, a title or part of one, the path of a log, `agent-ID` for
/// a subagent, `latest`, `current` (named by SESSION_CONTEXT), or `-` to read it from standard
/// input. Commands that change or delete sessions accept only an id, an id prefix or a full
/// title.
#[derive(Debug, Parser)]
#[command(name = "recto", version = VERSION, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The commands, in the groups of `commands::help`. Names that people type are aliases.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(aliases = ["list", "sessions"])]
    Ls(LsArgs),
    #[command(aliases = ["cat", "view"])]
    Show(ShowArgs),
    #[command(alias = "find")]
    Search(SearchArgs),
    #[command(hide = true)]
    Grep(GrepArgs),
    #[command(alias = "continue")]
    Resume(Box<ResumeArgs>),
    Run(Box<RunArgs>),
    #[command(alias = "ps")]
    Status(StatusArgs),
    #[command(alias = "top")]
    Watch(WatchArgs),
    #[command(alias = "cost")]
    Usage(UsageArgs),
    Export(ExportArgs),
    #[command(alias = "web")]
    Serve(ServeArgs),
    #[command(aliases = ["tui", "ui"])]
    Browse(BrowseArgs),
    Stats(StatsArgs),
    Turns(TurnsArgs),
    Tools(ToolsArgs),
    Files(FilesArgs),
    Agents(AgentsArgs),
    Plans(PlansArgs),
    #[command(alias = "tasks")]
    Todos(TodosArgs),
    Branches(BranchesArgs),
    Context(ContextArgs),
    #[command(alias = "prompts")]
    History(HistoryArgs),
    Blame(BlameArgs),
    #[command(alias = "sql")]
    Query(QueryArgs),
    Fork(ForkArgs),
    #[command(aliases = ["cp", "copy"])]
    Clone(CloneArgs),
    Trim(TrimArgs),
    Strip(StripArgs),
    #[command(alias = "compact")]
    Compress(CompressArgs),
    Redact(RedactArgs),
    Anonymize(AnonymizeArgs),
    Merge(MergeArgs),
    Rename(RenameArgs),
    #[command(aliases = ["remove", "delete"])]
    Rm(RmArgs),
    #[command(alias = "mv")]
    Move(MoveArgs),
    Undo(UndoArgs),
    Redo(RedoArgs),
    Log(LogArgs),
    #[command(alias = "doctor")]
    Check(CheckArgs),
    #[command(alias = "fix")]
    Repair(RepairArgs),
    #[command(alias = "du")]
    Home(HomeArgs),
    Drift(DriftArgs),
    #[command(aliases = ["archive", "backup"])]
    Collect(CollectArgs),
    Restore(RestoreArgs),
    Fleet(FleetArgs),
    #[cfg(feature = "hub")]
    Hub(HubArgs),
    Lake(LakeArgs),
    Pack(PackArgs),
    Unpack(UnpackArgs),
    Mcp(McpArgs),
    Mock(MockArgs),
    Replay(ReplayArgs),
    Request(RequestArgs),
    Statusline(StatuslineArgs),
    Index(IndexArgs),
    Prices(PricesArgs),
    Scratch(ScratchArgs),
    Config(ConfigArgs),
    Shim(ShimArgs),
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Complete(CompleteArgs),
    Man(ManArgs),
    Licenses(LicensesArgs),
    Help(HelpArgs),
    /// Try recto on sample data
    ///
    /// Does not read or write your data: recto puts the sample into a temporary directory and
    /// removes it afterwards.
    ///
    /// Example:
    ///   recto demo
    #[command(verbatim_doc_comment)]
    Demo,
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
}

/// What was typed to this program, or how it ends at once.
pub(crate) fn parse(environment: &Environment) -> Result<Cli, ExitCode> {
    if !environment.run.is_client {
        let parsed = help::grouped(Cli::command())
            .try_get_matches()
            .and_then(|matches| Cli::from_arg_matches(&matches));
        return parsed.map_err(|error| fail(&error, environment));
    }
    let typed = ClientCli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => fail(&error, environment),
        _ => {
            crate::terminal::output::complain(&safe(&client_words(&error)));
            ExitCode::from(1)
        }
    })?;
    if typed.version {
        crate::terminal::output::tell_version(crate::running::COMPATIBLE);
        return Err(ExitCode::SUCCESS);
    }
    Ok(Cli { global: Global::default(), command: Some(Command::Run(Box::new(typed.run))) })
}

/// An error as scripts for the client know it.
fn client_words(error: &clap::Error) -> String {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => {
            format!("error: unknown option '{option}'\n")
        }
        _ => error.render().to_string(),
    }
}

/// Says what was typed wrong, or shows help. What was typed may be a name that a shell completed:
/// nothing in it acts on the terminal.
fn fail(error: &clap::Error, environment: &Environment) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        error.exit();
    }
    let json = Environment::wants_json().then(String::new);
    let global = Global { json, ..Global::default() };
    let error = misuse::explain(error, &Cli::command());
    Output::new(&global, environment).report(&error);
    ExitCode::from(error.exit_code())
}
