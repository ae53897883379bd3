//! Builds and refreshes that are killed between two of their steps, each in a process of
//! its own.

use std::cell::Cell;
use std::process::Command;
use std::process::Stdio;

use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use super::index_tests::ID;
use super::index_tests::World;
use super::index_tests::prompt;
use super::*;
use crate::CacheDirectory;
use crate::Home;

/// Says to a process of these tests how many batches it lives, and for which folder.
const TOLD: &str = "RECTO_TEST_KILLED_BUILD";

/// What the other process does: it brings the index of a folder up to date, and kills
/// itself after some batches. `false` if this process is not the other one.
fn builds_what_it_is_told() -> bool {
    let Ok(told) = std::env::var(TOLD) else { return false };
    let (last, folder) = told.split_once(' ').unwrap();
    let (last, folder) = (last.parse::<u32>().unwrap(), std::path::Path::new(folder));
    let home = Home::open(folder.join(".claude")).unwrap();
    let cache = CacheDirectory::new(folder.join("cache"));
    let batches = Cell::new(0);
    let tell = |_, _| {
        batches.set(batches.get() + 1);
        if batches.get() == last {
            die();
        }
    };
    home.build_index(&home.inventory(), &cache, /* anew */ false, &tell).unwrap();
    true
}

/// Ends this process as `kill -9` does.
fn die() {
    use rustix::process::Signal;
    rustix::process::kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
}

/// Builds in another process, which is killed after some batches. `false` if it has ended
/// before.
fn build_and_kill(world: &World, batches: u32) -> bool {
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::a_build_that_is_killed_goes_on_where_it_was");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test])
        .env(TOLD, format!("{batches} {}", world.folder.path().display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    // What has failed by itself has a code, and was not killed.
    assert!(status.success() || status.code().is_none(), "{status}");
    !status.success()
}

/// How many texts are in the index for good.
fn committed(world: &World) -> i64 {
    let index = Index::open_to_read(&world.home, &world.cache).unwrap();
    index.connection.query_row("SELECT count(*) FROM documents", [], |row| row.get(0)).unwrap()
}

fn assert_is_right(world: &World) {
    let inventory = world.home.inventory();
    let skipped =
        world.home.build_index(&inventory, &world.cache, /* anew */ false, &|_, _| {});
    assert!(skipped.unwrap().is_empty());
    let verified = world.home.verify_index(&inventory, &world.cache, &|_, _| {}).unwrap();
    assert_eq!(verified.differences, []);
    assert!(verified.logs > 0);
}

#[test]
fn a_build_that_is_killed_goes_on_where_it_was() {
    if builds_what_it_is_told() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = Options { megabytes: 8, seed: 11, shape: Shape::Mixed };
    let truth = generate(&options, folder.path(), &mut |_| {}).unwrap();
    let world = World::at(folder);
    let (mut kills, mut kept) = (0, 0);
    while kills < 8 && build_and_kill(&world, 12 + kills) {
        kills += 1;
        let now = committed(&world);
        assert!(now >= kept, "{now} texts after {kept}");
        kept = now;
    }
    assert!(kills > 2 && kept > 0, "killed {kills} times, {kept} texts kept");
    // Whatever was killed, an answer is right at once.
    for needle in &truth.needles {
        let hits = world.answer(&format!("\"{}\"", needle.text)).hits;
        assert_eq!(hits.len(), needle.hits.len(), "{}", needle.name);
    }
    assert_is_right(&world);
}

#[test]
fn a_refresh_that_is_killed_leaves_nothing_wrong() {
    let world = World::new();
    let name = format!("{ID}.jsonl");
    world.write(&name, &prompt("the first needle"));
    assert_eq!(world.places("needle").len(), 1);
    for round in 0..6 {
        let line = |number| prompt(&format!("needle {round} {number} and {}", "more ".repeat(40)));
        world.append(&name, &(0..3000).map(line).collect::<String>());
        assert!(build_and_kill(&world, 1 + round as u32));
        if round % 2 == 0 {
            assert_eq!(world.hits("needle").len(), 1 + 3000 * (round + 1));
        }
    }
    assert_is_right(&world);
}
