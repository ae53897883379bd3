//! `recto hub`: a server that writes into a store for machines without credentials.

use std::net::IpAddr;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::Subcommand;
use jiff::SignedDuration;
use recto_collect::hub::Enrolled;
use recto_collect::hub::Hub;
use recto_collect::hub::HubLimits;
use recto_collect::hub::HubOptions;
use recto_collect::hub::Identity;
use recto_collect::hub::Invite;
use recto_collect::hub::Roster;
use serde::Serialize;

use crate::commands::collect_store::open_store;
use crate::commands::restore::read_machine;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::parse_size;
use crate::select::filter::read_time;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// The port where the address has none.
const USUAL_PORT: u16 = 7800;

/// Run a server that collects for a store
///
/// Machines that joined with a code send to the hub instead of the store, so no machine needs
/// credentials of the store. Each token can write below its own machine's prefix only, and no
/// token can read. Several hubs can share a store.
///
/// Listens on 127.0.0.1 unless --listen names another address, which needs a certificate
/// (--tls-cert, --tls-key) or a proxy that encrypts (--behind-proxy).
///
/// Examples:
///   recto hub --store s3://team-sessions/claude --behind-proxy
///   recto hub --store s3://team-sessions/claude --listen 0.0.0.0:443 --tls-cert hub.crt --tls-key hub.key
///   recto hub invite --store s3://team-sessions/claude
///   recto hub machines --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct HubArgs {
    #[command(subcommand)]
    command: Option<HubCommand>,
    #[command(flatten)]
    store: HubStore,
    /// Address to listen on, with or without a port [default: 127.0.0.1:7800]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The certificate chain, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, as PEM; only you may be able to read it
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy in front encrypts, and names clients in X-Forwarded-For
    #[arg(long)]
    behind_proxy: bool,
    /// Refuse segments larger than this [default: 64MB]
    #[arg(long, value_name = "SIZE")]
    max_size: Option<String>,
    /// Limit how much a machine may store per day [default: 10GB]
    #[arg(long, value_name = "SIZE")]
    daily: Option<String>,
    /// Limit the requests per second of a machine [default: 50]
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Limit the number of open connections [default: 2048]
    #[arg(long, value_name = "N")]
    connections: Option<usize>,
    /// A file with the token for /metrics; without it only this machine may read the counters
    #[arg(long, value_name = "FILE")]
    metrics_token_file: Option<PathBuf>,
}

/// Which store.
#[derive(Debug, Args)]
struct HubStore {
    /// The store: s3://, gs://, az://, or a directory
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

#[derive(Debug, Subcommand)]
enum HubCommand {
    Invite(InviteArgs),
    Machines(MachinesArgs),
    Revoke(RevokeArgs),
}

/// Print a code that lets one machine join
///
/// The code works once. Give it to whoever runs `recto collect join URL CODE`. A machine that
/// joined before, or has sent to the store without a hub, needs a code with --machine.
///
/// Examples:
///   recto hub invite --store s3://team-sessions/claude
///   recto hub invite --store s3://team-sessions/claude --machine 5b0c91d24e6f7a83
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct InviteArgs {
    #[command(flatten)]
    store: HubStore,
    /// Only for this machine
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// How long the code works [default: 1d]
    #[arg(long, value_name = "SPAN")]
    expires: Option<String>,
    /// How long the machine may send [default: 365d]
    #[arg(long, value_name = "SPAN")]
    token_expires: Option<String>,
    /// How many codes to print
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u32,
}

/// List machines with a token, and unused codes
///
/// Examples:
///   recto hub machines --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct MachinesArgs {
    #[command(flatten)]
    store: HubStore,
}

/// Revoke the tokens of a machine, or an unused code
///
/// Hubs that run notice within 30 seconds.
///
/// Examples:
///   recto hub revoke --store s3://team-sessions/claude 5b0c91d24e6f7a83
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct RevokeArgs {
    #[command(flatten)]
    store: HubStore,
    /// A machine, or the id of a token
    #[arg(value_name = "MACHINE|TOKEN")]
    name: String,
}

#[derive(Debug, Serialize)]
struct HubRow {
    url: String,
    store: String,
}

#[derive(Debug, Serialize)]
struct InviteRow {
    token: String,
    code: String,
    expires: String,
}

#[derive(Debug, Serialize)]
struct EnrolledRow<'a> {
    token: &'a str,
    machine: Option<&'a str>,
    user: Option<&'a str>,
    host: Option<&'a str>,
    state: &'static str,
    since: &'a str,
    expires: &'a str,
    revoked: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct RevokedRow {
    revoked: u64,
}

