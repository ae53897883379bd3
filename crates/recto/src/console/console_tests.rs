//! Keys and events in, screens out.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use recto_agent::turn::End;
use recto_agent::turn::Ended;
use recto_agent::turn::Reply;
use recto_agent::turn::Said;
use recto_agent::turn::State;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::UserSaid;
use recto_agent::wire::StreamEvent;
use serde_json::Value;
use serde_json::json;

use super::message::FileBack;
use super::question::Asked;
use super::state::Console;
use super::state::Effect;
use super::state::Facts;
use super::state::Input;
use super::state::Opened;
use super::state::PastPrompt;
use super::view;

pub(super) struct Trial {
    pub(super) console: Console,
    pub(super) effects: Vec<Effect>,
    pub(super) scrollback: Vec<String>,
}

impl Trial {
    pub(super) fn new(size: (u16, u16)) -> Trial {
        let facts = Facts {
            directory: "/home/dev/app".into(),
            version: "0.2.0".into(),
            sandbox: "commands are confined".into(),
            ..Facts::default()
        };
        let mut console = Console::new(facts, size);
        console.handle(Input::Opened(Opened {
            id: "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".into(),
            model: "claude-opus-5-5".into(),
            mode: "default".into(),
            ..Opened::default()
        }));
        console.handle(Input::Branch(Some("main".into())));
        Trial { console, effects: Vec::new(), scrollback: Vec::new() }
    }

    pub(super) fn take(&mut self, input: Input) -> &mut Trial {
        let effects = self.console.handle(input);
        self.effects.extend(effects);
        for line in self.console.take_out() {
            let text: String = line.iter().map(|(text, _)| text.as_str()).collect();
            self.scrollback.push(text.trim_end().to_owned());
        }
        self
    }

    pub(super) fn typed(&mut self, text: &str) -> &mut Trial {
        for c in text.chars() {
            self.take(Input::Key(KeyEvent::from(KeyCode::Char(c))));
        }
        self
    }

    pub(super) fn key(&mut self, code: KeyCode) -> &mut Trial {
        self.take(Input::Key(KeyEvent::from(code)))
    }

