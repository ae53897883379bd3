//! Sessions that only the archive has: every surface answers as if the home still had them.

use std::fs;

use serde_json::Value;
use serde_json::json;

use crate::serve::post;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::surfaces::Surfaces;
use crate::surfaces::TOKEN;

/// The answers of all surfaces, with the name of each.
fn answers(surfaces: &mut Surfaces) -> Vec<(String, Value)> {
    let mut answers = Vec::new();
    for arguments in [
        &["ls", "--agents"] as &[&str],
        &["show", FIX, "--meta", "--thinking"],
        &["show", "Repair the parser"],
        &["turns", FIX],
        &["branches", DOCS],
        &["tools", FIX],
        &["agents", FIX],
        &["files", FIX],
        &["plans", FIX],
        &["todos", FIX],
        &["search", "parser"],
        &["search", "callers"],
        &["grep", "callers"],
        &["usage", "--by", "session"],
        &["usage", "--by", "day"],
        &["stats"],
        &["stats", FIX],
        &["stats", "agent-a1b2c3d4e5f60718"],
        &["check", FIX, "--notes"],
        &["request", FIX],
        &["context", FIX],
        &["export", FIX, "--to", "md"],
    ] {
        // A document is no rows.
        let json: &[&str] = if arguments[0] == "export" { &[] } else { &["--json"] };
        let output = surfaces.test.command(&[arguments, json].concat()).output().unwrap();
        assert!(!output.stdout.is_empty(), "{arguments:?} says nothing");
        answers.push((arguments.join(" "), json!(String::from_utf8(output.stdout).unwrap())));
    }
    for path in [
        "sessions".to_owned(),
        format!("sessions/{FIX}"),
        format!("sessions/{FIX}/turns?count=50"),
        format!("sessions/{FIX}/agents"),
        format!("sessions/{FIX}/stats"),
        format!("sessions/{DOCS}/health"),
        "search?q=parser".to_owned(),
        "usage?by=model".to_owned(),
    ] {
        answers.push((path.clone(), surfaces.api(&path)));
    }
    for (tool, arguments) in [
        ("list_sessions", json!({})),
        ("search_sessions", json!({"query": "parser"})),
        ("stats", json!({"session": FIX})),
        ("usage", json!({"by": "model"})),
    ] {
        answers.push((tool.to_owned(), json!(surfaces.talk.json(tool, arguments).to_string())));
    }
    let read = surfaces.talk.text("read_session", json!({"session": FIX}));
    answers.push(("read_session".to_owned(), json!(read)));
    answers
}

/// An answer without what tells an archived session from another one: where its file is, and
/// that it is archived. Times of files are kept to the millisecond.
fn alike(surfaces: &Surfaces, answer: &Value) -> String {
    let home = surfaces.test.home.path().to_str().unwrap().to_owned();
    let text = answer.to_string().replace(&home, "HOME");
    let mut told = String::new();
    let mut rest = text.as_str();
    // The copies are in a directory of the cache whose name depends on the machine.
    while let Some(at) = rest.find("/archived/") {
        let start = rest[..at].rfind('"').map_or(0, |quote| quote + 1);
        let end = at + rest[at..].find("/tree/").unwrap() + "/tree".len();
        told.push_str(&rest[..start]);
        told.push_str("HOME");
        rest = &rest[end..];
    }
    told.push_str(rest);
    told.replace("\\\"archived\\\":true", "\\\"archived\\\":false")
        .replace("\"archived\":true", "\"archived\":false")
}

/// The server looks again at the files now and then.
fn wait_until_served(surfaces: &Surfaces) {
    let is_archived = |row: &Value| row["archived"] == true;
    while !surfaces.api("sessions")["sessions"].as_array().unwrap().iter().all(is_archived) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_deleted_session_is_the_same_everywhere() {
    let mut surfaces = Surfaces::new();
    let before = answers(&mut surfaces);
    let before: Vec<(String, String)> =
        before.iter().map(|(what, answer)| (what.clone(), alike(&surfaces, answer))).collect();
    assert_eq!(surfaces.test.run(&["collect"]).code, 0);
    fs::remove_dir_all(surfaces.test.home.path().join("projects")).unwrap();
    let listed = surfaces.command(&["ls"]);
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|row| row["archived"] == true), "{listed:?}");
    wait_until_served(&surfaces);
    for ((what, before), (_, after)) in before.iter().zip(answers(&mut surfaces)) {
        assert_eq!(&alike(&surfaces, &after), before, "{what}");
    }
}