impl HubStore {
    fn open(&self, environment: &Environment) -> Result<recto_collect::Store, CommandError> {
        let Some(address) = &self.store else {
            let error = CommandError::user("usage", "no store was named");
            return Err(error.with_hint("name it with --store, such as --store s3://BUCKET/PREFIX"));
        };
        open_store(environment, address)
    }
}

pub(crate) fn cmd_hub(
    environment: &Environment,
    output: &mut Output,
    args: &HubArgs,
) -> Result<Outcome, CommandError> {
    match &args.command {
        None => serve(environment, output, args),
        Some(HubCommand::Invite(args)) => invite(environment, output, args),
        Some(HubCommand::Machines(args)) => machines(environment, output, args),
        Some(HubCommand::Revoke(args)) => revoke(environment, output, args),
    }
}

fn serve(
    environment: &Environment,
    output: &mut Output,
    args: &HubArgs,
) -> Result<Outcome, CommandError> {
    let store = args.store.open(environment)?;
    let url = store.url().to_owned();
    let identity = match (&args.tls_cert, &args.tls_key) {
        (Some(chain), Some(key)) => Some(Identity {
            certificates: named(recto_store::read_credentials(chain)?, chain)?,
            key: named(recto_store::read_private(key)?, key)?,
        }),
        _ => None,
    };
    let listen = listen(args.listen.as_deref())?;
    let is_encrypted = identity.is_some() || args.behind_proxy;
    if !listen.ip().to_canonical().is_loopback() && !is_encrypted {
        let message = "a hub for other machines must be encrypted";
        let error = CommandError::user("usage", message);
        return Err(error.with_hint("use --tls-cert and --tls-key, or --behind-proxy"));
    }
    let metrics_token = args.metrics_token_file.as_deref().map(recto_store::read_token_file);
    let scheme = if identity.is_some() { "https" } else { "http" };
    let options = HubOptions {
        store,
        listen,
        identity,
        behind_proxy: args.behind_proxy,
        metrics_token: metrics_token.transpose()?.map(|token| token.trim().to_owned()),
        limits: limits(args)?,
        clock: jiff::Timestamp::now,
    };
    let folder = environment.data_directory()?.make(&["hub"])?;
    let hub = Hub::start(options, &folder.join("hub.sqlite"))?;
    hub.end_on_signals()?;
    let here = format!("{scheme}://{}", hub.address());
    if output.json {
        output.row(&HubRow { url: here, store: url })?;
    } else {
        output.line(&here)?;
        output.remark(&format!("collecting for {}; Ctrl-C stops the hub", one_line(&url)));
    }
    output.flush()?;
    hub.wait();
    Ok(Outcome::Done)
}

fn named(bytes: Option<Vec<u8>>, path: &Path) -> Result<Vec<u8>, CommandError> {
    let absent = || {
        let path = one_line(&path.to_string_lossy());
        CommandError::user("no-file", format!("{path} does not exist"))
    };
    bytes.ok_or_else(absent)
}

fn listen(text: Option<&str>) -> Result<SocketAddr, CommandError> {
    let text = text.unwrap_or("127.0.0.1");
    let with_port = text.parse::<SocketAddr>().ok();
    let alone = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, USUAL_PORT));
    with_port.or_else(alone).ok_or_else(|| {
        let message = format!("invalid address `{}` for --listen", one_line(text));
        CommandError::user("bad-address", message)
            .with_hint("use an address such as 192.168.1.5, 192.168.1.5:443 or [fd00::5]:443")
    })
}

fn limits(args: &HubArgs) -> Result<HubLimits, CommandError> {
    let usual = HubLimits::default();
    let size = |option: &str, text: &Option<String>, usual: u64| match text {
        None => Ok(usual),
        Some(text) => parse_size(text).filter(|size| *size > 0).ok_or_else(|| {
            let message = format!("invalid value `{}` for {option}", one_line(text));
            CommandError::user("usage", message).with_hint("use a size such as 64MB")
        }),
    };
    Ok(HubLimits {
        body_bytes: size("--max-size", &args.max_size, usual.body_bytes)?,
        daily_bytes: size("--daily", &args.daily, usual.daily_bytes)?,
        requests_per_second: args.rate.unwrap_or(usual.requests_per_second).max(1),
        connections: args.connections.unwrap_or(usual.connections).clamp(8, 1_000_000),
        ..usual
    })
}

