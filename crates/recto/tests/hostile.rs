//! No character of a log acts on a terminal.
//!
//! Every field that a command shows carries every text of
//! `fixtures/hostile/terminal.txt`, with a word before it that must be seen in
//! the output: otherwise the test would pass on output that shows nothing.

use std::fs;

use recto_log::json::ObjectWriter;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::Run;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

/// The hostile texts.
pub(crate) fn texts() -> Vec<String> {
    let path = repository().join("fixtures/hostile/terminal.txt");
    let lines = fs::read_to_string(path).unwrap();
    // Some texts hold lone surrogates, which only our own reader takes.
    let texts: Vec<String> = lines
        .lines()
        .map(|line| {
            let value = recto_log::json::Value::parse(line.as_bytes()).unwrap();
            value.as_str().unwrap().into_owned()
        })
        .collect();
    assert!(texts.len() > 500, "only {} texts", texts.len());
    texts
}

/// Characters that act on a terminal, or that are not seen. Listed here again,
/// so that a hole in the program's list is found.
fn is_forbidden(c: char) -> bool {
    let bidirectional = matches!(c,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let without_width = matches!(c,
        '\u{00AD}' | '\u{180E}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}'
        | '\u{206A}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{3164}' | '\u{FFA0}');
    let separator = matches!(c, '\u{2028}' | '\u{2029}');
    // Tags, and the variation selectors of the supplement.
    let tag = matches!(c, '\u{E0000}'..='\u{E0FFF}');
    (c.is_control() && c != '\n' && c != '\t') || bidirectional || without_width || separator || tag
}

/// The output without the colours that recto itself uses.
pub(crate) fn without_own_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let code = &rest[at + 2..];
        let end = code.find('m').filter(|end| {
            *end <= 5 && code[..*end].bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
        });
        let Some(end) = end else { break };
        plain.push_str(&rest[..at]);
        rest = &code[end + 1..];
    }
    plain + rest
}

/// The text without joiners that stand alone between two characters that they can join.
/// Those of ASCII are none.
fn without_joiners(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_joined = |at: usize| {
        let can = |c: &char| !c.is_ascii() && !c.is_whitespace() && !is_forbidden(*c);
        let before = at.checked_sub(1).and_then(|at| characters.get(at));
        before.is_some_and(can) && characters.get(at + 1).is_some_and(can)
    };
    let kept = characters.iter().enumerate().filter(|(at, c)| {
        let is_joiner = matches!(c, '\u{200C}' | '\u{200D}');
        !(is_joiner && is_joined(*at))
    });
    kept.map(|(_, c)| *c).collect()
}

/// Sees that a text can be shown on a terminal.
pub(crate) fn assert_no_control(text: &str, what: &str) {
    let text = &without_joiners(text);
    if let Some(c) = text.chars().find(|c| is_forbidden(*c)) {
        let at = text.find(c).unwrap();
        let from = text[..at].rfind('\n').map_or(0, |at| at + 1);
        let line: String = text[from..].chars().take(300).collect();
        panic!("{what} holds {c:?}: {line:?}");
    }
}

fn assert_harmless(run: &Run, arguments: &[&str]) {
    for (name, bytes) in [("stdout", &run.raw.stdout), ("stderr", &run.raw.stderr)] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let text = if arguments.contains(&"always") { without_own_colours(&text) } else { text };
        assert_no_control(&text, &format!("{name} of {arguments:?}"));
    }
}

/// Runs a command and sees that its output is harmless and holds the words.
fn check(test: &TestHome, arguments: &[&str], words: &[&str]) {
    // There are no colours in JSON.
    let colours: &[&str] =
        if arguments.contains(&"--json") { &["never"] } else { &["never", "always"] };
    for colour in colours {
        let mut all = arguments.to_vec();
        all.extend(["--color", colour]);
        let run = test.run(&all);
        assert_harmless(&run, &all);
        if arguments.contains(&"--json") {
            run.json();
        }
        for word in words {
            assert!(run.stdout.contains(word), "{all:?} does not show {word}:\n{}", run.shown());
        }
    }
}

fn session_id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn json_string(text: &str) -> String {
    let object = ObjectWriter::new().string("k", text).finish();
    String::from_utf8(object[5..object.len() - 1].to_vec()).unwrap()
}

/// The text as entities, which Markdown makes characters of.
fn entities(text: &str) -> String {
    text.chars().map(|c| format!("&#{};", u32::from(c))).collect()
}

