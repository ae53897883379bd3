//! Sessions that only the archive has are seen as if the home still had them.

#![cfg(unix)]

use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use super::copies;
use super::keep_tests::ID;
use super::keep_tests::World;
use crate::CacheDirectory;
use crate::Home;
use crate::Inventory;
use crate::LogFile;
use crate::open_file;
use crate::place::archived_copy;

const OTHER: &str = "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214";

fn line(session: &str, text: &str) -> String {
    format!("{{\"type\":\"user\",\"sessionId\":\"{session}\",\"text\":\"{text}\"}}\n")
}

/// A home whose sessions the archive has.
fn collected() -> World {
    let world = World::new();
    let log = line(ID, "main").repeat(3);
    world.home.write(&format!("projects/-w/{ID}.jsonl"), &log);
    world.home.write(&format!("projects/-w/{ID}/subagents/agent-aa.jsonl"), line(ID, "agent"));
    world
        .home
        .write(&format!("projects/-w/{ID}/subagents/agent-aa.meta.json"), "{\"agentType\":\"x\"}");
    world.home.write(&format!("projects/-w/{ID}/tool-results/t1.txt"), "long");
    world.home.write("projects/-w/agent-bb.jsonl", line(ID, "loose"));
    world.home.write(&format!("projects/-v/{OTHER}.jsonl"), line(OTHER, "other"));
    world.home.write(&format!("todos/{ID}-agent-{ID}.json"), "[]");
    world.collect();
    world
}

fn seen(world: &World) -> Home {
    let cache = CacheDirectory::new(world.data.path().join("cache"));
    world.home().with_archive(&world.root(), &cache)
}

