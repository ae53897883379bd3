//! `recto collect`: everything in the home into an archive, before it is deleted.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use clap::Args;
use clap::Subcommand;
use clap::ValueEnum;
use recto_collect::Store;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::StoreError;
use recto_store::follow::FileKind;
use recto_store::keep::Archive;
use recto_store::keep::CollectOptions;
use recto_store::keep::CollectReport;
use recto_store::keep::Collector;
use recto_store::keep::KeepError;
use recto_store::keep::KeepWatch;
use recto_store::keep::MachineId;
use recto_store::keep::Trouble;
use recto_view::CollectRow;

#[cfg(feature = "cloud")]
use crate::commands::collect_join;
#[cfg(feature = "cloud")]
use crate::commands::collect_join::JoinArgs;
#[cfg(feature = "cloud")]
use crate::commands::collect_otlp;
use crate::commands::collect_policy;
use crate::commands::collect_policy::PolicyArgs;
use crate::commands::collect_prune;
use crate::commands::collect_prune::PruneArgs;
use crate::commands::collect_service;
use crate::commands::collect_status;
use crate::commands::collect_store;
use crate::commands::collect_store::SendArgs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::output::remark;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;

/// How often a failing watch tries again.
const RETRY: Duration = Duration::from_secs(10);
/// How often a watch says that it lives, if there is nothing new.
const BEAT: Duration = Duration::from_secs(3600);

/// Archive the home before Claude Code deletes it
///
/// Copies what is new since the last run: session logs, subagents, prompt history, to-dos,
/// tasks, plans, memory, long tool results and file snapshots. Credentials and settings are
/// never opened. The archive is append-only and readable with `zstd -d`. `recto restore`
/// brings sessions back, and Claude Code resumes them.
///
/// With --watch, keeps running and archives every line within seconds.
///
/// With --to and the address of a bucket or container (s3://, gs://, az://) or of a hub
/// (https://), archives locally and then sends the archive to a store that many machines can
/// share, with secrets replaced; see `recto collect policy`. The next run sends whatever this
/// one could not.
///
/// --otlp sends tokens, cost, turns and tool calls to an OpenTelemetry collector instead, as
/// metrics and spans without any text. Headers come from OTEL_EXPORTER_OTLP_HEADERS.
///
/// Examples:
///   recto collect
///   recto collect --watch
///   recto collect --to s3://team-sessions/claude
///   recto collect --to https://hub.example.com
///   recto collect --otlp http://127.0.0.1:4318
///   recto collect status
///   recto collect verify
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct CollectArgs {
    #[command(subcommand)]
    command: Option<CollectCommand>,
    #[command(flatten)]
    target: TargetArgs,
    /// Keep running and archive new lines
    #[arg(long)]
    watch: bool,
    /// Skip large kinds of files; without file-history, restored sessions cannot rewind files
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    without: Vec<Optional>,
    #[command(flatten)]
    send: SendArgs,
    /// Send usage, turns and tool calls to an OpenTelemetry collector, without any text
    #[cfg(feature = "cloud")]
    #[arg(long, value_name = "URL", conflicts_with = "watch")]
    otlp: Option<String>,
}

/// Where the archive is.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// A directory, a store (s3://, gs://, az://) or a hub (https://) [default: archive in recto's
    /// data directory]
    #[arg(long = "to", value_name = "URL")]
    to: Option<String>,
}

/// Kinds of files that can be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Optional {
    ToolResults,
    FileHistory,
}

#[derive(Debug, Subcommand)]
enum CollectCommand {
    Status(StatusArgs),
    Verify(VerifyArgs),
    Policy(PolicyArgs),
    #[cfg(feature = "cloud")]
    Join(JoinArgs),
    Prune(PruneArgs),
    Install(InstallArgs),
    Uninstall(UninstallArgs),
}

/// Show what is archived, and what is not yet
///
/// Examples:
///   recto collect status
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct StatusArgs {
    #[command(flatten)]
    target: TargetArgs,
}

/// Read the whole archive back and compare it with the home
///
/// Checks the digest of every segment, looks for gaps, and compares every file of the home with
/// its copy. Exits with 1 if anything is damaged, missing or not archived yet.
///
/// Examples:
///   recto collect verify
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct VerifyArgs {
    #[command(flatten)]
    target: TargetArgs,
}

/// Start collecting at login, with systemd or launchd
///
/// Writes a user service that runs `recto collect --watch` at low priority, and starts it.
///
/// Examples:
///   recto collect install
///   recto collect install --dry-run
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct InstallArgs {
    /// Show the service file and the commands, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    target: TargetArgs,
}

/// Stop collecting at login
///
/// Stops the service of `recto collect install` and removes its file. The archive stays.
///
/// Examples:
///   recto collect uninstall
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct UninstallArgs {
    /// Show what would be removed, and do nothing
    #[arg(long)]
    dry_run: bool,
}

impl TargetArgs {
    /// The directory of the archive.
    pub(crate) fn directory(&self, data: &DataDirectory) -> Result<PathBuf, CommandError> {
        archive_directory(self.to.as_deref(), "--to", data)
    }

