//! `recto collect --to s3://…`: the archive into a store that a team shares.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;
use recto_collect::CollectError;
use recto_collect::MachineFacts;
use recto_collect::SendOptions;
use recto_collect::SendReport;
use recto_collect::Sender;
use recto_collect::Store;
use recto_collect::StoreVerify;
use recto_collect::backoff;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::keep::CollectOptions;
use recto_store::keep::Collector;
use recto_store::keep::KeepWatch;
use recto_store::keep::MachineId;
use serde::Serialize;

use crate::commands::collect;
use crate::commands::collect_policy::policy;
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

/// How often a collector that watches looks for what is due.
const LOOK: Duration = Duration::from_secs(5);

/// When and how fast things are sent.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// With --watch and a store: send new lines at least this often [default: 60m]
    #[arg(long, value_name = "SPAN")]
    every: Option<String>,
    /// Limit the upload rate per second, such as 500kB
    #[arg(long, value_name = "SIZE")]
    bandwidth: Option<String>,
}

/// What was sent to a store.
#[derive(Debug, Serialize)]
struct SentRow<'a> {
    store: &'a str,
    machine: String,
    policy: &'a str,
    files: u64,
    changed: u64,
    objects: u64,
    bytes: u64,
    sent_bytes: u64,
    waiting_bytes: u64,
    conflicts: u64,
    withheld: &'a BTreeMap<&'static str, u64>,
    troubles: Vec<TroubleRow>,
}

#[derive(Debug, Serialize)]
struct TroubleRow {
    path: String,
    reason: String,
}

/// What a store has, as far as that is known here.
#[derive(Debug, Serialize)]
struct StoreStatusRow<'a> {
    store: &'a str,
    machine: String,
    policy: &'a str,
    files: u64,
    behind: u64,
    behind_bytes: u64,
    withheld: u64,
    listed: Option<String>,
    seen: Option<String>,
    error: Option<String>,
}

/// What reading a store back found.
#[derive(Debug, Serialize)]
pub(crate) struct StoreVerifyRow {
    pub(crate) store: String,
    pub(crate) files: u64,
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) filtered: Option<u64>,
    pub(crate) problems: Vec<String>,
    pub(crate) behind: Vec<BehindRow>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BehindRow {
    path: String,
    bytes: u64,
}

impl From<CollectError> for CommandError {
    fn from(error: CollectError) -> CommandError {
        match error {
            CollectError::Store(error) => CommandError::Store(error),
            CollectError::Io(error) => CommandError::Io(error),
            error => {
                let told = CommandError::user(error.kind(), error.to_string());
                match error.hint() {
                    Some(hint) => told.with_hint(hint),
                    None => told,
                }
            }
        }
    }
}

impl SendArgs {
    fn options(&self, environment: &Environment, all: bool) -> Result<SendOptions, CommandError> {
        let usual = SendOptions::default();
        let now = environment.now();
        let every = match &self.every {
            Some(text) => {
                let then = read_time("--every", text, now)?;
                Duration::try_from(now.duration_since(then)).unwrap_or_default()
            }
            None => usual.every,
        };
        let bad = |text: &String| {
            let message = format!("invalid value `{}` for --bandwidth", one_line(text));
            CommandError::user("usage", message).with_hint("use a size such as 500kB or 2MB")
        };
        let rate = self.bandwidth.as_ref();
        let rate =
            rate.map(|text| parse_size(text).filter(|rate| *rate > 0).ok_or_else(|| bad(text)));
        Ok(SendOptions { every, all, bytes_per_second: rate.transpose()?, ..usual })
    }

    /// Whether any of it was given.
    pub(crate) fn is_given(&self) -> bool {
        self.every.is_some() || self.bandwidth.is_some()
    }
}

/// Whether an address names a store beyond this machine.
pub(crate) fn is_store(address: &str) -> bool {
    address.split_once("://").is_some_and(|(scheme, _)| scheme != "file")
}

/// Opens a store by its address. Only S3 makes recto read the files of the user's credentials.
pub(crate) fn open_store(environment: &Environment, address: &str) -> Result<Store, CommandError> {
    #[cfg(feature = "cloud")]
    if address.starts_with("s3://") {
        let home = environment.user_home.as_deref();
        let settings = recto_collect::aws_settings(&environment.cloud, home)?;
        return Ok(Store::open(address, &settings)?);
    }
    Ok(Store::open(address, &environment.cloud)?)
}

/// Opens what a machine sends to: a store, or a hub that it has joined.
pub(crate) fn open_target(
    home: &Home,
    environment: &Environment,
    address: &str,
) -> Result<Store, CommandError> {
    #[cfg(feature = "cloud")]
    if address.starts_with("https://") || address.starts_with("http://") {
        let data = environment.data_directory()?;
        let token = recto_collect::HubToken::load(&data, address, MachineId::of(home))?;
        return Ok(Store::of_hub(&token)?);
    }
    let _ = home;
    open_store(environment, address)
}

