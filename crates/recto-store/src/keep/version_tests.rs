//! Archives of earlier versions are read. A form that was written once is read for ever.

use std::path::Path;

use fs_err as fs;
use jiff::Timestamp;

use super::*;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/archive");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

#[test]
fn an_archive_of_version_1_is_read() {
    let work = tempfile::tempdir().unwrap();
    let root = work.path().join("archive");
    copy(&Path::new(DATA).join("v1/archive"), &root);
    let [machine] = &fs::read_dir(root.join("raw/v1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_str().unwrap()["machine=".len()..].to_owned())
        .collect::<Vec<_>>()[..]
    else {
        panic!("one machine")
    };
    let archive = Archive::open(&root, machine.parse().unwrap()).unwrap();
    let catalog = Catalog::read(&archive).unwrap();
    assert_eq!(catalog.damaged.len(), 0);
    let kept = |file: &KeptFile, at: Option<&str>| {
        let at = at.map(|at| at.parse::<Timestamp>().unwrap());
        let mut bytes = Vec::new();
        let (_, missing) = file.write_to(&archive, at, &mut bytes).unwrap();
        assert_eq!(missing.problems.len(), 0);
        String::from_utf8(bytes).unwrap()
    };
    let mut paths = Vec::new();
    for file in &catalog.files {
        let home = fs::read_to_string(Path::new(DATA).join("v1/home").join(&file.path)).unwrap();
        assert_eq!(kept(file, None), home, "{}", file.path);
        paths.push((file.path.as_str(), file.segments(), file.gone.is_some()));
    }
    assert_eq!(
        paths,
        [
            ("plans/calm-river.md", 1, true),
            ("projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl", 3, false),
            (
                "projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/custom-title.json",
                2,
                false
            ),
            ("projects/-home-dev-docs/5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214.jsonl", 1, false),
        ]
    );
    let title = &catalog.files[2];
    assert_eq!(kept(title, Some("2026-11-01T09:01:00Z")), "{\"customTitle\":\"First title\"}\n");
    let log = &catalog.files[1];
    assert_eq!(kept(log, Some("2026-11-01T09:00:09Z")).lines().count(), 10);
    assert_eq!(log.modified, "2026-11-01T09:01:00Z".parse().unwrap());
    assert!(kept(log, None).ends_with("{\"type\":\"assistant\",\"torn\":"));
}
