use std::path::Path;

use fs_err as fs;
use proptest::prelude::*;

use super::*;
use crate::open_file;

const LIMITS: ReadLimits = ReadLimits { batch: 100_000, line: 60_000 };

struct Trial {
    folder: tempfile::TempDir,
}

impl Trial {
    fn new(content: impl AsRef<[u8]>) -> Trial {
        let trial = Trial { folder: tempfile::tempdir().unwrap() };
        trial.write(content);
        trial
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("log.jsonl")
    }

    fn write(&self, content: impl AsRef<[u8]>) {
        fs::write(self.path(), content).unwrap();
    }

    fn append(&self, content: impl AsRef<[u8]>) {
        append(&self.path(), content.as_ref());
    }

    fn file(&self) -> File {
        open_file(&self.path()).unwrap()
    }

    fn start(&self) -> Cursor {
        Cursor::start(&self.file().metadata().unwrap())
    }
}

fn append(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// Reads everything that is there.
fn read_all(cursor: &mut Cursor, file: &File, limits: ReadLimits) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        match cursor.advance(file, limits).unwrap() {
            Advance::Nothing => return all,
            Advance::Differs => panic!("it differs"),
            Advance::Grown(growth) => {
                let range = &growth.range;
                assert_eq!(range.start, all.len() as u64);
                match growth.is_long_line() {
                    true => {
                        all.extend(read_span(file, range.start, range.end - range.start).unwrap())
                    }
                    false => all.extend(growth.bytes),
                }
            }
        }
    }
}

/// Lines that make the file this long.
fn lines(length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        (0..).flat_map(|number| format!("line {number}\n").into_bytes()).take(length).collect();
    bytes[length - 1] = b'\n';
    bytes
}

#[test]
fn two_observers_that_never_met_agree_whenever_they_come() {
    let first = "{\"type\":\"user\",\"uuid\":\"u\"}\n";
    let trial = Trial::new("");
    let mut early = trial.start();
    assert_eq!(early.advance(&trial.file(), LIMITS).unwrap(), Advance::Nothing);
    trial.append(&first[..9]);
    assert_eq!(early.advance(&trial.file(), LIMITS).unwrap(), Advance::Nothing);
    assert_eq!(early.generation(), None, "the first line may become anything");
    trial.append(&first[9..]);
    read_all(&mut early, &trial.file(), LIMITS);
    let id = early.generation();
    assert!(id.is_some());
    for size in [100, 20_000, 300_000] {
        trial.append(lines(size));
        let start = early.offset();
        while let Advance::Grown(growth) = early.advance(&trial.file(), LIMITS).unwrap() {
            assert!(growth.range.start >= start);
        }
        let mut late = trial.start();
        // In other pieces, which must not matter.
        read_all(&mut late, &trial.file(), ReadLimits { batch: 7000, line: 60_000 });
        assert_eq!((late.generation(), late.chain()), (id, early.chain()));
        assert_eq!((late.offset(), late.covers_from()), (early.offset(), 0));
        assert_eq!(Cursor::at_end(&trial.file()).unwrap().generation(), id);
    }
}

#[test]
fn a_first_line_that_is_longer_than_a_block_is_known_by_its_beginning() {
    let block = vec![b'x'; BLOCK as usize];
    let id = GenerationId::of(&block);
    assert!(id.is_some());
    assert_eq!(GenerationId::of(&[&block[..], b"more\n"].concat()), id);
    assert_eq!(GenerationId::of(&block[1..]), None);
    assert_ne!(GenerationId::of(b"a\nb\n"), GenerationId::of(b"b\n"));
    assert_eq!(GenerationId::of(b"a\nb\n"), GenerationId::of(b"a\nc"));
    assert_eq!(GenerationId::of(b"a\n").unwrap().to_string(), "81c4b7f7e0549f1514e9cae97cf40cf1");
}

