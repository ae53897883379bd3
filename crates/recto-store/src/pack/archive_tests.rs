//! Archives that are good, and all kinds that are not.

use std::time::Duration;
use std::time::SystemTime;

use fs_err as fs;
use recto_testkit::tree;
use sha2::Digest as _;
use sha2::Sha256;
use tempfile::TempDir;

use super::*;
use crate::DataDirectory;
use crate::Home;
use crate::StoreError;
use crate::publish::Intent;
use crate::publish::Journal;

const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
const TIME: &str = "2026-11-16T12:00:00.123456789Z";
const LINE: &str = r#"{"type":"user","uuid":"11111111-1111-4111-8111-111111111111","parentUuid":null,"cwd":"/w/app","sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","message":{"role":"user","content":"x"}}"#;

fn time() -> jiff::Timestamp {
    TIME.parse().unwrap()
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A home with a session that has files of every role, and other files.
fn full_home() -> (TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    for (place, content) in [
        ("projects/-w-app/ID.jsonl", format!("{LINE}\n")),
        ("projects/-w-app/ID/subagents/agent-a1.jsonl", format!("{LINE}\n")),
        ("projects/-w-app/ID/subagents/agent-a1.meta.json", "{}".to_owned()),
        ("projects/-w-app/ID/tool-results/b1.txt", "long".repeat(100_000)),
        ("projects/-w-app/agent-b2.jsonl", format!("{LINE}\n")),
        ("todos/ID-agent-ID.json", "[]".to_owned()),
        ("tasks/ID/1.json", "{}".to_owned()),
        ("file-history/ID/f4661088e6996082@v1", "old".to_owned()),
        // These belong to nobody, or to nobody else.
        ("tasks/ID/.lock", String::new()),
        ("projects/-w-app/ID/tool-results/credentials.txt", "secret".to_owned()),
        ("projects/-w-app/memory/MEMORY.md", "remember".to_owned()),
        (".credentials.json", "secret".to_owned()),
    ] {
        let path = folder.path().join(place.replace("ID", ID));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let old = SystemTime::now() - Duration::from_nanos(86_400_123_456_789);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(old).unwrap();
    }
    let home = Home::open(folder.path()).unwrap();
    (folder, home)
}

fn pack(home: &Home) -> (Package, Vec<u8>) {
    let inventory = home.inventory();
    let package = Package::plan(
        home,
        &inventory,
        &inventory.sessions,
        (Unreadable::Fail, Content::AsItIs),
        time(),
    )
    .unwrap();
    let mut bytes = Vec::new();
    package.write(&mut bytes).unwrap();
    (package, bytes)
}

/// Unpacks into a home; gives where the sessions went.
fn unpack(
    bytes: &[u8],
    home: &Home,
    to: Option<&str>,
    ids: Ids,
) -> Result<Vec<UnpackedSession>, StoreError> {
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("x.recto");
    fs::write(&path, bytes).unwrap();
    let extracted = Extracted::read(&path, &work.path().join("unpacked"))?;
    let planned = extracted.plan(home, to, ids)?;
    let mut journal = Journal::open(&DataDirectory::new(work.path().join("data")), home).unwrap();
    let mut transaction = journal.begin(Intent {
        home,
        name: "unpack",
        arguments: Vec::new(),
        time: time(),
        source: None,
        result: None,
    })?;
    for session in &planned {
        extracted.stage(home, session, &mut transaction)?;
    }
    transaction.commit()?;
    Ok(planned)
}

fn empty_home() -> (TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    (folder, home)
}

/// A name that Windows cannot have keeps only its own file out.
#[test]
#[cfg(unix)]
fn a_file_whose_name_is_not_portable_is_named_and_the_rest_is_packed() {
    let (source, home) = full_home();
    let results = source.path().join(format!("projects/-w-app/{ID}/tool-results"));
    fs::write(results.join("a:b.txt"), "x").unwrap();
    let (package, bytes) = pack(&home);
    let [skipped] = &package.skipped[..] else { panic!("{:?}", package.skipped) };
    assert!(skipped.to_string().contains("a:b.txt"), "{skipped}");
    let (target, other) = empty_home();
    unpack(&bytes, &other, None, Ids::Keep).unwrap();
    assert_eq!(tree(target.path()).len(), 8);
}

/// Of all sessions, one that is there twice does not keep the others back.
#[test]
fn a_session_in_two_projects_is_packed_once_and_the_other_is_named() {
    let (source, home) = full_home();
    fs::create_dir(source.path().join("projects/-w-b")).unwrap();
    let copy = source.path().join(format!("projects/-w-b/{ID}.jsonl"));
    fs::copy(source.path().join(format!("projects/-w-app/{ID}.jsonl")), copy).unwrap();
    let inventory = home.inventory();
    let plan = |unreadable| {
        let how = (unreadable, Content::AsItIs);
        Package::plan(&home, &inventory, &inventory.sessions, how, time())
    };
    let package = plan(Unreadable::Skip).unwrap();
    assert_eq!((package.manifest.sessions.len(), package.skipped.len()), (1, 1));
    assert!(plan(Unreadable::Fail).is_err());
}

#[test]
fn what_is_packed_comes_out_again_with_its_times() {
    let (source, home) = full_home();
    let (package, bytes) = pack(&home);
    assert_eq!(package.manifest.sessions[0].directory.as_deref(), Some("/w/app"));
    assert_eq!(package.left_out.len(), 1);
    let roles: std::collections::HashSet<Role> =
        package.manifest.sessions[0].files.iter().map(|file| file.role).collect();
    assert_eq!(roles.len(), Role::ALL.len());
    let (target, other) = empty_home();
    unpack(&bytes, &other, None, Ids::Keep).unwrap();
    let mut expected = tree(source.path());
    expected.retain(|path, _| {
        !["MEMORY.md", ".lock", "credentials.txt", ".credentials.json"]
            .iter()
            .any(|name| path.ends_with(name))
    });
    assert_eq!(expected.len(), 8);
    assert!(tree(target.path()) == expected);
    // Once more changes nothing, and says so.
    let again = unpack(&bytes, &other, None, Ids::Keep).unwrap();
    assert!(matches!(again[0].arrival, Arrival::AlreadyThere));
    assert!(tree(target.path()) == expected);
}

#[test]
fn a_session_that_differs_is_refused_and_can_become_a_copy() {
    let (_source, home) = full_home();
    let (_, bytes) = pack(&home);
    let log = home.root().join(format!("projects/-w-app/{ID}.jsonl"));
    fs::write(&log, format!("{LINE}\n{{}}\n")).unwrap();
    let error = unpack(&bytes, &home, None, Ids::Keep).unwrap_err();
    assert_eq!(error.kind(), "session-exists");
    // It is the same session in another project, too.
    let error = unpack(&bytes, &home, Some("/new"), Ids::Keep).unwrap_err();
    assert_eq!(error.kind(), "session-exists");
    let copies = unpack(&bytes, &home, None, Ids::New).unwrap();
    let Arrival::Copy(new) = &copies[0].arrival else { panic!("{copies:?}") };
    let inventory = home.inventory();
    let copy = inventory.sessions.iter().find(|session| session.id == new.id).unwrap();
    let copied = String::from_utf8(fs::read(&copy.path).unwrap()).unwrap();
    assert!(!copied.contains(ID) && !copied.contains("11111111-"), "{copied}");
    assert_eq!(home.parts_of(&inventory, copy).unwrap().files.len(), 8);
}

#[test]
fn a_session_goes_to_another_directory() {
    let (_source, home) = full_home();
    let (_, bytes) = pack(&home);
    for ids in [Ids::Keep, Ids::New] {
        let (_target, other) = empty_home();
        let planned = unpack(&bytes, &other, Some("/new/place"), ids).unwrap();
        let log = fs::read_to_string(&planned[0].log).unwrap();
        assert!(log.contains("\"cwd\":\"/new/place\""), "{log}");
        assert!(planned[0].log.starts_with(other.root().join("projects/-new-place")));
        let session = other.inventory().sessions.remove(0);
        let agents = other.agents_of(&other.inventory(), &session);
        assert_eq!(agents.len(), 2);
        for agent in agents {
            let log = fs::read_to_string(agent.path).unwrap();
            assert!(log.contains("\"cwd\":\"/new/place\""), "{log}");
        }
    }
}

/// An entry of an archive that was made by hand.
struct Made {
    path: String,
    kind: tar::EntryType,
    content: Vec<u8>,
    link: &'static str,
}

fn file(path: &str, content: impl Into<Vec<u8>>) -> Made {
    let kind = tar::EntryType::Regular;
    Made { path: path.to_owned(), kind, content: content.into(), link: "" }
}

fn archive(entries: &[Made]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        // As a stranger would write it: nothing is checked.
        let name = &mut header.as_ustar_mut().unwrap().name;
        name[..entry.path.len()].copy_from_slice(entry.path.as_bytes());
        let link = &mut header.as_ustar_mut().unwrap().linkname;
        link[..entry.link.len()].copy_from_slice(entry.link.as_bytes());
        header.set_size(entry.content.len() as u64);
        header.set_mode(0o600);
        header.set_entry_type(entry.kind);
        header.set_cksum();
        builder.append(&header, entry.content.as_slice()).unwrap();
    }
    zstd::encode_all(builder.into_inner().unwrap().as_slice(), 3).unwrap()
}

