//! Whole turns against the strict mock.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use recto_agent::api::Client;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use recto_agent::permission::CommandLine;
use recto_agent::permission::Mode;
use recto_agent::settings::Settings;
use recto_agent::settings::Wanted;
use recto_agent::turn::Control;
use recto_agent::turn::End;
use recto_agent::turn::Ended;
use recto_agent::turn::LogStyle;
use recto_agent::turn::Prompt;
use recto_agent::turn::Resumed;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_log::SessionId;
use recto_store::Home;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::support::endpoint_of;
use crate::support::wait;

const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

/// A home, a project and an endpoint.
struct Bench {
    folder: TempDir,
    mock: Mock,
}

/// What came of a run.
struct Ran {
    events: Vec<TurnEvent>,
}

impl Ran {
    fn ends(&self) -> Vec<&Ended> {
        let ended = self.events.iter().filter_map(|event| match event {
            TurnEvent::Ended(ended) => Some(&**ended),
            _ => None,
        });
        ended.collect()
    }
}

impl Bench {
    fn new(script: &str) -> Bench {
        let script = Script::parse(script).unwrap();
        let options = MockOptions { script: Some(script), keep: 10_000, ..MockOptions::default() };
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/.claude")).unwrap();
        fs::create_dir_all(folder.path().join("app")).unwrap();
        fs::write(folder.path().join("app/a.txt"), "alpha\nbeta\n").unwrap();
        Bench { folder, mock: Mock::start(options).unwrap() }
    }

    fn app(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join("app")
    }

    fn home(&self) -> Home {
        Home::open(fs::canonicalize(self.folder.path()).unwrap().join("home/.claude")).unwrap()
    }

    fn log(&self) -> PathBuf {
        let key = recto_log::ProjectKey::of_path(&self.app().to_string_lossy());
        self.home().project(&key).join(format!("{ID}.jsonl"))
    }

    fn setup(&self) -> Setup {
        let root = fs::canonicalize(self.folder.path()).unwrap();
        let home = self.home();
        let settings = Settings::read(&home, &self.app(), Wanted::default(), None).unwrap();
        Setup {
            home,
            user_home: root.join("home"),
            project: self.app(),
            temporary: root.join("temporary"),
            shell: "/bin/bash".into(),
            client: Client::new(endpoint_of(&self.mock.base_url())).unwrap(),
            settings,
            wanted: Wanted::default(),
            managed_instructions: root.join("none"),
            permissions: CommandLine {
                mode: Some(Mode::BypassPermissions),
                ..CommandLine::default()
            },
            directories: Vec::new(),
            tools: None,
            model: None,
            fallback_model: None,
            session: ID.parse::<SessionId>().unwrap(),
            log: None,
            resumed: None,
            copied: Vec::new(),
            keeps_log: true,
            style: LogStyle::Newest,
            keeps_files: true,
            entrypoint: "recto".into(),
            system_prompt: None,
            append_system_prompt: None,
            max_turns: Some(20),
            budget: None,
            schema: None,
            task_budget: None,
            effort: None,
            thinking: None,
            max_tokens: None,
            betas: Vec::new(),
            asker: None,
            prices: None,
            is_attended: false,
        }
    }

    /// The session again, as its log says.
    fn resumed(&self) -> Setup {
        let resumed = Resumed::read(&self.log(), None, None).unwrap();
        Setup { resumed: Some(resumed), log: Some(self.log()), ..self.setup() }
    }

    fn run(&self, setup: Setup, prompts: &[&str]) -> Ran {
        self.steer(setup, prompts, |_, _| {})
    }

    /// Runs; `watch` sees every event and may interrupt.
    fn steer(
        &self,
        setup: Setup,
        prompts: &[&str],
        mut watch: impl FnMut(&TurnEvent, &Control),
    ) -> Ran {
        wait(async {
            let (runner, control, mut events) = setup.start();
            // One after the other: a prompt that comes while a turn runs belongs to it.
            let mut prompts = prompts.iter();
            if let Some(prompt) = prompts.next() {
                control.prompt(Prompt::text(*prompt));
            }
            let mut running = tokio::spawn(runner.run());
            let mut seen = Vec::new();
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => {
                        watch(&event, &control);
                        if let TurnEvent::Ended(_) = &event {
                            match prompts.next() {
                                Some(prompt) => control.prompt(Prompt::text(*prompt)),
                                None => control.close(),
                            }
                        }
                        seen.push(event);
                    }
                    end = &mut running => {
                        end.unwrap();
                        break;
                    }
                }
            }
            Ran { events: seen }
        })
    }

    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages of the requests, without marks for the cache.
    fn messages(&self) -> Vec<Vec<Value>> {
        let asked = self.mock.asked();
        let bodies = asked.iter().map(|asked| asked.body["messages"].as_array().unwrap().clone());
        bodies.map(|messages| messages.iter().map(unmarked).collect()).collect()
    }

    /// No request was refused, and each call has one result in the log.
    fn is_sound(&self) -> Result<(), String> {
        for asked in self.mock.asked() {
            if let Some(refusal) = asked.refusal {
                return Err(format!("refused: {}\n{}", refusal.message, asked.body["messages"]));
            }
        }
        Ok(())
    }
}