/// What this machine says of itself in a store.
pub(crate) fn facts(environment: &Environment) -> MachineFacts {
    MachineFacts {
        user: environment.user_name.clone(),
        host: recto_store::host_name(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Makes ready to send.
fn sender(
    home: &Home,
    environment: &Environment,
    data: &DataDirectory,
    address: &str,
    options: SendOptions,
) -> Result<Sender, CommandError> {
    let (policy, _) = policy(home, environment)?;
    let root = data.root().join("archive");
    let store = open_target(home, environment, address)?;
    Ok(Sender::open(home, data, &root, store, policy, facts(environment), options)?)
}

pub(crate) fn cmd_send(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    address: &str,
    options: CollectOptions,
    args: &SendArgs,
    watches: bool,
) -> Result<Outcome, CommandError> {
    let data = environment.data_directory()?;
    // A mistake in the policy or the address is found before anything is archived.
    policy(home, environment)?;
    open_target(home, environment, address)?;
    let root = data.root().join("archive");
    let mut collector = Collector::open(home, &data, &root, options)?;
    let progress = Progress::new("collecting", output);
    let report = collector.collect(&mut |at| progress.tell_bytes(at.done_bytes, at.bytes));
    progress.done();
    let report = report?;
    let sender = sender(home, environment, &data, address, args.options(environment, !watches)?)?;
    if watches {
        collect::tell(environment, output, &root, &report)?;
        return watch(home, environment, output, &root, collector, sender);
    }
    for trouble in &report.troubles {
        output.remark(&collect::not_kept(trouble));
    }
    let progress = Progress::new("sending", output);
    let sent = sender.send(&mut |done, all| progress.tell(done, all));
    progress.done();
    let sent = sent?;
    tell(output, &sender, MachineId::of(home), &sent)?;
    let is_whole = report.troubles.is_empty() && sent.troubles.is_empty();
    Ok(if is_whole { Outcome::Done } else { Outcome::Found })
}

fn tell(
    output: &mut Output,
    sender: &Sender,
    machine: MachineId,
    report: &SendReport,
) -> Result<(), CommandError> {
    let store = sender.store().url();
    if output.json {
        let trouble = |(path, reason): &(String, String)| TroubleRow {
            path: path.clone(),
            reason: reason.clone(),
        };
        return output.row(&SentRow {
            store,
            machine: machine.to_string(),
            policy: sender.policy().name(),
            files: report.files,
            changed: report.changed,
            objects: report.objects,
            bytes: report.bytes,
            sent_bytes: report.sent_bytes,
            waiting_bytes: report.waiting_bytes,
            conflicts: report.conflicts,
            withheld: &report.withheld,
            troubles: report.troubles.iter().map(trouble).collect(),
        });
    }
    for (file, reason) in &report.troubles {
        output.remark(&format!("not sent: {}: {}", one_line(file), one_line(reason)));
    }
    let mut line = match report.objects {
        0 => format!("nothing new for {}", one_line(store)),
        objects => format!(
            "sent {} of {} in {} to {}",
            bytes(report.bytes),
            plural(report.changed, "file"),
            plural(objects, "object"),
            one_line(store)
        ),
    };
    let withheld: u64 = report.withheld.values().sum();
    if withheld > 0 {
        line.push_str(&format!("; {} withheld", plural(withheld, "file")));
    }
    if report.waiting_bytes > 0 {
        line.push_str(&format!("; {} waiting", bytes(report.waiting_bytes)));
    }
    if report.conflicts > 0 {
        line.push_str(&format!("; {} stored under another name", report.conflicts));
    }
    output.line(&line)
}

/// Archives what is written, and sends what is due beside it: a store that is away must not keep
/// lines from being archived.
fn watch(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    root: &Path,
    collector: Collector,
    sender: Sender,
) -> Result<Outcome, CommandError> {
    output.flush()?;
    let machine = MachineId::of(home);
    let sender = Arc::new(sender);
    let (reports, received) = mpsc::channel();
    let sending = Arc::clone(&sender);
    std::thread::Builder::new().name("send".into()).spawn(move || {
        let mut failures = 0;
        loop {
            let sent = sending.send(&mut |_, _| {});
            failures = if sent.is_err() { failures + 1 } else { 0 };
            let wait = if failures > 0 { backoff(failures) } else { LOOK };
            let is_news = !matches!(&sent, Ok(report) if report.objects == 0);
            if is_news && reports.send(sent).is_err() {
                return;
            }
            std::thread::sleep(wait);
        }
    })?;
    let mut watch = KeepWatch::new(home, collector)?;
    let mut last_error = None;
    let ends = ends()?;
    loop {
        if ends.load(Ordering::Relaxed) {
            sender.end();
            let sent = sender.send(&mut |_, _| {})?;
            tell(output, &sender, machine, &sent)?;
            return Ok(Outcome::Done);
        }
        sender.look_at_clients(home);
        let error = match watch.step(LOOK) {
            Ok(report) => {
                if report.changed > 0 || report.gone > 0 || !report.troubles.is_empty() {
                    collect::tell(environment, output, root, &report)?;
                }
                None
            }
            Err(error) => {
                std::thread::sleep(LOOK);
                Some(error.to_string())
            }
        };
        let mut failed = error;
        for sent in received.try_iter() {
            match sent {
                Ok(report) => tell(output, &sender, machine, &report)?,
                Err(error) => failed = Some(error.to_string()),
            }
        }
        // Saying it once is enough.
        if let Some(text) = failed
            && last_error.as_ref() != Some(&text)
        {
            output.remark(&collect::collecting_failed(&text));
            last_error = Some(text);
        }
        output.flush()?;
    }
}

/// Is true when the collector is told to end; a second signal ends it at once.
fn ends() -> Result<Arc<AtomicBool>, CommandError> {
    let ends = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let code = 128 + signal;
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&ends))?;
        signal_hook::flag::register(signal, Arc::clone(&ends))?;
    }
    Ok(ends)
}

