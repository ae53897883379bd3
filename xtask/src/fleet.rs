//! Many machines that send to one store, while everything fails. In the end every line of every
//! machine is in the store, once.
//!
//! Usually each machine has a network namespace of its own, a clock that is wrong by up to an hour,
//! and sends through a hub to SeaweedFS; links break, and edges, hub and store are killed (`net`).
//! With `--plain` there are processes only, and the store is one that hangs up, refuses and loses its
//! answers. `--edges` has many machines in one process, to count memory and requests (`edges`).

mod edges;
mod net;

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::FakeS3;
use tempfile::TempDir;

use crate::repository;

const USAGE: &str =
    "usage: cargo xtask fleet [--machines N] [--minutes M] [--program PATH] [--plain] [--write]
       cargo xtask fleet --edges N [--write]

  --machines  how many machines send [default: 10]
  --minutes   how long things fail, before everything must arrive [default: 1]
  --program   a recto that is built already
  --plain     without network namespaces, a hub and SeaweedFS
  --edges     many machines in one process, against a store that is throttled
  --write     put the result into bench/FLEET.md";

/// How many logs a machine writes.
const LOGS: u64 = 3;

struct Options {
    machines: u64,
    minutes: f64,
    program: Option<PathBuf>,
    is_plain: bool,
    edges: Option<u64>,
    is_written: bool,
}

/// The parts of the report.
const MACHINES: &str = "Machines";
const EDGES: &str = "Edges";

/// What came of it.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    faults: u64,
    files: u64,
    bytes: u64,
    lost: u64,
    doubled: u64,
    converged: Duration,
    /// What else failed, and how often.
    others: BTreeMap<&'static str, u64>,
}

struct Machine {
    folder: TempDir,
    is_over: Arc<AtomicBool>,
    writers: Vec<JoinHandle<anyhow::Result<()>>>,
    collector: Option<Child>,
    /// Its network namespace, if it has one.
    namespace: Option<String>,
    /// What else its programs are told.
    variables: Vec<(String, String)>,
}

pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let options = read(words)?;
    if let Some(edges) = options.edges {
        let (text, is_well) = edges::run(edges)?;
        return report(&options, EDGES, &text, is_well);
    }
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            let build = ["build", "--package", "recto"];
            let status = Command::new(repository::cargo()).args(build).status()?;
            if !status.success() {
                bail!("recto could not be built");
            }
            repository::target().join("debug/recto")
        }
    };
    let tally = match options.is_plain {
        true => play(&program, options.machines, options.minutes)?,
        false => net::play(&program, options.machines, options.minutes)?,
    };
    let is_well =
        tally.lost == 0 && tally.doubled == 0 && tally.converged < Duration::from_secs(60);
    report(&options, MACHINES, &tally.text(&options), is_well)
}

impl Tally {
    fn text(&self, options: &Options) -> String {
        let plain = if options.is_plain { " --plain" } else { "" };
        let (machines, minutes) = (options.machines, options.minutes);
        let mut text = format!(
            "`cargo xtask fleet --machines {machines} --minutes {minutes}{plain}`\n\n\
             | what | figure |\n|---|---:|\n| kills of edges | {} |\n",
            self.kills
        );
        for (what, count) in &self.others {
            text += &format!("| {what} | {count} |\n");
        }
        text += &format!(
            "| all faults | {} |\n| files | {} |\n| bytes | {} |\n| files lost or altered | {} |\n\
             | bytes doubled | {} |\n| seconds from the last fault until everything was there | {:.1} |\n\n\
             Bars: nothing lost, nothing doubled, everything there within 60 s.\n",
            self.faults,
            self.files,
            self.bytes,
            self.lost,
            self.doubled,
            self.converged.as_secs_f64()
        );
        text
    }
}

