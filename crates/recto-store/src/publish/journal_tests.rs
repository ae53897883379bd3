//! The journal as its users see it. What a crash does is tested with the real
//! program, in `crates/recto/tests/crash.rs`.

use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use fs_err as fs;
use tempfile::TempDir;

use super::*;
use crate::DataDirectory;
use crate::Home;
use crate::StoreError;

struct Place {
    folder: TempDir,
    home: Home,
    data: DataDirectory,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let data = DataDirectory::new(folder.path().join("data"));
        Place { folder, home, data }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.real_root().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::new(1_790_000_000, 123_456_789);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.data, &self.home).unwrap()
    }

    fn intent(&self) -> Intent<'_> {
        Intent {
            home: &self.home,
            name: "test",
            arguments: Vec::new(),
            time: "2026-11-16T12:00:00Z".parse().unwrap(),
            source: None,
            result: None,
        }
    }

    /// All files and directories of the home, with contents.
    fn tree(&self) -> Vec<(PathBuf, Option<String>)> {
        let mut found = Vec::new();
        let mut waiting = vec![self.home.real_root().to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.home.real_root()).unwrap().to_owned();
                if path.is_dir() {
                    found.push((name, None));
                    waiting.push(path);
                } else {
                    found.push((name, Some(fs::read_to_string(&path).unwrap())));
                }
            }
        }
        found.sort();
        found
    }
}

fn put(text: &str) -> impl FnOnce(&mut dyn std::io::Write) -> Result<(), StoreError> {
    move |out| Ok(out.write_all(text.as_bytes())?)
}

fn identity(path: &Path) -> FileIdentity {
    FileIdentity::of(path).unwrap()
}

fn kind(error: impl Into<StoreError>) -> &'static str {
    error.into().kind()
}