pub(crate) fn cmd_verify(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    address: &str,
) -> Result<Outcome, CommandError> {
    let data = environment.data_directory()?;
    let sender = sender(home, environment, &data, address, SendOptions::default())?;
    let progress = Progress::new("verifying", output);
    let report = StoreVerify::of_sender(&sender, &mut |done, all| progress.tell(done, all));
    progress.done();
    tell_verified(output, sender.store().url(), &report?)
}

pub(crate) fn tell_verified(
    output: &mut Output,
    store: &str,
    report: &StoreVerify,
) -> Result<Outcome, CommandError> {
    if output.json {
        let behind =
            |(path, bytes): &(String, u64)| BehindRow { path: path.clone(), bytes: *bytes };
        output.row(&StoreVerifyRow {
            store: store.to_owned(),
            files: report.files,
            objects: report.objects,
            bytes: report.bytes,
            stored_bytes: report.stored_bytes,
            filtered: report.filtered,
            problems: report.problems.clone(),
            behind: report.behind.iter().map(behind).collect(),
        })?;
    } else {
        for problem in &report.problems {
            output.line(&one_line(problem))?;
        }
        for (path, missing) in &report.behind {
            output.line(&format!(
                "not in the store yet: {}, {}",
                one_line(path),
                bytes(*missing)
            ))?;
        }
        let filtered = report.filtered.map(|count| format!("; {count} filtered by a policy"));
        output.line(&format!(
            "{} of {}, {} in {}{}",
            plural(report.objects, "object"),
            plural(report.files, "file"),
            bytes(report.bytes),
            bytes(report.stored_bytes),
            filtered.unwrap_or_default()
        ))?;
    }
    Ok(if report.is_sound() { Outcome::Done } else { Outcome::Found })
}

pub(crate) fn cmd_status(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    address: &str,
) -> Result<Outcome, CommandError> {
    let data = environment.data_directory()?;
    let sender = sender(home, environment, &data, address, SendOptions::default())?;
    let status = sender.status()?;
    if output.json {
        output.row(&StoreStatusRow {
            store: sender.store().url(),
            machine: MachineId::of(home).to_string(),
            policy: sender.policy().name(),
            files: status.files,
            behind: status.behind,
            behind_bytes: status.behind_bytes,
            withheld: status.withheld,
            listed: status.listed,
            seen: status.seen,
            error: status.error.clone(),
        })?;
    } else {
        output.line(&one_line(sender.store().url()))?;
        output.line(&format!("  machine   {}", MachineId::of(home)))?;
        output.line(&format!("  policy    {}", sender.policy().name()))?;
        let sent = status.files - status.behind - status.withheld;
        output.line(&format!("  sent      {sent} of {}", plural(status.files, "file")))?;
        if status.withheld > 0 {
            output.line(&format!("  withheld  {}", plural(status.withheld, "file")))?;
        }
        if status.behind > 0 {
            let (files, size) = (plural(status.behind, "file"), bytes(status.behind_bytes));
            output.line(&format!("  waiting   {files}, {size}"))?;
        }
        if let Some(error) = &status.error {
            output.line(&format!("  failed    {}", one_line(error)))?;
        }
    }
    Ok(if status.error.is_some() { Outcome::Found } else { Outcome::Done })
}
