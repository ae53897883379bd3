//! `recto fleet`: all machines that send to a store.

use clap::Args;
use clap::Subcommand;
use jiff::Timestamp;
use recto_collect::Fleet;
use recto_collect::FleetMachine;
use recto_collect::Forget;
use recto_collect::Forgotten;
use recto_view::Moment;
use serde::Serialize;

use crate::commands::collect_store::open_store;
use crate::commands::collect_store::tell_verified;
use crate::commands::restore::read_machine;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::age;
use crate::terminal::text::bytes;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// List the machines that share a store
///
/// Shows each machine's user, when it was last seen, how much it still has to send, how much
/// the store has, and whether anything is missing.
///
/// Examples:
///   recto fleet --store s3://team-sessions/claude
///   recto fleet verify --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    command: Option<FleetCommand>,
    #[command(flatten)]
    store: FleetStore,
}

/// Which store.
#[derive(Debug, Args)]
struct FleetStore {
    /// The store: s3://, gs://, az://, or a directory
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    Verify(VerifyArgs),
    Forget(ForgetArgs),
}

/// Check that the store has every file without gaps
///
/// Compares names only, which tells whether a range of a file is missing. --read fetches every
/// object and checks its digest too. Exits with 1 if anything is missing or damaged.
///
/// Examples:
///   recto fleet verify --store s3://team-sessions/claude
///   recto fleet verify --store s3://team-sessions/claude --machine 5b0c91d24e6f7a83 --read
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct VerifyArgs {
    #[command(flatten)]
    store: FleetStore,
    /// Only this machine
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Fetch every object and check its digest
    #[arg(long)]
    read: bool,
}

/// Erase what a machine, a user or a session has in the store
///
/// Shows what would be erased; --yes erases it. Leaves a note in the store so machines do
/// not send it again, and a record of who erased what and when. Archives on the machines stay.
///
/// Examples:
///   recto fleet forget --store s3://team-sessions/claude --user alice
///   recto fleet forget --store s3://team-sessions/claude --session 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 --yes
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[group(id = "what", required = true, multiple = false, args = ["machine", "user", "session"])]
struct ForgetArgs {
    #[command(flatten)]
    store: FleetStore,
    /// Everything of a machine
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Everything of the machines of a user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// A session, by its whole id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Erase without asking
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Serialize)]
struct MachineRow {
    machine: String,
    user: Option<String>,
    host: Option<String>,
    version: Option<String>,
    policy: Option<String>,
    seen: Option<String>,
    newest: Option<Moment>,
    files: u64,
    objects: u64,
    bytes: u64,
    stored_bytes: u64,
    waiting_bytes: Option<u64>,
    waiting_since: Option<String>,
    gaps: u64,
}

#[derive(Debug, Serialize)]
struct ForgottenRow {
    done: bool,
    machines: Vec<String>,
    files: u64,
    objects: u64,
    unreadable: Vec<String>,
    record: Option<String>,
}

impl FleetStore {
    fn open(&self, environment: &Environment) -> Result<(Fleet, String), CommandError> {
        let Some(address) = &self.store else {
            let error = CommandError::user("usage", "no store was named");
            return Err(error.with_hint("name it with --store, such as --store s3://BUCKET/PREFIX"));
        };
        let store = open_store(environment, address)?;
        let url = store.url().to_owned();
        Ok((Fleet::new(store), url))
    }
}

pub(crate) fn cmd_fleet(
    environment: &Environment,
    output: &mut Output,
    args: &FleetArgs,
) -> Result<Outcome, CommandError> {
    match &args.command {
        None => list(environment, output, &args.store),
        Some(FleetCommand::Verify(args)) => verify(environment, output, args),
        Some(FleetCommand::Forget(args)) => forget(environment, output, args),
    }
}

