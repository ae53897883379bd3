//! Texts that are wider than any terminal: no listing panics, and no cell is padded to them.

use recto_log::json::ObjectWriter;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::hostile::turn;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::terminal::on_terminal;

/// Wider than a `u16` can say, which is what a width in a format string is.
const WIDE: usize = 70_000;

/// Every listing, and what else shows fields of a log.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["ls"],
    &["ls", "--agents"],
    &["turns", FIX],
    &["plans"],
    &["tools", FIX],
    &["tools"],
    &["stats", FIX],
    &["stats"],
    &["usage"],
    &["usage", "--by", "model"],
    &["usage", "--by", "branch"],
    &["usage", "--by", "project"],
    &["usage", "--by", "session"],
    &["usage", "--explain"],
    &["history"],
    &["branches", FIX],
    &["agents", FIX],
    &["files", FIX],
    &["files"],
    &["todos", FIX],
    &["context", FIX],
    &["request", FIX],
    &["status", "--all"],
    &["status", FIX],
    &["search", "wide"],
    &["grep", "wide"],
    &["check", FIX, "--notes"],
    &["check", "--all"],
    &["drift"],
    &["home"],
    &["log"],
    &["show", FIX],
    &["show", FIX, "--tools", "full", "--meta", "--thinking"],
    &["scratch"],
    &["blame", "/home/dev/app/wide.rs"],
];

/// A home with a text of this width in every field that a command shows.
fn home(wide: &str) -> TestHome {
    let test = TestHome::empty();
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .branch(wide)
        .version(wide)
        .model(wide)
        .prompt("wide");
    let edit = ObjectWriter::new().string("file_path", &format!("/home/{wide}.rs")).finish();
    let edit = String::from_utf8(edit).unwrap();
    let todos =
        format!(r#"{{"todos":[{{"content":"{wide}","status":"pending","activeForm":"{wide}"}}]}}"#);
    let plan = format!(r##"{{"plan":"# {wide}\n\n{wide}","filePath":"/home/{wide}.md"}}"##);
    let log = turn(log, &format!("wide {wide}"))
        .tool("Write", &edit, wide)
        .tool("Read", &edit, wide)
        .tool("TodoWrite", &todos, wide)
        .tool("ExitPlanMode", &plan, wide)
        .custom_title(wide);
    test.home.add(&log, hours_ago(1));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325);
    test.home.add(&turn(agent, wide).answer(wide), hours_ago(1));
    let meta = ObjectWriter::new().string("agentType", wide).string("description", wide).finish();
    let place = format!("projects/-home-dev-app/{FIX}/subagents/agent-a1b2c3d4e5f60718.meta.json");
    test.home.write(&place, meta);
    // A session that is only known by its first prompt, in a directory with a long name.
    let other = SessionBuilder::new(OLD, Client::V2_0_50).cwd(&format!("/home/{wide}"));
    test.home.add(&other.prompt(wide).answer(wide), hours_ago(2));
    test.home.write("plans/wide.md", format!("# {wide}\n\n{wide}"));
    let typed = ObjectWriter::new().string("display", wide).string("project", wide);
    let typed = typed.number("timestamp", 1_794_800_000_000).string("sessionId", FIX).finish();
    test.home.write("history.jsonl", [typed, b"\n".to_vec()].concat());
    test.home.announce(FIX, "busy");
    test
}

#[test]
fn no_text_is_too_wide_for_a_listing_that_is_piped() {
    for wide in ["w".repeat(WIDE), "日".repeat(WIDE / 2)] {
        let test = home(&wide);
        for arguments in COMMANDS {
            let run = test.run(arguments);
            assert!((0..=2).contains(&run.code), "{arguments:?}: {}", run.code);
            assert!(!run.stderr.contains("panicked"), "{arguments:?}: {}", run.stderr);
        }
    }
}

#[test]
fn no_text_is_too_wide_for_a_listing_on_a_terminal() {
    let test = home(&"w".repeat(WIDE));
    for arguments in COMMANDS {
        let arguments = [arguments, &["--no-pager"][..]].concat();
        // Without a command, the browser would wait for keys.
        if arguments.len() > 1 {
            let shown = on_terminal(&test, &arguments, &[]);
            assert!(!shown.contains("panicked"), "{arguments:?}: {shown:.2000}");
        }
    }
}

#[test]
fn other_rows_are_not_padded_to_the_widest_text() {
    let test = home(&"w".repeat(WIDE));
    for number in 0..50 {
        let id = format!("{number:08x}-0000-4000-8000-000000000000");
        test.home.add(&SessionBuilder::new(&id, Client::V2_1_325).prompt("x"), hours_ago(3));
    }
    let run = test.run(&["ls"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 52);
    assert!(run.stdout.len() < 52 * 5000, "{} bytes", run.stdout.len());
}