    /// The address of a store beyond this machine.
    pub(crate) fn store(&self) -> Option<&str> {
        self.to.as_deref().filter(|address| collect_store::is_store(address))
    }
}

/// The directory that an option names, or the usual one.
pub(crate) fn archive_directory(
    url: Option<&str>,
    option: &str,
    data: &DataDirectory,
) -> Result<PathBuf, CommandError> {
    let Some(url) = url else { return Ok(data.root().join("archive")) };
    let path = match url.split_once("://") {
        Some(("file", path)) => path,
        Some((scheme, _)) => {
            let message = format!("{option}: unsupported scheme `{}`", one_line(scheme));
            let error = CommandError::user("usage", message);
            return Err(error.with_hint("use a directory or a file:// URL here"));
        }
        None => url,
    };
    Ok(std::path::absolute(path)?)
}

pub(crate) fn cmd_collect(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &CollectArgs,
) -> Result<Outcome, CommandError> {
    let data = environment.data_directory()?;
    match &args.command {
        None => {}
        Some(CollectCommand::Status(args)) => {
            if let Some(address) = args.target.store() {
                return collect_store::cmd_status(home, environment, output, address);
            }
            let root = args.target.directory(&data)?;
            return collect_status::status(home, environment, output, &data, &root);
        }
        Some(CollectCommand::Policy(args)) => {
            return collect_policy::cmd_policy(home, environment, output, args);
        }
        #[cfg(feature = "cloud")]
        Some(CollectCommand::Join(args)) => {
            return collect_join::cmd_join(home, environment, output, args);
        }
        Some(CollectCommand::Verify(args)) => {
            if let Some(address) = args.target.store() {
                return collect_store::cmd_verify(home, environment, output, address);
            }
            let root = args.target.directory(&data)?;
            return collect_status::verify(home, environment, output, &root);
        }
        Some(CollectCommand::Prune(args)) => {
            let root = args.target.directory(&data)?;
            return collect_prune::cmd_prune(home, environment, output, &root, args);
        }
        Some(CollectCommand::Install(args)) => {
            let to = match (args.target.store(), &args.target.to) {
                (Some(address), _) => {
                    collect_store::open_target(home, environment, address)?;
                    Some(address.to_owned())
                }
                (None, Some(_)) => {
                    Some(args.target.directory(&data)?.to_string_lossy().into_owned())
                }
                (None, None) => None,
            };
            let to = to.as_deref();
            return collect_service::install(home, environment, output, to, args.dry_run);
        }
        Some(CollectCommand::Uninstall(args)) => {
            return collect_service::uninstall(environment, output, args.dry_run);
        }
    }
    let options = CollectOptions { kinds: kinds(&args.without), ..CollectOptions::default() };
    #[cfg(feature = "cloud")]
    if let Some(address) = &args.otlp {
        let archived = match args.target.to {
            None => Outcome::Done,
            Some(_) => archive_once(home, environment, output, args, options)?,
        };
        let told = collect_otlp::cmd_otlp(home, environment, output, address)?;
        return Ok(if archived == Outcome::Done { told } else { archived });
    }
    archive_once(home, environment, output, args, options)
}

/// Archives, and sends to a store if one is named.
fn archive_once(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &CollectArgs,
    options: CollectOptions,
) -> Result<Outcome, CommandError> {
    let data = environment.data_directory()?;
    if let Some(address) = args.target.store() {
        let (send, watches) = (&args.send, args.watch);
        return collect_store::cmd_send(home, environment, output, address, options, send, watches);
    }
    if args.send.is_given() {
        let message = "--every and --bandwidth need a store";
        return Err(CommandError::user("usage", message).with_hint("name it with --to"));
    }
    let root = args.target.directory(&data)?;
    let mut collector = Collector::open(home, &data, &root, options)?;
    let progress = Progress::new("collecting", output);
    let report = collector.collect(&mut |at| progress.tell_bytes(at.done_bytes, at.bytes));
    progress.done();
    let report = report?;
    tell(environment, output, &root, &report)?;
    let mut heart = match args.target.to {
        // A directory that somebody names can be that of a team.
        Some(_) => Some(Heart::new(home, &root)?),
        None => None,
    };
    if let Some(heart) = &mut heart {
        heart.beat(environment)?;
    }
    match args.watch {
        true => watch(home, environment, output, &root, collector, heart),
        false if report.troubles.is_empty() => Ok(Outcome::Done),
        false => Ok(Outcome::Found),
    }
}

/// The kinds that are kept.
fn kinds(without: &[Optional]) -> Vec<FileKind> {
    let is_wanted = |kind: &FileKind| match kind {
        FileKind::ToolResult => !without.contains(&Optional::ToolResults),
        FileKind::FileHistory => !without.contains(&Optional::FileHistory),
        _ => true,
    };
    CollectOptions::default().kinds.into_iter().filter(is_wanted).collect()
}

