//! A log that grows in torn pieces while it is followed: every line comes out once, in order.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;

use super::arena::Arena;
use super::report::Figures;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// How long the follower may be silent while lines are missing.
const PATIENCE: Duration = Duration::from_secs(20);

/// So many lines are worth a page.
const FULL: u64 = 20_000;

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let folder = arena.home().join("projects/-home-dev-app");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{SESSION}.jsonl"));
    fs::write(&path, line(0))?;
    let mut command = arena.command(&["show", SESSION, "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take().context("no output")?;
    let (send, receive) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let mut next = 0;
    let mut written = 1;
    let mut file = fs::File::options().append(true).open(&path)?;
    let outcome = loop {
        // A burst of lines, cut anywhere, several in one write or one in several.
        let burst = arena.random.below(12) + 1;
        let bytes: Vec<u8> =
            (written..written + burst).flat_map(|number| line(number).into_bytes()).collect();
        written += burst;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let length = (arena.random.below(rest.len()) + 1).min(arena.random.below(700) + 1);
            file.write_all(&rest[..length])?;
            rest = &rest[length..];
            if arena.random.below(3) == 0 {
                std::thread::sleep(Duration::from_micros(arena.random.below(4000) as u64));
            }
        }
        let mut trouble = None;
        while next < written {
            let Ok(shown) = receive.recv_timeout(PATIENCE) else {
                trouble = Some(format!("line {next} of {written} never came"));
                break;
            };
            let wanted = format!("number-{next:08}.");
            if !shown.contains(&wanted) {
                let shown: String = shown.chars().take(300).collect();
                trouble = Some(format!("instead of line {next}: {shown}"));
                break;
            }
            figures.tried("lines followed under torn writes, once and in order", Ok(()));
            next += 1;
        }
        if trouble.is_some() || !arena.goes_on(written as u64, FULL) {
            break trouble;
        }
    };
    child.kill()?;
    child.wait()?;
    let _ = reader.join();
    if let Some(trouble) = outcome {
        figures.tried(
            "lines followed under torn writes, once and in order",
            Err(format!("seed {}: {trouble}", arena.seed)),
        );
    }
    Ok(())
}

/// A prompt; some are longer than a pipe or a page.
fn line(number: usize) -> String {
    let text = "é日x".repeat(number % 7 * (number % 13) * 20);
    format!(
        "{{\"type\":\"user\",\"uuid\":\"00000000-0000-4000-8000-{number:012x}\",\"parentUuid\":null,\"sessionId\":\"{SESSION}\",\"timestamp\":\"2026-11-16T08:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"number-{number:08}. {text}\"}}}}\n"
    )
}
