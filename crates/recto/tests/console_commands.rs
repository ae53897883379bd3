//! Every command of the console, typed on a real terminal.

use std::fs;
use std::path::Path;

use serde_json::Value;
use serde_json::json;

use crate::browse::Seat;
use crate::console::leave;
use crate::console::sit;
use crate::console::wait_until;
use crate::run::Bench;
use crate::run::call;

fn write(bench: &Bench, name: &str, text: &str) {
    let path = bench.test.work.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Types a command, and waits until a word appears once more.
fn says(seat: &mut Seat, command: &str, word: &str) {
    let before = seat.shown().matches(word).count();
    seat.type_keys(&format!("{command}\r"));
    // The echo of the command may have the word, too.
    let echo = command.matches(word).count();
    seat.wait_for(word, before + echo + 1);
}

fn prompts(bench: &Bench) -> Vec<String> {
    let text = |body: &Value| body["messages"].to_string();
    bench.mock.asked().iter().map(|asked| text(&asked.body)).collect()
}

fn logs_of(bench: &Bench) -> usize {
    bench.logs().len()
}

#[test]
fn commands_that_show_something_show_it() {
    let bench = Bench::new(&[json!({"text": "an answer"})]);
    let settings = json!({
        "permissions": {"allow": ["Bash(make check:*)"]},
        "hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "./on-edit.sh"}]}]},
    });
    write(&bench, ".claude/settings.json", &settings.to_string());
    write(
        &bench,
        ".claude/agents/mine.md",
        "---\nname: my-reviewer\ndescription: reviews\n---\nReview.",
    );
    write(&bench, ".claude/commands/greet.md", "Say hello to $ARGUMENTS.");
    write(
        &bench,
        ".claude/skills/count/SKILL.md",
        "---\nname: count-lines\ndescription: counts\n---\nCount.",
    );
    write(&bench, "CLAUDE.md", "- always test\n");
    let servers = json!({"mcpServers": {"missing": {"command": "/no/such/server"}}}).to_string();
    let mut seat = sit(&bench, &["--mcp-config", &servers]);
    says(&mut seat, "/usage", "no tokens used");
    says(&mut seat, "first", "an answer");
    says(&mut seat, "/help", "add-dir");
    seat.wait_for("greet", 1);
    seat.wait_for("count-lines", 1);
    says(&mut seat, "/status", "session ");
    says(&mut seat, "/context", "System prompt");
    says(&mut seat, "/cost", "Total cost");
    says(&mut seat, "/usage", "cache: ");
    says(&mut seat, "/permissions", "Bash(make check:*)");
    says(&mut seat, "/hooks", "./on-edit.sh");
    says(&mut seat, "/mcp", "missing");
    says(&mut seat, "/agents", "my-reviewer");
    says(&mut seat, "/memory", "CLAUDE.md");
    says(&mut seat, "/vi", "vi keys");
    says(&mut seat, "/vi", "Emacs keys");
    says(&mut seat, "/calls", "no calls yet");
    // The user's own.
    says(&mut seat, "/greet Ada", "an answer");
    wait_until("it was sent", || prompts(&bench).iter().any(|all| all.contains("hello to Ada")));
    says(&mut seat, "/init", "an answer");
    wait_until("it was sent", || {
        prompts(&bench).iter().any(|all| all.contains("write a CLAUDE.md"))
    });
    seat.type_keys("/exit\r");
    let (status, shown) = seat.end_inline();
    assert_eq!(status.code(), Some(0), "{shown:?}");
    assert_eq!(bench.refusals(), Vec::<String>::new());
}

#[test]
fn commands_that_change_the_session_change_it() {
    let bench = Bench::new(&[
        json!({"contains": "summary", "text": "<summary>It was short.</summary>"}),
        json!({"last": "first", "text": "first-answer"}),
        json!({"text": "another-answer"}),
    ]);
    let mut seat = sit(&bench, &[]);
    says(&mut seat, "first", "first-answer");
    // The model.
    says(&mut seat, "/model haiku", "model: claude-haiku");
    says(&mut seat, "second", "another-answer");
    assert!(bench.mock.asked().last().unwrap().body["model"].as_str().unwrap().contains("haiku"));
    says(&mut seat, "/model", "for hard tasks");
    seat.type_keys("sonnet\r");
    seat.wait_for("sonnet", 2);
    // A file.
    says(&mut seat, "/export talk.md", "wrote ");
    let written = fs::read_to_string(bench.test.work.path().join("talk.md")).unwrap();
    assert!(written.contains("first-answer"), "{written}");
    // Another directory.
    let other = bench.test.user.path().join("other");
    fs::create_dir(&other).unwrap();
    says(&mut seat, &format!("/add-dir {}", other.display()), "added the working directory");
    says(&mut seat, "/add-dir", "name a directory");
    says(&mut seat, "/add-dir /no/such/place", "must exist");
    says(&mut seat, "/permissions", &other.display().to_string());
    // A copy, then back.
    assert_eq!(logs_of(&bench), 1);
    says(&mut seat, "/fork", "this is a copy");
    says(&mut seat, "third", "another-answer");
    wait_until("it has a log", || logs_of(&bench) == 2);
    says(&mut seat, "/resume", "Resume a session");
    seat.type_keys("\r");
    seat.wait_for("resumed;", 1);
    // A summary, and a new beginning.
    says(&mut seat, "/compact", "compacted");
    says(&mut seat, "/clear", "new conversation");
    says(&mut seat, "fourth", "another-answer");
    wait_until("it is in a log of its own", || logs_of(&bench) == 3);
    let last = bench.mock.asked().last().unwrap().body["messages"].to_string();
    assert!(!last.contains("first-answer") && last.contains("fourth"), "{last}");
    leave(seat);
    assert_eq!(bench.refusals(), Vec::<String>::new());
}

fn edit(path: &Path, old: &str, new: &str) -> Value {
    call("t2", "Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
}

#[test]
fn files_go_back_and_forth_by_commands_of_the_console_and_of_the_shell() {
    let bench = Bench::new(&[json!({"text": "replaced below"})]);
    let file = bench.test.work.path().join("a.txt");
    let write_it = call("t1", "Write", json!({"file_path": file, "content": "one\n"}));
    let bench = Bench {
        mock: Bench::new(&[
            json!({"last": "make", "blocks": [write_it]}),
            json!({"last": "change", "blocks": [edit(&file, "one", "two")]}),
            json!({"text": "well-done"}),
        ])
        .mock,
        ..bench
    };
    let content = || fs::read_to_string(&file).unwrap_or_default();
    let mut seat = sit(&bench, &["--permission-mode", "acceptEdits"]);
    says(&mut seat, "/undo", "no file changes");
    says(&mut seat, "make", "well-done");
    says(&mut seat, "change", "well-done");
    assert_eq!(content(), "two\n");
    // The last turn only.
    says(&mut seat, "/undo", "restored ");
    assert_eq!(content(), "one\n");
    let session = bench.logs()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    // The commands of the shell know the same session.
    let run = bench.run(&["redo", "--files", &session]);
    assert_eq!((run.code, content().as_str()), (0, "two\n"), "{}", run.shown());
    let run = bench.run(&["files", &session, "--diff"]);
    assert!(run.stdout.contains("+++ b/a.txt") && run.stdout.contains("+two"), "{}", run.shown());
    let run = bench.run(&["undo", "--files", &session, "--dry-run"]);
    assert_eq!((run.code, content().as_str()), (0, "two\n"), "{}", run.shown());
    assert!(run.shown().contains("would restore 1 file"), "{}", run.shown());
    let rows = bench.run(&["undo", "--files", &session, "--json"]).json();
    assert_eq!((&rows[0]["done"], content().as_str()), (&true.into(), "one\n"));
    let run = bench.run(&["redo", "--files", &session]);
    assert_eq!((run.code, content().as_str()), (0, "two\n"), "{}", run.shown());
    assert_eq!(run.stdout, "+1 -1  a.txt\n");
    let run = bench.run(&["undo", "--files", &session]);
    let told = format!(
        "restored 1 file to before the prompt: change\n`recto redo --files {}` redoes the changes\n",
        &session[..8]
    );
    assert_eq!((run.stderr, content().as_str()), (told, "one\n"));
    let run = bench.run(&["redo", "--files", &session]);
    assert_eq!((run.code, content().as_str()), (0, "two\n"), "{}", run.shown());
    // Both conversation and files, before the first prompt.
    says(&mut seat, "/rewind", "Go back to an earlier");
    seat.type_keys("\u{1b}[B\r");
    seat.wait_for("Conversation and files", 1);
    seat.wait_for("a.txt", 2);
    // Before anything is done, the lines are there to read.
    seat.wait_for("-two", 1);
    seat.type_keys("\r");
    wait_until("the file is gone", || !file.exists());
    seat.wait_for("new session", 1);
    // The prompt is there to be changed.
    seat.type_keys("\u{15}");
    leave(seat);
    let run = bench.run(&["redo", "--files", &session]);
    assert_eq!((run.code, content().as_str()), (0, "two\n"), "{}", run.shown());
    assert_eq!(bench.refusals(), Vec::<String>::new());
}

#[test]
fn a_call_opens_in_place_with_its_whole_result() {
    let command = "for n in $(seq 40); do echo row-$n; done";
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [call("t1", "Bash", json!({"command": command}))]}),
        json!({"text": "well-done"}),
    ]);
    let mut seat = sit(&bench, &[crate::console::FREE]);
    says(&mut seat, "go", "well-done");
    assert!(!seat.shown().contains("row-40"));
    seat.type_keys("\u{18}");
    seat.wait_for("Enter to open", 1);
    seat.type_keys("\r");
    seat.wait_for("row-10", 1);
    seat.type_keys("\u{1b}[6~\u{1b}[6~\u{1b}[6~");
    seat.wait_for("row-40", 1);
    seat.type_keys("\u{18}");
    // A copy has the calls of the conversation that it copies.
    says(&mut seat, "/fork", "this is a copy");
    let before = seat.shown().matches("row-10").count();
    seat.type_keys("\u{18}\r");
    seat.wait_for("row-10", before + 1);
    seat.type_keys("\u{18}");
    leave(seat);
}