fn described(role: &str, name: &str, path: &str, content: &[u8]) -> String {
    format!(
        r#"{{"role":"{role}","name":"{name}","path":"{path}","bytes":{},"sha256":"{}","modified":"{TIME}"}}"#,
        content.len(),
        sha256(content)
    )
}

fn manifest(files: &[String]) -> Made {
    let files = files.join(",");
    let text = format!(
        r#"{{"format":1,"recto":"0","created":"{TIME}","sessions":[{{"id":"{ID}","title":null,"cwd":"/w/app","project":"-w-app","files":[{files}]}}]}}"#
    );
    file("manifest.json", text)
}

fn log_described() -> String {
    described("log", &format!("{ID}.jsonl"), "log", LINE.as_bytes())
}

/// An archive with the log and one more file, both as they should be.
fn with_file(role: &str, name: &str) -> Vec<u8> {
    let more = described(role, name, "more", b"more");
    archive(&[manifest(&[log_described(), more]), file("log", LINE), file("more", "more")])
}

/// Why an archive is refused. Nothing may come into the home.
fn refused(bytes: &[u8]) -> String {
    let (folder, home) = empty_home();
    let error = match unpack(bytes, &home, None, Ids::Keep) {
        Ok(planned) => panic!("was unpacked: {planned:?}"),
        Err(error) => error,
    };
    assert_eq!(error.kind(), "bad-archive", "{error}");
    assert!(tree(folder.path()).is_empty());
    let text = error.to_string();
    let why = text.split_once(" (").and_then(|(_, why)| why.strip_suffix(')'));
    why.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let (_folder, home) = empty_home();
    unpack(&with_file("folder", "tool-results/a.txt"), &home, None, Ids::Keep).unwrap();
    let long = "x".repeat(256);
    let deep = ["x"; 9].join("/");
    for (role, name) in [
        ("folder", "../x"),
        ("folder", "a/../../x"),
        ("folder", "/etc/x"),
        ("folder", ""),
        ("folder", "a//b"),
        ("folder", "./a"),
        ("folder", "..\\\\x"),
        ("folder", "C:x"),
        ("folder", "a\\u0000b"),
        ("folder", "a\\nb"),
        ("folder", "tool-results/.credentials.json"),
        ("folder", &long),
        ("folder", &deep),
        ("agent", "other.jsonl"),
        ("agent", "x/agent-a1.jsonl"),
        ("todos", "other.json"),
        ("task", ".."),
        ("file-version", "../../settings.json"),
        ("log", "other.jsonl"),
        ("settings", "settings.json"),
    ] {
        let why = refused(&with_file(role, name));
        assert!(why.contains("cannot have the file"), "{role} {name}: {why}");
    }
}

