//! Files that are never opened: keys and credentials, by whatever name and link they are
//! reached. Every command and every address is tried.

use std::fs;
use std::os::unix::fs::symlink;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::serve;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// Stands in every file that must not be opened, and nowhere else.
const SECRET: &str = "xyzzysecret";
/// A session whose log is a link to the credentials.
const LINKED: &str = "77777777-2222-4333-8444-555555555555";

fn test_home() -> TestHome {
    let test = TestHome::with_sessions();
    let root = test.home.path().to_owned();
    let project = root.join("projects/-home-dev-app");
    // The credentials look like a log, so that whoever opens them shows them.
    let log = SessionBuilder::new(LINKED, Client::V2_1_325)
        .prompt(&format!("My {SECRET} prompt"))
        .answer(&format!("The {SECRET} answer"));
    fs::write(root.join(".credentials.json"), log.bytes()).unwrap();
    let outside = test.work.path().join("notes.md");
    fs::write(&outside, format!("outside {SECRET}\n")).unwrap();
    let credentials = root.join(".credentials.json");
    let link = |name: &str, target: &std::path::Path| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    };
    link("plans/agreed.md", &credentials);
    link("plans/away.md", &outside);
    link(&format!("projects/-home-dev-app/{LINKED}.jsonl"), &credentials);
    link("projects/-home-dev-app/agent-abcdef12.jsonl", &credentials);
    link(&format!("projects/-home-dev-app/{DOCS}/subagents/agent-0a0b0c0d.jsonl"), &credentials);
    link(&format!("projects/-home-dev-app/{DOCS}/tool-results/long.txt"), &credentials);
    link(&format!("todos/{FIX}-agent-{FIX}.json"), &credentials);
    link(&format!("tasks/{FIX}/1.json"), &credentials);
    link("sessions/4242.json", &credentials);
    // Keys in the folder of a session, which a tool may have copied there.
    let folder = project.join(FIX);
    for name in ["id_rsa", ".netrc", ".npmrc", "tool-results/server.pem", "tool-results/.env"] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("key {SECRET}\n")).unwrap();
    }
    let plain = SessionBuilder::new("88888888-2222-4333-8444-555555555555", Client::V2_1_325)
        .prompt("Nothing secret.")
        .answer("No.");
    test.home.add(&plain, hours_ago(4));
    test
}

/// Every command, with arguments that make it read something. `documents` leaves none out.
const COMMANDS: &[&[&str]] = &[
    &["ls", "--all", "--json"],
    &["show", FIX, "--json"],
    &["show", LINKED],
    &["show", LINKED, "--raw"],
    &["turns", FIX],
    &["turns", LINKED],
    &["tools", LINKED],
    &["query", "SELECT * FROM blocks"],
    &["plans"],
    &["plans", "--json"],
    &["plans", "show", "1"],
    &["todos", FIX],
    &["agents", FIX],
    &["agents", DOCS, "--json"],
    &["branches", LINKED],
    &["files"],
    &["files", LINKED],
    &["blame", "/home/dev/app/gone.rs"],
    &["context", LINKED],
    &["request", LINKED],
    &["stats"],
    &["stats", LINKED],
    &["usage"],
    &["usage", "--by", "session", "--json"],
    &["history"],
    &["search", SECRET],
    &["grep", SECRET],
    &["check"],
    &["check", LINKED],
    &["repair", LINKED, "--dry-run"],
    &["drift"],
    &["status", "-a", "--json"],
    &["statusline"],
    &["export", LINKED],
    &["export", FIX, "--to", "html"],
    &["export", "--all", "--to", "markdown", "--output", "exported"],
    &["redact", LINKED, "--check"],
    &["redact", FIX, "--check"],
    &["anonymize", LINKED],
    &["compress", LINKED, "--dry-run"],
    &["trim", LINKED, "--tool-results", "--dry-run"],
    &["strip", LINKED, "--dry-run"],
    &["clone", LINKED],
    &["clone", FIX],
    &["fork", LINKED],
    &["fork", FIX],
    &["merge", LINKED, FIX],
    &["pack", LINKED, "--output", "linked.recto"],
    &["pack", "--all", "--output", "all.recto"],
    &["pack", FIX, "--output", "fix.recto"],
    &["rename", LINKED, "A title"],
    &["move", LINKED, "/home/dev/other", "--even-if-missing"],
    &["rm", LINKED, "--yes", "--dry-run"],
    &["home"],
    &["log"],
    &["undo", "--dry-run"],
    &["scratch"],
    &["prices"],
    &["index", "status"],
    &["replay", LINKED],
    &["run", "-p", "Continue", "--resume", LINKED],
    &["resume", LINKED, "-p", "Continue"],
    &["collect"],
    &["collect", "status"],
    &["collect", "verify"],
];

