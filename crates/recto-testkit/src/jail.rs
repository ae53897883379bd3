//! Attempts to get out of the sandbox, from `fixtures/sandbox/attacks.jsonl`, and what came of
//! them: a tree outside that must not change, secrets that must not be seen, sockets that
//! nobody may reach, a process that must not be touched.

// A test that cannot make its place has failed.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::net::UdpSocket;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

/// What secrets contain. The scripts of the attacks do not, so who prints it has read one.
const CANARY: &str = "c4n4ry-7f3a";
/// What a script prints that got somewhere.
const REACHED: &str = "REACHED";

/// An attempt.
#[derive(Debug, Clone)]
pub struct Attack {
    /// What is tried.
    pub name: String,
    /// A script of bash.
    pub script: String,
}

/// All attempts.
pub fn attacks(file: &Path) -> Vec<Attack> {
    let text = fs::read_to_string(file).unwrap();
    let attack = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        Attack { name: text("name"), script: text("script") }
    };
    text.lines().map(attack).collect()
}

/// A place for attacks.
pub struct Jail {
    folder: TempDir,
    recto: PathBuf,
    tcp: Vec<TcpListener>,
    udp: Vec<UdpSocket>,
    unix: Vec<UnixListener>,
    host: Child,
    before: Vec<String>,
    /// Who attacks, if it is not who runs this.
    user: Option<u32>,
}

/// The user and group that own nothing.
pub const NOBODY: u32 = 65_534;

impl Jail {
    /// A place, if this machine can confine a command wholly.
    pub fn new(recto: &Path) -> Option<Jail> {
        Jail::of_user(recto, None)
    }