/// A message as the API reads it: without marks, texts as blocks.
fn unmarked(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(text) = message["content"].as_str() {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if let Some(block) = block.as_object_mut() {
            block.remove("cache_control");
        }
    }
    message
}

/// Calls and results of a log.
fn calls_and_results(lines: &[Value]) -> (Vec<String>, Vec<String>) {
    let blocks = |kind: &str, key: &str| -> Vec<String> {
        let contents = lines.iter().flat_map(|line| line["message"]["content"].as_array());
        let found = contents.flatten().filter(|block| block["type"] == kind);
        found.map(|block| block[key].as_str().unwrap().to_owned()).collect()
    };
    (blocks("tool_use", "id"), blocks("tool_result", "tool_use_id"))
}

fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn script(rules: &[Value]) -> String {
    rules.iter().map(|rule| format!("{rule}\n")).collect()
}

#[test]
fn what_is_sent_is_what_the_log_says() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            {"type": "text", "text": "Three at once."},
            call("toolu_a", "Read", json!({"file_path": "a.txt"})),
            call("toolu_b", "Bash", json!({"command": "cd .. && pwd; exit 3"})),
            call("toolu_c", "NoSuchTool", json!({})),
        ]}),
        json!({"nth": 2, "blocks": [call("toolu_d", "Edit", json!({"file_path": "a.txt", "old_string": "alpha", "new_string": "ALPHA"}))]}),
        json!({"nth": 3, "text": "cut", "stop_reason": "max_tokens"}),
        json!({"nth": 4, "text": "done"}),
        json!({"nth": 5, "text": "second turn"}),
        json!({"nth": 6, "text": "after resume"}),
    ]));
    let ran = bench.run(bench.setup(), &["first", "second"]);
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&End::Completed, &End::Completed]);
    assert_eq!(ran.ends()[0].num_turns, 6);
    assert_eq!(fs::read_to_string(bench.app().join("a.txt")).unwrap(), "ALPHA\nbeta\n");
    bench.run(bench.resumed(), &["third"]);
    bench.is_sound().unwrap();
    let sent = bench.messages();
    assert_eq!(sent.len(), 6);
    // Each request begins with the one before.
    for (number, pair) in sent.windows(2).enumerate() {
        assert_eq!(pair[0], pair[1][..pair[0].len()], "request {}", number + 2);
    }
    let (calls, results) = calls_and_results(&bench.lines());
    assert_eq!(calls.len(), 4);
    let mut sorted = (calls.clone(), results);
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1);
    // The file as it was is kept, and a line says where.
    let delta =
        bench.lines().into_iter().find(|line| line["type"] == "file-history-delta").unwrap();
    let name = delta["backup"]["backupFileName"].as_str().unwrap();
    let kept = bench.home().file_history().join(ID).join(name);
    assert_eq!(fs::read_to_string(kept).unwrap(), "alpha\nbeta\n");
    // Lines of the chain hang together.
    let lines = bench.lines();
    let uuids: Vec<&str> = lines.iter().filter_map(|line| line["uuid"].as_str()).collect();
    let roots =
        lines.iter().filter(|line| line["uuid"].is_string() && line["parentUuid"].is_null());
    assert_eq!(roots.count(), 1);
    assert!(
        lines
            .iter()
            .filter_map(|line| line["parentUuid"].as_str())
            .all(|parent| uuids.contains(&parent))
    );
}

#[test]
fn the_log_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new(&script(&[json!({"text": "hello"})]));
    bench.run(bench.setup(), &["hi"]);
    assert_eq!(fs::metadata(bench.log()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_dir(bench.home().live_sessions()).unwrap().next().is_none());
    let first = &bench.lines()[3];
    assert_eq!(first["entrypoint"], "recto");
    assert!(first["version"].as_str().unwrap().contains("recto"));
    let quiet = Setup { keeps_log: false, ..bench.setup() };
    fs::remove_file(bench.log()).unwrap();
    bench.run(quiet, &["hi"]);
    assert!(!bench.log().exists());
}

