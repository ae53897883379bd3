//! A process that confines itself and becomes a command.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::io::Read;
use std::io::Write;
use std::net::Shutdown;
use std::net::TcpListener;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::thread;

use landlock::ABI;
use landlock::Access as _;
use landlock::AccessFs;
use landlock::BitFlags;
use landlock::CompatLevel;
use landlock::Compatible as _;
use landlock::PathBeneath;
use landlock::PathFd;
use landlock::Ruleset;
use landlock::RulesetAttr as _;
use landlock::RulesetCreated;
use landlock::RulesetCreatedAttr as _;
use landlock::RulesetStatus;
use landlock::Scope;

use super::Confinement;
use super::Policy;
use super::SUBCOMMAND;
use super::filter;
use super::spaces;

/// The rules that are asked for; older kernels get what they know.
const NEWEST: ABI = ABI::V6;
/// The port of the proxy in the network of a command, where it is the only one.
const PROXY_PORT: u16 = 3128;
/// Devices that commands may use.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// What tells a caller how far it went, instead of a command.
const PROBE: &str = "--probe";

/// Tries it, in a process of its own.
pub(super) fn probe(program: &Path) -> Confinement {
    let mut command = Command::new(program);
    command.args([SUBCOMMAND, &Policy::default().to_text(), "--", PROBE]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    match output.map(|output| output.stdout).as_deref() {
        Ok(b"full\n") => Confinement::Full,
        Ok(b"partial\n") => Confinement::Partial,
        _ => Confinement::None,
    }
}

/// Confines this process, and becomes the command.
pub(super) fn enter(policy: &Policy, command: &[OsString]) -> io::Result<u8> {
    let missing = || io::Error::new(io::ErrorKind::InvalidInput, "no command");
    let (program, arguments) = command.split_first().ok_or_else(missing)?;
    let cwd = std::env::current_dir();
    let has_spaces = spaces::leave().is_ok();
    if has_spaces {
        spaces::loopback_up()?;
        spaces::arrange(policy)?;
        // The directory that this process is in is the one below the new mounts.
        if let Ok(cwd) = cwd {
            std::env::set_current_dir(cwd)?;
        }
    }
    let has_proxy = match policy.proxy.as_ref().filter(|_| has_spaces) {
        Some(socket) => bridge(socket.clone()).map(|()| true)?,
        None => false,
    };
    rustix::thread::set_no_new_privs(true)?;
    let is_confined = restrict(policy, has_spaces)?;
    filter::apply(has_spaces)?;
    if program == PROBE {
        let word = match (is_confined, has_spaces) {
            (true, true) => "full\n",
            (true, false) => "partial\n",
            (false, _) => "none\n",
        };
        io::stdout().write_all(word.as_bytes())?;
        return Ok(0);
    }
    if !is_confined {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel lacks Landlock"));
    }
    let mut command = Command::new(program);
    command.args(arguments);
    if !has_proxy {
        return Err(command.exec());
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"] {
        command.env(name, format!("http://127.0.0.1:{PROXY_PORT}"));
    }
    let status = command.status()?;
    // As shells count.
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

/// Lets this thread and all that it starts write only where the policy says; whether the
/// kernel can.
fn restrict(policy: &Policy, has_spaces: bool) -> io::Result<bool> {
    let all = AccessFs::from_all(NEWEST);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .map_err(failed)?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)
        .map_err(failed)?;
    let mut rules = rules.create().map_err(failed)?;
    let reads = AccessFs::from_read(NEWEST);
    // Secrets are covered by mounts, or left out one by one.
    let hidden: &[PathBuf] = if has_spaces { &[] } else { &policy.hidden };
    let hidden: Vec<PathBuf> = hidden
        .iter()
        .filter(|path| !policy.writable.iter().any(|directory| path.starts_with(directory)))
        .cloned()
        .collect();
    rules = allow_reading(rules, Path::new("/"), &hidden, reads)?;
    for directory in &policy.writable {
        rules = allow(rules, directory, all)?;
    }
    for device in DEVICES {
        let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        rules = allow(rules, Path::new(device), access)?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    // What is not there needs no rule.
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    rules.add_rule(PathBeneath::new(place, access)).map_err(failed)
}

/// Allows a directory as a whole, or what is in it but for what is hidden.
fn allow_reading(
    mut rules: RulesetCreated,
    path: &Path,
    hidden: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    if hidden.iter().any(|one| one == path) {
        return Ok(rules);
    }
    if !hidden.iter().any(|one| one.starts_with(path)) {
        let is_file = fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
        let access = if is_file { access & AccessFs::from_file(NEWEST) } else { access };
        return allow(rules, path, access);
    }
    for entry in fs::read_dir(path)?.flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            rules = allow_reading(rules, &entry.path(), hidden, access)?;
        }
    }
    Ok(rules)
}

/// Carries connections from the command's own loopback to the proxy. Its threads are not
/// confined, so nobody may look into this process.
fn bridge(socket: PathBuf) -> io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    let listener = TcpListener::bind(("127.0.0.1", PROXY_PORT))?;
    thread::Builder::new().spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(proxy) = UnixStream::connect(&socket) else { continue };
            let _ = carry(client, proxy);
        }
    })?;
    Ok(())
}

fn carry(client: TcpStream, proxy: UnixStream) -> io::Result<()> {
    let (mut from, mut to) = (client.try_clone()?, proxy.try_clone()?);
    thread::Builder::new().spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    })?;
    let (mut from, mut to) = (proxy, client);
    thread::Builder::new().spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    })?;
    Ok(())
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<u64> {
    io::copy(from, to)
}
