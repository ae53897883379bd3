//! Confining commands: which files they may write, what they may not read, and no network but
//! what the user allowed.
//!
//! ```text
//! Bash ─► recto __sandbox POLICY -- shell -c …      confines itself, then becomes the shell
//!                  │ user, mount and network namespaces: secrets are covered, all but the working
//!                  │   directories is read-only, no interface but its own loopback
//!                  │ Landlock: the same again for files; no signals and sockets to others
//!                  └ seccomp: no sockets of other kinds, no new namespaces, mounts, tracing
//! ```
//!
//! A program that confines itself needs no unsafe code between fork and exec. Where the kernel
//! has no user namespaces, Landlock and seccomp do it alone, without any socket; where it has
//! no Landlock either, nothing is confined and [`Confinement::line`] says so.

mod policy;
mod proxy;
mod seatbelt;

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod spaces;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

pub use policy::Policy;
pub use proxy::Proxy;
pub use seatbelt::profile;

use policy::hidden_in_home;
use policy::hidden_in_project;
use policy::protected_in;

/// The name of the subcommand that confines itself.
pub const SUBCOMMAND: &str = "__sandbox";

/// How far this machine can confine a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Namespaces, Landlock and seccomp.
    Full,
    /// Landlock and seccomp: no sockets at all, and secrets in the project can be read.
    Partial,
    /// Nothing.
    None,
}

impl Confinement {
    /// What a person is told.
    pub fn line(self) -> &'static str {
        match self {
            Confinement::Full => {
                "sandbox on: commands write only here and in temp, without keys or network"
            }
            Confinement::Partial => {
                "sandbox on in part: without user namespaces, commands can read secret files in the project and open no sockets"
            }
            Confinement::None => {
                "sandbox off: this kernel lacks Landlock; commands run unconfined, and recto asks before each"
            }
        }
    }
}

/// The sandbox of a session.
#[derive(Debug)]
pub struct Sandbox {
    program: PathBuf,
    home: PathBuf,
    config: PathBuf,
    directories: Mutex<Vec<PathBuf>>,
    temporary: Vec<PathBuf>,
    proxy: Option<Proxy>,
    /// How far it goes.
    pub confinement: Confinement,
}

/// Where things are that a sandbox is about.
#[derive(Debug, Clone, Default)]
pub struct SandboxPlaces {
    /// This program.
    pub program: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// The client's home.
    pub config: PathBuf,
    /// The working directories.
    pub directories: Vec<PathBuf>,
    /// Directories for temporary files.
    pub temporary: Vec<PathBuf>,
    /// Domains that may be reached.
    pub domains: Vec<String>,
}

impl Sandbox {
    /// A sandbox. Its proxy listens as long as it lives; must be called in a runtime if domains
    /// are allowed.
    ///
    /// # Errors
    ///
    /// If the proxy cannot listen.
    pub fn new(places: SandboxPlaces) -> io::Result<Sandbox> {
        let SandboxPlaces { program, home, config, directories, temporary, domains } = places;
        let confinement = probe(&program);
        let is_full = confinement == Confinement::Full;
        let folder = temporary.first().cloned().unwrap_or_else(std::env::temp_dir);
        // Also without a domain: recto then knows which hosts were refused, and can ask.
        let proxy = is_full.then(|| Proxy::new(folder, domains));
        let directories = Mutex::new(directories);
        Ok(Sandbox { program, home, config, directories, temporary, proxy, confinement })
    }