/// A span, such as 7d.
fn span(
    environment: &Environment,
    option: &str,
    text: Option<&str>,
    usual: Duration,
) -> Result<SignedDuration, CommandError> {
    let Some(text) = text else {
        return Ok(SignedDuration::try_from(usual).unwrap_or(SignedDuration::MAX));
    };
    let now = environment.now();
    let span = now.duration_since(read_time(option, text, now)?);
    if span.is_positive() {
        return Ok(span);
    }
    let message = format!("invalid value `{}` for {option}", one_line(text));
    Err(CommandError::user("usage", message).with_hint("use a span such as 12h or 30d"))
}

fn invite(
    environment: &Environment,
    output: &mut Output,
    args: &InviteArgs,
) -> Result<Outcome, CommandError> {
    let roster = Roster::new(args.store.open(environment)?);
    const DAY: Duration = Duration::from_secs(86_400);
    let invite = Invite {
        machine: args.machine.as_deref().map(read_machine).transpose()?,
        code_lasts: span(environment, "--expires", args.expires.as_deref(), DAY)?,
        token_lasts: span(
            environment,
            "--token-expires",
            args.token_expires.as_deref(),
            365 * DAY,
        )?,
        by: environment.user_name.clone().unwrap_or_else(|| "unknown".to_owned()),
    };
    for _ in 0..args.count {
        let made = roster.invite(&invite, environment.now())?;
        if output.json {
            output.row(&InviteRow {
                token: made.id,
                code: made.code,
                expires: made.expires.to_string(),
            })?;
        } else {
            output.line(&made.code)?;
        }
    }
    if !output.json {
        output.remark("each code works once: recto collect join URL CODE");
    }
    Ok(Outcome::Done)
}

fn state(one: &Enrolled, now: jiff::Timestamp) -> &'static str {
    let is_over = one.expires.parse::<jiff::Timestamp>().is_ok_and(|time| time <= now);
    match (&one.revoked, is_over, &one.host) {
        (Some(_), _, _) => "revoked",
        (None, true, _) => "expired",
        (None, false, None) if one.user.is_none() => "invited",
        (None, false, _) => "active",
    }
}

fn machines(
    environment: &Environment,
    output: &mut Output,
    args: &MachinesArgs,
) -> Result<Outcome, CommandError> {
    let all = Roster::new(args.store.open(environment)?).list()?;
    let now = environment.now();
    if output.json {
        let row = |one| EnrolledRow::of(one, now);
        output.rows(&all.iter().map(row).collect::<Vec<_>>())?;
    } else {
        let mut table = Table::new(&[
            Column::Left,
            Column::Left,
            Column::Flexible,
            Column::Flexible,
            Column::Left,
            Column::Left,
        ]);
        table.row(["TOKEN", "MACHINE", "USER", "HOST", "STATE", "EXPIRES"].map(str::to_owned));
        for one in &all {
            let text = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), one_line);
            table.row([
                one.id.clone(),
                text(&one.machine),
                text(&one.user),
                text(&one.host),
                state(one, now).to_owned(),
                one.expires.get(..10).unwrap_or_default().to_owned(),
            ]);
        }
        for cells in table.layout(output.width) {
            let line = cells.join(output.gap());
            output.line(line.trim_end())?;
        }
    }
    if all.is_empty() {
        output.remark("no machine was invited");
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

impl EnrolledRow<'_> {
    fn of(one: &Enrolled, now: jiff::Timestamp) -> EnrolledRow<'_> {
        EnrolledRow {
            token: &one.id,
            machine: one.machine.as_deref(),
            user: one.user.as_deref(),
            host: one.host.as_deref(),
            state: state(one, now),
            since: &one.since,
            expires: &one.expires,
            revoked: one.revoked.as_deref(),
        }
    }
}

fn revoke(
    environment: &Environment,
    output: &mut Output,
    args: &RevokeArgs,
) -> Result<Outcome, CommandError> {
    let roster = Roster::new(args.store.open(environment)?);
    let revoked = roster.revoke(&args.name, environment.now())?;
    if output.json {
        output.row(&RevokedRow { revoked })?;
    } else {
        match revoked {
            0 => output.remark(&format!("no token or code matches {}", one_line(&args.name))),
            count => output.line(&format!("revoked {}", plural(count, "token")))?,
        }
    }
    Ok(if revoked == 0 { Outcome::Found } else { Outcome::Done })
}