fn list(
    environment: &Environment,
    output: &mut Output,
    store: &FleetStore,
) -> Result<Outcome, CommandError> {
    let (fleet, url) = store.open(environment)?;
    let machines = fleet.machines()?;
    if output.json {
        output.rows(&machines.iter().map(MachineRow::from).collect::<Vec<_>>())?;
    } else {
        show(environment.now(), output, &machines)?;
    }
    if machines.is_empty() {
        output.remark(&format!("no machine has sent anything to {}", one_line(&url)));
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

fn show(
    now: Timestamp,
    output: &mut Output,
    machines: &[FleetMachine],
) -> Result<(), CommandError> {
    let mut table = Table::new(&[
        Column::Left,
        Column::Flexible,
        Column::Flexible,
        Column::Left,
        Column::Right,
        Column::Right,
        Column::Right,
        Column::Right,
        Column::Optional,
    ]);
    let heads =
        ["MACHINE", "USER", "HOST", "SEEN", "WAITING", "FILES", "STORED", "GAPS", "VERSION"];
    table.row(heads.map(str::to_owned));
    for machine in machines {
        let beat = machine.beat.as_ref();
        let text = |text: Option<&String>| text.map_or("-".to_owned(), |text| one_line(text));
        let seen = beat.and_then(|beat| beat.seen.parse::<Timestamp>().ok()).or(machine.newest);
        table.row([
            machine.machine.to_string(),
            text(beat.and_then(|beat| beat.user.as_ref())),
            text(beat.and_then(|beat| beat.host.as_ref())),
            seen.map_or("-".to_owned(), |seen| age(seen, now)),
            beat.map_or("-".to_owned(), |beat| bytes(beat.waiting_bytes)),
            count(machine.files),
            bytes(machine.stored_bytes),
            count(machine.gaps),
            text(beat.map(|beat| &beat.version)),
        ]);
    }
    for cells in table.layout(output.width) {
        let line = cells.join(output.gap());
        output.line(line.trim_end())?;
    }
    Ok(())
}

impl From<&FleetMachine> for MachineRow {
    fn from(machine: &FleetMachine) -> MachineRow {
        let beat = machine.beat.as_ref();
        MachineRow {
            machine: machine.machine.to_string(),
            user: beat.and_then(|beat| beat.user.clone()),
            host: beat.and_then(|beat| beat.host.clone()),
            version: beat.map(|beat| beat.version.clone()),
            policy: beat.map(|beat| beat.policy.clone()),
            seen: beat.map(|beat| beat.seen.clone()),
            newest: machine.newest.map(Moment),
            files: machine.files,
            objects: machine.objects,
            bytes: machine.bytes,
            stored_bytes: machine.stored_bytes,
            waiting_bytes: beat.map(|beat| beat.waiting_bytes),
            waiting_since: beat.and_then(|beat| beat.waiting_since.clone()),
            gaps: machine.gaps,
        }
    }
}

fn verify(
    environment: &Environment,
    output: &mut Output,
    args: &VerifyArgs,
) -> Result<Outcome, CommandError> {
    let (fleet, url) = args.store.open(environment)?;
    let machine = args.machine.as_deref().map(read_machine).transpose()?;
    let progress = Progress::new("verifying", output);
    let report = fleet.verify(machine, args.read, &mut |done, all| progress.tell(done, all));
    progress.done();
    tell_verified(output, &url, &report?)
}

fn forget(
    environment: &Environment,
    output: &mut Output,
    args: &ForgetArgs,
) -> Result<Outcome, CommandError> {
    let (fleet, _) = args.store.open(environment)?;
    let what = match (&args.machine, &args.user, &args.session) {
        (Some(machine), _, _) => Forget::Machine(read_machine(machine)?),
        (None, Some(user), _) => Forget::User(user.clone()),
        (None, None, session) => {
            let text = session.as_deref().unwrap_or_default();
            Forget::Session(text.parse().map_err(|_| {
                let message = format!("`{}` is not the id of a session", one_line(text));
                CommandError::user("usage", message).with_hint("use the whole id")
            })?)
        }
    };
    let by = environment.user_name.as_deref().unwrap_or("unknown");
    let forgotten = fleet.forget(&what, args.yes, by, environment.now())?;
    tell_forgotten(output, &forgotten, args.yes)?;
    Ok(if forgotten.files == 0 { Outcome::Found } else { Outcome::Done })
}

fn tell_forgotten(
    output: &mut Output,
    forgotten: &Forgotten,
    done: bool,
) -> Result<(), CommandError> {
    if output.json {
        return output.row(&ForgottenRow {
            done,
            machines: forgotten.machines.iter().map(ToString::to_string).collect(),
            files: forgotten.files,
            objects: forgotten.objects,
            unreadable: forgotten.unknown.clone(),
            record: forgotten.record.clone(),
        });
    }
    for problem in &forgotten.unknown {
        output.remark(&format!("not checked: {}", one_line(problem)));
    }
    let what = format!(
        "{} in {} of {}",
        plural(forgotten.files, "file"),
        plural(forgotten.objects, "object"),
        plural(forgotten.machines.len() as u64, "machine")
    );
    match (&forgotten.record, done) {
        (Some(record), _) => output.line(&format!("erased {what}; recorded as {record}")),
        (None, true) => output.line("nothing to erase"),
        (None, false) => output.line(&format!("would erase {what}; --yes erases it")),
    }
}