#[test]
fn what_the_manifest_says_otherwise_is_refused() {
    let log = || file("log", LINE);
    let good = || manifest(&[log_described()]);
    let changed = |from: &str, to: &str| {
        let made = good();
        let text = String::from_utf8(made.content).unwrap();
        assert!(text.contains(from), "{from}");
        archive(&[file("manifest.json", text.replace(from, to)), log()])
    };
    let hash = sha256(LINE.as_bytes());
    let size = format!("\"bytes\":{}", LINE.len());
    let link = |kind, link| Made { path: "log".into(), kind, content: Vec::new(), link };
    let cases = [
        (changed("-w-app", "../x"), "names no project"),
        (changed("-w-app", ""), "names no project"),
        (changed(&format!("\"id\":\"{ID}\""), "\"id\":\"../../x\""), "an invalid id"),
        (changed("\"format\":1", "\"format\":2"), "its format is 2"),
        (changed("\"format\":1,", ""), "no format"),
        (changed(&hash, &sha256(b"other")), "content"),
        (changed(&hash, "../x"), "hash"),
        (changed(&size, "\"bytes\":1"), "size"),
        (changed(TIME, "soon"), "when it was made"),
        (changed("\"role\":\"log\"", "\"role\":\"folder\""), "does not begin with its one log"),
        (archive(&[]), "it is empty"),
        (archive(&[log()]), "is where `manifest.json` should be"),
        (archive(&[file("manifest.json", "{")]), "its manifest: "),
        (archive(&[good()]), "is missing"),
        (archive(&[good(), file("../log", LINE)]), "is where `log` should be"),
        (archive(&[good(), file("/log", LINE)]), "is where `log` should be"),
        (archive(&[good(), link(tar::EntryType::Symlink, "/etc/passwd")]), "is not a file"),
        (archive(&[good(), link(tar::EntryType::Link, "manifest.json")]), "is not a file"),
        (archive(&[good(), link(tar::EntryType::Fifo, "")]), "is not a file"),
        (archive(&[good(), link(tar::EntryType::Directory, "")]), "is not a file"),
        (archive(&[good(), link(tar::EntryType::GNULongName, "")]), "is not a file"),
        (archive(&[good(), log(), log()]), "more than its manifest names"),
        (archive(&[good(), log(), file("other", "x")]), "more than its manifest names"),
        (archive(&[manifest(&[log_described(), log_described()]), log(), log()]), "one log"),
        (
            {
                let twice = || described("task", "1.json", "log", LINE.as_bytes());
                let all = [log_described(), twice(), twice()];
                archive(&[manifest(&all), log(), log(), log()])
            },
            "`1.json` twice",
        ),
        (b"no archive at all".to_vec(), "does not begin as the archives of `recto pack` do"),
        (Vec::new(), "the file is empty"),
        (zstd::encode_all(&b"no tar"[..], 3).unwrap(), ""),
    ];
    for (bytes, expected) in cases {
        let why = refused(&bytes);
        assert!(why.contains(expected), "{expected}: {why}");
    }
}