/// A result whose whole text is in a file with this name.
pub(crate) fn too_long(name: &str) -> String {
    format!("<persisted-output>\nOutput too large (9KB). Full output saved to: /h/{name}\n\n1\n2\n")
}

/// The lines of a prompt that only the queue tells.
pub(crate) fn queued(text: &str) -> String {
    let content = json_string(text);
    format!(
        "{{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":{content}}}\n{{\"type\":\"queue-operation\",\"operation\":\"remove\"}}\n"
    )
}

/// A turn with the text in every field of the conversation.
pub(crate) fn turn(log: SessionBuilder, text: &str) -> SessionBuilder {
    let field = |word: &str| format!("{word}{text}");
    let input = |word: &str| {
        format!(
            r#"{{"command":{},{}:"x"}}"#,
            json_string(&field(word)),
            json_string(&field("w-key"))
        )
    };
    let tag = |name: &str, word: &str| format!("<{name}>{word}{text}</{name}>");
    log.prompt(&field("w-prompt"))
        .thinking(&field("w-thinking"))
        .tool(&field("w-tool"), &input("w-input"), &field("w-result"))
        .failed_tool("Bash", &input("w-input2"), &field("w-failure"))
        .model_block(&format!(r#"{{"type":{}}}"#, json_string(&field("w-block"))))
        .answer(&format!("```rust\nlet x = \"{}\";\n```", field("w-code")))
        .answer(&format!("```{}\nx\n```\n\nw-entity{}", entities(text), entities(text)))
        .tool("Bash", &input("w-input3"), &too_long(&field("w-file")))
        .raw(queued(&field("w-typed")))
        .answer(&field("w-answer"))
        .user_text(&(tag("command-name", "w-command") + &tag("command-args", "w-arguments")))
        .user_text(&tag("local-command-stdout", "w-output"))
        .user_text(&tag("bash-input", "w-bash"))
        .user_text(&tag("bash-stdout", "w-stdout"))
        .user_text(&format!(
            "<task-notification>{}",
            tag("task-id", "w-task") + &tag("summary", "w-done")
        ))
        .user_text(&format!("[Request interrupted by user w-stop{text}"))
        .meta_text(&field("w-meta"))
        .attachment(&field("w-attachment"), ("x", "y"))
        .attachment("queued_command", ("prompt", &field("w-queued")))
        .attachment("hook_blocking_error", ("hookName", &field("w-hook")))
        .system("local_command", &field("w-local"))
        .system("informational", &field("w-remark"))
        .system(&field("w-subtype"), "x")
        .unknown(&field("w-type"), ("x", "y"))
        .compaction(&field("w-summary"))
        .raw(format!("w-garbage{text}\n"))
}

const SHOWN: [&str; 32] = [
    "w-prompt",
    "w-thinking",
    "w-tool",
    "w-input",
    "w-key",
    "w-result",
    "w-input2",
    "w-failure",
    "w-block",
    "w-answer",
    "w-command",
    "w-arguments",
    "w-output",
    "w-bash",
    "w-stdout",
    "w-task",
    "w-done",
    "w-stop",
    "w-meta",
    "w-attachment",
    "w-queued",
    "w-hook",
    "w-file",
    "w-typed",
    "w-code",
    "w-entity",
    "w-local",
    "w-remark",
    "w-subtype",
    "w-type",
    "w-summary",
    "damaged line",
];

#[test]
fn a_transcript_is_harmless() {
    let test = TestHome::empty();
    let texts = texts();
    let mut log = SessionBuilder::new(&session_id(1), Client::V2_1_325);
    for text in &texts {
        log = turn(log, text);
    }
    test.home.add(&log, hours_ago(1));
    check(&test, &["show", "--thinking", "--tools", "full", "--meta"], &SHOWN);
    check(&test, &["show"], &["w-prompt", "w-answer", "w-input", "w-result"]);
    check(&test, &["check", "latest", "--notes"], &["not-json", "unknown-type"]);
    check(&test, &["check", "latest", "--notes", "--json"], &["not-json", "w-type"]);
    check(&test, &["drift"], &["(unusual name)"]);
    check(&test, &["drift", "--json"], &["(unusual name)"]);
}

#[test]
fn the_head_of_a_transcript_is_harmless() {
    let test = TestHome::empty();
    // Not all at once: only the end of a log is read for its head.
    for (number, some) in texts().chunks(50).enumerate() {
        let all = some.concat();
        let log = SessionBuilder::new(&session_id(number), Client::V2_1_325)
            .cwd(&format!("/w-cwd{all}"))
            .branch(&format!("w-branch{all}"))
            .version(&format!("w-version{all}"))
            .model(&format!("w-model{all}"))
            .prompt("x")
            .answer("x")
            .custom_title(&format!("w-title{all}"));
        test.home.add(&log.cwd("/w"), hours_ago(1));
        let words = ["w-cwd", "w-branch", "w-version", "w-model", "w-title"];
        check(&test, &["show", &session_id(number)], &words);
    }
}

#[test]
fn listings_are_harmless() {
    let test = TestHome::empty();
    let texts = texts();
    for (number, text) in texts.iter().enumerate() {
        let log = SessionBuilder::new(&session_id(number), Client::V2_1_325)
            .cwd(&format!("/w-cwd{text}"))
            .branch(&format!("w-branch{text}"))
            .version(&format!("w-version{text}"))
            .model(&format!("w-model{text}"))
            .prompt(&format!("w-prompt{text}"))
            .answer("x");
        let log = if number % 2 == 0 { log.custom_title(&format!("w-title{text}")) } else { log };
        let path = test.home.add(&log, hours_ago(24 * 29));
        // The name of a directory may be anything but a slash and a NUL.
        let name = format!("w-project{text}").replace(['/', '\0'], "-");
        let name: String = name.chars().take(60).collect();
        let moved = test.home.path().join("projects").join(name);
        fs::create_dir_all(&moved).unwrap();
        fs::rename(&path, moved.join(path.file_name().unwrap())).unwrap();
    }
    let listed = ["w-cwd", "w-branch", "w-model", "w-prompt", "w-title"];
    check(&test, &["ls"], &listed);
    check(&test, &["ls", "--json"], &["w-version", "w-project"]);
    check(&test, &["ls", "--json"], &listed);
    check(&test, &[], &["w-"]);
    check(&test, &["--json"], &["sessions"]);
    check(&test, &["home"], &["w-title", "w-prompt"]);
    check(&test, &["home", "--json"], &["w-title", "w-project"]);
    check(&test, &["check", "--all"], &["no damage"]);
    for (by, word) in [("model", "w-model"), ("branch", "w-branch"), ("project", "w-project")] {
        for form in ["--json", "--csv", "--no-pager"] {
            check(&test, &["usage", "--by", by, form], &[word]);
        }
    }
    check(&test, &["usage", "--explain"], &["w-model", "w-project"]);
    check(&test, &["usage", "--explain", "--json"], &["w-model", "w-project"]);
    // Titles of candidates, and what the user typed, stand in errors.
    for arguments in [&["show", "w-title"][..], &["show", "w-title", "--json"]] {
        let run = test.run(arguments);
        assert_harmless(&run, arguments);
        assert!(run.stderr.contains("w-title"), "{}", run.shown());
    }
}

#[test]
fn subagents_files_and_what_was_typed_are_harmless() {
    let test = TestHome::empty();
    let texts = texts();
    let session = session_id(1);
    test.home.add(&SessionBuilder::new(&session, Client::V2_1_325).prompt("x"), hours_ago(1));
    let mut agent = SessionBuilder::agent(&session, "a1", Client::V2_1_325);
    for text in &texts {
        agent = turn(agent, text);
    }
    test.home.add(&agent, hours_ago(1));
    let meta = ObjectWriter::new().string("agentType", &texts.concat()).finish();
    test.home
        .write(&format!("projects/-home-dev-app/{session}/subagents/agent-a1.meta.json"), meta);
    check(&test, &["show", "--agents", "--tools", "full"], &["w-prompt", "w-result"]);
    check(&test, &["ls", "--agents"], &["agent-a1", "w-prompt"]);
    check(&test, &["ls", "--agents", "--json"], &["agent-a1", "w-prompt"]);
    // A file at the top of the home, a link out of it, a status, and a selector.
    test.home.announce(&session, "w-status\\u001b]0;x\\u0007\\u009b2J\\u202e");
    check(&test, &["ls", "--live", "--json"], &["w-status"]);
    check(&test, &["ls", "--live"], &["● working"]);
    for (number, text) in texts.iter().enumerate() {
        let name: String = format!("w-file{number}{text}").replace(['/', '\0'], "-");
        let name: String = name.chars().take(60).collect();
        test.home.write(&name, "x");
        std::os::unix::fs::symlink("/", test.home.path().join("projects").join(name)).unwrap();
    }
    check(&test, &["home"], &["w-file0", "w-file500"]);
    check(&test, &["home", "--json"], &["w-file0", "w-file500"]);
    check(&test, &["ls"], &["● working"]);
    for text in texts.iter().step_by(10).map(|text| text.replace('\0', "")) {
        let path = format!("./{text}.jsonl");
        for arguments in [["show", &text], ["check", &path], ["show", "--json"], ["man", &text]] {
            // A hyphen at the start would make it an option.
            if !arguments[1].starts_with('-') || arguments[1] == "--json" {
                assert_harmless(&test.run(&arguments), &arguments);
            }
        }
    }
}

#[test]
fn the_words_of_this_test_find_what_they_are_for() {
    assert!(is_forbidden('\u{1b}') && is_forbidden('\u{9b}') && is_forbidden('\u{202e}'));
    assert!(is_forbidden('\r') && is_forbidden('\u{7f}') && is_forbidden('\u{e0041}'));
    assert!(!is_forbidden('\n') && !is_forbidden('é') && !is_forbidden('👍'));
    assert!(is_forbidden('\u{200c}') && is_forbidden('\u{200d}'), "by themselves");
    assert_eq!(without_joiners("👩\u{200d}💻 x\u{200d}y \u{200c}é"), "👩💻 x\u{200d}y \u{200c}é");
    assert_eq!(without_joiners("é\u{200d}\u{200d}é\u{200d}"), "é\u{200d}\u{200d}é\u{200d}");
    assert_eq!(without_own_colours("\u{1b}[1mx\u{1b}[0my"), "xy");
    assert_eq!(without_own_colours("\u{1b}[2Jx"), "\u{1b}[2Jx");
}

#[test]
fn commands_about_one_session_are_harmless() {
    let test = TestHome::empty();
    let session = session_id(1);
    let mut log = SessionBuilder::new(&session, Client::V2_1_325);
    for text in texts() {
        log = turn(log, &text);
        let path = json_string(&format!("/w-file{text}"));
        let input = format!(r#"{{"file_path":{path}}}"#);
        let detail =
            format!(r#"{{"type":"create","filePath":{path},"content":"x","structuredPatch":[]}}"#);
        log = log.tool_with_detail("Write", &input, "ok", &detail);
    }
    let todos: Vec<String> = texts()
        .iter()
        .map(|text| {
            let (content, form) = (format!("w-todo{text}"), format!("w-form{text}"));
            let (content, form) = (json_string(&content), json_string(&form));
            format!(r#"{{"content":{content},"status":"pending","activeForm":{form}}}"#)
        })
        .collect();
    let todos = format!(r#"{{"todos":[{}]}}"#, todos.join(","));
    log = log.tool_with_detail("TodoWrite", &todos, "ok", "{}");
    test.home.add(&log, hours_ago(1));
    let mut agent = SessionBuilder::agent(&session, "a1", Client::V2_1_325);
    let mut history = Vec::new();
    for text in texts() {
        agent = turn(agent, &text);
        let line = ObjectWriter::new()
            .string("display", &format!("w-display{text}"))
            .string("project", &format!("/w-project{text}"))
            .string("sessionId", &format!("w-session{text}"))
            .number("timestamp", 1_794_800_000_000);
        history.extend(line.finish());
        history.push(b'\n');
    }
    test.home.add(&agent, hours_ago(1));
    test.home.write("history.jsonl", history);
    let all = texts().concat();
    let meta = ObjectWriter::new()
        .string("agentType", &format!("w-type{all}"))
        .string("description", &format!("w-description{all}"));
    let place = format!("projects/-home-dev-app/{session}/subagents/agent-a1.meta.json");
    test.home.write(&place, meta.finish());
    for (arguments, words) in [
        (&["stats", "latest"][..], &["w-prompt", "w-answer"][..]),
        (&["stats", "--limit", "9999"], &["w-tool", "w-file"]),
        (
            &["search", "w", "--limit", "0"],
            // The word before is marked by a colour.
            &["-prompt", "-thinking", "w-tool", "-input", "-result", "-hook", "-typed"],
        ),
        (&["search", "w", "--limit", "999", "--context", "1"], &["-answer", "-file"]),
        (&["search", "w", "role:user", "--open", "1"], &["w-"]),
        (&["grep", "w-[a-z]+", "--limit", "0"], &["w-tool", "w-answer", "w-summary"]),
        (&["grep", "w-[a-z]+", "--limit", "0", "--context", "1"], &["w-answer", "w-file"]),
        (&["context", "latest", "--turn", "1"], &["w-tool"]),
        (&["turns"], &["w-prompt", "w-command"]),
        (&["branches"], &["w-"]),
        (&["tools"], &["w-tool", "w-input"]),
        (&["tools", "--by", "name"], &["w-tool"]),
        (&["usage", "--by", "tool"], &["w-tool"]),
        (&["files"], &["w-file"]),
        (&["todos"], &["w-todo"]),
        (&["todos", "--history"], &["w-todo"]),
        (&["agents"], &["w-type", "w-description"]),
        (&["agents", "latest", "a1"], &["w-type", "w-prompt", "w-input"]),
        (&["history"], &["w-display", "w-project"]),
        (&["show", "--turn", "1"], &["w-prompt"]),
    ] {
        check(&test, arguments, words);
        let json: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        check(&test, &json, &words[..1]);
    }
    check(&test, &["show", "--json"], &["w-prompt", "w-thinking", "w-input", "w-result"]);
}

#[test]
fn commands_that_change_files_are_harmless() {
    let test = TestHome::empty();
    let session = session_id(1);
    let all: String = texts().iter().take(50).map(String::as_str).collect();
    let log = SessionBuilder::new(&session, Client::V2_1_325)
        .prompt("w-prompt")
        .custom_title(&format!("w-title{all}"));
    test.home.add(&log, hours_ago(1));
    let odd = "w-file\u{1b}[31m\u{202e}\u{7}";
    test.home.write(&format!("projects/-home-dev-app/{session}/tool-results/{odd}"), "x");
    check(&test, &["rm", "latest", "--dry-run"], &["w-title", "w-file"]);
    check(&test, &["rm", "latest", "--dry-run", "--json"], &["w-file"]);
    check(&test, &["rename", "latest", "w-new\u{202e}\u{200b}"], &["w-new"]);
    check(&test, &["log"], &["w-new"]);
    check(&test, &["log", "--json"], &["w-new"]);
    check(&test, &["rm", "latest", "--yes", "--json"], &["w-file"]);
    check(&test, &["undo", "--dry-run"], &["w-file"]);
    check(&test, &["undo", "--json"], &["w-file"]);
    // The order of things is not that of a person, who does one at a time.
    check(&test, &["redo", "--dry-run"], &["w-"]);
}

#[test]
fn exported_documents_are_harmless() {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(&session_id(1), Client::V2_1_325);
    for text in texts() {
        log = turn(log, &text);
    }
    let all: String = texts().iter().take(50).map(String::as_str).collect();
    let log = log.custom_title(&format!("w-title{all}"));
    test.home.add(&log, hours_ago(1));
    for format in ["txt", "md", "html", "xml", "json"] {
        let run = test.run(&["export", "latest", "--to", format]);
        let text = String::from_utf8(run.raw.stdout).unwrap();
        for word in ["w-title", "w-prompt", "w-answer", "w-tool", "w-result", "w-stop"] {
            assert!(text.contains(word), "{format} does not show {word}");
        }
        assert_no_control(&text, &format!("the export as {format}"));
    }
    let json = test.run(&["export", "latest", "--to", "json"]).stdout;
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

#[test]
fn moves_and_archives_are_harmless() {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(&session_id(1), Client::V2_1_325);
    log = log.cwd(&format!("/w-directory{}", texts().concat()));
    log = log.prompt(&format!("w-prompt{}", texts().concat())).answer("y");
    test.home.add(&log, hours_ago(1));
    let arguments = ["move", "latest", "/w-new", "--even-if-missing", "--dry-run"];
    check(&test, &arguments, &["w-directory", "w-new"]);
    assert_eq!(test.run(&["pack", "latest", "-o", "x.recto"]).code, 0);
    for arguments in [&["--list"][..], &["--list", "--json"], &["--new-ids", "--dry-run"]] {
        check(&test, &[&["unpack", "x.recto"], arguments].concat(), &["w-directory", "w-prompt"]);
    }
}