#[test]
fn a_replacement_keeps_time_and_mode_and_can_be_undone_and_redone() {
    let place = Place::new();
    let path = place.write("a.jsonl", "old\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    let before = fs::metadata(&path).unwrap();
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    let staged = transaction.replace(&path, &identity(&path), put("new\n")).unwrap();
    assert_eq!(fs::read_to_string(staged.path()).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\n", "nothing has changed yet");
    let operation = transaction.commit().unwrap();
    let check = |text: &str| {
        let after = fs::metadata(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(after.modified().unwrap(), before.modified().unwrap());
        assert_eq!(after.permissions(), before.permissions());
        assert_eq!(place.tree().len(), 1, "nothing is left over");
    };
    check("new\n");
    assert_eq!(journal.operations().unwrap(), std::slice::from_ref(&operation));
    journal.undo(&place.home, None, Changed::Refuse).unwrap();
    check("old\n");
    assert_eq!(
        kind(journal.undo(&place.home, None, Changed::Refuse).unwrap_err()),
        "nothing-to-undo"
    );
    journal.redo(&place.home, Some(operation.id)).unwrap();
    check("new\n");
    assert_eq!(kind(journal.redo(&place.home, None).unwrap_err()), "nothing-to-redo");
}

#[test]
fn what_is_not_committed_leaves_no_trace() {
    let place = Place::new();
    let path = place.write("a.jsonl", "old");
    let before = place.tree();
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    transaction.replace(&path, &identity(&path), put("new")).unwrap();
    transaction.create_directory(&place.path("d")).unwrap();
    transaction.create(&place.path("d/b"), put("b")).unwrap();
    assert_eq!(transaction.changes().len(), 3);
    drop(transaction);
    assert_eq!(place.tree(), before);
    assert_eq!(journal.operations().unwrap(), []);
    drop(journal);
    assert_eq!(place.journal().recovered(), []);
}

#[test]
fn a_file_that_changes_while_it_is_worked_on_stays_and_so_does_all_else() {
    let place = Place::new();
    let first = place.write("a", "a");
    let second = place.write("b", "b");
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    transaction.replace(&first, &identity(&first), put("A")).unwrap();
    transaction.replace(&second, &identity(&second), put("B")).unwrap();
    fs::OpenOptions::new().append(true).open(&second).unwrap().write_all(b"more").unwrap();
    assert_eq!(kind(transaction.commit().unwrap_err()), "changed-meanwhile");
    let expected = [("a", "a"), ("b", "bmore")];
    let expected = expected.map(|(name, text)| (PathBuf::from(name), Some(text.to_owned())));
    assert_eq!(place.tree(), expected);
    assert_eq!(journal.operations().unwrap(), []);
    let stale = identity(&first);
    fs::write(&first, "longer").unwrap();
    let mut transaction = journal.begin(place.intent()).unwrap();
    assert_eq!(
        kind(transaction.replace(&first, &stale, put("A")).unwrap_err()),
        "changed-meanwhile"
    );
}

#[test]
fn a_new_file_never_takes_the_place_of_another() {
    let place = Place::new();
    let path = place.write("a", "a");
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    assert_eq!(kind(transaction.create(&path, put("b")).unwrap_err()), "exists");
    transaction.create(&place.path("c"), put("c")).unwrap();
    transaction.create(&place.path("d"), put("d")).unwrap();
    place.write("d", "theirs");
    assert_eq!(kind(transaction.commit().unwrap_err()), "exists");
    let names: Vec<PathBuf> = place.tree().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [PathBuf::from("a"), PathBuf::from("d")], "c was taken back");
    assert_eq!(fs::read_to_string(place.path("d")).unwrap(), "theirs");
}

#[test]
fn an_undo_of_what_was_changed_since_is_refused_or_keeps_both() {
    let place = Place::new();
    let path = place.write("a", "old\n");
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    transaction.replace(&path, &identity(&path), put("new\n")).unwrap();
    transaction.commit().unwrap();
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more\n").unwrap();
    let error = journal.undo(&place.home, None, Changed::Refuse).unwrap_err();
    assert!(error.to_string().ends_with("has grown by 5 bytes since operation 1"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "new\nmore\n");
    let reversal = journal.undo(&place.home, None, Changed::Keep).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
    assert!(reversal.kept[0].1.is_file());
    journal.redo(&place.home, None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new\nmore\n", "what was there comes back");
    fs::remove_file(&path).unwrap();
    let error = journal.undo(&place.home, None, Changed::Refuse).unwrap_err();
    assert!(error.to_string().contains("was removed"), "{error}");
    journal.undo(&place.home, None, Changed::Keep).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
}

#[test]
fn an_undo_of_an_older_operation_names_the_newer_one() {
    let place = Place::new();
    let path = place.write("a", "1");
    let mut journal = place.journal();
    for text in ["2", "3"] {
        let mut transaction = journal.begin(place.intent()).unwrap();
        transaction.replace(&path, &identity(&path), put(text)).unwrap();
        transaction.commit().unwrap();
    }
    let first = journal.operations().unwrap()[0].id;
    let error = journal.undo(&place.home, Some(first), Changed::Refuse).unwrap_err();
    assert!(error.to_string().contains("was changed by operation 2 (test)"), "{error}");
}

#[test]
fn directories_come_and_go_with_their_files() {
    let place = Place::new();
    place.write("d/e/x", "x");
    let before = place.tree();
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    let file = place.path("d/e/x");
    transaction.remove(&file, &identity(&file)).unwrap();
    transaction.remove_directory(&place.path("d/e")).unwrap();
    transaction.remove_directory(&place.path("d")).unwrap();
    transaction.commit().unwrap();
    assert_eq!(place.tree(), []);
    journal.undo(&place.home, None, Changed::Refuse).unwrap();
    assert_eq!(place.tree(), before);
    journal.redo(&place.home, None).unwrap();
    assert_eq!(place.tree(), []);
}

#[cfg(unix)]
#[test]
fn no_path_leads_out_of_the_home() {
    let place = Place::new();
    let outside = place.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "x").unwrap();
    std::os::unix::fs::symlink(&outside, place.path("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("x"), place.path("file")).unwrap();
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    let x = identity(&outside.join("x"));
    for path in ["link/y", "../outside/y"] {
        let error = transaction.create(&place.path(path), put("y")).unwrap_err();
        assert_eq!(kind(error), "outside", "{path}");
    }
    for path in ["link/x", "file", "../outside/x"] {
        let error = transaction.replace(&place.path(path), &x, put("y")).unwrap_err();
        assert_eq!(kind(error), "outside", "{path}");
        assert_eq!(kind(transaction.remove(&place.path(path), &x).unwrap_err()), "outside");
    }
}

#[cfg(unix)]
#[test]
fn a_record_that_was_tampered_with_leads_nowhere() {
    let place = Place::new();
    let path = place.write("d/a", "old");
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    transaction.replace(&path, &identity(&path), put("new")).unwrap();
    let operation = transaction.commit().unwrap();
    // A directory on the way is a link by now.
    let outside = place.folder.path().join("outside");
    fs::rename(place.path("d"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, place.path("d")).unwrap();
    let error = journal.undo(&place.home, None, Changed::Keep).unwrap_err();
    assert_eq!(kind(error), "outside");
    // The record names another file.
    let record = journal.records.path(operation.id);
    let text = fs::read_to_string(&record).unwrap();
    let inside = path.to_str().unwrap();
    for other in [outside.join("a"), place.path("../outside/a")] {
        fs::write(&record, text.replace(inside, other.to_str().unwrap())).unwrap();
        let error = journal.undo(&place.home, None, Changed::Keep).unwrap_err();
        assert_eq!(kind(error), "outside");
    }
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "new");
    fs::write(&record, "{").unwrap();
    let undo = |journal: &mut Journal, id| journal.undo(&place.home, id, Changed::Keep);
    assert_eq!(kind(undo(&mut journal, Some(operation.id)).unwrap_err()), "bad-record");
    assert_eq!(kind(undo(&mut journal, None).unwrap_err()), "nothing-to-undo");
}

#[test]
fn operations_of_another_home_are_left_alone() {
    let place = Place::new();
    let path = place.write("a", "old");
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    transaction.replace(&path, &identity(&path), put("new")).unwrap();
    let id = transaction.commit().unwrap().id;
    let other = tempfile::tempdir().unwrap();
    let other = Home::open(other.path()).unwrap();
    let undo = |journal: &mut Journal, id| journal.undo(&other, id, Changed::Keep).unwrap_err();
    assert_eq!(kind(undo(&mut journal, None)), "nothing-to-undo");
    assert_eq!(kind(undo(&mut journal, Some(id))), "other-home");
}

#[test]
fn what_is_pruned_is_forgotten_and_the_rest_can_be_undone() {
    let place = Place::new();
    let path = place.write("a", "0");
    let mut journal = place.journal();
    for (day, text) in [(1, "1"), (2, "2"), (3, "3")] {
        let time = format!("2026-11-0{day}T12:00:00Z").parse().unwrap();
        let mut transaction = journal.begin(Intent { time, ..place.intent() }).unwrap();
        transaction.replace(&path, &identity(&path), put(text)).unwrap();
        transaction.commit().unwrap();
    }
    let numbers = |journal: &Journal| -> Vec<u64> {
        journal.operations().unwrap().iter().map(|operation| operation.id.number()).collect()
    };
    let pruned = journal.prune(Prune::Before("2026-11-02T00:00:00Z".parse().unwrap())).unwrap();
    assert_eq!(numbers(&journal), [2, 3]);
    assert!(pruned.freed > 0 && pruned.left > 0);
    journal.undo(&place.home, None, Changed::Refuse).unwrap();
    journal.undo(&place.home, None, Changed::Refuse).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "1");
    let pruned = journal.prune(Prune::ToBytes(0)).unwrap();
    assert_eq!((numbers(&journal), pruned.left), (Vec::new(), 0));
    let mut transaction = journal.begin(place.intent()).unwrap();
    transaction.create(&place.path("b"), put("b")).unwrap();
    assert_eq!(transaction.commit().unwrap().id.number(), 4, "numbers do not come again");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_look_into_the_data() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.write("a", "old");
    let mut journal = place.journal();
    let mut transaction = journal.begin(place.intent()).unwrap();
    transaction.replace(&path, &identity(&path), put("new")).unwrap();
    transaction.commit().unwrap();
    let mut waiting = vec![place.data.root().to_owned()];
    let mut seen = 0;
    while let Some(path) = waiting.pop() {
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o077, 0, "{}", path.display());
        seen += 1;
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert_eq!(seen, 7, "three directories and one of a backup, lock, record, backup");
}

/// The version of a file.
fn version(path: &Path) -> State {
    let identity = identity(path);
    State::File(FileVersion {
        sha256: hash_file(path).unwrap(),
        bytes: identity.bytes,
        modified: identity.modified,
        mode: Some(0o600),
    })
}

/// Writes the record of an operation that was interrupted before it removed a file.
fn interrupted(place: &Place, id: u64, home: &Path, path: &Path) {
    let text = format!("{id}");
    let step = operation::Step {
        path: path.to_owned(),
        from: Some(version(path)),
        to: None,
        temporary: Some(path.with_file_name(format!(".recto-{id}-0-1.tmp"))),
    };
    let operation = Operation {
        id: text.parse().unwrap(),
        sequence: id,
        time: "2026-11-16T12:00:00Z".parse().unwrap(),
        name: "rm".into(),
        arguments: Vec::new(),
        version: "0.1.0".into(),
        home: home.to_owned(),
        source: None,
        result: None,
        title: None,
        status: Status::Done,
        changes: vec![Change { path: path.to_owned(), before: step.from.clone(), after: None }],
        pending: Some(operation::Pending { previous: None, steps: vec![step] }),
    };
    place.data.make(&["operations"]).unwrap();
    let record = place.data.root().join(format!("operations/{id:06}.json"));
    fs::write(record, record::write(&operation).unwrap()).unwrap();
}

#[test]
fn a_pending_record_changes_nothing_but_in_the_home_that_was_opened() {
    let place = Place::new();
    let victim = fs::canonicalize(place.folder.path()).unwrap().join("victim");
    fs::write(&victim, "precious").unwrap();
    interrupted(&place, 1, Path::new("/"), &victim);
    interrupted(&place, 2, place.home.real_root(), &victim);
    interrupted(&place, 3, victim.parent().unwrap(), &victim);
    // Notes name files to remove, too.
    let empty = victim.with_file_name("empty");
    fs::create_dir(&empty).unwrap();
    let staged = victim.with_file_name(".recto-9-0-1.tmp");
    fs::write(&staged, "theirs").unwrap();
    let home = place.home.real_root().display();
    for (id, header) in [(8, String::new()), (9, format!(",\"home\":\"{home}\""))] {
        let notes = format!(
            "{{\"name\":\"x\",\"sequence\":9{header}}}\n{{\"temporary\":\"{}\"}}\n\
             {{\"directory\":\"{}\"}}\n",
            staged.display(),
            empty.display()
        );
        fs::write(place.data.root().join(format!("operations/{id:06}.staged")), notes).unwrap();
    }
    let mut journal = place.journal();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(staged.is_file() && empty.is_dir());
    let stuck = |one: &&Recovered| matches!(one.outcome, RecoveredAs::Stuck(_));
    let stuck: Vec<u64> =
        journal.recovered().iter().filter(stuck).map(|one| one.id.number()).collect();
    assert_eq!(stuck, [2], "the one of this home is set aside and named");
    for changed in [Changed::Keep, Changed::Refuse] {
        journal.undo(&place.home, None, changed).unwrap_err();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}

#[cfg(unix)]
#[test]
fn what_is_stuck_in_one_home_stops_no_other() {
    let place = Place::new();
    let other = place.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let other = Home::open(&other).unwrap();
    let folder = other.real_root().join("d");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a"), "a").unwrap();
    // It can be neither finished nor taken back: a link has come into its path.
    interrupted(&place, 1, other.real_root(), &folder.join("a"));
    fs::rename(&folder, other.real_root().join("e")).unwrap();
    std::os::unix::fs::symlink(other.real_root().join("e"), &folder).unwrap();
    fs::write(place.data.root().join("operations/000002.json"), "{").unwrap();
    // This home knows nothing of it.
    let path = place.write("a", "old");
    let edit = |home: &Home, path: &Path| {
        let mut journal = Journal::open(&place.data, home).unwrap();
        let stuck = journal.recovered().len();
        let mut transaction = journal.begin(Intent { home, ..place.intent() }).unwrap();
        transaction.replace(path, &identity(path), put("new")).unwrap();
        transaction.commit().unwrap();
        journal.undo(home, None, Changed::Refuse).unwrap();
        stuck
    };
    assert_eq!(edit(&place.home, &path), 0);
    // The other one names it, and goes on.
    let second = other.real_root().join("b");
    fs::write(&second, "b").unwrap();
    assert_eq!(edit(&other, &second), 1);
    let list = list_operations(&place.data).unwrap();
    assert_eq!(list.operations.len(), 3);
    let unreadable: Vec<&Path> = list.unreadable.iter().map(|(path, _)| path.as_path()).collect();
    assert_eq!(unreadable, [place.data.root().join("operations/000002.json")]);
    // Forgetting goes on as well, and keeps what the unreadable record may need.
    let pruned = place.journal().prune(Prune::ToBytes(0)).unwrap();
    assert_eq!(pruned.operations.len(), 2);
}

#[test]
fn all_backups_of_a_session_can_be_removed_for_good() {
    let place = Place::new();
    let session = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
    let path = place.write(&format!("projects/-w/{session}.jsonl"), "secret");
    let other = place.write("projects/-w/4f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl", "other");
    let mut journal = place.journal();
    for (path, text) in [(&path, "less secret"), (&other, "changed"), (&path, "public")] {
        let mut transaction = journal.begin(place.intent()).unwrap();
        transaction.replace(path, &identity(path), put(text)).unwrap();
        transaction.commit().unwrap();
    }
    assert_eq!(journal.backups.all().unwrap().len(), 3);
    let pruned = journal.purge(session.parse().unwrap()).unwrap();
    assert_eq!((pruned.operations.len(), pruned.remaining), (2, 1));
    assert_eq!(journal.backups.all().unwrap().len(), 1);
    journal.undo(&place.home, None, Changed::Refuse).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    assert_eq!(fs::read_to_string(&path).unwrap(), "public");
}