#[test]
fn the_archive_can_be_left_out() {
    let test = TestHome::with_sessions();
    test.run(&["collect"]);
    let usage = test.run(&["usage", "--json"]).stdout;
    fs::remove_dir_all(test.home.path().join("projects/-home-dev-app")).unwrap();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let rows = test.run(arguments).json();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    let (all, home) = (ids(&["ls", "--json"]), ids(&["ls", "--json", "--no-archive"]));
    assert!(all.len() > home.len() && home.iter().all(|id| all.contains(id)), "{all:?} {home:?}");
    assert!(all.contains(&FIX.to_owned()) && !home.contains(&FIX.to_owned()));
    assert_eq!(test.run(&["show", FIX, "--no-archive"]).code, 1);
    let found = |arguments: &[&str]| test.run(arguments).json().len();
    let find = ["search", "callers", "--json"];
    let without = ["search", "callers", "--json", "--no-archive"];
    // Asking without the archive takes nothing from the index of who asks with it.
    for _ in 0..2 {
        assert_eq!((found(&find), found(&without)), (2, 0));
    }
    assert_eq!(test.run(&["usage", "--json"]).stdout, usage);
    assert_ne!(test.run(&["usage", "--json", "--no-archive"]).stdout, usage);
}

#[test]
fn what_is_only_in_the_archive_is_not_edited() {
    let test = TestHome::with_sessions();
    test.run(&["collect"]);
    fs::remove_dir_all(test.home.path().join("projects")).unwrap();
    for command in [
        &["rename", FIX, "New"] as &[&str],
        &["trim", FIX],
        &["clone", FIX],
        &["fork", FIX, "--at", "1"],
        &["rm", FIX, "--yes"],
        &["move", FIX, "/home/dev/other", "--even-if-missing"],
        &["pack", FIX],
        &["redact", FIX, "--in-place"],
    ] {
        let run = test.run(command);
        assert_eq!(run.code, 2, "{command:?}: {}", run.shown());
        let told = format!("error: session {FIX} is only in the archive\nhint: `recto restore");
        assert!(run.stderr.starts_with(&told), "{command:?}: {}", run.shown());
    }
    assert_eq!(test.run(&["restore", "Repair the parser"]).code, 0);
    assert_eq!(test.run(&["ls", "--json"]).json()[0]["archived"], false);
    assert_eq!(test.run(&["rename", FIX, "New"]).code, 0);
}

#[test]
fn a_page_offers_to_restore_and_the_api_does() {
    let mut surfaces = Surfaces::new();
    surfaces.test.run(&["collect"]);
    fs::remove_dir_all(surfaces.test.home.path().join("projects")).unwrap();
    wait_until_served(&surfaces);
    let address = format!("/api/v1/sessions/{FIX}/restore");
    let page = surfaces.body(&format!("/session/{FIX}"));
    assert!(page.contains(&format!("data-restore=\"{address}\"")), "{page}");
    assert!(!page.contains("data-edit=\"rename\""), "{page}");
    assert!(surfaces.body("/sessions").contains(">archived<"));
    let header = format!("Authorization: Bearer {TOKEN}\r\n");
    let answer = post(&format!("{}{address}", surfaces.base), &header, "{}");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let files = body["files"].as_array().unwrap();
    assert!(files.len() >= 2 && files.iter().all(|file| file["verdict"] == "new"), "{body}");
    let page = surfaces.body(&format!("/session/{FIX}"));
    assert!(!page.contains("data-restore") && page.contains("data-edit=\"rename\""), "{page}");
    let listed = surfaces.mcp("list_sessions", json!({}));
    let own = listed.iter().find(|row| row["id"] == FIX).unwrap();
    assert_eq!(own["archived"], false);
    let missing = "/api/v1/sessions/ffffffff-ffff-4fff-8fff-ffffffffffff/restore";
    let answer = post(&format!("{}{missing}", surfaces.base), &header, "{}");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert_eq!(surfaces.test.run(&["undo"]).code, 0);
    assert_eq!(surfaces.command(&["ls"]).iter().filter(|row| row["archived"] == true).count(), 3);
}