    /// Adds working directories.
    pub fn add_directories(&self, more: impl IntoIterator<Item = PathBuf>) {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner).extend(more);
    }

    /// Allows commands to reach a host.
    pub fn allow_host(&self, host: &str) {
        if let Some(proxy) = &self.proxy {
            proxy.allow(host);
        }
    }

    /// Hosts that commands could not reach since the last time.
    pub fn take_refused_hosts(&self) -> Vec<String> {
        self.proxy.as_ref().map(Proxy::take_refused).unwrap_or_default()
    }

    fn directories(&self) -> Vec<PathBuf> {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a command may do now.
    pub fn policy(&self) -> Policy {
        let real = |path: &PathBuf| std::fs::canonicalize(path).ok();
        let directories: Vec<PathBuf> = self.directories().iter().filter_map(real).collect();
        let mut hidden = hidden_in_home(&self.home, &self.config);
        hidden.extend(directories.iter().flat_map(|directory| hidden_in_project(directory)));
        let protected = directories.iter().flat_map(|directory| protected_in(directory)).collect();
        let mut writable = directories;
        writable.extend(self.temporary.iter().filter_map(real));
        let proxy = self.proxy.as_ref().and_then(|proxy| proxy.address().ok());
        Policy { writable, hidden, protected, proxy }
    }

    /// The program and the arguments that run a command confined.
    pub fn wrap(&self, shell: &Path, text: &str) -> (PathBuf, Vec<OsString>) {
        let arguments = vec![
            SUBCOMMAND.into(),
            self.policy().to_text().into(),
            "--".into(),
            shell.as_os_str().to_owned(),
            "-c".into(),
            text.into(),
        ];
        (self.program.clone(), arguments)
    }

    /// Why a file tool may not touch a file, if it may not.
    pub fn refuses(&self, path: &Path, is_write: bool) -> Option<String> {
        let real = crate::permission::real_path(path);
        if is_write {
            let mut allowed = self.directories();
            allowed.extend(self.temporary.iter().cloned());
            let is_inside = allowed.iter().any(|directory| {
                real.starts_with(std::fs::canonicalize(directory).unwrap_or(directory.clone()))
            });
            let text = || {
                format!(
                    "the sandbox lets no tool write outside the working directories: {}",
                    real.display()
                )
            };
            return (!is_inside && !real.starts_with(&self.config)).then(text);
        }
        let is_hidden =
            hidden_in_home(&self.home, &self.config).iter().any(|hidden| real.starts_with(hidden));
        let text =
            || format!("the sandbox lets no tool read keys and credentials: {}", real.display());
        (is_hidden || recto_store::can_be_secret(&real)).then(text)
    }
}

/// Whether the output of a command that failed says that something was refused, so that the
/// user can be asked instead of left with a riddle.
pub fn looks_refused(output: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "Permission denied",
        "Read-only file system",
        "Operation not permitted",
        "Network is unreachable",
        "Could not resolve host",
        "Temporary failure in name resolution",
        "failed to lookup address",
        "EAI_AGAIN",
        "Failed to connect to",
    ];
    SIGNS.iter().any(|sign| output.contains(sign))
}

/// Variables that commands in a sandbox do not get: keys, tokens, and ways to agents.
pub fn is_secret_variable(name: &str) -> bool {
    const PARTS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "_KEY"];
    const NAMES: [&str; 6] = [
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "GPG_AGENT_INFO",
        "DBUS_SESSION_BUS_ADDRESS",
        "DOCKER_HOST",
        "XAUTHORITY",
    ];
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str()) || PARTS.iter().any(|part| name.contains(part))
}

/// How far this machine can confine a command: tried, not guessed.
#[cfg(target_os = "linux")]
pub fn probe(program: &Path) -> Confinement {
    use std::sync::OnceLock;
    static FOUND: OnceLock<Confinement> = OnceLock::new();
    *FOUND.get_or_init(|| linux::probe(program))
}

/// Seatbelt profiles are made and were never tried, so nothing is said to be confined.
#[cfg(not(target_os = "linux"))]
pub fn probe(_program: &Path) -> Confinement {
    Confinement::None
}

/// Confines this process and becomes the command. Comes back only if that failed, or with the
/// exit code of a command whose connections this process carries.
///
/// # Errors
///
/// What could not be done. The command did not run.
#[cfg(target_os = "linux")]
pub fn enter(policy: &str, command: &[OsString]) -> io::Result<u8> {
    let policy = Policy::parse(policy)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a policy"))?;
    linux::enter(&policy, command)
}

/// Other systems have no such thing.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn enter(_policy: &str, _command: &[OsString]) -> io::Result<u8> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "recto confines commands on Linux only"))
}

/// A sandbox that several own.
pub type Shared = Arc<Sandbox>;