/// Prints a part of the report, and puts it into the file if that is wanted.
fn report(options: &Options, part: &str, text: &str, is_well: bool) -> anyhow::Result<ExitCode> {
    repository::say(text);
    if options.is_written {
        let path = repository::root().join("bench/FLEET.md");
        let before = fs::read_to_string(&path).unwrap_or_default();
        let mut page = "# Results of `cargo xtask fleet`\n".to_owned();
        for known in [MACHINES, EDGES] {
            page += &match known == part {
                true => format!("\n## {part}\n\n{text}"),
                false => repository::section_of(&before, known),
            };
        }
        fs::write(path, page)?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(words: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        machines: 10,
        minutes: 1.0,
        program: None,
        is_plain: false,
        edges: None,
        is_written: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--plain" => {
                options.is_plain = true;
                continue;
            }
            "--write" => {
                options.is_written = true;
                continue;
            }
            _ => {}
        }
        let value = words.next().with_context(|| USAGE.to_owned())?;
        match word.as_str() {
            "--machines" => options.machines = value.parse()?,
            "--minutes" => options.minutes = value.parse()?,
            "--edges" => options.edges = Some(value.parse()?),
            "--program" => options.program = Some(fs::canonicalize(value)?),
            _ => bail!("{USAGE}"),
        }
    }
    Ok(options)
}

