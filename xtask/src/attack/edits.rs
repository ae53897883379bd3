//! Edits that are killed, or meet errors of the system, at random calls: the session is the
//! old one or the new one, the next command puts right what was left, and an undo gives back
//! every byte.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use recto_testkit::contents;

use super::arena::Arena;
use super::report::Figures;
use crate::programs;
use crate::repository::say;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const OTHER: &str = "99999999-2222-4333-8444-555555555555";

/// Edits that one undo takes back.
const EDITS: &[&[&str]] = &[
    &["rename", SESSION, "Another title"],
    &["rm", SESSION, "--yes"],
    &["move", SESSION, "/home/dev/moved", "--even-if-missing"],
    &["redact", SESSION, "--pattern", "word=needle[a-z]*", "--in-place"],
    &["trim", SESSION, "--tool-results", "10", "--in-place"],
    &["clone", SESSION],
    &["fork", SESSION, "--at", "1"],
];

/// Calls that change something, and those that open what is changed.
const CALLS: [&str; 13] = [
    "openat",
    "write",
    "fsync",
    "fdatasync",
    "rename",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "mkdir",
    "fchmod",
    "utimensat",
    "rmdir",
];

const FATES: [&str; 4] = ["signal=KILL", "error=EIO", "error=ENOSPC", "error=EACCES"];

/// So many edits are worth a page.
const FULL: u64 = 1000;

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let strace = programs::find_strace();
    if strace.is_none() {
        say("without strace, edits are only killed at random times");
    }
    let mut round = 0u64;
    loop {
        prepare(arena)?;
        let words = *arena.random.pick(EDITS);
        let (mut command, what) = match &strace {
            Some(strace) => traced(arena, strace, words),
            None => (arena.command(words), "killed".to_owned()),
        };
        let described = format!("seed {}, round {round}, {what}, {words:?}", arena.seed);
        let before = contents(&arena.home());
        let outcome = match &strace {
            Some(_) => arena.finish(&mut command)?.unbroken(),
            None => arena.kill_somewhere(&mut command),
        };
        let outcome = outcome.and_then(|()| settle(arena, &before));
        figures.tried(
            "edits killed or failed, whole and taken back",
            outcome.map_err(|trouble| format!("{described}: {trouble}")),
        );
        round += 1;
        if !arena.goes_on(round, FULL) {
            return Ok(());
        }
    }
}

/// Two sessions, and nothing that recto has done.
fn prepare(arena: &Arena) -> anyhow::Result<()> {
    arena.clear()?;
    for (id, title) in [(SESSION, "First"), (OTHER, "Second")] {
        let log = SessionBuilder::new(id, Client::V2_1_325)
            .prompt("Find the needle")
            .tool("Bash", r#"{"command":"ls"}"#, &"a needles b\n".repeat(100))
            .answer("Here it is: needlework")
            .prompt("Thanks")
            .answer("You are welcome")
            .custom_title(title);
        let folder = arena.home().join("projects/-home-dev-app");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{id}.jsonl")), log.bytes())?;
        // What was just written could be in use.
        let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        fs::File::options()
            .write(true)
            .open(folder.join(format!("{id}.jsonl")))?
            .set_modified(hour)?;
    }
    Ok(())
}

fn traced(arena: &mut Arena, strace: &Path, words: &[&str]) -> (Command, String) {
    let call = *arena.random.pick(&CALLS);
    let fate = *arena.random.pick(&FATES);
    // The loader opens a dozen libraries before the program begins.
    let when =
        if call == "openat" { arena.random.below(60) + 5 } else { arena.random.below(25) + 1 };
    let inject = format!("inject={call}:{fate}:when={when}");
    let mut command = Command::new(strace);
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject]).arg(&arena.recto).args(words);
    arena.set_environment(&mut command);
    (command, inject)
}

/// The next command puts right what was left; then the edit is taken back if it was made.
fn settle(
    arena: &Arena,
    before: &std::collections::BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(), String> {
    let run = |words: &[&str]| {
        let run = arena.run(words).map_err(|error| error.to_string())?;
        run.sound()?;
        Ok::<_, String>(run)
    };
    let next = run(&["rename", OTHER, "Something else"])?;
    if next.code() != Some(0) {
        return Err(format!("the next edit failed: {}", next.said()));
    }
    let settled = contents(&arena.home());
    if let Some(path) = settled.keys().find(|path| path.to_string_lossy().contains(".recto-")) {
        return Err(format!("{} is left over", path.display()));
    }
    // Newest first: the other edit, and what is left of the first one.
    for _ in 0..2 {
        run(&["undo"])?;
    }
    let now = contents(&arena.home());
    match now.iter().find(|(path, bytes)| before.get(*path) != Some(bytes)) {
        Some((path, _)) => return Err(format!("{} is not as it was", path.display())),
        None if now.len() != before.len() => return Err("a file is gone".to_owned()),
        None => {}
    }
    Ok(())
}
