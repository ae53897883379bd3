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
use std::time::Duration;

use anyhow::Context as _;

use super::arena::Arena;
use super::arena::Run;
use super::report::Figures;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// What a command may take, whatever it reads, in bytes of address space beyond what the
/// program takes with nothing to do.
const MOST: u64 = 256 * 1024 * 1024;

/// Five million lines take their time, in a program that is not optimised.
const LONGEST: Duration = Duration::from_secs(900);

/// One log that is made to be large.
struct Bomb {
    name: &'static str,
    write: fn(&mut dyn Write, u64) -> std::io::Result<()>,
    /// How many lines, levels or bytes: in the short form, and in full.
    sizes: [u64; 2],
    /// What the graph of the lines may take for each; 0 where lines do not count.
    a_line: u64,
    /// Whether the size is that of many lines.
    counts_lines: bool,
    commands: &'static [&'static [&'static str]],
}

/// Commands that ask for the graph of a session, or for less.
const GRAPH: &[&[&str]] = &[
    &["turns", SESSION],
    &["branches", SESSION],
    &["stats", SESSION],
    &["check", SESSION],
    &["request", SESSION],
    &["context", SESSION],
    &["tools", SESSION],
    &["redact", SESSION, "--check"],
];

const BOMBS: &[Bomb] = &[
    Bomb {
        name: "memory: many lines that clients resume, 256 MB or 64 bytes a line",
        write: said_lines,
        sizes: [300_000, 5_000_000],
        a_line: 64,
        counts_lines: true,
        commands: GRAPH,
    },
    Bomb {
        name: "memory: many short lines, 256 MB or 64 bytes a line",
        write: short_lines,
        sizes: [300_000, 5_000_000],
        a_line: 64,
        counts_lines: true,
        commands: GRAPH,
    },
    Bomb {
        name: "memory: many short lines, where no graph is asked for, 256 MB",
        write: short_lines,
        sizes: [300_000, 5_000_000],
        a_line: 0,
        counts_lines: true,
        commands: &[
            &["show", SESSION],
            &["ls"],
            &["usage"],
            &["status", "-a"],
            &["grep", "nothing-like-it"],
            &["export", SESSION],
        ],
    },
    Bomb {
        name: "memory: many lines below one, 256 MB",
        write: children,
        sizes: [200_000, 1_000_000],
        a_line: 0,
        counts_lines: true,
        commands: GRAPH,
    },
    Bomb {
        name: "memory: lines in a circle, 256 MB",
        write: circle,
        sizes: [200_000, 1_000_000],
        a_line: 0,
        counts_lines: true,
        commands: GRAPH,
    },
    Bomb {
        name: "memory: every line below one is mended, 256 MB",
        write: children,
        sizes: [200_000, 1_000_000],
        a_line: 0,
        counts_lines: true,
        commands: &[&["repair", SESSION, "--dry-run"]],
    },
    Bomb {
        name: "memory: every line of a circle is mended, 256 MB",
        write: circle,
        sizes: [200_000, 1_000_000],
        a_line: 0,
        counts_lines: true,
        commands: &[&["repair", SESSION, "--dry-run"]],
    },
    Bomb {
        name: "memory: one line that is very long, 256 MB",
        write: long_line,
        sizes: [300_000_000, 1_073_741_824],
        a_line: 0,
        counts_lines: false,
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
        counts_lines: false,
        commands: &[&["show", SESSION], &["show", SESSION, "--json"], &["turns", SESSION]],
    },
    // Resident are 233 MB; addresses are reserved for more, while the index is built.
    Bomb {
        name: "memory: find in a line of 65 MB, five times its size",
        write: long_line,
        sizes: [65_000_000, 65_000_000],
        a_line: 5,
        counts_lines: false,
        commands: &[&["find", "word"]],
    },
    Bomb {
        name: "memory: nesting, 256 MB",
        write: nesting,
        sizes: [1_000_000, 20_000_000],
        a_line: 0,
        counts_lines: false,
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
    let usual = under_limit(arena, &["ls"], floor + MOST)?.resident;
    if is_long {
        figures.note(
            "What commands took, and what that is for each line beyond what `ls` takes:\n\n\
             | log | of | command | memory | a line | time |\n|---|---:|---|---:|---:|---:|"
                .to_owned(),
        );
    }
    for bomb in BOMBS {
        let size = bomb.sizes[usize::from(is_long)];
        let mut file = BufWriter::new(File::create(&path)?);
        (bomb.write)(&mut file, size)?;
        file.flush()?;
        // A log that was just written could be in use, and would not be repaired.
        let hour = Duration::from_secs(3600);
        file.get_ref().set_modified(std::time::SystemTime::now() - hour)?;
        drop(file);
        let lines = size * bomb.a_line;
        for words in bomb.commands {
            let limit = floor + MOST.max(lines);
            let run = under_limit(arena, words, limit)?;
            if is_long {
                figures.note(row(bomb, size, words, &run, usual));
            }
            let outcome = within(&run)
                .map_err(|what| format!("{size}, {words:?}, {} MB: {what}", limit / 1_000_000));
            figures.tried(bomb.name, outcome);
        }
        forget_index(&arena.user())?;
    }
    fs::remove_file(&path)?;
    Ok(())
}

/// What a command took, as a row of a table.
fn row(bomb: &Bomb, size: u64, words: &[&str], run: &Run, usual: u64) -> String {
    let words: Vec<&str> = words.iter().filter(|word| **word != SESSION).copied().collect();
    let a_line = match bomb.counts_lines {
        true => format!("{} B", run.resident.saturating_sub(usual) / size),
        false => String::new(),
    };
    let log = bomb.name.trim_start_matches("memory: ").split(',').next().unwrap_or_default();
    format!(
        "| {log} | {size} | `{}` | {} MB | {a_line} | {:.1} s |",
        words.join(" "),
        run.resident / 1_000_000,
        run.took.as_secs_f64()
    )
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
    arena.finish_within(&mut command, LONGEST).context("cannot run a shell")
}

/// It gave an answer, or an error of its own.
fn within(run: &Run) -> Result<(), String> {
    run.sound()?;
    let said = run.said();
    // A command that was not understood tried nothing.
    if said.contains("unexpected argument") {
        return Err(said);
    }
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

/// Lines with a time, without which no client takes them for a conversation.
fn said_lines(out: &mut dyn Write, size: u64) -> std::io::Result<()> {
    let uuid = |number: u64| format!("\"00000000-0000-4000-8000-{number:012x}\"");
    (0..size).try_for_each(|number| {
        let parent = number.checked_sub(1).map_or("null".to_owned(), uuid);
        let (minute, second, thousandth) = (number / 60_000 % 60, number / 1000 % 60, number % 1000);
        writeln!(
            out,
            "{{\"type\":\"user\",\"uuid\":{},\"parentUuid\":{parent},\"timestamp\":\"2026-11-{:02}T{:02}:{minute:02}:{second:02}.{thousandth:03}Z\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}",
            uuid(number),
            1 + number / 86_400_000 % 28,
            number / 3_600_000 % 24,
        )
    })
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
