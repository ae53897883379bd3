//! An archive that other stores are filled from.

use std::fs;

use crate::DataDirectory;
use crate::Home;
use crate::keep::Archive;
use crate::keep::CollectOptions;
use crate::keep::Collector;
use crate::keep::Lives;
use crate::keep::MachineId;
use crate::keep::Part;
use crate::keep::Range64;
use crate::keep::SegmentKey;
use crate::keep::keep_tests::ID;

#[test]
fn lines_are_read_across_segments_and_from_the_middle_of_merged_ones() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("home");
    fs::create_dir_all(root.join("projects/-w")).unwrap();
    let log = root.join(format!("projects/-w/{ID}.jsonl"));
    let home = Home::open(&root).unwrap();
    let data = DataDirectory::new(directory.path().join("data"));
    let archive = directory.path().join("archive");
    let mut text = String::new();
    let mut ends = vec![0];
    let mut collector = Collector::open(&home, &data, &archive, CollectOptions::default()).unwrap();
    for number in 0..4 {
        text.push_str(&format!("{{\"n\":{number}}}\n"));
        fs::write(&log, &text).unwrap();
        collector.collect(&mut |_| {}).unwrap();
        ends.push(text.len() as u64);
    }
    let archive = Archive::open(&archive, MachineId::of(&home)).unwrap();
    let key = archive.files().unwrap()[0];
    let read = |start: u64, end: u64| {
        let lives = Lives::of(archive.parts(key).unwrap());
        let life = lives.ids().next().unwrap();
        let mut bytes = Vec::new();
        let read = archive.read_lines(key, &lives, life, Range64 { start, end }, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        read.map(|read| (String::from_utf8(bytes).unwrap(), read.marks.len()))
    };
    let whole = *ends.last().unwrap();
    assert_eq!(read(0, whole).unwrap(), (text.clone(), 4));
    assert_eq!(
        read(ends[1], ends[3]).unwrap(),
        (text[ends[1] as usize..ends[3] as usize].to_owned(), 2)
    );
    assert!(read(0, whole + 1).is_err());
    crate::keep::merge(&archive, &|_, _| {}).unwrap();
    assert_eq!(read(ends[1], ends[2]).unwrap().0, text[ends[1] as usize..ends[2] as usize]);
    assert_eq!(read(ends[2], whole).unwrap(), (text[ends[2] as usize..].to_owned(), 2));
}

#[test]
fn what_is_mirrored_is_read_like_what_was_collected() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("home");
    fs::create_dir_all(root.join("projects/-w")).unwrap();
    fs::write(root.join(format!("projects/-w/{ID}.jsonl")), "{\"n\":1}\n").unwrap();
    let home = Home::open(&root).unwrap();
    let data = DataDirectory::new(directory.path().join("data"));
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    Collector::open(&home, &data, &from, CollectOptions::default())
        .unwrap()
        .collect(&mut |_| {})
        .unwrap();
    let machine = MachineId::of(&home);
    let source = Archive::open(&from, machine).unwrap();
    let mirror = Archive::create(&to, machine).unwrap();
    for file in source.files().unwrap() {
        for part in source.parts(file).unwrap() {
            let key = SegmentKey { machine, file, part };
            for _ in 0..2 {
                mirror.mirror(&key, &mut source.part_file(file, &key.part).unwrap()).unwrap();
            }
            let mut bytes = Vec::new();
            mirror
                .read_part(file, &key.part, |piece| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                })
                .unwrap();
            assert_eq!(bytes, b"{\"n\":1}\n");
            assert!(matches!(key.part, Part::Lines { .. }));
        }
    }
    assert_eq!(mirror.files().unwrap(), source.files().unwrap());
}
