//! A client that appends a line just while recto edits the session: the line is never lost.
//!
//! The client is a thread of this process, so recto sees it as another one. It waits until
//! recto has staged its files, then opens the log, writes and closes it, as Claude Code does,
//! with random pauses between. In some rounds recto is killed meanwhile, and the next command
//! puts right what was left.

use std::fs;
use std::fs::File;
use std::fs::FileTimes;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use anyhow::Context as _;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use super::arena::Arena;
use super::arena::Random;
use super::report::Figures;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// What recto is asked for while the client writes; the last one is done to be undone.
const EDITS: [&[&str]; 5] = [
    &["rename", SESSION, "Another title"],
    &["redact", SESSION, "--pattern", "word=zebra[0-9]", "--in-place"],
    &["rm", SESSION, "--yes"],
    &["move", SESSION, "/home/dev/elsewhere", "--even-if-missing"],
    &["undo"],
];

/// So many races are worth a page.
const FULL: u64 = 5000;

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let base = SessionBuilder::new(SESSION, Client::V2_1_325)
        .cwd("/home/dev/app")
        .prompt("What is a zebra1?")
        .answer("A horse with stripes.");
    let mut round = 0u64;
    loop {
        for edit in EDITS {
            for is_killed in [false, false, false, true] {
                let race = Race::new(arena, is_killed);
                let outcome = race.run(arena, base.bytes(), edit)?;
                let name = match is_killed {
                    false => "lines that a client appends during an edit",
                    true => "lines that a client appends around a killed edit",
                };
                let seed = arena.seed;
                let told = |what| format!("seed {seed}, round {round}, {edit:?}, {race:?}: {what}");
                figures.tried(name, outcome.map_err(told));
                round += 1;
            }
        }
        if !arena.goes_on(round, FULL) {
            return Ok(());
        }
    }
}

/// The random times of a round, in microseconds.
#[derive(Debug)]
struct Race {
    /// From the first staged file to the moment at which the client opens the log.
    until_open: u64,
    /// From there to the write.
    until_write: u64,
    /// Until it does all that once more, if it does.
    until_second: Option<u64>,
    /// From the first staged file to the kill.
    until_kill: Option<u64>,
}

impl Race {
    fn new(arena: &mut Arena, is_killed: bool) -> Race {
        let random = &mut arena.random;
        // Short pauses more often than long ones: the names change within a millisecond.
        let pause = |random: &mut Random, most: usize| {
            let most = *random.pick(&[most / 100, most / 10, most]);
            random.below(most.max(1)) as u64
        };
        Race {
            until_open: pause(random, 60_000),
            until_write: pause(random, 20_000),
            until_second: (random.below(3) == 0).then(|| pause(random, 10_000)),
            until_kill: is_killed.then(|| pause(random, 60_000)),
        }
    }