#[test]
fn files_that_were_cut_replaced_or_rewritten_differ() {
    let before = lines(100_000);
    let trial = Trial::new(&before);
    let mut cursor = trial.start();
    assert_eq!(read_all(&mut cursor, &trial.file(), LIMITS), before);
    let expect = |content: &[u8], wanted: bool| {
        trial.write(content);
        assert_eq!(cursor.is_intact(&trial.file()).unwrap(), wanted);
        let advanced = cursor.clone().advance(&trial.file(), LIMITS).unwrap();
        assert_eq!(advanced != Advance::Differs, wanted);
    };
    expect(&before, true);
    expect(&before[..99_999], false);
    for at in [0, 16_383, 99_999 - 16_384, 99_998] {
        let mut changed = before.clone();
        changed[at] ^= 1;
        changed.extend(b"more\n");
        expect(&changed, false);
    }
    // Between the blocks that are looked at only a full comparison sees it.
    let mut changed = before.clone();
    changed[50_000] ^= 1;
    expect(&changed, true);
    assert!(!cursor.verify(&trial.file()).unwrap());
    expect(&before, true);
    assert!(cursor.verify(&trial.file()).unwrap());
    let new = trial.folder.path().join("new");
    fs::write(&new, &before).unwrap();
    fs::rename(new, trial.path()).unwrap();
    assert_eq!(cursor.is_intact(&trial.file()).unwrap(), cfg!(windows), "it is another file");
}

#[test]
fn who_begins_at_an_offset_sees_what_changes_before_it() {
    for size in [1, 100, 16_384, 16_385, 32_768, 40_000, 200_000] {
        let before = lines(size);
        let trial = Trial::new([&before[..], b"torn"].concat());
        let mut cursor = Cursor::at_end(&trial.file()).unwrap();
        assert_eq!(cursor.offset(), size as u64);
        assert!(cursor.is_intact(&trial.file()).unwrap() && cursor.verify(&trial.file()).unwrap());
        let mut changed = before.clone();
        changed[size - 1] ^= 1;
        let other = cursor.clone();
        trial.append("\nmore\n");
        let Advance::Grown(growth) = cursor.advance(&trial.file(), LIMITS).unwrap() else {
            panic!("it has grown");
        };
        assert_eq!(growth.bytes, b"torn\nmore\n");
        trial.write([&changed[..], b"torn"].concat());
        assert!(!other.is_intact(&trial.file()).unwrap(), "{size}");
    }
    assert!(Cursor::at(&Trial::new("short").file(), 6).is_err());
}

#[test]
fn a_line_over_the_cap_is_given_as_a_range() {
    let long = [vec![b'y'; 700_000], b"\n".to_vec()].concat();
    let content = [b"one\n".to_vec(), long.clone(), b"two\n".to_vec()].concat();
    let trial = Trial::new(&content);
    let mut cursor = trial.start();
    let limits = ReadLimits { batch: 2000, line: 5000 };
    let mut found = Vec::new();
    while let Advance::Grown(growth) = cursor.advance(&trial.file(), limits).unwrap() {
        found.push((growth.range, growth.bytes.len()));
    }
    assert_eq!(found, [(0..4, 4), (4..700_005, 4096), (700_005..700_009, 4)]);
    assert!(cursor.verify(&trial.file()).unwrap(), "the long line is a part of the chain");
    let mut whole = trial.start();
    read_all(&mut whole, &trial.file(), ReadLimits { batch: 1_000_000, line: 1_000_000 });
    assert_eq!(whole.chain(), cursor.chain());
}

#[test]
fn a_cursor_that_was_written_down_is_read_with_care() {
    let trial = Trial::new(lines(70_000));
    for cursor in [trial.start(), Cursor::at_end(&trial.file()).unwrap()] {
        let bytes = cursor.encode();
        assert_eq!(Cursor::decode(&bytes).unwrap().encode(), bytes);
        assert_eq!(Cursor::decode(&bytes[1..]), None);
        assert_eq!(Cursor::decode(&[&bytes[..], b"x"].concat()), None);
        for (at, value) in [(0, 2), (41, 1), (56, 255), (57, 2)] {
            let mut changed = bytes.clone();
            changed[at] = value;
            assert_eq!(Cursor::decode(&changed), None, "byte {at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_chain_depends_on_the_bytes_alone(
        sizes in proptest::collection::vec(1..40_000usize, 1..6),
        batches in proptest::collection::vec(1..50_000usize, 1..6),
    ) {
        let trial = Trial::new("");
        let mut cursor = trial.start();
        for (size, batch) in sizes.iter().zip(batches.iter().cycle()) {
            trial.append(lines(*size));
            let limits = ReadLimits { batch: *batch, line: 60_000 };
            while let Advance::Grown(_) = cursor.advance(&trial.file(), limits).unwrap() {}
            cursor = Cursor::decode(&cursor.encode()).unwrap();
        }
        let mut whole = trial.start();
        read_all(&mut whole, &trial.file(), LIMITS);
        prop_assert_eq!(cursor.chain(), whole.chain());
        prop_assert_eq!(cursor.generation(), whole.generation());
    }
}