    pub(super) fn control(&mut self, c: char) -> &mut Trial {
        self.take(Input::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
    }

    pub(super) fn event(&mut self, event: TurnEvent) -> &mut Trial {
        self.take(Input::Event(Box::new(event)))
    }

    pub(super) fn grows(&mut self, text: &str) -> &mut Trial {
        let json = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
        let event = StreamEvent::parse(json.to_string().as_bytes()).unwrap();
        self.event(TurnEvent::Stream {
            message: "m".into(),
            event,
            after: std::time::Duration::ZERO,
        })
    }

    pub(super) fn says(&mut self, block: Value) -> &mut Trial {
        let message = json!({"id": "m", "role": "assistant", "content": [block]});
        self.event(TurnEvent::Said(Box::new(Said {
            uuid: "u".into(),
            message: message.into(),
            speaker: None,
            request_id: None,
            is_aborted: false,
            thinking: None,
            failure: None,
            prompts: Vec::new(),
            command: None,
        })))
    }

    pub(super) fn result(&mut self, block: Value, structured: Option<Value>) -> &mut Trial {
        self.event(TurnEvent::User(Box::new(UserSaid {
            uuid: "r".into(),
            content: json!([block]),
            speaker: None,
            tool_use_result: structured,
            meta: None,
            is_synthetic: false,
            refused: None,
            replay: None,
        })))
    }

    pub(super) fn ends(&mut self, end: End) -> &mut Trial {
        self.event(TurnEvent::Ended(Box::new(Ended {
            end,
            text: String::new(),
            stop_reason: None,
            num_turns: 1,
            structured_output: None,
            denials: Vec::new(),
            origin: None,
            prompts: Vec::new(),
            first_usage: None,
            duration: std::time::Duration::ZERO,
            api: std::time::Duration::ZERO,
            first_event: None,
            cost: Default::default(),
            usage: Default::default(),
            models: Vec::new(),
            agents: Default::default(),
            refusals: 0,
            models_since: Vec::new(),
            index: 0,
            queued: 0,
        })));
        self.event(TurnEvent::State(State::Idle))
    }

    pub(super) fn asks(&mut self, tool: &str, input: Value, suggestions: Vec<Value>) -> &mut Trial {
        self.take(Input::Asked(Box::new(Asked {
            id: "t1".into(),
            tool: tool.into(),
            input,
            text: "This command requires approval".into(),
            suggestions,
            agent: None,
            before: None,
        })))
    }

    /// The live area, each line after a `|`.
    pub(super) fn screen(&self) -> String {
        let area = view::area(&self.console);
        let lines = area.lines.iter().map(|line| {
            let text: String = line.iter().map(|(text, _)| text.as_str()).collect();
            format!("|{}", text.trim_end())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn scrollback(&self) -> String {
        let lines = self.scrollback.iter().map(|line| format!("|{line}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn reply(&self) -> Option<&Reply> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Reply(_, reply) => Some(&**reply),
            _ => None,
        })
    }
}

const RULE: &str = "|───";

fn rules(screen: &str) -> String {
    let short = |line: &str| match line.starts_with(RULE) {
        true => "|───".to_owned(),
        false => line.to_owned(),
    };
    screen.lines().map(short).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_answer_grows_and_is_printed_once() {
    for size in [(80, 24), (40, 12), (200, 60)] {
        let mut trial = Trial::new(size);
        trial.typed("hello").key(KeyCode::Enter);
        assert!(trial.effects.iter().any(|effect| matches!(effect, Effect::Prompt(..))));
        trial.event(TurnEvent::State(State::Running));
        trial.grows("First **part**.\n\n").grows("Second, not whole");
        assert_eq!(trial.scrollback(), "|\n|❯ hello\n|  First part.\n|", "{size:?}");
        assert!(trial.screen().contains("|  Second, not whole"), "{}", trial.screen());
        trial.says(json!({"type": "text", "text": "First **part**.\n\nSecond, not whole yet."}));
        trial.ends(End::Completed);
        let scrollback = trial.scrollback();
        assert_eq!(scrollback.matches("First part.").count(), 1, "{scrollback}");
        assert_eq!(scrollback.matches("Second, not whole yet.").count(), 1, "{scrollback}");
        assert!(!trial.screen().contains("Second"), "{}", trial.screen());
    }
}

#[test]
fn the_screen_of_a_session_that_waits() {
    let mut trial = Trial::new((80, 24));
    trial.typed("fix the ").control('j');
    trial.typed("parser");
    insta::assert_snapshot!(rules(&trial.screen()), @r"
    |───
    |❯ fix the
    |  parser
    |  opus-5-5 · $0.00 · asks first · main
    ");
}

#[test]
fn calls_run_side_by_side_and_are_printed_when_they_end() {
    let mut trial = Trial::new((80, 24));
    trial.typed("go").key(KeyCode::Enter).event(TurnEvent::State(State::Running));
    for (id, command) in [("t1", "cargo test"), ("t2", "cargo doc")] {
        trial.says(
            json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}),
        );
    }
    let screen = trial.screen();
    assert!(screen.contains("Bash cargo test") && screen.contains("Bash cargo doc"), "{screen}");
    trial.result(
        json!({"type": "tool_result", "tool_use_id": "t2", "content": "1\n2\n3\n4\n5\n6"}),
        None,
    );
    assert!(
        trial
            .scrollback()
            .ends_with("|⏺ Bash cargo doc\n|  ⎿ 1\n|    2\n|    3\n|    4\n|    … 2 more lines"),
        "{}",
        trial.scrollback()
    );
    assert!(!trial.screen().contains("cargo doc"));
    assert!(trial.screen().contains("cargo test"));
}

#[test]
fn an_edit_is_shown_as_a_change() {
    let mut trial = Trial::new((80, 24));
    trial.says(json!({"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/home/dev/app/a.rs"}}));
    let patch = json!({"filePath": "/home/dev/app/a.rs", "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-old", "+new"]}]});
    trial.result(json!({"type": "tool_result", "tool_use_id": "t1", "content": "ok"}), Some(patch));
    let scrollback = trial.scrollback();
    assert!(scrollback.contains("1 line added, 1 removed"), "{scrollback}");
    assert!(scrollback.contains("|    -old\n|    +new"), "{scrollback}");
}

