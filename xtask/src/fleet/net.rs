//! Machines in network namespaces, a hub and a real store, all of which fail.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::FakeS3;
use tempfile::TempDir;

use crate::fleet::Machine;
use crate::fleet::Random;
use crate::fleet::Tally;
use crate::fleet::doubled;
use crate::programs;
use crate::repository;

const HUB: &str = "10.77.0.1";
const HUB_PORT: u16 = 7800;
const STORE_PORT: u16 = 8333;
const BUCKET: &str = "team";

/// A program that runs in a namespace.
pub(super) fn within(namespace: &str, program: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

/// Links between namespaces. They go with it.
struct Net {
    core: String,
    root: String,
    machines: Vec<String>,
}

fn ip(words: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("ip").args(words).output().context("ip")?;
    if !output.status.success() {
        bail!("ip {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

impl Net {
    fn make(count: u64) -> anyhow::Result<Net> {
        let tag = format!("rf{}", std::process::id() % 100_000);
        let core = format!("{tag}-core");
        let mut net = Net { core: core.clone(), root: tag.clone(), machines: Vec::new() };
        ip(&["netns", "add", &core])?;
        ip(&["-n", &core, "link", "set", "lo", "up"])?;
        ip(&["-n", &core, "link", "add", "br0", "type", "bridge"])?;
        ip(&["-n", &core, "addr", "add", &format!("{HUB}/16"), "dev", "br0"])?;
        ip(&["-n", &core, "link", "set", "br0", "up"])?;
        ip(&["link", "add", &tag, "type", "veth", "peer", "name", "root0", "netns", &core])?;
        ip(&["-n", &core, "link", "set", "root0", "master", "br0", "up"])?;
        ip(&["addr", "add", "10.77.255.254/16", "dev", &tag])?;
        ip(&["link", "set", &tag, "up"])?;
        for number in 0..count {
            let (name, link) = (format!("{tag}-{number}"), format!("v{number}"));
            ip(&["netns", "add", &name])?;
            net.machines.push(name.clone());
            ip(&[
                "-n", &core, "link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns",
                &name,
            ])?;
            ip(&["-n", &core, "link", "set", &link, "master", "br0", "up"])?;
            let address = format!("10.77.{}.{}/16", 1 + number / 250, 1 + number % 250);
            ip(&["-n", &name, "addr", "add", &address, "dev", "eth0"])?;
            ip(&["-n", &name, "link", "set", "eth0", "up"])?;
            ip(&["-n", &name, "link", "set", "lo", "up"])?;
        }
        Ok(net)
    }

    /// Cuts or mends the link of a machine.
    fn cut(&self, machine: usize, is_cut: bool) -> anyhow::Result<()> {
        let state = if is_cut { "down" } else { "up" };
        ip(&["-n", &self.core, "link", "set", &format!("v{machine}"), state])
    }

    /// Makes the link of a machine slow, so that packets are dropped; or as fast as before.
    fn slow(&self, machine: usize, is_slow: bool) {
        let link = format!("v{machine}");
        let mut words = vec!["-n", &self.core, "qdisc"];
        match is_slow {
            true => words.extend([
                "replace", "dev", &link, "root", "tbf", "rate", "128kbit", "burst", "4kb",
                "latency", "20ms",
            ]),
            false => words.extend(["del", "dev", &link, "root"]),
        }
        // One that is not slow cannot be made fast.
        let _ = Command::new("tc").args(words).stderr(Stdio::null()).status();
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for name in self.machines.iter().chain([&self.core]) {
            let _ = ip(&["netns", "del", name]);
        }
        let _ = ip(&["link", "del", &self.root]);
    }
}

/// A process that is killed and started again.
struct Served {
    process: Option<Child>,
    start: Box<dyn Fn() -> anyhow::Result<Child>>,
}

impl Served {
    fn new(start: impl Fn() -> anyhow::Result<Child> + 'static) -> anyhow::Result<Served> {
        Ok(Served { process: Some(start()?), start: Box::new(start) })
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    fn is_down(&mut self) -> bool {
        self.process.as_mut().is_none_or(|one| matches!(one.try_wait(), Ok(Some(_))))
    }

    /// Starts it, unless it runs.
    fn start(&mut self) -> anyhow::Result<()> {
        if self.is_down() {
            self.process = Some((self.start)()?);
        }
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Everything that is there once.
struct Stage {
    // Processes end before their namespaces and folders go.
    hub: Served,
    store: Served,
    net: Net,
    folder: TempDir,
}

fn start_store(core: &str, folder: &Path) -> anyhow::Result<Served> {
    let weed = programs::find_weed().context("SeaweedFS could not be installed; try --plain")?;
    let (core, data) = (core.to_owned(), folder.join("store"));
    fs::create_dir_all(&data)?;
    let served = Served::new(move || {
        let mut command = within(&core, &weed);
        command.args(["server", "-s3", "-master.volumeSizeLimitMB=64", "-master.telemetry=false"]);
        command.args([format!("-ip={HUB}"), format!("-ip.bind={HUB}")]);
        command.arg(format!("-dir={}", data.display())).arg(format!("-s3.port={STORE_PORT}"));
        command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir(&data);
        Ok(command.spawn()?)
    })?;
    wait_for("the store", || asked("PUT", &format!("/{BUCKET}")).is_ok())?;
    Ok(served)
}

/// A certificate for the hub's address.
fn certificate(folder: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (chain, key) = (folder.join("hub.crt"), folder.join("hub.key"));
    let settings = folder.join("openssl.cnf");
    let text = format!(
        "[req]\ndistinguished_name=dn\nx509_extensions=ext\nprompt=no\n[dn]\nCN=hub\n\
         [ext]\nsubjectAltName=IP:{HUB}\nbasicConstraints=CA:FALSE\n"
    );
    fs::write(&settings, text)?;
    let mut command = Command::new("openssl");
    // Clocks of machines are wrong by an hour; the certificate is older than any of them.
    if let Some(library) = wrong_clock() {
        command.env("LD_PRELOAD", library).env("FAKETIME", "-1d");
    }
    let status = command
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "3", "-config"])
        .arg(&settings)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&chain)
        .stderr(Stdio::null())
        .status()
        .context("openssl")?;
    if !status.success() {
        bail!("openssl made no certificate");
    }
    Ok((chain, key))
}

fn store_url() -> String {
    format!("s3://{BUCKET}/fleet?endpoint=http://{HUB}:{STORE_PORT}")
}

fn administrator(program: &Path, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", folder).env("RECTO_DATA_DIR", folder.join("data"));
    command.envs(FakeS3::variables()).env("AWS_ALLOW_HTTP", "true").args(words);
    command
}

fn start_hub(program: &Path, core: &str, folder: &Path) -> anyhow::Result<(Served, PathBuf)> {
    let (chain, key) = certificate(folder)?;
    let (program, core, folder) = (program.to_owned(), core.to_owned(), folder.to_owned());
    let trusted = chain.clone();
    let served = Served::new(move || {
        let mut command = within(&core, &program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &folder).env("RECTO_DATA_DIR", folder.join("data"));
        command.envs(FakeS3::variables()).env("AWS_ALLOW_HTTP", "true");
        command.args(["hub", "--store", &store_url()]);
        command.args(["--listen", &format!("{HUB}:{HUB_PORT}"), "--tls-cert"]).arg(&chain);
        command.arg("--tls-key").arg(&key).current_dir(&folder);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.spawn()?)
    })?;
    wait_for("the hub", || TcpStream::connect((HUB, HUB_PORT)).is_ok())?;
    Ok((served, trusted))
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(120);
    while !is_there() {
        if Instant::now() > end {
            bail!("{what} does not come up");
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// Asks the store by hand: it wants no signature.
fn asked(method: &str, path: &str) -> anyhow::Result<String> {
    let address = format!("{HUB}:{STORE_PORT}").parse()?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: {HUB}:{STORE_PORT}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let status = text.split(' ').nth(1).unwrap_or_default();
    if !matches!(status, "200" | "409") {
        bail!("the store answered {status}");
    }
    Ok(text)
}

/// The names of all segments.
fn keys() -> anyhow::Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    loop {
        let after = all.last().map(|key| format!("&start-after={key}")).unwrap_or_default();
        let text =
            asked("GET", &format!("/{BUCKET}?list-type=2&prefix=fleet/raw/&max-keys=1000{after}"))?;
        let before = all.len();
        let found = text.split("<Key>").skip(1).filter_map(|piece| piece.split("</Key>").next());
        all.extend(found.map(str::to_owned));
        if all.len() == before || !text.contains("<IsTruncated>true</IsTruncated>") {
            return Ok(all);
        }
    }
}

/// The library that makes clocks wrong.
fn wrong_clock() -> Option<PathBuf> {
    programs::find(&["faketime"], "faketime")?;
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
    folders
        .iter()
        .map(|folder| Path::new(folder).join("faketime/libfaketimeMT.so.1"))
        .find(|path| path.is_file())
}

fn invite(program: &Path, folder: &Path, count: u64) -> anyhow::Result<Vec<String>> {
    let words = ["hub", "invite", "--store", &store_url(), "--count", &count.to_string()];
    let output = administrator(program, folder, &words).output()?;
    if !output.status.success() {
        bail!("invite: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().map(str::to_owned).collect())
}

/// Does something with all machines, some at a time.
fn each(
    machines: &[Machine],
    act: impl Fn(usize, &Machine) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(machine) = machines.get(at)
                {
                    if let Err(error) = act(at, machine)
                        && let Ok(mut failed) = failed.lock()
                    {
                        *failed = Some(error);
                    }
                }
            });
        }
    });
    match failed.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn play(program: &Path, count: u64, minutes: f64) -> anyhow::Result<Tally> {
    let net = Net::make(count).context("network namespaces need root and iproute2; try --plain")?;
    let folder = TempDir::new()?;
    let store = start_store(&net.core, folder.path())?;
    let (hub, trusted) = start_hub(program, &net.core, folder.path())?;
    let mut stage = Stage { hub, store, net, folder };
    let clock = wrong_clock();
    if clock.is_none() {
        repository::say("libfaketime is missing: clocks are right");
    }
    let mut machines = Vec::new();
    let mut random = Random(0x5eed);
    for number in 0..count {
        let mut machine = Machine::start(number)?;
        machine.namespace = Some(stage.net.machines[number as usize].clone());
        let skew = random.below(7200) as i64 - 3600;
        let mut set = |name: &str, text: String| machine.variables.push((name.to_owned(), text));
        set("SSL_CERT_FILE", trusted.display().to_string());
        set("AWS_ALLOW_HTTP", "true".to_owned());
        if let Some(clock) = &clock {
            set("LD_PRELOAD", clock.display().to_string());
            set("FAKETIME", format!("{skew:+}s"));
            set("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned());
        }
        machines.push(machine);
    }
    let url = format!("https://{HUB}:{HUB_PORT}");
    let codes = invite(program, stage.folder.path(), count)?;
    each(&machines, |at, machine| machine.run(program, &["collect", "join", &url, &codes[at]]))?;
    let mut tally = disturb(program, &url, &mut stage, &mut machines, minutes, &mut random)?;
    let healed = Instant::now();
    for machine in &mut machines {
        tally.kills += u64::from(machine.kill()?);
        machine.is_over.store(true, Ordering::Relaxed);
    }
    for machine in &mut machines {
        for writer in machine.writers.drain(..) {
            writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
    }
    each(&machines, |_, machine| arrive(machine, program, &url))?;
    tally.converged = healed.elapsed();
    for machine in &machines {
        machine.compare(program, &store_url(), &mut tally)?;
    }
    tally.doubled = doubled(keys()?);
    Ok(tally)
}

/// Sends what is left, as a collector that runs would: again until it succeeds.
fn arrive(machine: &Machine, program: &Path, url: &str) -> anyhow::Result<()> {
    let mut tries = 0;
    loop {
        match machine.run(program, &["collect", "--to", url]) {
            Err(error) if tries == 10 => return Err(error),
            Err(_) => {
                tries += 1;
                thread::sleep(Duration::from_secs(1));
            }
            Ok(()) => return Ok(()),
        }
    }
}

/// Lets everything fail for a while, and mends it.
fn disturb(
    program: &Path,
    url: &str,
    stage: &mut Stage,
    machines: &mut [Machine],
    minutes: f64,
    random: &mut Random,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut others: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut broken: Vec<(Instant, usize)> = Vec::new();
    let count = machines.len() as u64;
    let end = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    while Instant::now() < end {
        let at = random.below(count) as usize;
        match random.below(40) {
            0..=5 => {
                stage.net.cut(at, true)?;
                broken.push((Instant::now() + Duration::from_millis(random.below(8000)), at));
                *others.entry("partitions").or_default() += 1;
            }
            6..=8 => {
                stage.net.slow(at, true);
                broken.push((Instant::now() + Duration::from_millis(random.below(8000)), at));
                *others.entry("slow links").or_default() += 1;
            }
            9 => {
                stage.hub.kill();
                *others.entry("kills of the hub").or_default() += 1;
            }
            10 => {
                stage.store.kill();
                *others.entry("kills of the store").or_default() += 1;
            }
            11..=15 => {
                stage.hub.start()?;
                stage.store.start()?;
            }
            16 => machines[at].lose_memory(),
            _ => tally.kills += u64::from(machines[at].kill_or_start(program, url)?),
        }
        mend(stage, &mut broken, Instant::now())?;
        thread::sleep(Duration::from_millis(random.below(150)));
    }
    mend(stage, &mut broken, Instant::now() + Duration::from_secs(3600))?;
    stage.store.start()?;
    stage.hub.start()?;
    tally.faults = others.values().sum();
    tally.others = others;
    Ok(tally)
}

fn mend(stage: &Stage, broken: &mut Vec<(Instant, usize)>, now: Instant) -> anyhow::Result<()> {
    for (_, machine) in broken.iter().filter(|(until, _)| *until <= now) {
        stage.net.cut(*machine, false)?;
        stage.net.slow(*machine, false);
    }
    broken.retain(|(until, _)| *until > now);
    Ok(())
}