#[test]
fn an_archive_that_was_cut_or_continued_is_refused() {
    let (_source, home) = full_home();
    let (_, whole) = pack(&home);
    for length in (0..whole.len()).step_by(7) {
        refused(&whole[..length]);
    }
    let mut continued = whole.clone();
    continued.push(0);
    assert_eq!(refused(&continued), "something follows its end");
    let tar = zstd::decode_all(whole.as_slice()).unwrap();
    let hidden = [tar.as_slice(), b"hidden"].concat();
    let hidden = zstd::encode_all(hidden.as_slice(), 3).unwrap();
    assert_eq!(refused(&hidden), "something follows its last file");
    // What other programs pad with is no harm.
    let padded = [tar.as_slice(), &[0; 9216]].concat();
    let (_target, other) = empty_home();
    let padded = zstd::encode_all(padded.as_slice(), 3).unwrap();
    unpack(&padded, &other, None, Ids::Keep).unwrap();
}

#[test]
fn a_byte_that_is_flipped_is_noticed_or_does_no_harm() {
    let (_source, home) = full_home();
    let (_, whole) = pack(&home);
    let (target, other) = empty_home();
    unpack(&whole, &other, None, Ids::Keep).unwrap();
    let expected = tree(target.path());
    let (mut tried, mut harmless) = (0, 0);
    for place in (0..whole.len()).step_by(5) {
        let mut changed = whole.clone();
        changed[place] ^= 0x10;
        tried += 1;
        let (target, other) = empty_home();
        match unpack(&changed, &other, None, Ids::Keep) {
            Err(error) => {
                assert_eq!(error.kind(), "bad-archive", "{error}");
                assert!(tree(target.path()).is_empty());
            }
            // Such as a larger window than is needed.
            Ok(_) => {
                harmless += 1;
                assert!(tree(target.path()) == expected);
            }
        }
    }
    // The bytes of an archive differ from run to run, with the names of its folders.
    assert!(tried > 100 && harmless * 20 < tried, "{harmless} of {tried}");
}

#[test]
fn a_bomb_is_refused_before_it_is_written() {
    let huge = 200_u64 << 30;
    let bomb = format!(
        r#"{{"role":"folder","name":"a.txt","path":"a","bytes":{huge},"sha256":"{}","modified":"{TIME}"}}"#,
        sha256(b"")
    );
    let bytes = archive(&[manifest(&[log_described(), bomb]), file("log", LINE)]);
    assert_eq!(refused(&bytes), format!("it would unpack to {} bytes", huge + LINE.len() as u64));
    // A manifest that is none, and unpacks to more than may be kept in memory.
    let mut header = tar::Header::new_ustar();
    header.set_path("manifest.json").unwrap();
    header.set_size(1 << 40);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    let bytes = zstd::encode_all(header.as_bytes().as_slice(), 3).unwrap();
    assert_eq!(refused(&bytes), "its manifest is too large");
}

#[test]
fn long_names_have_short_entries() {
    let (_source, home) = full_home();
    let name = format!("{}.txt", "x".repeat(240));
    let place = home.root().join(format!("projects/-w-app/{ID}/tool-results/{name}"));
    fs::write(&place, "long").unwrap();
    let (_, bytes) = pack(&home);
    let (_target, other) = empty_home();
    unpack(&bytes, &other, None, Ids::Keep).unwrap();
    let found = other.root().join(format!("projects/-w-app/{ID}/tool-results/{name}"));
    assert_eq!(fs::read(found).unwrap(), b"long");
}