    fn run(&self, arena: &Arena, base: &[u8], edit: &[&str]) -> anyhow::Result<Result<(), String>> {
        let log = prepare(arena, base, edit)?;
        let (staged, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let folder = log.parent().context("a path without a folder")?;
        let mut lines = Vec::new();
        let said = std::thread::scope(|scope| -> anyhow::Result<String> {
            let watcher = scope.spawn(|| wait_until_staged(folder, &staged, &is_over));
            let client = scope.spawn(|| self.write(&log, &staged, &is_over));
            let killed = self.kill_or_finish(arena, edit, &staged);
            is_over.store(true, Ordering::Release);
            let _ = watcher.join();
            lines = client.join().map_err(|_| anyhow::anyhow!("the client panicked"))??;
            killed
        })?;
        if said.contains("panicked") {
            return Ok(Err(said));
        }
        // Puts right what a kill left.
        let next = arena.run(&["undo", "--dry-run"])?;
        if let Err(what) = next.sound() {
            return Ok(Err(what));
        }
        Ok(check(&arena.home().join("projects"), &lines, &said))
    }

    /// What the client does. Gives the lines that it wrote.
    fn write(
        &self,
        log: &Path,
        staged: &AtomicBool,
        is_over: &AtomicBool,
    ) -> anyhow::Result<Vec<String>> {
        while !staged.load(Ordering::Acquire) && !is_over.load(Ordering::Acquire) {
            std::hint::spin_loop();
            std::thread::sleep(Duration::from_micros(20));
        }
        let mut lines = Vec::new();
        for (at, until) in [Some(self.until_open), self.until_second].into_iter().enumerate() {
            let Some(until) = until else { break };
            sleep(until);
            // The real one makes the directory of its log, too.
            fs::create_dir_all(log.parent().context("a path without a folder")?)?;
            let opened = OpenOptions::new().create(true).append(true).open(log);
            // Its directory went between the two calls: nothing was written.
            let Ok(mut file) = opened else { continue };
            sleep(self.until_write);
            let line = format!(
                "{{\"type\":\"last-prompt\",\"sessionId\":\"{SESSION}\",\"lastPrompt\":\"late {at}\"}}\n"
            );
            file.write_all(line.as_bytes())?;
            lines.push(line);
        }
        Ok(lines)
    }

    fn kill_or_finish(
        &self,
        arena: &Arena,
        edit: &[&str],
        staged: &AtomicBool,
    ) -> anyhow::Result<String> {
        let Some(until) = self.until_kill else {
            let run = arena.finish(&mut arena.command(edit))?;
            return Ok(String::from_utf8_lossy(&run.stderr).into_owned());
        };
        let said = arena.folder().join("said");
        let mut command = arena.command(edit);
        command.stdout(File::create(&said)?).stderr(File::create(&said)?);
        let mut child = command.spawn().context("cannot start the program")?;
        while !staged.load(Ordering::Acquire) && child.try_wait()?.is_none() {
            std::thread::sleep(Duration::from_micros(50));
        }
        sleep(until);
        child.kill()?;
        child.wait()?;
        Ok(fs::read_to_string(&said).unwrap_or_default())
    }
}

fn sleep(microseconds: u64) {
    // A sleep takes longer than asked for; the shortest are the most wanted.
    let end = Instant::now() + Duration::from_micros(microseconds);
    if microseconds > 1000 {
        std::thread::sleep(Duration::from_micros(microseconds - 500));
    }
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// A home with one log that nobody has written to for an hour.
fn prepare(arena: &Arena, base: &[u8], edit: &[&str]) -> anyhow::Result<PathBuf> {
    for folder in [arena.home(), arena.user()] {
        fs::remove_dir_all(&folder)?;
        fs::create_dir(&folder)?;
    }
    let log = arena.home().join(format!("projects/-home-dev-app/{SESSION}.jsonl"));
    fs::create_dir_all(log.parent().context("a path without a folder")?)?;
    fs::write(&log, base)?;
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let times = FileTimes::new().set_modified(long_ago);
    OpenOptions::new().write(true).open(&log)?.set_times(times)?;
    if edit == ["undo"] {
        arena
            .run(&["rename", SESSION, "A title to be undone"])?
            .sound()
            .map_err(anyhow::Error::msg)?;
    }
    Ok(log)
}

/// Waits for the first file that recto stages in the directory of the log, or for the
/// record of an operation that stages nothing there.
fn wait_until_staged(folder: &Path, staged: &AtomicBool, is_over: &AtomicBool) {
    let records = folder.ancestors().nth(3).map(|root| root.join("user/data/recto/operations"));
    let before = count(records.as_deref(), |name| name.ends_with(".json"));
    while !is_over.load(Ordering::Acquire) {
        let is_staged = count(Some(folder), |name| name.starts_with(".recto-")) > 0
            || count(records.as_deref(), |name| name.ends_with(".json")) > before
            || count(records.as_deref(), |name| name.ends_with(".json.tmp")) > 0;
        if is_staged {
            staged.store(true, Ordering::Release);
            return;
        }
        std::thread::sleep(Duration::from_micros(30));
    }
}

fn count(folder: Option<&Path>, is_meant: impl Fn(&str) -> bool) -> usize {
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok());
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter(|name| is_meant(&name.to_string_lossy())).count()
}

/// Every line that was written must be in a log, once.
fn check(projects: &Path, lines: &[String], said: &str) -> Result<(), String> {
    let mut logs = Vec::new();
    let mut waiting = vec![projects.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                logs.push(fs::read_to_string(&path).map_err(|error| error.to_string())?);
            }
        }
    }
    for line in lines {
        let found: usize = logs.iter().map(|log| log.matches(line.as_str()).count()).sum();
        if found != 1 {
            let said = said.replace('\n', " ");
            return Err(format!("the line is there {found} times; recto said: {said}"));
        }
    }
    Ok(())
}