#[test]
fn an_interrupt_answers_every_call_and_leaves_no_process() {
    let word = "7411.125";
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            call("toolu_a", "Bash", json!({"command": format!("sleep {word} & sleep {word}; true")})),
            call("toolu_b", "Bash", json!({"command": "touch never"})),
        ]}),
        json!({"nth": 2, "text": "went on"}),
    ]));
    let app = bench.app();
    let ran = bench.steer(bench.setup(), &["go", "again"], |event, control| {
        if let TurnEvent::Said(said) = event
            && said.message.to_serde()["content"][0]["id"] == "toolu_b"
        {
            let control = control.clone();
            std::thread::spawn(move || {
                while processes_with(word) < 2 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                control.interrupt();
            });
        }
    });
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&End::InterruptedTools, &End::Completed]);
    assert_eq!(processes_with(word), 0);
    assert!(!app.join("never").exists());
    let (calls, results) = calls_and_results(&bench.lines());
    assert_eq!(calls, results);
    bench.is_sound().unwrap();
}

fn processes_with(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_word = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).into_owned();
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_zombie = state.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
        command.starts_with("sleep") && command.contains(word) && !is_zombie
    };
    pids.filter(has_word).count()
}

#[test]
fn an_interrupt_keeps_what_was_said() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "text": "word ".repeat(400), "event_delay_ms": 30}),
        json!({"nth": 2, "text": "went on"}),
    ]));
    let mut seen = 0;
    let ran = bench.steer(bench.setup(), &["go", "again"], |event, control| {
        if let TurnEvent::Stream { .. } = event {
            seen += 1;
            if seen == 4 {
                control.interrupt();
            }
        }
    });
    let ends: Vec<&End> = ran.ends().iter().map(|ended| &ended.end).collect();
    assert_eq!(ends, [&End::InterruptedText, &End::Completed]);
    let aborted =
        bench.lines().into_iter().find(|line| line["isAbortedMidStream"] == true).unwrap();
    assert!(aborted["message"]["content"][0]["text"].as_str().unwrap().starts_with("word"));
    bench.is_sound().unwrap();
    bench.run(bench.resumed(), &["third"]);
    bench.is_sound().unwrap();
}

#[test]
fn a_subagent_has_a_log_of_its_own_and_its_end_wakes_the_session() {
    let bench = Bench::new(&script(&[
        json!({"contains": "start two", "blocks": [
            call("toolu_a", "Agent", json!({"description": "wait for it", "prompt": "sub work one", "run_in_background": false})),
            call("toolu_b", "Agent", json!({"description": "leave it", "prompt": "sub work two"})),
        ]}),
        json!({"contains": "sub work two", "delay_ms": 700, "text": "the late subagent is done"}),
        json!({"contains": "sub work one", "text": "the subagent is done"}),
        json!({"contains": "task-notification", "text": "I was told"}),
        json!({"text": "both run"}),
    ]));
    let ran = bench.run(bench.setup(), &["start two"]);
    bench.is_sound().unwrap();
    let texts: Vec<&str> = ran.ends().iter().map(|ended| ended.text.as_str()).collect();
    assert_eq!(texts, ["both run", "I was told"]);
    let folder = bench.log().with_extension("").join("subagents");
    let names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.iter().filter(|name| name.ends_with(".jsonl")).count(), 2);
    assert_eq!(names.iter().filter(|name| name.ends_with(".meta.json")).count(), 2);
    bench.run(bench.resumed(), &["and now?"]);
    bench.is_sound().unwrap();
}

#[test]
fn prompts_that_come_meanwhile_are_part_of_the_turn() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Bash", json!({"command": "sleep 0.3"}))]}),
        json!({"nth": 2, "text": "both heard"}),
    ]));
    let mut is_told = false;
    let ran = bench.steer(bench.setup(), &["first"], |event, control| {
        if let (TurnEvent::Said(_), false) = (event, is_told) {
            is_told = true;
            control.prompt(Prompt::text("and this too"));
        }
    });
    assert_eq!(ran.ends().len(), 1);
    let sent = bench.messages();
    assert_eq!(sent.len(), 2);
    assert!(sent[1].last().unwrap().to_string().contains("and this too"));
    assert!(bench.lines().iter().any(|line| line["attachment"]["type"] == "queued_command"));
    bench.is_sound().unwrap();
}