fn content(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    open_file(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn ids(inventory: &Inventory) -> Vec<(String, bool)> {
    let mut ids: Vec<(String, bool)> =
        inventory.sessions.iter().map(|one| (one.id.to_string(), one.is_archived())).collect();
    ids.sort();
    ids
}

fn names(mut logs: Vec<LogFile>) -> Vec<(String, bool)> {
    logs.sort_by_key(LogFile::name_in_home);
    logs.iter().map(|log| (log.name_in_home(), log.is_archived())).collect()
}

fn session_path(world: &World) -> PathBuf {
    world.home.path().join(format!("projects/-w/{ID}.jsonl"))
}

/// Deletes a session with all that belongs to it.
fn delete(world: &World) {
    fs::remove_file(session_path(world)).unwrap();
    fs::remove_dir_all(session_path(world).with_extension("")).unwrap();
    fs::remove_file(world.home.path().join("projects/-w/agent-bb.jsonl")).unwrap();
}

#[test]
fn a_deleted_session_is_listed_and_read_with_all_that_belongs_to_it() {
    let world = collected();
    let before = world.read(&format!("projects/-w/{ID}.jsonl"));
    let here = world.home().inventory().sessions;
    let here = here.iter().find(|one| one.id.to_string() == ID).unwrap();
    delete(&world);
    let home = seen(&world);
    let inventory = home.inventory();
    assert_eq!(ids(&inventory), [(ID.to_owned(), true), (OTHER.to_owned(), false)]);
    let session = inventory.sessions.iter().find(|one| one.is_archived()).unwrap();
    // The archive keeps milliseconds.
    let milliseconds = |log: &LogFile| log.modified().as_millisecond();
    assert_eq!(session.bytes(), here.bytes());
    assert_eq!(milliseconds(session), milliseconds(here));
    assert_eq!(session.name_in_home(), here.name_in_home());
    assert_eq!(content(&session.path), before);
    let agents = home.agents_of(&inventory, session);
    let found: Vec<String> = agents.iter().map(LogFile::name).collect();
    assert_eq!(agents.len(), 2, "{found:?}");
    let inside = agents.iter().find(|one| one.name() == "agent-aa").unwrap();
    assert_eq!(inside.meta().unwrap().agent_type.as_deref(), Some("x"));
    assert_eq!(content(&inside.path), line(ID, "agent").into_bytes());
    let result = home.overflow_file(&session.path, None, Some("t1.txt")).unwrap();
    assert_eq!(content(&result.path), b"long");
    let agents = [
        (format!("projects/-w/{ID}/subagents/agent-aa.jsonl"), true),
        ("projects/-w/agent-bb.jsonl".to_owned(), true),
    ];
    assert_eq!(names(home.all_agents(&inventory)), agents);
    // It is as good as a file that nobody touches, before and after it was opened.
    let again = home.inventory();
    let again = again.sessions.iter().find(|one| one.is_archived()).unwrap();
    assert_eq!(again.state, session.state);
    assert_eq!(ids(&home.without_archive().inventory()), [(OTHER.to_owned(), false)]);
}

#[test]
fn what_the_client_has_not_deleted_yet_is_not_taken_twice() {
    let world = collected();
    fs::remove_file(session_path(&world)).unwrap();
    let home = seen(&world);
    let inventory = home.inventory();
    let agents = [
        (format!("projects/-w/{ID}/subagents/agent-aa.jsonl"), false),
        ("projects/-w/agent-bb.jsonl".to_owned(), false),
    ];
    assert_eq!(names(home.all_agents(&inventory)), agents);
    let session = inventory.sessions.iter().find(|one| one.is_archived()).unwrap();
    assert_eq!(home.agents_of(&inventory, session).len(), 2);
}

#[test]
fn a_session_that_comes_back_is_the_one_of_the_home() {
    let world = collected();
    let before = world.read(&format!("projects/-w/{ID}.jsonl"));
    delete(&world);
    let home = seen(&world);
    let copy = home.inventory().sessions.iter().find(|one| one.is_archived()).unwrap().path.clone();
    assert!(copy.exists());
    fs::write(session_path(&world), before).unwrap();
    assert_eq!(ids(&home.inventory()), [(ID.to_owned(), false), (OTHER.to_owned(), false)]);
    assert!(!copy.exists());
}

#[test]
fn copies_that_hold_too_much_are_emptied_and_filled_again() {
    let world = collected();
    let before = world.read(&format!("projects/-w/{ID}.jsonl"));
    delete(&world);
    let home = seen(&world);
    let inventory = home.inventory();
    let session = inventory.sessions.iter().find(|one| one.is_archived()).unwrap();
    let is_empty = || archived_copy::is_empty(&fs::symlink_metadata(&session.path).unwrap());
    assert!(is_empty());
    let mut reader = open_file(&session.path).unwrap();
    assert!(!is_empty());
    let shelf = &home.archived.as_ref().unwrap().shelf;
    assert_eq!(copies::empty_oldest(shelf, Path::new("none"), 0), 0);
    assert!(is_empty());
    let listed = home.inventory();
    let listed = listed.sessions.iter().find(|one| one.is_archived()).unwrap();
    assert_eq!(listed.state, session.state);
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    assert_eq!(read, before, "who reads goes on reading");
    assert_eq!(content(&session.path), before);
}

#[test]
fn damage_is_named_and_the_rest_is_shown() {
    let world = collected();
    let path = format!("projects/-w/{ID}.jsonl");
    let first = world.read(&path);
    world.home.write(&path, format!("{}{}", line(ID, "main").repeat(3), line(ID, "more")));
    world.collect();
    let archive = world.archive();
    let catalog = super::Catalog::read(&archive).unwrap();
    let kept = catalog.files.iter().find(|file| file.path == path).unwrap();
    let mut segments: Vec<PathBuf> = Vec::new();
    for part in archive.parts(kept.key).unwrap() {
        segments.push(archive.path_of(kept.key, &part));
    }
    assert_eq!(segments.len(), 2);
    delete(&world);
    let home = seen(&world);
    let session = |home: &Home| {
        let inventory = home.inventory();
        let session = inventory.sessions.iter().find(|one| one.is_archived()).cloned();
        (session, inventory.skipped.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    // Damage of the bytes is seen when they are read.
    let whole = fs::read(&segments[1]).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&segments[1], &damaged).unwrap();
    let (found, skipped) = session(&home);
    assert_eq!(skipped, [""; 0]);
    assert_eq!(content(&found.unwrap().path), first);
    let (found, skipped) = session(&home);
    assert!(found.is_some());
    assert!(skipped[0].contains("is not shown as a whole") && skipped[0].contains("is damaged"));
    // A segment that is gone is seen when the files are listed.
    fs::remove_file(&segments[1]).unwrap();
    let (found, _) = session(&home);
    assert_eq!(content(&found.unwrap().path), first);
    // Without a header nothing is known of the file.
    fs::write(&segments[0], b"nonsense").unwrap();
    fs::write(segments[0].with_extension("new"), b"").unwrap();
    let (found, skipped) = session(&home);
    assert!(found.is_none());
    assert!(skipped[0].contains("is damaged"), "{skipped:?}");
}

#[test]
fn an_archive_that_cannot_be_used_hides_nothing_of_the_home() {
    let world = collected();
    delete(&world);
    // Whether it was seen before or not.
    assert_eq!(ids(&seen(&world).inventory()).len(), 2);
    fs::write(world.root().join("recto-archive"), "2\n").unwrap();
    let inventory = seen(&world).inventory();
    assert_eq!(ids(&inventory), [(OTHER.to_owned(), false)]);
    assert!(inventory.skipped[0].to_string().contains("is an archive of the newer version 2"));
    fs::remove_dir_all(world.root()).unwrap();
    let inventory = seen(&world).inventory();
    assert_eq!((ids(&inventory).len(), inventory.skipped.len()), (1, 0));
}

#[test]
fn what_is_known_of_an_archive_is_kept_though_nothing_was_deleted() {
    let world = collected();
    let home = seen(&world);
    assert_eq!(ids(&home.inventory()).len(), 2);
    let list = super::shelf_list::ShelfList::read(&home.archived.as_ref().unwrap().shelf);
    assert!(list.entries.len() >= 6, "{list:?}");
}

#[test]
fn a_list_that_is_lost_is_made_again() {
    let world = collected();
    delete(&world);
    let home = seen(&world);
    let before = ids(&home.inventory());
    let shelf = home.archived.as_ref().unwrap().shelf.clone();
    fs::write(shelf.join("list.jsonl"), "nonsense").unwrap();
    assert_eq!(ids(&home.inventory()), before);
    fs::remove_dir_all(&shelf).unwrap();
    assert_eq!(ids(&home.inventory()), before);
}
