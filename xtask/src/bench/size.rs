//! `cargo xtask bench size [PROGRAM]`: what the release program is made of.
//!
//! By section (with `size`), and by crate or C library (with `nm`). The program needs its symbols:
//! without PROGRAM, the release is linked once more with them, which takes some minutes, and copied
//! to `target/bench/recto-with-symbols`. What has no symbol, such as strings, is named by its
//! section only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;

use anyhow::Context as _;
use anyhow::bail;

use crate::repository::cargo;
use crate::repository::say;
use crate::repository::target;

const USAGE: &str = "usage: cargo xtask bench size [PROGRAM]";

/// C libraries, by how their symbols begin.
const LIBRARIES: [(&str, &[&str]); 6] = [
    ("SQLite (C)", &["sqlite3", "fts5", "unix", "btree", "pager", "vdbe", "where", "wal", "json"]),
    ("zstd (C)", &["ZSTD", "HUF_", "FSE_", "HIST_", "XXH", "ZDICT", "POOL", "COVER"]),
    ("tree-sitter (C)", &["ts_", "tree_sitter", "iterator_", "stack__", "parser__"]),
    (
        "ring (C)",
        &["ring_", "p256_", "p384_", "x25519_", "aes_", "gcm_", "sha", "chacha20_", "bn_"],
    ),
    ("blake3 (C)", &["blake3"]),
    ("libc and start", &["_", "std"]),
];

/// Runs the task with the words after `size`.
pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let program = match words {
        [] => linked_with_symbols()?,
        [program] if !program.starts_with('-') => PathBuf::from(program),
        _ => bail!("{USAGE}"),
    };
    let sections = output("size", &["-A", "-d"], &program)?;
    let symbols = output("nm", &["--print-size", "--demangle"], &program)?;
    let (code, data) = by_crate(&symbols);
    if code.is_empty() {
        bail!("{} has no symbols", program.display());
    }
    say(&render("section", &sections_of(&sections))?);
    say(&render("code", &code)?);
    say(&render("data with a name", &data)?);
    Ok(ExitCode::SUCCESS)
}

/// The release program with its symbols: nothing but the link differs.
fn linked_with_symbols() -> anyhow::Result<PathBuf> {
    let mut command = Command::new(cargo());
    command.args(["rustc", "--release", "--package", "recto", "--bin", "recto"]);
    if !command.args(["--", "-C", "strip=none"]).status()?.success() {
        bail!("the release could not be built");
    }
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder)?;
    let copy = folder.join("recto-with-symbols");
    std::fs::rename(target().join("release/recto"), &copy)?;
    Ok(copy)
}

fn output(name: &str, words: &[&str], program: &Path) -> anyhow::Result<String> {
    let output = Command::new(name).args(words).arg(program).output();
    let output = output.with_context(|| format!("{name} (of binutils) could not be run"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The sections that are loaded, from the lines of `size -A`.
fn sections_of(lines: &str) -> BTreeMap<String, u64> {
    let mut sections = BTreeMap::new();
    for line in lines.lines() {
        let parts: Vec<&str> = line.split_whitespace().collect();
        if let [name, size, address] = parts[..]
            && name.starts_with('.')
            && name != ".bss"
            && address != "0"
        {
            sections.insert(name.to_owned(), size.parse().unwrap_or(0));
        }
    }
    sections
}

/// Bytes of functions and of named data by crate, from the lines of `nm`.
fn by_crate(lines: &str) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
    let (mut code, mut data) = (BTreeMap::new(), BTreeMap::new());
    for line in lines.lines() {
        let mut parts = line.splitn(4, ' ');
        let (Some(_), Some(size), Some(kind), Some(name)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let Ok(size) = u64::from_str_radix(size, 16) else { continue };
        let group = match kind {
            "t" | "T" | "w" | "W" => &mut code,
            "r" | "R" | "d" | "D" | "v" | "V" => &mut data,
            _ => continue,
        };
        *group.entry(owner(name)).or_default() += size;
    }
    (code, data)
}

/// Whose a symbol is: the first crate in its name, or a C library.
fn owner(name: &str) -> String {
    if !name.contains("::") {
        let library =
            LIBRARIES.iter().find(|(_, starts)| starts.iter().any(|s| name.starts_with(s)));
        return library.map_or("other C", |(library, _)| library).to_owned();
    }
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let words = name.split(ends).filter(|word| !word.is_empty());
    let is_crate = |word: &&str| !matches!(*word, "mut" | "dyn" | "const" | "impl" | "as" | "fn");
    // `<alloc::vec::Vec<recto_log::Line> as …>` is of the crate whose type it is about.
    let standard = ["core", "alloc", "std", "hashbrown"];
    let first = words.clone().find(is_crate).unwrap_or("?");
    if standard.contains(&first)
        && let Some(ours) = words.clone().find(|word| word.starts_with("recto"))
    {
        return ours.to_owned();
    }
    first.to_owned()
}

fn render(title: &str, sizes: &BTreeMap<String, u64>) -> anyhow::Result<String> {
    let mut rows: Vec<(&String, &u64)> = sizes.iter().collect();
    rows.sort_by_key(|(_, size)| std::cmp::Reverse(**size));
    let all: u64 = rows.iter().map(|(_, size)| **size).sum();
    let mut text = format!("\n| {title} | kB | % |\n|---|---:|---:|\n");
    let mut row = |name: &str, size: u64| {
        writeln!(text, "| {name} | {} | {:.1} |", size / 1000, size as f64 * 100.0 / all as f64)
    };
    let (shown, rest) = rows.split_at(rows.len().min(40));
    for (name, size) in shown {
        row(name, **size)?;
    }
    if !rest.is_empty() {
        row(&format!("{} others", rest.len()), rest.iter().map(|(_, size)| **size).sum())?;
    }
    row("all", all)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_counted_for_their_crate() {
        let lines = "\
0000000000001000 0000000000000010 t recto_log::line::decode
0000000000001010 0000000000000020 T <clap_builder::Arg as core::clone::Clone>::clone
0000000000001030 0000000000000040 t core::ptr::drop_in_place<recto_agent::Turn>
0000000000001070 0000000000000008 t sqlite3VdbeExec
0000000000002000 0000000000000100 r tree_sitter_bash::TABLE
                 U malloc
";
        let (code, data) = by_crate(lines);
        let expected =
            [("SQLite (C)", 8), ("clap_builder", 32), ("recto_agent", 64), ("recto_log", 16)];
        assert_eq!(code, expected.map(|(name, size)| (name.to_owned(), size)).into());
        assert_eq!(data, [("tree_sitter_bash".to_owned(), 256)].into());
    }

    #[test]
    fn sections_that_take_no_room_in_the_file_are_skipped() {
        let lines = "recto  :\nsection   size   addr\n.text 100 4096\n.bss 50 8192\n.comment 5 0\n";
        assert_eq!(sections_of(lines), [(".text".to_owned(), 100)].into());
    }
}