    /// The same for attacks by another user, which only root can start.
    pub fn of_user(recto: &Path, user: Option<u32>) -> Option<Jail> {
        let folder = tempfile::tempdir().unwrap();
        let recto = match user {
            // Where the program is, others may not look.
            Some(_) => {
                let copy = folder.path().join("recto");
                fs::copy(recto, &copy).unwrap();
                fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
                copy
            }
            None => recto.to_owned(),
        };
        let probe = as_user(&mut Command::new(&recto), user)
            .current_dir("/")
            .args([
                "__sandbox",
                "{\"writable\":[],\"hidden\":[],\"protected\":[],\"proxy\":null}",
                "--",
                "--probe",
            ])
            .output()
            .ok()?;
        if probe.stdout != b"full\n" {
            return None;
        }
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let mut tcp = vec![first];
        tcp.extend(
            ["127.0.0.2", "::1"].iter().filter_map(|at| TcpListener::bind((*at, port)).ok()),
        );
        let first = UdpSocket::bind("127.0.0.1:0").unwrap();
        let udp_port = first.local_addr().unwrap().port();
        let mut udp = vec![first];
        udp.extend(UdpSocket::bind(("127.0.0.2", udp_port)));
        let mut unix = vec![UnixListener::bind(folder.path().join("socket")).unwrap()];
        let name = SocketAddr::from_abstract_name("recto-canary").unwrap();
        unix.extend(UnixListener::bind_addr(&name));
        tcp.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        udp.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        unix.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let mut host = Command::new("sleep");
        let host = as_user(&mut host, user).arg("3600").env("HOST_KEY", CANARY).spawn().unwrap();
        let mut jail = Jail { folder, recto, tcp, udp, unix, host, before: Vec::new(), user };
        jail.furnish();
        jail.before = jail.outside();
        Some(jail)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn furnish(&self) {
        for name in ["out/sub", "out/empty", "home/.ssh", "home/.aws", "config", "secret"] {
            fs::create_dir_all(self.path(name)).unwrap();
        }
        for name in ["out/file", "out/sub/file", "home/.bashrc", "home/.profile"] {
            fs::write(self.path(name), "a plain file\n").unwrap();
        }
        for name in [
            "home/.ssh/id_ed25519",
            "home/.aws/credentials",
            "home/.netrc",
            "config/.credentials.json",
            "secret/key",
        ] {
            fs::write(self.path(name), CANARY).unwrap();
        }
        self.furnish_work();
    }

    fn furnish_work(&self) {
        let work = self.path("work");
        if work.exists() {
            fs::remove_dir_all(&work).unwrap();
        }
        fs::create_dir_all(work.join(".git/hooks")).unwrap();
        fs::create_dir_all(work.join(".git/objects")).unwrap();
        fs::create_dir_all(work.join(".git/refs")).unwrap();
        fs::create_dir_all(work.join(".claude")).unwrap();
        fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(work.join(".git/config"), "[core]\n\trepositoryformatversion = 0\n").unwrap();
        fs::write(work.join(".claude/settings.json"), "{}\n").unwrap();
        for name in [".env", "deploy.pem"] {
            fs::write(work.join(name), CANARY).unwrap();
        }
        if let Some(user) = self.user {
            give(self.folder.path(), user);
        }
    }

    /// What must not change: names, modes, times and content.
    fn outside(&self) -> Vec<String> {
        let mut all = Vec::new();
        for name in [
            "out",
            "home",
            "config",
            "secret",
            "work/.git/hooks",
            "work/.git/config",
            "work/.claude",
        ] {
            describe(&self.path(name), name.starts_with("work"), &mut all);
        }
        all.push(format!("/dev/shm: {}", Path::new("/dev/shm/recto-canary").exists()));
        all
    }

    fn policy(&self) -> String {
        let hidden = [
            "work/.env",
            "work/deploy.pem",
            "home/.ssh",
            "home/.aws",
            "home/.netrc",
            "config/.credentials.json",
            "secret/key",
        ];
        let mut hidden: Vec<PathBuf> = hidden.iter().map(|name| self.path(name)).collect();
        hidden.extend(["/etc/shadow", "/etc/gshadow"].map(PathBuf::from));
        let protected =
            ["work/.git/hooks", "work/.git/config", "work/.claude"].map(|name| self.path(name));
        json!({"writable": [self.path("work")], "hidden": hidden, "protected": protected, "proxy": self.path("proxy")}).to_string()
    }

    /// Tries one attack; what got out.
    pub fn attack(&mut self, attack: &Attack) -> Result<(), String> {
        self.furnish_work();
        let mut before = self.outside();
        let mut command = Command::new("timeout");
        as_user(&mut command, self.user);
        command.args(["-k", "1", "12"]).arg(&self.recto).arg("__sandbox").arg(self.policy());
        command.args(["--", "/bin/bash", "-c", &attack.script]).current_dir(self.path("work"));
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let port = self.tcp[0].local_addr().unwrap().port().to_string();
        let udp_port = self.udp[0].local_addr().unwrap().port().to_string();
        command.env("OUT", self.path("out")).env("SECRET", self.path("secret/key"));
        command.env("W", self.path("work")).env("HOME", self.path("home"));
        command.env("CONFIG", self.path("config")).env("SOCK", self.path("socket"));
        command.env("PORT", port).env("UPORT", udp_port).env("HOSTIP", "127.0.0.2");
        command.env("HOSTPID", self.host.id().to_string());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if attack.script.contains("sleep 0.2") {
            std::thread::sleep(Duration::from_millis(400));
        }
        let mut out = Vec::new();
        if said.contains("cannot confine") {
            out.push(format!("was not confined: {said}"));
        }
        let is_reached = said.lines().any(|line| line.starts_with(REACHED));
        if said.contains(CANARY) || is_reached {
            out.push(format!("read or reached something: {said}"));
        }
        let now = self.outside();
        before.retain(|line| !now.contains(line));
        if !before.is_empty() || now.len() != self.before.len() {
            out.push(format!("changed something outside: {before:?}"));
            for name in ["out", "home", "config", "secret"] {
                fs::remove_dir_all(self.path(name)).ok();
            }
            self.furnish();
            self.before = self.outside();
        }
        out.extend(self.connections());
        if self.host.try_wait().unwrap().is_some() {
            out.push("ended a process outside".to_owned());
        }
        match out.is_empty() {
            true => Ok(()),
            false => Err(format!("{}: {}", attack.name, out.join("; "))),
        }
    }

    fn connections(&self) -> Vec<String> {
        let mut bytes = [0; 64];
        let tcp = self.tcp.iter().filter(|socket| socket.accept().is_ok()).count();
        let udp = self.udp.iter().filter(|socket| socket.recv(&mut bytes).is_ok()).count();
        let unix = self.unix.iter().filter(|socket| socket.accept().is_ok()).count();
        let reached = [("TCP", tcp), ("UDP", udp), ("a Unix socket", unix)].into_iter();
        reached.filter(|(_, count)| *count > 0).map(|(name, _)| format!("reached {name}")).collect()
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        self.host.kill().ok();
        self.host.wait().ok();
    }
}

fn as_user(command: &mut Command, user: Option<u32>) -> &mut Command {
    match user {
        Some(user) => command.uid(user).gid(user),
        None => command,
    }
}

/// Gives all that is at a path to a user.
fn give(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// Lines that say what is at a path and below it.
fn describe(path: &Path, is_made_anew: bool, all: &mut Vec<String>) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        all.push(format!("{}: gone", path.display()));
        return;
    };
    let mut content = Vec::new();
    if metadata.is_file() {
        fs::File::open(path).unwrap().read_to_end(&mut content).unwrap();
    }
    let time = if is_made_anew { 0 } else { metadata.mtime() };
    let content = String::from_utf8_lossy(&content);
    all.push(format!("{}: {:o} {time} {content:?}", path.display(), metadata.mode()));
    if metadata.is_dir() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for entry in entries {
            describe(&entry, is_made_anew, all);
        }
    }
}
