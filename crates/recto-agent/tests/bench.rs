//! A home, a project and a strict endpoint, in which sessions run.

use std::fs;
use std::path::PathBuf;

use recto_agent::api::Client;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use recto_agent::permission::CommandLine;
use recto_agent::permission::Mode;
use recto_agent::settings::Settings;
use recto_agent::settings::Wanted;
use recto_agent::turn::Control;
use recto_agent::turn::Ended;
use recto_agent::turn::LogStyle;
use recto_agent::turn::Prompt;
use recto_agent::turn::Resumed;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::With;
use recto_log::SessionId;
use recto_store::Home;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::support::endpoint_of;
use crate::support::wait;

pub(crate) const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

/// A home, a project and an endpoint.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) mock: Mock,
    client: Client,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) events: Vec<TurnEvent>,
}

impl Ran {
    pub(crate) fn ends(&self) -> Vec<&Ended> {
        let ended = self.events.iter().filter_map(|event| match event {
            TurnEvent::Ended(ended) => Some(&**ended),
            _ => None,
        });
        ended.collect()
    }
}

impl Bench {
    pub(crate) fn new(script: &str) -> Bench {
        Bench::with(script, MockOptions { keep: 10_000, ..MockOptions::default() })
    }

    /// With a mock that keeps less, or is otherwise.
    pub(crate) fn with(script: &str, options: MockOptions) -> Bench {
        let script = Script::parse(script).unwrap();
        let options = MockOptions { script: Some(script), ..options };
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/.claude")).unwrap();
        fs::create_dir_all(folder.path().join("app")).unwrap();
        fs::write(folder.path().join("app/a.txt"), "alpha\nbeta\n").unwrap();
        let mock = Mock::start(options).unwrap();
        let client = Client::new(endpoint_of(&mock.base_url())).unwrap();
        Bench { folder, mock, client }
    }

    pub(crate) fn app(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join("app")
    }

    pub(crate) fn home(&self) -> Home {
        Home::open(fs::canonicalize(self.folder.path()).unwrap().join("home/.claude")).unwrap()
    }

    pub(crate) fn log(&self) -> PathBuf {
        let key = recto_log::ProjectKey::of_path(&self.app().to_string_lossy());
        self.home().project(&key).join(format!("{ID}.jsonl"))
    }

    pub(crate) fn setup(&self) -> Setup {
        let root = fs::canonicalize(self.folder.path()).unwrap();
        let home = self.home();
        let settings = Settings::read(&home, &self.app(), Wanted::default(), None).unwrap();
        Setup {
            home,
            user_home: root.join("home"),
            project: self.app(),
            temporary: root.join("temporary"),
            shell: "/bin/bash".into(),
            client: self.client.clone(),
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
            with: With::default(),
        }
    }

    /// The session again, as its log says.
    pub(crate) fn resumed(&self) -> Setup {
        let resumed = Resumed::read(&self.log(), None, None).unwrap();
        Setup { resumed: Some(resumed), log: Some(self.log()), ..self.setup() }
    }

    pub(crate) fn run(&self, setup: Setup, prompts: &[&str]) -> Ran {
        self.steer(setup, prompts, |_, _| {})
    }

    /// Runs; `watch` sees every event and may interrupt.
    pub(crate) fn steer(
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

    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages of the requests, without marks for the cache.
    pub(crate) fn messages(&self) -> Vec<Vec<Value>> {
        let asked = self.mock.asked();
        let bodies = asked.iter().map(|asked| asked.body["messages"].as_array().unwrap().clone());
        bodies.map(|messages| messages.iter().map(unmarked).collect()).collect()
    }

    /// No request was refused, and each call has one result in the log.
    pub(crate) fn is_sound(&self) -> Result<(), String> {
        for asked in self.mock.asked() {
            if let Some(refusal) = asked.refusal {
                return Err(format!("refused: {}\n{}", refusal.message, asked.body["messages"]));
            }
        }
        Ok(())
    }
}

/// A message as the API reads it: without marks, texts as blocks.
pub(crate) fn unmarked(message: &Value) -> Value {
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
pub(crate) fn calls_and_results(lines: &[Value]) -> (Vec<String>, Vec<String>) {
    let blocks = |kind: &str, key: &str| -> Vec<String> {
        let contents = lines.iter().flat_map(|line| line["message"]["content"].as_array());
        let found = contents.flatten().filter(|block| block["type"] == kind);
        found.map(|block| block[key].as_str().unwrap().to_owned()).collect()
    };
    (blocks("tool_use", "id"), blocks("tool_result", "tool_use_id"))
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

pub(crate) fn script(rules: &[Value]) -> String {
    rules.iter().map(|rule| format!("{rule}\n")).collect()
}

impl Bench {
    /// With hooks, as `--settings` gives them.
    pub(crate) fn with_hooks(&self, hooks: &Value) -> Setup {
        let flag = json!({"hooks": hooks}).to_string();
        let home = self.home();
        let settings = Settings::read(&home, &self.app(), Wanted::default(), Some(&flag)).unwrap();
        Setup { settings, ..self.setup() }
    }
}

pub(crate) fn hook(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}