#[test]
fn limits_and_failures_end_a_turn() {
    let turns = Bench::new(&script(&[
        json!({"blocks": [call("toolu_a", "Bash", json!({"command": "true"}))]}),
    ]));
    let setup = Setup { max_turns: Some(1), ..turns.setup() };
    let ran = turns.run(setup, &["go"]);
    assert_eq!((&ran.ends()[0].end, ran.ends()[0].num_turns), (&End::MaxTurns(1), 2));
    let money = Bench::new(&script(&[
        json!({"blocks": [call("toolu_a", "Bash", json!({"command": "true"}))]}),
    ]));
    let setup = Setup { budget: Some(0.000_001), ..money.setup() };
    assert!(matches!(money.run(setup, &["go"]).ends()[0].end, End::Budget(_)));
    let broken = Bench::new(&script(&[json!({"fault": "400"})]));
    let ran = broken.run(broken.setup(), &["go"]);
    assert!(
        matches!(&ran.ends()[0].end, End::ApiError(text, _) if text.starts_with("API Error: 400"))
    );
    assert!(ran.ends()[0].is_error());
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn random_block(dice: &mut Dice, number: &mut u64) -> Value {
    *number += 1;
    let id = format!("toolu_{number}");
    match dice.roll(9) {
        0 => json!({"type": "text", "text": ""}),
        1 | 2 => json!({"type": "text", "text": format!("text {number}")}),
        3 => call(&id, "Read", json!({"file_path": "a.txt"})),
        4 => call(&id, "Bash", json!({"command": "echo x; exit 1"})),
        5 => call(&id, "Write", json!({"file_path": "b.txt", "content": number.to_string()})),
        6 => call(&id, "Nothing", json!([])),
        7 => call(&id, "Bash", json!({"command": 3})),
        _ => json!({"type": "text", "text": "\u{fffd} \" \\ \n"}),
    }
}

fn random_rule(dice: &mut Dice, nth: u64, number: &mut u64) -> Value {
    let blocks: Vec<Value> = (0..1 + dice.roll(4)).map(|_| random_block(dice, number)).collect();
    let mut rule = json!({"nth": nth, "blocks": blocks});
    match dice.roll(14) {
        0 => rule["stop_reason"] = json!("max_tokens"),
        1 => rule["stop_reason"] = json!("refusal"),
        2 => rule["stop_reason"] = json!("pause_turn"),
        3 => rule["fault"] = json!("529"),
        4 => rule["fault"] = json!(format!("cut-event:{}", 1 + dice.roll(8))),
        5 => rule["fault"] = json!(format!("error-event:{}", 1 + dice.roll(8))),
        6 => rule["fault"] = json!("500"),
        _ => {}
    }
    rule
}

/// A log as an accident leaves it.
fn damage(path: &Path, dice: &mut Dice) {
    let bytes = fs::read(path).unwrap();
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    match dice.roll(5) {
        0 => {
            let keep = bytes.len() - (dice.roll(200) as usize).min(bytes.len() / 2);
            fs::write(path, &bytes[..keep]).unwrap();
        }
        1 => {
            let at = dice.roll(lines.len() as u64) as usize;
            lines.remove(at);
            fs::write(path, lines.concat()).unwrap();
        }
        2 => {
            lines.push(b"{\"type\":\"user\",\"mess\n");
            fs::write(path, lines.concat()).unwrap();
        }
        _ => {}
    }
}

#[test]
fn random_dialogues_are_never_refused() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let rounds = number("RECTO_FUZZ_ITERATIONS").unwrap_or(40);
    let start = number("RECTO_FUZZ_SEED").unwrap_or(1);
    for seed in start..start + rounds {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut calls = 0;
        let mut rules: Vec<Value> =
            (1..14).map(|nth| random_rule(&mut dice, nth, &mut calls)).collect();
        rules.push(json!({"text": "done"}));
        let bench = Bench::new(&script(&rules));
        let interrupt_at = dice.roll(60);
        let mut seen = 0;
        bench.steer(bench.setup(), &["one", "two"], |_, control| {
            seen += 1;
            if seen == interrupt_at {
                control.interrupt();
            }
        });
        let mut problem = bench.is_sound();
        damage(&bench.log(), &mut dice);
        if let Ok(resumed) = Resumed::read(&bench.log(), None, None) {
            let setup = Setup { resumed: Some(resumed), log: Some(bench.log()), ..bench.setup() };
            bench.run(setup, &["three"]);
            problem = problem.and(bench.is_sound());
        }
        assert_eq!(problem, Ok(()), "RECTO_FUZZ_SEED={seed} RECTO_FUZZ_ITERATIONS=1");
    }
}