fn play(program: &Path, count: u64, minutes: f64) -> anyhow::Result<Tally> {
    let store = FakeS3::start();
    let url = store.url("fleet");
    let mut machines = Vec::new();
    for number in 0..count {
        machines.push(Machine::start(number)?);
    }
    let mut tally = Tally::default();
    let mut random = Random(0x5eed);
    let end = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    while Instant::now() < end {
        let machine = &mut machines[random.below(count) as usize];
        match random.below(10) {
            0 => {
                store.fail(random.below(20));
                tally.faults += 1;
            }
            1 => {
                store.lose_answers(random.below(5));
                tally.faults += 1;
            }
            2 => {
                // Nobody can reach the store for a while.
                store.close(true);
                thread::sleep(Duration::from_millis(random.below(2000)));
                store.close(false);
                tally.faults += 1;
            }
            3 => machine.lose_memory(),
            _ => tally.kills += u64::from(machine.kill_or_start(program, &url)?),
        }
        thread::sleep(Duration::from_millis(random.below(200)));
    }
    store.fail(0);
    store.lose_answers(0);
    let healed = Instant::now();
    for machine in &mut machines {
        tally.kills += u64::from(machine.kill()?);
        machine.is_over.store(true, Ordering::Relaxed);
    }
    for machine in &mut machines {
        for writer in machine.writers.drain(..) {
            writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        machine.run(program, &["collect", "--to", &url])?;
    }
    tally.converged = healed.elapsed();
    for machine in &machines {
        machine.compare(program, &url, &mut tally)?;
    }
    tally.doubled = doubled(store.keys("fleet/raw/"));
    Ok(tally)
}

impl Machine {
    fn start(number: u64) -> anyhow::Result<Machine> {
        let folder = TempDir::new()?;
        let project = folder.path().join("home/projects/-w");
        fs::create_dir_all(&project)?;
        fs::create_dir_all(folder.path().join(".config/recto"))?;
        // What is compared is the bytes themselves.
        fs::write(folder.path().join(".config/recto/collect.toml"), "redact = \"off\"\n")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let writers = (0..LOGS)
            .map(|log| {
                let path = project
                    .join(format!("{number:04x}{log:04x}-0000-4000-8000-000000000000.jsonl"));
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || write_log(&path, number * LOGS + log, &is_over))
            })
            .collect();
        let (namespace, variables) = (None, Vec::new());
        Ok(Machine { folder, is_over, writers, collector: None, namespace, variables })
    }

    fn command(&self, program: &Path, words: &[&str]) -> Command {
        let root = self.folder.path();
        let mut command = match &self.namespace {
            Some(namespace) => net::within(namespace, program),
            None => Command::new(program),
        };
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", root).env("RECTO_DATA_DIR", root.join("data"));
        command.env("RECTO_CACHE_DIR", root.join("cache")).envs(FakeS3::variables());
        command.envs(self.variables.iter().map(|(name, text)| (name, text)));
        command.arg("--home").arg(root.join("home")).args(words).current_dir(root);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, program: &Path, words: &[&str]) -> anyhow::Result<()> {
        let output = self.command(program, words).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            bail!("{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// Kills the collector, or starts one. Whether one was killed.
    fn kill_or_start(&mut self, program: &Path, url: &str) -> anyhow::Result<bool> {
        if self.kill()? {
            return Ok(true);
        }
        let words = ["collect", "--to", url, "--watch", "--every", "1s"];
        self.collector = Some(self.command(program, &words).spawn()?);
        Ok(false)
    }

    fn kill(&mut self) -> anyhow::Result<bool> {
        let Some(mut collector) = self.collector.take() else { return Ok(false) };
        let was_running = collector.try_wait()?.is_none();
        // It may end by itself in between.
        let _ = collector.kill();
        collector.wait()?;
        Ok(was_running)
    }

    /// Forgets what the store has, between two runs.
    fn lose_memory(&mut self) {
        if self.collector.is_none() {
            for name in ["stores.sqlite", "stores.sqlite-wal", "stores.sqlite-shm"] {
                let _ = fs::remove_file(self.folder.path().join("data/collect").join(name));
            }
        }
    }

    /// Which machine it is in the store.
    fn id(&self) -> anyhow::Result<String> {
        let home = recto_store::Home::open(self.folder.path().join("home"))?;
        Ok(recto_store::keep::MachineId::of(&home).to_string())
    }

    fn compare(&self, program: &Path, url: &str, tally: &mut Tally) -> anyhow::Result<()> {
        let back = self.folder.path().join("back");
        let id = self.id()?;
        let words = ["restore", "--all", "--from", url, "--machine", &id, "--to"];
        let output = self.command(program, &words).arg(&back).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            bail!("restore: {}", String::from_utf8_lossy(&output.stderr));
        }
        for entry in fs::read_dir(self.folder.path().join("home/projects/-w"))? {
            let entry = entry?;
            let there = fs::read(entry.path())?;
            let given = fs::read(back.join("projects/-w").join(entry.file_name())).ok();
            tally.files += 1;
            tally.bytes += there.len() as u64;
            tally.lost += u64::from(given.as_ref() != Some(&there));
        }
        Ok(())
    }
}

/// Writes lines of all lengths, in pieces, as clients do.
fn write_log(path: &Path, seed: u64, is_over: &AtomicBool) -> anyhow::Result<()> {
    let mut random = Random(seed + 1);
    let mut file = File::options().create(true).append(true).open(path)?;
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        let text = "x".repeat(random.below(4000) as usize);
        let line = format!("{{\"n\":{count},\"text\":\"{text}\"}}\n");
        let (first, second) = line.split_at(line.len() / 2);
        file.write_all(first.as_bytes())?;
        file.write_all(second.as_bytes())?;
        count += 1;
        thread::sleep(Duration::from_millis(random.below(100)));
    }
    Ok(())
}

/// Bytes that two objects of one life have.
fn doubled(keys: Vec<String>) -> u64 {
    let mut lives: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for key in keys {
        let range = key.strip_suffix(".jsonl.zst").and_then(|key| key.rsplit_once('/'));
        let range = range.and_then(|(life, name)| {
            let (start, end) = name.split_once('-')?;
            Some((life.to_owned(), (start.parse().ok()?, end.parse().ok()?)))
        });
        if let Some((life, range)) = range {
            lives.entry(life).or_default().push(range);
        }
    }
    let mut doubled = 0;
    for ranges in lives.values_mut() {
        ranges.sort_unstable();
        doubled += ranges.windows(2).map(|two| two[0].1.saturating_sub(two[1].0)).sum::<u64>();
    }
    doubled
}

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}
