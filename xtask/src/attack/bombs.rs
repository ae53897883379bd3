//! Logs that are made to be large, under a limit of memory: a command answers, or says why
//! not, and never takes more than it may.
//!
//! The full size (five million lines, a line of a gigabyte) needs a few gigabytes of disk
//! and some minutes: it is tried when there is time for it.

use std::fs;
use std::fs::File;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::arena::Arena;
use super::arena::Run;
use super::report::Figures;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// What a command may take, whatever it reads, in bytes of address space beyond what the
/// program takes with nothing to do.
const MOST: u64 = 256 * 1024 * 1024;

/// One log that is made to be large.
struct Bomb {
    name: &'static str,
    write: fn(&mut dyn Write, u64) -> std::io::Result<()>,
    /// How many lines, levels or bytes: in the short form, and in full.
    sizes: [u64; 2],
    /// What the graph of the lines may take for each; 0 where lines do not count.
    a_line: u64,
    commands: &'static [&'static [&'static str]],
}

const BOMBS: &[Bomb] = &[
    Bomb {
        name: "memory: many short lines, 256 MB or 200 bytes a line",
        write: short_lines,
        sizes: [300_000, 5_000_000],
        a_line: 200,
        commands: &[
            &["turns", SESSION],
            &["branches", SESSION],
            &["stats", SESSION],
            &["check", SESSION],
            &["request", SESSION],
            &["show", SESSION, "--last", "3"],
            &["ls"],
            &["usage"],
            &["status", "-a"],
            &["grep", "nothing-like-it"],
        ],
    },
    Bomb {
        name: "memory: many lines below one, 256 MB or 256 bytes a line",
        write: children,
        sizes: [200_000, 1_000_000],
        a_line: 256,
        commands: &[&["branches", SESSION], &["check", SESSION], &["request", SESSION]],
    },
    Bomb {
        name: "memory: lines in a circle, 256 MB or 256 bytes a line",
        write: circle,
        sizes: [200_000, 1_000_000],
        a_line: 256,
        commands: &[&["check", SESSION], &["request", SESSION], &["turns", SESSION]],
    },
    Bomb {
        name: "memory: every line below one is mended, 1,500 bytes a line",
        write: children,
        sizes: [200_000, 1_000_000],
        a_line: 1500,
        commands: &[&["repair", SESSION, "--dry-run"]],
    },
    Bomb {
        name: "memory: every line of a circle is mended, 1,500 bytes a line",
        write: circle,
        sizes: [200_000, 1_000_000],
        a_line: 1500,
        commands: &[&["repair", SESSION, "--dry-run"]],
    },
    Bomb {
        name: "memory: one line that is very long, 256 MB",
        write: long_line,
        sizes: [300_000_000, 1_073_741_824],
        a_line: 0,
        commands: &[
            &["redact", SESSION, "--check"],
            &["repair", SESSION, "--dry-run"],
            &["show", SESSION],
            &["check", SESSION],
            &["ls"],
            &["status", "-a"],
            &["usage"],
        ],
    },
    Bomb {
        name: "memory: a line of 65 MB, 256 MB",
        write: long_line,
        sizes: [65_000_000, 65_000_000],
        a_line: 0,
        commands: &[&["show", SESSION], &["show", SESSION, "--json"], &["turns", SESSION]],
    },
    // Resident are 233 MB; addresses are reserved for more, while the index is built.
    Bomb {
        name: "memory: find in a line of 65 MB, five times its size",
        write: long_line,
        sizes: [65_000_000, 65_000_000],
        a_line: 5,
        commands: &[&["find", "word"]],
    },
    Bomb {
        name: "memory: nesting, 256 MB",
        write: nesting,
        sizes: [1_000_000, 20_000_000],
        a_line: 0,
        commands: &[
            &["show", SESSION],
            &["check", SESSION],
            &["request", SESSION],
            &["find", "x"],
            &["export", SESSION],
        ],
    },
];

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let folder = arena.home().join("projects/-home-dev-app");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{SESSION}.jsonl"));
    // What the program reserves before it does anything is not of the log's making.
    let floor = floor(arena)?;
    let is_long = arena.has_minutes();
    for bomb in BOMBS {
        let size = bomb.sizes[usize::from(is_long)];
        let mut file = BufWriter::new(File::create(&path)?);
        (bomb.write)(&mut file, size)?;
        file.flush()?;
        // A log that was just written could be in use, and would not be repaired.
        let hour = std::time::Duration::from_secs(3600);
        file.get_ref().set_modified(std::time::SystemTime::now() - hour)?;
        drop(file);
        let lines = size * bomb.a_line;
        for words in bomb.commands {
            let limit = floor + MOST.max(lines);
            let run = under_limit(arena, words, limit)?;
            let outcome = within(&run)
                .map_err(|what| format!("{size}, {words:?}, {} MB: {what}", limit / 1_000_000));
            figures.tried(bomb.name, outcome);
        }
        forget_index(&arena.user())?;
    }
    fs::remove_file(&path)?;
    Ok(())
}

