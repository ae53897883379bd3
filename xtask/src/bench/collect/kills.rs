//! Killing the collector while twenty logs are written to.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::measured;
use super::recto;

/// How many logs are written to while the collector is killed.
const WRITERS: u64 = 20;

/// What came of the kills.
pub(super) struct Tally {
    kills: u64,
    files: u64,
    bytes: u64,
    lost: u64,
    altered: u64,
    doubled: u64,
    is_verified: bool,
}

impl Tally {
    pub(super) fn is_well(&self) -> bool {
        self.lost == 0 && self.altered == 0 && self.doubled == 0 && self.is_verified
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { kills, files, bytes, lost, altered, doubled, is_verified } = self;
        write!(
            f,
            "{kills} kills, {files} files, {bytes} bytes: {lost} lost, {altered} altered, {doubled} \
             doubled; verify {}",
            if *is_verified { "sound" } else { "FAILED" }
        )
    }
}

pub(super) fn kill(program: &Path, kills: u64) -> anyhow::Result<Tally> {
    let scratch = TempDir::new()?;
    let home = scratch.path().join("home");
    fs::create_dir_all(home.join("projects/-a"))?;
    fs::create_dir_all(home.join("projects/-b"))?;
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let (home, is_over) = (home.clone(), Arc::clone(&is_over));
            thread::spawn(move || write_log(number, &home, &is_over))
        })
        .collect();
    let mut random = Random(0x5eed);
    for _ in 0..kills {
        let mut command = recto(program, &home, scratch.path());
        let command = command.arg("collect").stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        thread::sleep(Duration::from_micros(random.below(60_000)));
        // It may have ended by itself.
        let _ = child.kill();
        child.wait()?;
    }
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
    }
    // Ends are kept once they were left alone for a minute; the writers leave none torn.
    measured(recto(program, &home, scratch.path()).arg("collect"))?;
    let verify = recto(program, &home, scratch.path())
        .args(["collect", "verify"])
        .stdout(Stdio::null())
        .status()?;
    let back = scratch.path().join("back");
    measured(recto(program, &home, scratch.path()).args(["restore", "--all", "--to"]).arg(&back))?;
    let (there, back) = (files_below(&home), files_below(&back));
    let mut tally = Tally {
        kills,
        files: there.len() as u64,
        bytes: there.values().map(|bytes| bytes.len() as u64).sum(),
        lost: 0,
        altered: 0,
        doubled: doubled(&scratch.path().join("data/archive/raw")),
        is_verified: verify.success(),
    };
    for (path, bytes) in &there {
        match back.get(path) {
            None => tally.lost += 1,
            Some(back) if back != bytes => tally.altered += 1,
            Some(_) => {}
        }
    }
    Ok(tally)
}

/// Bytes that two segments of one life hold.
fn doubled(raw: &Path) -> u64 {
    let mut lives: BTreeMap<PathBuf, Vec<(u64, u64)>> = BTreeMap::new();
    for path in files_below(raw).into_keys() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let range = name.strip_suffix(".jsonl.zst").and_then(|stem| stem.split_once('-'));
        let range = range.and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
        if let (Some(range), Some(life)) = (range, path.parent()) {
            lives.entry(life.to_owned()).or_default().push(range);
        }
    }
    let mut doubled = 0;
    for ranges in lives.values_mut() {
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            doubled += pair[0].1.saturating_sub(pair[1].0);
        }
    }
    doubled
}

/// Writes to one log as clients do, and does to it what happens to logs.
fn write_log(number: u64, home: &Path, is_over: &AtomicBool) -> anyhow::Result<()> {
    let mut random = Random(number + 1);
    let path = |project: &str| {
        home.join("projects")
            .join(project)
            .join(format!("{number:08x}-0000-4000-8000-000000000000.jsonl"))
    };
    let mut project = "-a";
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        match random.below(100) {
            0 => {
                let other = if project == "-a" { "-b" } else { "-a" };
                if path(project).exists() {
                    fs::rename(path(project), path(other))?;
                    project = other;
                }
            }
            1 => drop(fs::remove_file(path(project))),
            2 => {
                if let Ok(file) = File::options().write(true).open(path(project)) {
                    file.set_len(0)?;
                }
            }
            3 => {
                let new = path(project).with_extension("new");
                fs::write(&new, line(number, count, 40))?;
                fs::rename(new, path(project))?;
            }
            _ => {
                let mut lines = Vec::new();
                for _ in 0..=random.below(4) {
                    count += 1;
                    let size = if random.below(50) == 0 { 80_000 } else { random.below(3000) };
                    lines.extend(line(number, count, size));
                }
                let mut file = File::options().append(true).create(true).open(path(project))?;
                // Now and then a line arrives in two pieces.
                let cut = match random.below(10) {
                    0 => random.below(lines.len() as u64) as usize,
                    _ => lines.len(),
                };
                file.write_all(&lines[..cut])?;
                thread::sleep(Duration::from_micros(random.below(2000)));
                file.write_all(&lines[cut..])?;
            }
        }
        thread::sleep(Duration::from_micros(random.below(20_000)));
    }
    Ok(())
}

pub(super) fn line(writer: u64, count: u64, size: u64) -> Vec<u8> {
    let text = "x".repeat(size as usize);
    format!("{{\"type\":\"user\",\"w\":{writer},\"n\":{count},\"text\":\"{text}\"}}\n").into_bytes()
}

/// Numbers that look random and are the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

/// All files below a folder.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if let (Ok(below), Ok(bytes)) = (path.strip_prefix(folder), fs::read(&path)) {
                found.insert(below.to_owned(), bytes);
            }
        }
    }
    found
}
