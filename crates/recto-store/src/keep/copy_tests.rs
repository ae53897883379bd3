//! The same session in two projects: each is kept, whatever becomes of them.

use fs_err as fs;

use super::keep_tests::ID;
use super::keep_tests::World;
use super::*;

fn log(project: &str) -> String {
    format!("projects/{project}/{ID}.jsonl")
}

fn lines(texts: &str) -> String {
    texts.chars().map(|text| format!("{{\"text\":\"{text}\"}}\n")).collect()
}

/// What happens to the logs of one session. The letters of a text are its lines.
enum Step {
    Write(&'static str, &'static str),
    /// Without the last line end.
    Tear(&'static str, &'static str),
    Title(&'static str, &'static str),
    Delete(&'static str),
    Move(&'static str, &'static str),
    Collect,
    /// Another collector, which knows nothing.
    CollectBeside,
    /// What the collector knows is lost.
    Forget,
    Merge,
}

use Step::*;

fn title(project: &str) -> String {
    format!("projects/{project}/{ID}/custom-title.json")
}

fn apply(world: &World, step: &Step) {
    let root = world.home.path();
    match step {
        Write(project, texts) => drop(world.home.write(&log(project), lines(texts))),
        Tear(project, texts) => {
            world.home.write(&log(project), lines(texts).trim_end());
        }
        Title(project, text) => drop(world.home.write(&title(project), text)),
        Delete(project) => fs::remove_dir_all(root.join("projects").join(project)).unwrap(),
        Move(from, to) => {
            fs::create_dir_all(root.join("projects").join(to)).unwrap();
            fs::rename(root.join(log(from)), root.join(log(to))).unwrap();
        }
        Collect => drop(world.collect()),
        CollectBeside => drop(world.collect_beside("beside")),
        Forget => world.forget(),
        Merge => drop(merge(&world.archive(), &|_, _| {}).unwrap()),
    }
}

/// What the home has of the session.
fn contents(world: &World) -> Vec<(String, Vec<u8>)> {
    let mut contents = Vec::new();
    for project in ["-a", "-b", "-c"] {
        for path in [log(project), title(project)] {
            contents.extend(fs::read(world.home.path().join(&path)).ok().map(|it| (path, it)));
        }
    }
    // An empty file has nothing to keep.
    contents.retain(|(_, content)| !content.is_empty());
    contents
}

/// After the steps and one more collection everything is kept as it is, and comes back.
fn check(name: usize, steps: &[Step]) {
    let world = World::new();
    world.collect();
    for step in steps {
        apply(&world, step);
    }
    world.collect();
    let there = contents(&world);
    let report = world.verify();
    assert!(report.is_sound(), "{name}: {report:?}");
    for (path, content) in &there {
        let kept = world.kept(path, None);
        assert_eq!(kept.as_deref(), Some(content.as_slice()), "{name}: {path}");
    }
    fs::remove_dir_all(world.home.path().join("projects")).unwrap();
    world.collect();
    world.restore(RestoreOptions::default());
    for (path, content) in there {
        assert_eq!(world.read(&path), content, "{name}: {path}");
    }
    assert_eq!(world.collect().captured, Captured::default(), "{name}");
}

#[test]
fn the_logs_of_one_session_in_two_projects_are_both_kept_in_any_order() {
    let orders: Vec<Vec<Step>> = vec![
        vec![Write("-a", "xya"), Write("-b", "xb")],
        vec![Write("-b", "xb"), Write("-a", "xya")],
        vec![Write("-a", "xy"), Write("-b", "xy")],
        vec![Write("-a", "xya"), Write("-b", "xy")],
        vec![Write("-a", "xy"), Collect, Write("-b", "xy")],
        vec![Write("-a", "xy"), Collect, Write("-b", "xyb")],
        vec![Write("-a", "xy"), Collect, Write("-b", "x")],
        vec![Write("-a", "xy"), Collect, Write("-b", "q")],
        vec![Write("-a", "x"), Write("-b", "x"), Collect, Write("-a", "xa"), Write("-b", "xb")],
        vec![
            Write("-a", "x"),
            Write("-b", "x"),
            Collect,
            Write("-b", "xb"),
            Collect,
            Write("-a", "xa"),
        ],
        vec![Write("-a", "xa"), Write("-b", "xb"), Collect, Forget],
        vec![Write("-a", "xa"), Write("-b", "xb"), Collect, Forget, Write("-b", "xbc")],
        vec![
            Write("-a", "xa"),
            CollectBeside,
            Write("-b", "xb"),
            Collect,
            Write("-a", "xac"),
            CollectBeside,
        ],
        vec![
            Write("-a", "xa"),
            Write("-b", "xb"),
            CollectBeside,
            Write("-b", "xbb"),
            Collect,
            Write("-b", "xbbb"),
            CollectBeside,
        ],
        vec![Write("-a", "xa"), Write("-b", "xb"), Collect, Delete("-a"), Write("-b", "xbc")],
        vec![
            Write("-a", "xa"),
            Write("-b", "xb"),
            Collect,
            Delete("-a"),
            Collect,
            Write("-a", "xa"),
        ],
        vec![
            Write("-a", "xa"),
            Write("-b", "xb"),
            Collect,
            Delete("-a"),
            Collect,
            Move("-b", "-a"),
        ],
        vec![Write("-a", "xa"), Write("-b", "xb"), Collect, Move("-b", "-c"), Write("-b", "xq")],
        vec![Write("-a", "xa"), Collect, Move("-a", "-b"), Write("-a", "xq")],
        vec![Write("-a", "xa"), Collect, Move("-a", "-b"), Write("-a", "xa")],
        vec![
            Write("-a", "xa"),
            Write("-b", "xb"),
            Collect,
            Move("-a", "-c"),
            Move("-b", "-a"),
            Move("-c", "-b"),
        ],
        vec![
            Write("-a", "xa"),
            Write("-b", "xb"),
            Collect,
            Move("-a", "-c"),
            Collect,
            Forget,
            Move("-b", "-a"),
        ],
        vec![Write("-a", "xya"), Write("-b", "xyb"), Collect, Write("-a", "x"), Write("-b", "xy")],
        vec![Write("-a", "xy"), Write("-b", "xyb"), Collect, Write("-a", "xyb"), Write("-b", "xy")],
        vec![Tear("-a", "x"), Tear("-b", "y")],
        vec![Tear("-a", "x"), Collect, Tear("-b", "y"), Collect, Write("-a", "xa")],
        vec![Tear("-a", "xa"), Tear("-b", "xb"), Collect, Write("-a", "xa"), Write("-b", "xb")],
        vec![Tear("-a", "x"), Collect, Move("-a", "-b"), Write("-b", "xb"), Write("-a", "xa")],
        vec![Write("-a", "x"), Collect, Write("-b", "")],
        vec![Write("-a", "x"), Write("-b", ""), Collect, Write("-b", "y"), Write("-c", "z")],
        vec![
            Write("-a", "xa"),
            Write("-b", "xb"),
            Write("-c", "xc"),
            Collect,
            Merge,
            Write("-c", "xcc"),
        ],
        vec![
            Write("-a", "x"),
            Write("-b", "x"),
            Collect,
            Write("-a", "xa"),
            Write("-b", "xb"),
            Collect,
            Merge,
            Forget,
        ],
        vec![Write("-a", "x"), Title("-a", "one"), Write("-b", "x"), Title("-b", "two")],
        vec![
            Write("-a", "x"),
            Title("-a", "one"),
            Collect,
            Write("-b", "x"),
            Title("-b", "one"),
            Collect,
            Title("-a", "two"),
        ],
        vec![
            Write("-a", "x"),
            Title("-a", "one"),
            Write("-b", "x"),
            Title("-b", "two"),
            Collect,
            Title("-a", "two"),
            Title("-b", "one"),
        ],
        vec![
            Write("-a", "xa"),
            Write("-b", "xb"),
            Collect,
            Delete("-a"),
            Delete("-b"),
            Collect,
            Write("-c", "xb"),
        ],
    ];
    for (name, steps) in orders.iter().enumerate() {
        check(name, steps);
    }
}

#[test]
fn a_second_log_of_a_session_is_counted_and_restored_with_the_first() {
    let world = World::new();
    apply(&world, &Write("-a", "xa"));
    apply(&world, &Write("-b", "xb"));
    let report = world.collect();
    assert_eq!((report.captured.copies, report.captured.lives), (1, 0));
    assert_eq!(world.collect().captured, Captured::default());
    let archive = world.archive();
    let catalog = Catalog::read(&archive).unwrap();
    let [session] = &catalog.sessions()[..] else { panic!("one session") };
    let mut paths = vec![session.log.path.clone()];
    paths.extend(session.files.iter().map(|file| file.path.clone()));
    paths.sort();
    assert_eq!(paths, [log("-a"), log("-b")]);
}

/// A move that was collected and then undone: the archive knows the session where it no longer is.
#[test]
fn a_session_that_the_home_has_in_another_project_is_not_restored_twice() {
    for (now, verdict) in [("xa", "same"), ("xab", "longer"), ("x", "completed")] {
        let world = World::new();
        apply(&world, &Write("-a", "xa"));
        apply(&world, &Title("-a", "one"));
        world.collect();
        apply(&world, &Move("-a", "-b"));
        world.collect();
        apply(&world, &Move("-b", "-a"));
        apply(&world, &Write("-a", now));
        let mut restored = world.restore(RestoreOptions::default());
        restored.retain(|(path, _)| path.ends_with(".jsonl"));
        assert_eq!(restored, [(log("-a"), verdict)]);
        assert!(!world.home.path().join(log("-b")).exists());
    }
    // Another session of that id is no reason to keep this one back.
    let world = World::new();
    apply(&world, &Write("-a", "xa"));
    world.collect();
    apply(&world, &Delete("-a"));
    apply(&world, &Write("-b", "xb"));
    assert_eq!(world.restore(RestoreOptions::default()), [(log("-a"), "new")]);
}

/// Only Windows cannot have such names.
#[test]
#[cfg(unix)]
fn names_that_this_system_can_have_are_kept_and_come_back() {
    let world = World::new();
    let files = ["a:b.txt", r"a\b.txt"].map(|name| format!("projects/-a/{ID}/tool-results/{name}"));
    for file in &files {
        world.home.write(file, "x");
    }
    world.collect();
    assert!(world.verify().is_sound());
    fs::remove_dir_all(world.home.path().join("projects")).unwrap();
    assert!(world.restore(RestoreOptions::default()).iter().all(|(_, verdict)| *verdict == "new"));
    for file in &files {
        assert_eq!(world.read(file), b"x");
    }
}