/// The address space that the program needs for `--version`, by halves.
fn floor(arena: &Arena) -> anyhow::Result<u64> {
    let (mut low, mut high) = (0, 4 * 1024 * 1024 * 1024u64);
    while high - low > 8 * 1024 * 1024 {
        let middle = low + (high - low) / 2;
        match under_limit(arena, &["ls"], middle)?.code() {
            Some(0 | 1) => high = middle,
            _ => low = middle,
        }
    }
    Ok(high)
}

fn under_limit(arena: &Arena, words: &[&str], bytes: u64) -> anyhow::Result<Run> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -v {}; exec \"$@\"", bytes / 1024), "sh"]);
    command.arg(&arena.recto).args(words);
    arena.set_environment(&mut command);
    // Each thread reserves some memory for itself, which says nothing about the log.
    command.env("MALLOC_ARENA_MAX", "1").env("RAYON_NUM_THREADS", "2");
    arena.finish(&mut command).context("cannot run a shell")
}

/// It gave an answer, or an error of its own.
fn within(run: &Run) -> Result<(), String> {
    run.sound()?;
    let said = run.said();
    match said.contains("memory allocation") || said.contains("out of memory") {
        true => Err(said),
        false => Ok(()),
    }
}

fn forget_index(user: &Path) -> anyhow::Result<()> {
    let cache = user.join("cache");
    if cache.is_dir() {
        fs::remove_dir_all(cache)?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, number: u64, parent: Option<u64>, text: &str) -> std::io::Result<()> {
    write!(
        out,
        "{{\"type\":\"user\",\"uuid\":\"00000000-0000-4000-8000-{number:012x}\",\"parentUuid\":"
    )?;
    match parent {
        Some(parent) => write!(out, "\"00000000-0000-4000-8000-{parent:012x}\"")?,
        None => write!(out, "null")?,
    }
    writeln!(out, ",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}")
}

fn short_lines(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    (0..size).try_for_each(|number| line(out, number, number.checked_sub(1), "x"))
}

fn children(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    (0..size).try_for_each(|number| line(out, number, (number > 0).then_some(0), "x"))
}

fn circle(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    (0..size).try_for_each(|number| line(out, number, Some((number + 1) % size), "x"))
}

fn long_line(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    let piece = "word ".repeat(1 << 14);
    write!(
        out,
        "{{\"type\":\"user\",\"uuid\":\"00000000-0000-4000-8000-000000000001\",\"parentUuid\":null,\"message\":{{\"role\":\"user\",\"content\":\""
    )?;
    for _ in 0..size.div_ceil(piece.len() as u64) {
        out.write_all(piece.as_bytes())?;
    }
    writeln!(out, "\"}}}}")?;
    line(out, 2, Some(1), "and then")
}

fn nesting(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    write!(
        out,
        "{{\"type\":\"user\",\"uuid\":\"00000000-0000-4000-8000-000000000001\",\"message\":{{\"role\":\"user\",\"content\":"
    )?;
    for _ in 0..size {
        out.write_all(b"[")?;
    }
    for _ in 0..size {
        out.write_all(b"]")?;
    }
    writeln!(out, "}}}}")
}
