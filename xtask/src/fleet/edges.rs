//! Many machines in one process against a throttled store: what each costs.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use recto_collect::MachineFacts;
use recto_collect::Policy;
use recto_collect::SendOptions;
use recto_collect::Sender;
use recto_collect::Store;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::keep::CollectOptions;
use recto_store::keep::Collector;
use recto_store::keep::MachineSecret;
use recto_testkit::FakeS3;
use tempfile::TempDir;

use crate::fleet::Random;
use crate::repository;

/// What the store answers in a second.
const PER_SECOND: f64 = 400.0;
/// How many rounds each machine sends, and how many lines in each.
const ROUNDS: u64 = 3;
const LINES: u64 = 40;
/// How many machines send at the same time.
const AT_ONCE: usize = 16;

/// A machine that is ready to send.
struct Edge {
    folder: TempDir,
    sender: Sender,
    store: Store,
}

struct Figures {
    edges: u64,
    plain_bytes: u64,
    sent_bytes: u64,
    puts: u64,
    gets: u64,
    refused: u64,
    memory_kb: u64,
    is_whole: bool,
}

/// The figures as text, and whether everything arrived once.
pub(super) fn run(most: u64) -> anyhow::Result<(String, bool)> {
    let mut text = format!(
        "`cargo xtask fleet --edges {most}`: {ROUNDS} rounds of {LINES} lines each, {AT_ONCE} at once, \
         against a store that answers {PER_SECOND} requests a second. Memory is that of the one process \
         that has all edges and the store.\n\n\
         | edges | plain MB | sent MB | PUT | GET, HEAD, LIST | refused (503) | requests for each GB of logs | memory MB | kB for each further edge |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    let mut is_well = true;
    let mut before = (0, memory()?);
    for edges in [most / 10, most / 3, most] {
        let figures = measure(edges.max(1))?;
        is_well &= figures.is_whole;
        let Figures { edges, plain_bytes, sent_bytes, puts, gets, refused, memory_kb, .. } =
            figures;
        let (fewer, less) = before;
        let row = format!(
            "| {edges} | {:.1} | {:.1} | {puts} | {gets} | {refused} | {:.0} | {:.0} | {:.0} |\n",
            plain_bytes as f64 / 1e6,
            sent_bytes as f64 / 1e6,
            (puts + gets) as f64 / (plain_bytes as f64 / 1e9),
            memory_kb as f64 / 1e3,
            memory_kb.saturating_sub(less) as f64 / (edges - fewer).max(1) as f64,
        );
        repository::say(row.trim_end());
        text += &row;
        before = (edges, memory_kb);
    }
    text += &format!("\nEvery range is there once: {}.\n", if is_well { "yes" } else { "no" });
    Ok((text, is_well))
}

/// The memory that this process has, in kilobytes.
fn memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let text = line.context("no VmRSS")?.trim().trim_end_matches("kB").trim();
    Ok(text.parse()?)
}

fn measure(count: u64) -> anyhow::Result<Figures> {
    let fake = FakeS3::start();
    fake.throttle(PER_SECOND);
    let mut edges = Vec::new();
    for _ in 0..count {
        edges.push(Edge::make(&fake)?);
    }
    let plain = AtomicU64::new(0);
    for round in 0..ROUNDS {
        each(&edges, |number, edge| {
            plain.fetch_add(edge.write(number as u64, round)?, Ordering::Relaxed);
            edge.send()
        })?;
    }
    let memory_kb = memory()?;
    let segments = fake.keys("fleet/raw/").len() as u64;
    Ok(Figures {
        edges: count,
        plain_bytes: plain.into_inner(),
        sent_bytes: fake.received_bytes(),
        puts: fake.requests("PUT"),
        gets: fake.requests("GET") + fake.requests("HEAD"),
        refused: fake.refused(),
        memory_kb,
        // One log, so many rounds: so many segments.
        is_whole: segments == count * ROUNDS,
    })
}

fn each(
    edges: &[Edge],
    act: impl Fn(usize, &Edge) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(edge) = edges.get(at)
                {
                    if let Err(error) = act(at, edge)
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

impl Edge {
    fn make(fake: &FakeS3) -> anyhow::Result<Edge> {
        let folder = TempDir::new()?;
        fs::create_dir_all(folder.path().join("home/projects/-w"))?;
        let home = Home::open(folder.path().join("home"))?;
        let data = DataDirectory::new(folder.path().join("data"));
        let root = folder.path().join("data/archive");
        Collector::open(&home, &data, &root, CollectOptions::default())?.collect(&mut |_| {})?;
        let store = Store::open(&fake.url("fleet"), &FakeS3::variables())?;
        let policy = Policy::standard(&MachineSecret::of(&home));
        let facts = MachineFacts { version: "0".to_owned(), ..MachineFacts::default() };
        let options = SendOptions::default();
        let sender = Sender::open(&home, &data, &root, store.clone(), policy, facts, options)?;
        Ok(Edge { folder, sender, store })
    }

    /// Adds lines to its log. How many bytes.
    fn write(&self, number: u64, round: u64) -> anyhow::Result<u64> {
        use std::io::Write as _;
        let mut random = Random(number * 1000 + round + 1);
        let path = self
            .folder
            .path()
            .join(format!("home/projects/-w/{number:08x}-0000-4000-8000-000000000000.jsonl"));
        let mut text = String::new();
        for line in 0..LINES {
            let words: Vec<String> = (0..60).map(|_| format!("{:x}", random.below(4096))).collect();
            text.push_str(&format!("{{\"n\":{line},\"text\":\"{}\"}}\n", words.join(" ")));
        }
        fs::File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
        Ok(text.len() as u64)
    }

    /// Archives and sends, as often as the store wants.
    fn send(&self) -> anyhow::Result<()> {
        let home = Home::open(self.folder.path().join("home"))?;
        let data = DataDirectory::new(self.folder.path().join("data"));
        let root = self.folder.path().join("data/archive");
        Collector::open(&home, &data, &root, CollectOptions::default())?.collect(&mut |_| {})?;
        let mut tries = 0;
        loop {
            match self.sender.send(&mut |_, _| {}) {
                Ok(_) => return Ok(()),
                Err(error) if tries == 20 => {
                    return Err(error).with_context(|| self.store.url().to_owned());
                }
                Err(_) => {
                    tries += 1;
                    thread::sleep(Duration::from_millis(200));
                }
            }
        }
    }
}