#[test]
fn no_command_shows_or_copies_what_is_never_opened() {
    let test = test_home();
    for arguments in COMMANDS {
        let run = test.run(arguments);
        let named = arguments.contains(&SECRET);
        let shown = run.stdout.matches(SECRET).count() + run.stderr.matches(SECRET).count();
        // What was typed may be repeated in a message about it.
        assert!(shown == 0 || (named && shown <= 1), "{arguments:?}: {}", run.shown());
    }
    // Nor is it in any file that was made: documents, copies, the index, backups.
    let mut waiting = vec![test.work.path().to_owned(), test.user.path().to_owned()];
    waiting.push(test.home.path().join("projects"));
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_symlink() {
            continue;
        }
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_ours = ["id_rsa", ".netrc", ".npmrc", "server.pem", ".env", "notes.md"];
        if is_ours.contains(&name) && !path.starts_with(test.user.path()) {
            let original = test.home.path().join("projects/-home-dev-app").join(FIX);
            assert!(path.starts_with(original) || name == "notes.md", "{}", path.display());
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let has = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!has, "{}", path.display());
    }
    // Archives are compressed: what they hold is seen when they are unpacked.
    for archive in ["all.recto", "fix.recto"] {
        if !test.work.path().join(archive).exists() {
            continue;
        }
        let other = TestHome::empty();
        let path = test.work.path().join(archive);
        let run = other.run(&["unpack", path.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{}", run.shown());
        for (path, content) in recto_testkit::tree(other.home.path()) {
            let text = format!("{content:?}");
            assert!(!text.contains(SECRET), "{archive}: {}", path.display());
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(!["id_rsa", ".netrc", ".npmrc"].contains(&name), "{archive}: {name}");
        }
    }
}

#[test]
fn every_command_is_in_the_list() {
    let test = TestHome::empty();
    // These read no session, run until they are ended, or are covered by what they unpack.
    let others = [
        "browse",
        "watch",
        "serve",
        "mcp",
        "mock",
        "shim",
        "demo",
        "unpack",
        "restore",
        // Looks at a store, not at a home.
        "fleet",
        "hub",
        "lake",
        "redo",
        "completions",
        "man",
        "licenses",
        "config",
        "help",
    ];
    for name in crate::reference::commands(&test) {
        let is_listed = COMMANDS.iter().any(|arguments| arguments[0] == name);
        assert!(is_listed || others.contains(&name.as_str()), "{name} is not tried");
    }
}

#[test]
fn no_address_of_the_server_shows_what_is_never_opened() {
    let test = test_home();
    let (_served, url) = serve::start(&test, &[]);
    let base = url.split("/login").next().unwrap();
    let answer = serve::get(&url, "");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    let description = serve::get(&format!("{base}/api/openapi.json"), &cookie);
    let mut paths: Vec<String> = description
        .split("\"/api/v1")
        .skip(1)
        .map(|rest| format!("/api/v1{}", rest.split('"').next().unwrap()))
        .filter(|path| !path.contains("events"))
        .collect();
    assert!(paths.len() > 10, "{paths:?}");
    let pages = [
        "/",
        "/live",
        "/sessions",
        "/sessions/list",
        "/usage",
        "/usage.csv",
        "/search?q=secret",
        "/tools",
        "/plans",
        "/files",
        "/file?path=/home/dev/app/gone.rs",
        "/health",
        "/session/{id}",
        "/session/{id}/turns",
        "/session/{id}/facts",
        "/session/{id}/news",
        "/session/{id}/agent/{agent}",
        "/session/{id}/agent/{agent}/turns",
    ];
    paths.extend(pages.map(str::to_owned));
    let mut answered = 0;
    for path in paths {
        for (session, agent) in
            [(LINKED, "abcdef12"), (FIX, "a1b2c3d4e5f60718"), (DOCS, "0a0b0c0d")]
        {
            let mut filled = String::new();
            for (at, piece) in path.split('{').enumerate() {
                if at == 0 {
                    filled.push_str(piece);
                    continue;
                }
                let (name, rest) = piece.split_once('}').unwrap();
                filled.push_str(match name {
                    name if name.contains("agent") => agent,
                    name if name.contains("id") || name.contains("session") => session,
                    _ => "1",
                });
                filled.push_str(rest);
            }
            let answer = serve::get(&format!("{base}{filled}"), &cookie);
            assert!(!answer.contains(SECRET), "{filled}: {answer}");
            answered += usize::from(answer.starts_with("HTTP/1.1 200"));
        }
    }
    assert!(answered > 30, "only {answered} answers");
}
