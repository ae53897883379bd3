//! An index whose files are damaged: an answer is that of the logs, or says that something
//! is wrong, and the next one is right in any case.

use std::ops::ControlFlow;
use std::path::PathBuf;

use fs_err as fs;
use recto_session::search::Query;
use recto_testkit::fuzz::Random;
use recto_testkit::fuzz::variable;

use super::index_tests::ID;
use super::index_tests::World;
use super::index_tests::all_of;
use super::index_tests::prompt;
use super::page_sums::PAGE;
use super::*;

const QUERIES: [&str; 5] =
    ["needle", "haystack", "word1*", "needle -word7", "\"of the haystack\" -needle"];

/// Damages tried in a test run; `RECTO_FUZZ_ITERATIONS` sets another number.
const USUAL_TRIES: u64 = 150;

fn world() -> World {
    let world = World::new();
    for log in 0..30 {
        let lines = (0..60).map(|line| {
            let needle = if (line + log) % 3 == 0 { "needle " } else { "" };
            prompt(&format!("{needle}word{} of the haystack, {log} {line}", (log * line) % 97))
        });
        world.write(&format!("{log:08}{}.jsonl", &ID[8..]), &lines.collect::<String>());
    }
    world
}

fn answer(world: &World, query: &str) -> (Vec<String>, usize, Vec<String>) {
    let query = Query::parse(query).unwrap();
    let tell = |_, _| ControlFlow::Continue(());
    let found = world.home.find(&world.home.inventory(), &world.cache, &all_of(&query), &tell);
    let mut places: Vec<String> = found
        .hits
        .iter()
        .map(|hit| format!("{}:{} {:?} {}", hit.path.display(), hit.line, hit.time, hit.part))
        .collect();
    places.sort();
    (places, found.total, found.remarks)
}

/// The files of the index, with their contents.
fn files(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let names = ["", "-wal"].map(|end| format!("{}{end}", world.index_path().display()));
    let names = names.into_iter().map(PathBuf::from).filter(|path| path.exists());
    names.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

fn put_back(world: &World, files: &[(PathBuf, Vec<u8>)]) {
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", world.index_path().display()));
    }
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

/// Damages some bytes, and says how.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) -> String {
    let (size, pages) = (bytes.len(), (bytes.len() / PAGE).max(1));
    match random.below(6) {
        0 => {
            let flips = 1 + random.below(10);
            for _ in 0..flips {
                bytes[random.below(size)] ^= 1 << random.below(8);
            }
            format!("{flips} flipped bits")
        }
        1 if pages > 1 => {
            let (a, b) = (random.below(pages) * PAGE, random.below(pages) * PAGE);
            for at in 0..PAGE {
                bytes.swap(a + at, b + at);
            }
            format!("pages at {a} and {b} swapped")
        }
        2 if pages > 1 => {
            let (from, to) = (random.below(pages) * PAGE, random.below(pages) * PAGE);
            bytes.copy_within(from..from + PAGE, to);
            format!("the page at {from} also at {to}")
        }
        3 => {
            let end = random.below(size);
            bytes.truncate(end);
            format!("cut at {end}")
        }
        4 => {
            let from = random.below(size);
            let to = (from + 1 + random.below(3 * PAGE)).min(size);
            bytes[from..to].fill(0);
            format!("{from}..{to} zeroed")
        }
        _ => {
            let from = random.below(size);
            let to = (from + 1 + random.below(500)).min(size);
            for byte in &mut bytes[from..to] {
                *byte = random.below(256) as u8;
            }
            format!("{from}..{to} random")
        }
    }
}

/// Tries damages in one of the files, whose whole contents are given.
fn try_damages(world: &World, whole: &[(PathBuf, Vec<u8>)], at: usize, tries: u64) {
    let right = QUERIES.map(|query| answer(world, query).0);
    assert!(right.iter().all(|hits| hits.len() > 20));
    let seed = variable("RECTO_FUZZ_SEED", 1);
    for round in 0..tries {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(round));
        let mut damaged = whole.to_vec();
        let what = damage(&mut random, &mut damaged[at].1);
        put_back(world, &damaged);
        let which = random.below(QUERIES.len());
        let (query, right) = (QUERIES[which], &right[which]);
        let described = format!("RECTO_FUZZ_SEED={seed}, round {round}: {what}, {query}");
        let (places, total, remarks) = answer(world, query);
        assert!(places == *right && total == right.len(), "{described}: {total} {remarks:?}");
        let (places, ..) = answer(world, query);
        assert!(places == *right, "{described}: the second answer");
    }
}

#[test]
fn whatever_is_damaged_in_the_index_the_hits_are_those_of_the_logs() {
    let world = world();
    assert_eq!(answer(&world, "needle").2, [""; 0]);
    assert_eq!(answer(&world, "needle").2, [""; 0]);
    let whole = files(&world);
    // All is in the file: nothing that was written waits beside it.
    assert!(whole[0].1.len() > 20 * PAGE, "{} bytes", whole[0].1.len());
    assert!(whole.get(1).is_none_or(|log| log.1.is_empty()));
    try_damages(&world, &whole, 0, variable("RECTO_FUZZ_ITERATIONS", USUAL_TRIES));
}

#[test]
fn whatever_is_damaged_in_the_write_ahead_log_the_hits_are_those_of_the_logs() {
    let world = world();
    // A reader is in the way: what is written stays in the log, and in the file.
    let reader = Index::open(&world.home, &world.cache).unwrap();
    reader.connection.execute_batch("BEGIN; SELECT count(*) FROM files").unwrap();
    assert_eq!(answer(&world, "needle").1, 600);
    let whole = files(&world);
    reader.connection.execute_batch("COMMIT").unwrap();
    drop(reader);
    assert!(whole[1].1.len() > 20 * PAGE, "{} bytes", whole[1].1.len());
    put_back(&world, &whole);
    assert!(write_ahead::check(&world.index_path()).is_ok());
    try_damages(&world, &whole, 1, variable("RECTO_FUZZ_ITERATIONS", USUAL_TRIES) / 2);
}

#[test]
fn a_page_that_is_not_as_it_was_written_is_told_and_the_index_rebuilt() {
    let world = world();
    assert_eq!(answer(&world, "needle").1, 600);
    let mut damaged = files(&world);
    let size = damaged[0].1.len();
    // One bit in every page: whatever a question reads is wrong.
    for page in damaged[0].1[..size].chunks_mut(PAGE).skip(1) {
        page[2000] ^= 4;
    }
    put_back(&world, &damaged);
    let (places, total, remarks) = answer(&world, "needle");
    assert_eq!((places.len(), total), (600, 600));
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].contains("rebuilt"), "{remarks:?}");
    assert_eq!(answer(&world, "needle").2, [""; 0]);
}