/// Keeps running until a signal ends it; a segment is whole whenever that is.
fn watch(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    root: &Path,
    collector: Collector,
    mut heart: Option<Heart>,
) -> Result<Outcome, CommandError> {
    output.flush()?;
    let watch = KeepWatch::new(home, collector)?;
    keep_on(watch, &mut |step| match step {
        Ok(report) => {
            let is_news = is_news(report);
            if is_news {
                tell(environment, output, root, report)?;
            }
            if let Some(heart) = &mut heart
                && (is_news || heart.is_due())
            {
                heart.beat(environment)?;
            }
            output.flush()
        }
        Err(text) => {
            output.remark(&collecting_failed(&text));
            Ok(())
        }
    })
}

/// Whether there is something to tell.
fn is_news(report: &CollectReport) -> bool {
    report.changed > 0 || report.gone > 0 || report.moved > 0 || !report.troubles.is_empty()
}

/// Says in a directory who archives to it, as a machine does in a store.
struct Heart {
    store: Store,
    archive: Archive,
    last: Instant,
}

impl Heart {
    fn new(home: &Home, root: &Path) -> Result<Heart, CommandError> {
        let archive = open_archive(home, root)?;
        let store = Store::of_directory(root)?;
        Ok(Heart { store, archive, last: Instant::now() })
    }

    fn is_due(&self) -> bool {
        self.last.elapsed() >= BEAT
    }

    fn beat(&mut self, environment: &Environment) -> Result<(), CommandError> {
        let facts = collect_store::facts(environment);
        self.store.note_archive(&self.archive, &facts, environment.now())?;
        self.last = Instant::now();
        Ok(())
    }
}

/// Collects beside a server, as long as the program runs.
pub(crate) fn collect_beside(home: &Home, data: &DataDirectory) -> Result<(), CommandError> {
    let root = data.root().join("archive");
    let collector = Collector::open(home, data, &root, CollectOptions::default())?;
    let watch = KeepWatch::new(home, collector)?;
    std::thread::Builder::new().name("collect".into()).spawn(move || {
        // It ends with the program: nobody is told what was collected, only what was not.
        let _ = keep_on(watch, &mut |step| {
            match step {
                Ok(report) => report.troubles.iter().for_each(|trouble| remark(&not_kept(trouble))),
                Err(text) => remark(&collecting_failed(&text)),
            }
            Ok(())
        });
    })?;
    Ok(())
}

/// Is told what was collected, or why nothing was.
type Told<'a> = dyn FnMut(Result<&CollectReport, String>) -> Result<(), CommandError> + 'a;

/// Collects again and again, and says what was done, or why nothing was.
fn keep_on(mut watch: KeepWatch, tell: &mut Told<'_>) -> Result<Outcome, CommandError> {
    let mut last_error = None;
    loop {
        match watch.step(RETRY) {
            Ok(report) => {
                last_error = None;
                tell(Ok(&report))?;
            }
            Err(error) => {
                // A full disk may be emptied; saying it once is enough.
                let text = error.to_string();
                if last_error.as_ref() != Some(&text) {
                    tell(Err(text.clone()))?;
                }
                last_error = Some(text);
                std::thread::sleep(RETRY);
            }
        }
    }
}

pub(crate) fn collecting_failed(text: &str) -> String {
    format!("collecting failed, trying again: {}", one_line(text))
}

pub(crate) fn not_kept(trouble: &Trouble) -> String {
    let path = one_line(&trouble.path.to_string_lossy());
    format!("not archived: {path}: {}", one_line(&trouble.reason))
}

pub(crate) fn tell(
    environment: &Environment,
    output: &mut Output,
    root: &Path,
    report: &CollectReport,
) -> Result<(), CommandError> {
    if output.json {
        return output.row(&CollectRow::new(root, report));
    }
    for trouble in &report.troubles {
        output.remark(&not_kept(trouble));
    }
    let place = shown(root, environment);
    if report.changed == 0 && report.gone == 0 && report.moved == 0 {
        return output.line(&format!("nothing new; {} in {place}", plural(report.files, "file")));
    }
    let mut line = match report.changed {
        0 => format!("nothing new in {place}"),
        changed => format!(
            "archived {} of {} in {place}",
            bytes(report.captured.bytes),
            plural(changed, "file")
        ),
    };
    for (count, what) in [
        (report.captured.lives, "rewritten"),
        (report.captured.copies, "of sessions that another project has too"),
        (report.gone, "deleted"),
        (report.moved, "moved"),
        (report.captured.conflicts, "kept under another name"),
    ] {
        if count > 0 {
            line.push_str(&format!("; {count} {what}"));
        }
    }
    output.line(&line)
}

pub(crate) fn shown(path: &Path, environment: &Environment) -> String {
    one_line(&path_from_home(&path.to_string_lossy(), environment.user_home.as_deref()))
}

/// No archive is at a place.
pub(crate) fn no_archive(root: &Path) -> CommandError {
    let message = format!("no archive at {}", one_line(&root.to_string_lossy()));
    CommandError::user("no-archive", message).with_hint("run `recto collect` to create one")
}

pub(crate) fn open_archive(home: &Home, root: &Path) -> Result<Archive, CommandError> {
    match Archive::open(root, MachineId::of(home)) {
        Err(KeepError::NoArchive { .. }) => Err(no_archive(root)),
        archive => Ok(archive.map_err(StoreError::from)?),
    }
}
