//! Every recorded session, of every client, comes back from an archive as it was.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use fs_err as fs;
use jiff::Timestamp;

use super::*;
use crate::DataDirectory;
use crate::Home;
use crate::publish::Intent;
use crate::publish::Journal;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// The files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// All recorded homes, and single logs of other people as homes of their own.
fn recorded() -> Vec<PathBuf> {
    let mut homes = Vec::new();
    for version in fs::read_dir(Path::new(FIXTURES).join("corpus")).unwrap() {
        for scenario in fs::read_dir(version.unwrap().path()).unwrap() {
            let home = scenario.unwrap().path().join("home/.claude");
            homes.extend(home.is_dir().then_some(home));
        }
    }
    homes.sort();
    homes
}

/// Puts files into a home, each with a time of its own.
fn put(source: &Path, home: &Path, all: &[PathBuf]) {
    for (number, file) in all.iter().enumerate() {
        let path = home.join(file.strip_prefix(source).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(file, &path).unwrap();
        let age = Duration::from_millis(86_400_000 + 61_003 * number as u64);
        let time = SystemTime::now() - age;
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
    }
}

/// Bytes and times, to the millisecond, of everything that is kept. An empty log has nothing to
/// keep.
fn tree(home: &Path) -> BTreeMap<String, (Vec<u8>, i64)> {
    let mut all = Vec::new();
    files(home, &mut all);
    let kinds = CollectOptions::default().kinds;
    let mut tree = BTreeMap::new();
    for path in all {
        let below = path.strip_prefix(home).unwrap().to_str().unwrap().to_owned();
        let Some(kind) = crate::follow::FileKind::of(Path::new(&below)) else { continue };
        let bytes = fs::read(&path).unwrap();
        if kinds.contains(&kind) && !(kind.grows() && bytes.is_empty()) {
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            tree.insert(below, (bytes, Timestamp::try_from(time).unwrap().as_millisecond()));
        }
    }
    tree
}

fn comes_back(source: &Path) -> usize {
    let work = tempfile::tempdir().unwrap();
    let root = work.path().join("home");
    let mut all = Vec::new();
    files(source, &mut all);
    all.sort();
    put(source, &root, &all);
    let before = tree(&root);
    let home = Home::open(&root).unwrap();
    let data = DataDirectory::new(work.path().join("data"));
    let archive = work.path().join("archive");
    let mut collector = Collector::open(&home, &data, &archive, CollectOptions::default()).unwrap();
    let report = collector.collect(&mut |_| {}).unwrap();
    assert_eq!(report.troubles, [], "{}", source.display());
    fs::remove_dir_all(&root).unwrap();
    fs::create_dir(&root).unwrap();
    let archive = Archive::open(&archive, MachineId::of(&home)).unwrap();
    let catalog = Catalog::read(&archive).unwrap();
    let plan =
        Restoration::plan(&archive, &home, &catalog.files, RestoreOptions::default()).unwrap();
    let mut journal = Journal::open(&data, &home).unwrap();
    let (name, arguments, time) = ("restore", Vec::new(), Timestamp::now());
    let intent = Intent { home: &home, name, arguments, time, source: None, result: None };
    let mut transaction = journal.begin(intent).unwrap();
    plan.stage(&mut transaction).unwrap();
    transaction.commit().unwrap();
    let after = tree(&root);
    let names = |tree: &BTreeMap<String, _>| tree.keys().cloned().collect::<Vec<String>>();
    assert_eq!(names(&after), names(&before), "{}", source.display());
    assert!(after == before, "{}: bytes or times differ", source.display());
    before.len()
}

#[test]
fn every_recorded_session_comes_back_with_its_bytes_its_tree_and_its_times() {
    let homes = recorded();
    assert!(homes.len() > 80, "{}", homes.len());
    let kept: usize = homes.iter().map(|home| comes_back(home)).sum();
    assert!(kept > 300, "{kept}");
}

#[test]
fn sessions_of_other_people_and_edited_ones_come_back_too() {
    let mut logs = Vec::new();
    for folder in ["outside", "corpus/edit"] {
        files(&Path::new(FIXTURES).join(folder), &mut logs);
    }
    logs.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    assert!(logs.len() > 100, "{}", logs.len());
    let work = tempfile::tempdir().unwrap();
    for (number, log) in logs.iter().enumerate() {
        let name = format!("projects/-w/{number:08x}-0000-4000-8000-000000000000.jsonl");
        let path = work.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(log, path).unwrap();
    }
    assert!(comes_back(work.path()) > 100);
}
