//! Builds and refreshes that are killed between two of their steps.

use std::io::Write as _;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use super::index_tests::ID;
use super::index_tests::World;
use super::index_tests::prompt;
use super::*;
use crate::CacheDirectory;
use crate::Home;

/// What a process of its own does: it brings the index of the folder that it is told up
/// to date.
#[test]
#[ignore = "is a part of the other tests in this file"]
fn builds_what_it_is_told() {
    let mut folder = String::new();
    std::io::stdin().read_line(&mut folder).unwrap();
    let folder = std::path::Path::new(folder.trim());
    let home = Home::open(folder.join(".claude")).unwrap();
    let cache = CacheDirectory::new(folder.join("cache"));
    home.build_index(&home.inventory(), &cache, /* anew */ false, &|_, _| {}).unwrap();
}

fn start(world: &World) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "index::kill_tests::builds_what_it_is_told", "--ignored"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", world.folder.path().display()).unwrap();
    child
}

/// How many texts are in the index for good.
fn committed(world: &World) -> i64 {
    let Ok(index) = Index::open_to_read(&world.home, &world.cache) else { return 0 };
    let count = index.connection.query_row("SELECT count(*) FROM documents", [], |row| row.get(0));
    count.unwrap_or(0)
}

/// Kills a build as soon as it has written something. `false` if it has ended before.
fn build_and_kill(world: &World) -> bool {
    let before = committed(world);
    let mut child = start(world);
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return false;
        }
        if committed(world) != before {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "nothing was written");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    !child.wait().unwrap().success()
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
    let folder = tempfile::tempdir().unwrap();
    let options = Options { megabytes: 8, seed: 11, shape: Shape::Mixed };
    let truth = generate(&options, folder.path(), &mut |_| {}).unwrap();
    let world = World::at(folder);
    let (mut kills, mut kept) = (0, 0);
    while kills < 8 && build_and_kill(&world) {
        kills += 1;
        let now = committed(&world);
        assert!(now > kept, "{now} texts after {kept}");
        kept = now;
    }
    assert!(kills > 2, "killed only {kills} times");
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
    let mut kills = 0;
    for round in 0..6 {
        let line = |number| prompt(&format!("needle {round} {number} and {}", "more ".repeat(40)));
        world.append(&name, &(0..3000).map(line).collect::<String>());
        kills += usize::from(build_and_kill(&world));
        if round % 2 == 0 {
            assert_eq!(world.hits("needle").len(), 1 + 3000 * (round + 1));
        }
    }
    assert!(kills > 0, "killed only {kills} times");
    assert_is_right(&world);
}
