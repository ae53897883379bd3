//! Screens at several sizes: `docs/guides/console-screens.md` shows them, and is compared here.
//!
//! `RECTO_BLESS=1 cargo test -p recto --bin recto screens_tests` writes the page again.

use std::fmt::Write as _;

use crossterm::event::KeyCode;
use recto_agent::turn::End;
use recto_agent::turn::State;
use recto_agent::turn::TurnEvent;
use serde_json::json;

use super::console_tests::Trial;
use super::message::FileBack;
use super::picker::Choice;
use super::state::Effect;
use super::state::Input;
use super::state::PastPrompt;

const ANSWER: &str = "The parser stops at the first `\\r`. I changed **two** places:\n\n\
    1. `read_line` keeps the carriage return\n2. the tests cover both line ends\n\n\
    ```rust\nfn read_line(input: &str) -> Option<&str> {\n    input.split('\\n').next()\n}\n```\n\n\
    | file | lines |\n|---|---|\n| src/parse.rs | +2 -1 |\n";

impl Trial {
    /// What a terminal shows: the end of the scrollback and the live area.
    fn whole(&self) -> String {
        let area = self.screen();
        let area: Vec<&str> = area.lines().map(|line| &line[1..]).collect();
        let room = self.console.height.saturating_sub(area.len() + 1);
        let first = self.scrollback.len().saturating_sub(room);
        let above = self.scrollback[first..].iter().map(String::as_str);
        let all: Vec<&str> = above.chain(area).collect();
        let wide = |line: &&str| unicode_width::UnicodeWidthStr::width(*line);
        let widest = all.iter().map(wide).max().unwrap_or_default();
        assert!(widest <= self.console.width, "{widest}: {all:#?}");
        assert!(all.len() <= self.console.height, "{all:#?}");
        all.join("\n")
    }

    fn prompts(&mut self, text: &str) -> &mut Trial {
        self.typed(text).key(KeyCode::Enter).event(TurnEvent::State(State::Running))
    }

