//! `cargo xtask bench endpoint`: how fast answers are read, and what the mock takes.
//!
//! Owns: the bars and the page. The figures come from `benches/endpoint.rs` of `recto-agent`,
//! built with optimizations.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;

use anyhow::Context as _;
use anyhow::bail;
use serde_json::Value;

use crate::repository::cargo;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;

const USAGE: &str = "usage: cargo xtask bench endpoint [--write]";

/// Megabytes of server-sent events a second, at least.
const LEAST_SPEED: u64 = 200;
/// Megabytes of the mock with all streams open, at most.
const MOST_MEMORY: u64 = 200;

pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let write = match words {
        [] => false,
        [word] if word == "--write" => true,
        _ => bail!("{USAGE}"),
    };
    heading("endpoint");
    let output = Command::new(cargo())
        .args(["bench", "--quiet", "-p", "recto-agent", "--bench", "endpoint"])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the benchmark failed");
    }
    let figures: Value = serde_json::from_slice(&output.stdout).context("the figures")?;
    let number = |name: &str| figures[name].as_u64().with_context(|| format!("no {name}"));
    let mut text = String::from("# Results of `cargo xtask bench endpoint`\n\n");
    let overhead = number("first_event_us")?.saturating_sub(number("first_byte_us")?);
    let rows = [
        ("server-sent events through the parser, one core", number("parser_mb_per_s")?, "MB/s"),
        ("the same, put together to an answer", number("events_mb_per_s")?, "MB/s"),
        ("request → first byte, on a bare connection", number("first_byte_us")?, "µs"),
        ("request → first event of the client", number("first_event_us")?, "µs"),
        ("what the client adds", overhead, "µs"),
        ("mock: memory without streams", number("idle_mb")?, "MB"),
        ("mock: most memory, 1,000 streams at once", number("streams_mb")?, "MB"),
    ];
    text += "Medians of 500 requests in turns; the best of 5 rounds of 64 MB.\n\n";
    text += "| what | |\n|---|---:|\n";
    for (what, figure, unit) in rows {
        let _ = writeln!(text, "| {what} | {figure} {unit} |");
    }
    say(&text);
    if write {
        fs::write(root().join("bench/ENDPOINT.md"), text)?;
    }
    let is_met = number("parser_mb_per_s")? >= LEAST_SPEED && number("streams_mb")? < MOST_MEMORY;
    if !is_met {
        say(&format!("not met: {LEAST_SPEED} MB/s at least, {MOST_MEMORY} MB at most"));
    }
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