#[test]
fn commands_notes_and_images_of_the_user() {
    let bench = Bench::new(&[json!({"text": "seen-it"})]);
    let mut png =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89".to_vec();
    png.extend(b"\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82");
    let image = bench.test.work.path().join("a picture.png");
    fs::write(&image, png).unwrap();
    write(&bench, "src/parser.rs", "fn parse() {}\n");
    let mut seat = sit(&bench, &[]);
    says(&mut seat, "!echo from-$((40+2))-me", "from-42-me");
    says(&mut seat, "# tabs, not spaces", "added to");
    let memory = fs::read_to_string(bench.test.work.path().join("CLAUDE.md")).unwrap();
    assert!(memory.contains("tabs, not spaces"), "{memory}");
    seat.type_keys(&format!("\u{1b}[200~{}\u{1b}[201~", image.display()));
    seat.wait_for("[Image #1]", 1);
    seat.type_keys(" and @pars");
    seat.wait_for("@src/parser.rs", 1);
    seat.type_keys("\t\r");
    seat.wait_for("seen-it", 1);
    leave(seat);
    let sent = bench.mock.asked().last().unwrap().body["messages"].to_string();
    for part in ["from-42-me", "\"type\":\"image\"", "@src/parser.rs"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    assert_eq!(bench.refusals(), Vec::<String>::new());
}