impl Bench {
    /// With hooks, as `--settings` gives them.
    fn with_hooks(&self, hooks: &Value) -> Setup {
        let flag = json!({"hooks": hooks}).to_string();
        let home = self.home();
        let settings = Settings::read(&home, &self.app(), Wanted::default(), Some(&flag)).unwrap();
        Setup { settings, ..self.setup() }
    }
}

fn hook(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

#[test]
fn hooks_see_a_turn_and_steer_it() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Bash", json!({"command": "touch ran"}))]}),
        json!({"nth": 2, "text": "first end"}),
        json!({"nth": 3, "text": "second end"}),
    ]));
    let once = "test -e stopped || { touch stopped; echo not yet >&2; exit 2; }";
    let setup = bench.with_hooks(&json!({
        "SessionStart": hook("echo welcome"),
        "UserPromptSubmit": hook("grep -q forbidden && { echo no >&2; exit 2; } || true"),
        "PreToolUse": hook("echo not this one >&2; exit 2"),
        "Stop": hook(once),
    }));
    let ran = bench.run(setup, &["go", "forbidden words"]);
    let [first, second] = ran.ends()[..] else { panic!("{}", ran.ends().len()) };
    assert_eq!((&first.end, first.text.as_str()), (&End::Completed, "second end"));
    assert_eq!(first.denials.len(), 1);
    assert!(matches!(&second.end, End::PromptBlocked(text) if text.contains("forbidden words")));
    assert!(!bench.app().join("ran").exists());
    let sent = bench.messages();
    assert_eq!(sent.len(), 3);
    let text = json!(sent[2]).to_string();
    assert!(text.contains("PreToolUse:Bash hook error") && text.contains("Stop hook feedback"));
    assert!(json!(sent[0]).to_string().contains("SessionStart:startup hook success: welcome"));
    assert!(bench.lines().iter().any(|line| line["subtype"] == "stop_hook_summary"));
    bench.is_sound().unwrap();
}

#[test]
fn an_output_of_the_wrong_shape_is_sent_back() {
    let output = |id: &str, input: Value| json!([call(id, "StructuredOutput", input)]);
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": output("toolu_a", json!({"color": "red"}))}),
        json!({"nth": 2, "blocks": output("toolu_b", json!({"color": "red", "n": 3}))}),
    ]));
    let schema = json!({"type": "object", "required": ["color", "n"]});
    let schema = recto_agent::turn::OutputSchema::new(schema);
    let ran = bench.run(Setup { schema, ..bench.setup() }, &["go"]);
    assert_eq!(ran.ends()[0].structured_output, Some(json!({"color": "red", "n": 3})));
    assert_eq!(bench.messages().len(), 2);
    bench.is_sound().unwrap();
}

#[test]
fn who_is_asked_decides() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            call("toolu_a", "Write", json!({"file_path": "yes.txt", "content": "x"})),
            call("toolu_b", "Write", json!({"file_path": "no.txt", "content": "x"})),
        ]}),
        json!({"text": "done"}),
    ]));
    let (asker, mut questions) = tokio::sync::mpsc::channel(4);
    let setup = Setup { asker: Some(asker), permissions: CommandLine::default(), ..bench.setup() };
    let answering = std::thread::spawn(move || {
        let mut asked = Vec::new();
        while let Some(question) = questions.blocking_recv() {
            let path = question.input["file_path"].as_str().unwrap().to_owned();
            let reply = match path.starts_with("yes") {
                true => recto_agent::turn::Reply::Allow {
                    updated_input: None,
                    updated_permissions: Vec::new(),
                },
                false => recto_agent::turn::Reply::Deny {
                    message: "better not".into(),
                    interrupt: false,
                },
            };
            asked.push(path);
            question.answer.send(reply).unwrap();
            if asked.len() == 2 {
                break;
            }
        }
        asked
    });
    let ran = bench.run(setup, &["go"]);
    assert_eq!(answering.join().unwrap(), ["yes.txt", "no.txt"]);
    assert!(bench.app().join("yes.txt").exists() && !bench.app().join("no.txt").exists());
    assert_eq!(ran.ends()[0].denials.len(), 1);
    assert!(json!(bench.messages()[1]).to_string().contains("better not"));
    bench.is_sound().unwrap();
}