    fn calls(&mut self, id: &str, name: &str, input: serde_json::Value) -> &mut Trial {
        self.says(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
    }

    fn gives(&mut self, id: &str, text: &str) -> &mut Trial {
        self.result(json!({"type": "tool_result", "tool_use_id": id, "content": text}), None)
    }
}

fn first(size: (u16, u16)) -> Trial {
    let mut trial = Trial::new(size);
    super::greet(&mut trial.console);
    trial.take(Input::Tick);
    trial
}

fn answered(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.prompts("Why does the parser stop?");
    trial.says(json!({"type": "text", "text": ANSWER})).ends(End::Completed);
    trial
}

fn working(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.prompts("Run all checks");
    trial.event(TurnEvent::Thinking { estimated: 640, added: 640 });
    trial.calls("t1", "Bash", json!({"command": "cargo test --workspace"}));
    trial.calls("t2", "Bash", json!({"command": "cargo doc --no-deps"}));
    trial.calls("t3", "Grep", json!({"pattern": "TODO", "path": "src"}));
    trial.gives("t3", "src/parse.rs:12\nsrc/main.rs:3");
    for (id, about) in [("1", "watch the build"), ("2", "review the diff")] {
        let line = json!({"type": "system", "subtype": "task_started", "task_id": id, "description": about});
        trial.event(TurnEvent::System(line));
    }
    for _ in 0..45 {
        trial.take(Input::Tick);
    }
    trial.typed("and then commit").key(KeyCode::Enter);
    trial
}

fn asked_about_a_command(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.prompts("Run the tests");
    let update = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test:*"}], "behavior": "allow", "destination": "localSettings"});
    trial.asks(
        "Bash",
        json!({"command": "npm test -- --watch", "description": "Run the tests"}),
        vec![update],
    );
    trial
}

fn asked_about_a_change(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.prompts("Greet the user by name");
    let (old, new) = (
        "fn greet() {\n    println!(\"Hello\");\n}\n",
        "fn greet(name: &str) {\n    println!(\"Hello, {name}\");\n}\n",
    );
    let mode = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
    trial.asks(
        "Edit",
        json!({"file_path": "/home/dev/app/src/main.rs", "old_string": old, "new_string": new}),
        vec![mode],
    );
    trial
}

fn going_back(size: (u16, u16)) -> Trial {
    let mut trial = answered(size);
    let prompt = |text: &str, files: Vec<FileBack>| PastPrompt {
        text: text.into(),
        files,
        ..PastPrompt::default()
    };
    let file = |path: &str, added: usize, removed: usize, diff: &[&str]| FileBack {
        path: path.into(),
        added,
        removed,
        diff: diff.iter().map(|line| (*line).to_owned()).collect(),
        hidden: removed.saturating_sub(diff.len()),
    };
    let files = vec![
        file(
            "src/parse.rs",
            1,
            2,
            &["-    if rest.is_empty() {", "-        return;", "+    parse();"],
        ),
        file("tests/ends.rs", 0, 31, &["-#[test]", "-fn ends() {", "-    assert!(true);"]),
    ];
    trial.take(Input::Prompts(vec![
        prompt("Why does the parser stop?", files),
        prompt("Thank you", Vec::new()),
    ]));
    trial.key(KeyCode::Down).key(KeyCode::Enter);
    trial
}

fn opened_call(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.prompts("Count");
    trial.calls("t1", "Bash", json!({"command": "seq 100", "description": "Count to a hundred"}));
    let numbers: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
    trial.gives("t1", &numbers.join("\n")).ends(End::Completed);
    trial.control('x').key(KeyCode::Enter).key(KeyCode::PageDown);
    trial
}

fn resuming(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.take(Input::Sessions(vec![
        Choice::new("1", "Repair the parser", "3 min · fix/parser · 3f2a1b4c"),
        Choice::new("2", "Write the docs", "2 h · main · 3f2b77aa"),
    ]));
    trial
}

fn completing(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.console.editor.set_vi(true);
    trial.typed("/co");
    trial
}

fn failing(size: (u16, u16)) -> Trial {
    let mut trial = first(size);
    trial.prompts("Hello");
    let failed = recto_agent::turn::Failed {
        error: "authentication_failed",
        status: Some(401),
        ..Default::default()
    };
    trial.ends(End::ApiError("API Error: 401".into(), failed));
    trial
}

type Screen = (&'static str, fn((u16, u16)) -> Trial, (u16, u16));

const SCREENS: [Screen; 12] = [
    ("The first screen", first, (80, 24)),
    ("An answer", answered, (80, 24)),
    ("Calls side by side, background tasks, a waiting prompt", working, (120, 40)),
    ("The same on a small terminal", working, (40, 12)),
    ("A question about a command", asked_about_a_command, (80, 24)),
    ("A question about a change", asked_about_a_change, (120, 40)),
    ("Going back, with the lines that would change", going_back, (80, 24)),
    ("A call, opened in place", opened_call, (80, 24)),
    ("Another session", resuming, (120, 40)),
    ("Completion, with vi keys", completing, (80, 24)),
    ("A key that the endpoint refuses", failing, (80, 24)),
    ("An answer on a wide terminal", answered, (200, 60)),
];

#[test]
fn the_screens_of_the_guide_are_those_of_the_program() {
    let mut page = String::from(
        "# Screens of the console\n\n\
         <!-- Written by the test `the_screens_of_the_guide_are_those_of_the_program`. -->\n\n\
         Text only; the terminal adds colours. [The guide](console.md) explains the keys.\n",
    );
    for (title, draw, size) in SCREENS {
        let shown = draw(size).whole();
        let _ = write!(page, "\n## {title}\n\n{} × {}\n\n```text\n{shown}\n```\n", size.0, size.1);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/console-screens.md");
    if std::env::var_os("RECTO_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let hint = "RECTO_BLESS=1 cargo test -p recto --bin recto screens_tests";
    assert!(found == page, "{path} is not what the program shows\nhint: {hint}");
}

#[test]
fn every_screen_has_room_on_every_terminal() {
    for (_, draw, _) in SCREENS {
        for size in [(20, 6), (40, 12), (80, 24), (120, 40), (200, 60)] {
            draw(size).whole();
        }
    }
}

#[test]
fn a_call_opens_shows_all_of_its_result_and_closes() {
    let mut trial = opened_call((80, 24));
    assert!(trial.screen().contains("of 103"), "{}", trial.screen());
    for _ in 0..10 {
        trial.key(KeyCode::PageDown);
    }
    assert!(trial.screen().contains("|    100"), "{}", trial.screen());
    trial.key(KeyCode::Up);
    assert!(!trial.screen().contains("|    100"), "one step back is seen: {}", trial.screen());
    trial.key(KeyCode::Enter);
    assert!(!trial.screen().contains("|    100"), "{}", trial.screen());
    trial.key(KeyCode::Esc);
    assert!(trial.console.overlay.is_none());
}

#[test]
fn a_question_is_not_answered_by_what_was_being_typed() {
    let mut trial = first((80, 24));
    trial.prompts("go");
    for _ in 0..30 {
        trial.take(Input::Tick);
    }
    trial.typed("step ");
    trial.asks("Bash", json!({"command": "rm -r build"}), Vec::new());
    trial.typed("1. then").key(KeyCode::Enter);
    assert!(trial.reply().is_none(), "the keys belong to the text");
    assert_eq!(trial.console.editor.text(), "step 1. then");
    for _ in 0..11 {
        trial.take(Input::Tick);
    }
    trial.typed("1");
    assert!(trial.reply().is_some());
    assert_eq!(trial.console.editor.text(), "step 1. then");
}

#[test]
fn vi_keys_leave_escape_to_the_console_where_nothing_is_typed() {
    let mut trial = first((80, 24));
    trial.typed("/vi").key(KeyCode::Enter);
    trial.prompts("go");
    trial.typed("half").key(KeyCode::Esc);
    assert!(trial.screen().contains("NORMAL"), "{}", trial.screen());
    assert!(!trial.effects.iter().any(|effect| matches!(effect, Effect::Interrupt)));
    trial.key(KeyCode::Esc);
    assert!(matches!(trial.effects.last(), Some(Effect::Interrupt)));
    trial.typed("0cwwhole").key(KeyCode::Esc).key(KeyCode::Enter);
    let sent = trial.effects.iter().rev().find_map(|effect| match effect {
        Effect::Prompt(content, _) => content.as_str().map(str::to_owned),
        _ => None,
    });
    assert_eq!(sent.as_deref(), Some("whole"));
}