#[test]
fn a_question_names_the_rule_that_always_writes() {
    let mut trial = Trial::new((100, 24));
    let update = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test:*"}], "behavior": "allow", "destination": "localSettings"});
    trial.asks("Bash", json!({"command": "npm test -- --watch"}), vec![update.clone()]);
    insta::assert_snapshot!(rules(&trial.screen()), @r"
    |───
    |  npm test -- --watch
    |  This command requires approval
    |Allow Bash?
    |❯ 1. Yes
    |  2. Yes, and always: adds Bash(npm test:*) to .claude/settings.local.json
    |  3. No, and say what to do instead
    |type a number, or Enter · Esc rejects and stops
    |  opus-5-5 · $0.00 · asks first · main
    ");
    trial.typed("2");
    assert!(
        matches!(trial.reply(), Some(Reply::Allow { updated_permissions, .. }) if updated_permissions == std::slice::from_ref(&update))
    );
    assert!(
        trial.effects.iter().any(|effect| matches!(effect, Effect::Keep(kept) if *kept == update))
    );
    assert!(trial.console.overlay.is_none());
}

#[test]
fn a_no_says_what_to_do_instead() {
    let mut trial = Trial::new((80, 24));
    trial.asks("Write", json!({"file_path": "/tmp/a", "content": "one\ntwo\n"}), Vec::new());
    assert!(trial.screen().contains("+one") && trial.screen().contains("+two"));
    trial.typed("2").typed("use tabs").key(KeyCode::Enter);
    let Some(Reply::Deny { message, interrupt: false }) = trial.reply() else { panic!() };
    assert!(message.ends_with("They said: use tabs"), "{message}");
    trial.asks("Bash", json!({"command": "rm x"}), Vec::new());
    trial.key(KeyCode::Esc);
    assert!(matches!(trial.reply(), Some(Reply::Deny { interrupt: true, .. })));
}

#[test]
fn a_long_change_is_in_the_scrollback_in_full() {
    let mut trial = Trial::new((80, 24));
    let content: String = (0..100).map(|number| format!("line {number}\n")).collect();
    trial.asks("Write", json!({"file_path": "/tmp/a", "content": content}), Vec::new());
    assert!(trial.scrollback().contains("+line 0\n") && trial.scrollback().contains("+line 99"));
    assert!(trial.screen().lines().count() < 24, "{}", trial.screen());
}

#[test]
fn questions_of_the_model_are_answered_one_after_the_other() {
    let mut trial = Trial::new((80, 24));
    let question = |text: &str, multiple: bool| json!({"question": text, "multiSelect": multiple, "options": [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]});
    let input = json!({"questions": [question("Which?", false), question("And which?", true)]});
    trial.asks("AskUserQuestion", input, Vec::new());
    assert!(trial.screen().contains("|Which?"), "{}", trial.screen());
    trial.typed("2");
    assert!(trial.screen().contains("|And which?"), "{}", trial.screen());
    trial.typed(" ").key(KeyCode::Down).typed(" ").key(KeyCode::Enter);
    let Some(Reply::Allow { updated_input: Some(input), .. }) = trial.reply() else { panic!() };
    assert_eq!(input["answers"], json!({"Which?": "B", "And which?": "A, B"}));
}

#[test]
fn a_prompt_waits_while_the_session_works() {
    let mut trial = Trial::new((80, 24));
    trial.typed("one").key(KeyCode::Enter).event(TurnEvent::State(State::Running));
    trial.typed("two").key(KeyCode::Enter);
    assert!(trial.screen().contains("|  next: two"), "{}", trial.screen());
    trial.key(KeyCode::Up);
    assert_eq!(trial.console.editor.text(), "two");
    assert!(!trial.screen().contains("next:"));
}

#[test]
fn escape_interrupts_and_twice_goes_back() {
    let mut trial = Trial::new((80, 24));
    trial.typed("one").key(KeyCode::Enter).event(TurnEvent::State(State::Running));
    trial.key(KeyCode::Esc);
    assert!(matches!(trial.effects.last(), Some(Effect::Interrupt)));
    assert!(trial.screen().contains("interrupting"), "{}", trial.screen());
    trial.ends(End::InterruptedText);
    assert!(!trial.screen().contains("interrupting"), "{}", trial.screen());
    trial.key(KeyCode::Esc);
    assert!(trial.screen().contains("Esc again"), "{}", trial.screen());
    trial.key(KeyCode::Esc);
    assert!(matches!(trial.effects.last(), Some(Effect::ListPrompts)));
    let prompt = |uuid: &str, text: &str, files: Vec<FileBack>| PastPrompt {
        uuid: uuid.into(),
        parent: Some("p".into()),
        text: text.into(),
        files,
        left: Vec::new(),
    };
    let diff = |line: &str| [" fn a() {", line, "+    two();"].map(str::to_owned).to_vec();
    let file = |path: &str, line: &str| FileBack {
        path: path.into(),
        added: 3,
        removed: 1,
        diff: diff(line),
        hidden: 2,
    };
    let files = vec![file("src/a.rs", "-    one();"), file("src/b.rs", "-    five();")];
    trial
        .take(Input::Prompts(vec![prompt("1", "first", files), prompt("2", "second", Vec::new())]));
    insta::assert_snapshot!(rules(&trial.screen()), @r"
    |───
    |Go back to an earlier prompt
    |❯ second
    |  first   2 files
    |type to filter · Enter to choose · Esc to go back
    |  opus-5-5 · $0.00 · asks first · main
    ");
    trial.key(KeyCode::Down).key(KeyCode::Enter);
    insta::assert_snapshot!(rules(&trial.screen()), @r"
    |───
    |What do you want to restore?
    |❯ Conversation and files
    |  Conversation only       files stay
    |  Files only              the conversation stays
    |  +3 -1 src/a.rs
    |     fn a() {
    |    -    one();
    |    +    two();
    |    … 2 more lines
    |  +3 -1 src/b.rs
    |     fn a() {
    |    -    five();
    |    +    two();
    |    … 2 more lines
    |type to filter · Enter to choose · Esc to go back
    |  opus-5-5 · $0.00 · asks first · main
    ");
    trial.take(Input::Resize(80, 12)).key(KeyCode::PageDown);
    insta::assert_snapshot!(rules(&trial.screen()), @r"
    |───
    |What do you want to restore?
    |❯ Conversation and files
    |  Conversation only       files stay
    |  Files only              the conversation stays
    |    +    two();
    |    … 2 more lines
    |  +3 -1 src/b.rs
    |4–6 of 10 · PgUp PgDn · type to filter · Enter to choose · Esc to go back
    |  opus-5-5 · $0.00 · asks first · main
    ");
    trial.key(KeyCode::Enter);
    let Some(Effect::Rewind(prompt, extent)) = trial.effects.last() else { panic!() };
    assert!(prompt.uuid == "1" && extent.conversation && extent.files);
}

#[test]
fn calls_of_the_earlier_part_can_be_opened() {
    let mut trial = Trial::new((80, 24));
    trial.take(Input::Opened(Opened {
        calls: vec![
            json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/home/dev/app/a.rs"}}),
            json!({"type": "tool_result", "tool_use_id": "t1", "content": "fn early() {}"}),
            json!({"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}),
        ],
        ..Opened::default()
    }));
    trial.control('x');
    let screen = trial.screen();
    assert!(screen.contains("Read a.rs") && screen.contains("Bash ls"), "{screen}");
    trial.key(KeyCode::Up).key(KeyCode::Enter);
    assert!(trial.screen().contains("fn early() {}"), "{}", trial.screen());
}

#[test]
fn commands_and_files_are_completed() {
    let mut trial = Trial::new((80, 24));
    trial.typed("/per");
    assert!(trial.screen().contains("/permissions"), "{}", trial.screen());
    trial.key(KeyCode::Enter);
    assert!(trial.effects.iter().any(
        |effect| matches!(effect, Effect::Request(_, body) if body["subtype"] == "list_permission_rules")
    ));
    trial.typed("see @sr");
    let Some(Effect::Request(id, _)) = trial.effects.last() else { panic!() };
    let answer = json!({"suggestions": [{"path": "src/main.rs"}]});
    let response = json!({"subtype": "success", "request_id": id, "response": answer});
    trial.event(TurnEvent::Control(json!({"response": response})));
    trial.key(KeyCode::Tab);
    assert_eq!(trial.console.editor.text(), "see @src/main.rs ");
}

#[test]
fn shift_tab_goes_through_the_modes() {
    let mut trial = Trial::new((80, 24));
    for shown in ["accepts edits", "plans only", "asks first"] {
        trial.key(KeyCode::BackTab);
        assert!(trial.screen().contains(shown), "{}", trial.screen());
    }
}

#[test]
fn what_fails_says_what_to_do() {
    let failed = |error, status| recto_agent::turn::Failed { error, status, ..Default::default() };
    for (failure, words) in [
        (failed("authentication_failed", Some(401)), "set ANTHROPIC_API_KEY"),
        (failed("unknown", None), "check the network"),
        (failed("model_not_found", Some(404)), "/model"),
    ] {
        let mut trial = Trial::new((80, 24));
        trial.ends(End::ApiError("API Error".into(), failure));
        assert!(trial.scrollback().contains(words), "{}", trial.scrollback());
    }
}

#[test]
fn hostile_words_act_on_nothing() {
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}1A\u{202e}x\u{1b}P+q\u{1b}\\\r\u{8}";
    let mut trial = Trial::new((80, 24));
    trial.event(TurnEvent::State(State::Running));
    trial.grows(evil).grows("\n\n").grows(evil);
    trial.says(json!({"type": "tool_use", "id": evil, "name": evil, "input": {"command": evil}}));
    let check = |trial: &Trial| {
        let all = format!("{}\n{}", trial.screen(), trial.scrollback());
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!all.contains(bad), "{all:?}");
    };
    check(&trial);
    trial.result(json!({"type": "tool_result", "tool_use_id": evil, "content": evil}), None);
    trial.event(TurnEvent::System(
        json!({"type": "system", "subtype": "task_started", "task_id": "1", "description": evil}),
    ));
    trial.event(TurnEvent::System(
        json!({"type": "system", "subtype": "informational", "content": evil}),
    ));
    trial.event(TurnEvent::Told(evil.into()));
    trial.take(Input::Branch(Some(evil.into())));
    trial.take(Input::Shell(evil.into(), evil.into(), 1));
    check(&trial);
    trial.asks("mcp__evil__tool", json!({"x": evil}), Vec::new());
    check(&trial);
    trial.key(KeyCode::Esc);
    trial.asks("Bash", json!({"command": evil, "description": evil}), Vec::new());
    check(&trial);
    trial.key(KeyCode::Esc);
    trial.take(Input::Paste(evil.into()));
    check(&trial);
}

#[test]
fn an_area_fits_every_screen() {
    for size in [(20, 6), (40, 10), (80, 24), (200, 60)] {
        let mut trial = Trial::new(size);
        trial.event(TurnEvent::State(State::Running));
        trial.grows(&"word ".repeat(5000));
        for number in 0..30 {
            trial.says(json!({"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {"command": "x".repeat(500)}}));
        }
        trial.take(Input::Paste("a\nb\nc\nd".into()));
        for overlay in [false, true] {
            if overlay {
                trial.asks("Bash", json!({"command": "y\n".repeat(50)}), Vec::new());
            }
            let area = view::area(&trial.console);
            let height = usize::from(size.1).max(6);
            assert!(area.lines.len() < height, "{size:?}: {}", area.lines.len());
            assert!(area.cursor.0 < area.lines.len(), "{size:?}: {:?}", area.cursor);
        }
    }
}
