//! Requests of the host, answered while the session runs.

use std::path::PathBuf;
use std::sync::Arc;

use recto_log::EntryUuid;
use serde_json::Value;
use serde_json::json;

use super::super::control::Prompt;
use super::super::event::State;
use super::super::event::TurnEvent;
use super::super::output_schema::OutputSchema;
use super::super::prompt::model_named;
use super::super::shared::Shared;
use super::super::shared::lock;
use super::super::totals::dollars;
use super::look::KnownFiles;
use crate::control::HostLink;
use crate::permission::Mode;
use crate::tool;

/// What a host may ask for, and what it is told about the program.
#[derive(Debug, Clone, Default)]
pub struct DeskFacts {
    /// The version of the client whose protocol is spoken.
    pub version: String,
    /// Where the key is from.
    pub key_source: &'static str,
    /// Whether the mode may become `bypassPermissions`.
    pub may_bypass: bool,
    /// Whether files may be set back to what they were.
    pub may_rewind: bool,
}

/// What is taken over when the next turn begins.
#[derive(Debug, Default)]
pub(in crate::turn) struct Changes {
    pub(in crate::turn) system_prompt: Option<String>,
    pub(in crate::turn) append_system_prompt: Option<String>,
    pub(in crate::turn) schema: Option<OutputSchema>,
    /// A new title of the session, and whether the session is named by it, too.
    pub(in crate::turn) title: Option<(String, bool)>,
    /// What was changed as a command of the user would have: name, arguments, answer.
    pub(in crate::turn) commands: Vec<(&'static str, String, String)>,
}

/// What a request gets that cannot be granted: a sentence, and a code.
pub(super) struct Refusal(pub(super) String, pub(super) Option<&'static str>);

impl Refusal {
    pub(super) fn plain(why: impl Into<String>) -> Refusal {
        Refusal(why.into(), None)
    }
}

/// `None` is an answer without content.
pub(super) type Granted = Result<Option<Value>, Refusal>;

/// Takes what the host says, in its order.
#[derive(Debug)]
pub struct Desk {
    pub(super) shared: Arc<Shared>,
    pub(super) tools: Arc<tool::Session>,
    pub(super) link: HostLink,
    pub(super) facts: DeskFacts,
    pub(super) was_initialized: bool,
    pub(super) files: KnownFiles,
}

impl Desk {
    pub(in crate::turn) fn new(
        shared: Arc<Shared>,
        tools: Arc<tool::Session>,
        link: HostLink,
        facts: DeskFacts,
    ) -> Desk {
        let files = KnownFiles::default();
        Desk { shared, tools, link, facts, was_initialized: false, files }
    }

    /// Where answers of the host go.
    pub fn link(&self) -> HostLink {
        self.link.clone()
    }

    /// Takes a prompt.
    pub async fn prompt(&self, mut prompt: Prompt) {
        let control = &self.shared.control;
        if let Some(uuid) = prompt.uuid.clone() {
            if !control.is_new(&uuid) {
                // It was worked on before.
                self.tell(TurnEvent::Prompted {
                    uuid: uuid.to_string(),
                    content: prompt.content.clone(),
                    is_output: false,
                    is_known: true,
                })
                .await;
                self.tell(TurnEvent::State(State::Idle)).await;
                return;
            }
            if control.is_running() {
                prompt.is_told = true;
                self.tell(lifecycle(&uuid, "queued")).await;
            }
        }
        control.prompt(prompt);
    }

    /// The host says no more.
    pub fn close(&self) {
        self.link.close();
        self.shared.control.close();
    }

    /// Answers a `control_request` line.
    pub async fn request(&mut self, line: &Value) {
        let id = line["request_id"].as_str().unwrap_or_default();
        let request = &line["request"];
        let subtype = request["subtype"].as_str();
        let granted = match subtype {
            Some("initialize") => self.initialize(request).await,
            Some("interrupt") => self.interrupt(request).await,
            Some("set_permission_mode") => self.set_mode(request),
            Some("set_model") => self.set_model(request).await,
            Some("set_max_thinking_tokens") => self.set_thinking(request),
            Some("mcp_status") => Ok(Some(json!({"mcpServers": self.shared.servers.status()}))),
            Some("mcp_toggle") => self.toggle_server(request).await,
            Some("mcp_reconnect") => self.reconnect_server(request).await,
            Some("mcp_set_servers") => self.set_servers(request).await,
            Some("rewind_files") => self.rewind(request),
            Some("stop_task") => self.stop_task(request).await,
            Some("get_context_usage") => Ok(Some(self.context_usage())),
            Some("get_session_cost") => Ok(Some(json!({"text": self.cost_text()}))),
            Some("get_settings") => Ok(Some(self.settings())),
            Some("list_permission_rules") => Ok(Some(self.permission_rules())),
            Some("file_suggestions") => Ok(Some(self.suggest_files(request))),
            Some("read_file") => self.read_file(request),
            Some("get_binary_version") => Ok(Some(json!({"version": self.facts.version}))),
            Some("rename_session") => self.rename(request).await,
            Some("cancel_async_message") => Ok(Some(self.cancel_prompt(request).await)),
            other => Err(Refusal(
                format!("Unsupported control request subtype: {}", other.unwrap_or("undefined")),
                Some("unsupported_request"),
            )),
        };
        let is_granted = granted.is_ok();
        let open = (subtype == Some("initialize")).then(|| self.link.open_questions());
        self.answer(id, granted, open).await;
        match subtype {
            Some("set_permission_mode") if is_granted => {
                let mode = self.shared.mode();
                let line = json!({"type": "system", "subtype": "status", "status": null, "permissionMode": mode});
                self.tell(TurnEvent::System(line)).await;
            }
            Some("interrupt") => {
                self.shared.control.interrupt_for_host();
            }
            Some("initialize") if std::mem::replace(&mut self.was_initialized, true) => {
                let line =
                    json!({"type": "system", "subtype": "background_tasks_changed", "tasks": []});
                self.tell(TurnEvent::System(line)).await;
            }
            _ => {}
        }
    }

    pub(super) async fn tell(&self, event: TurnEvent) {
        self.shared.events.send(event).await;
    }

    async fn answer(&self, id: &str, granted: Granted, open: Option<Vec<Value>>) {
        let mut response = match granted {
            Ok(Some(value)) => {
                json!({"subtype": "success", "request_id": id, "response": value})
            }
            Ok(None) => json!({"subtype": "success", "request_id": id}),
            Err(Refusal(why, code)) => {
                let mut response = json!({"subtype": "error", "request_id": id, "error": why});
                if let Some(code) = code {
                    response["error_code"] = code.into();
                }
                response
            }
        };
        if let Some(open) = open {
            response["pending_permission_requests"] = open.into();
            // recto shows no dialogs of its own.
            response["pending_user_dialog_requests"] = json!([]);
        }
        self.link.send(json!({"type": "control_response", "response": response})).await;
    }

    /// Questions are taken back first; the turn itself ends after the answer.
    async fn interrupt(&self, request: &Value) -> Granted {
        self.link.cancel_turn().await;
        let control = &self.shared.control;
        let mut answer = json!({});
        if request["cancel_queued"] == true {
            let dropped = control.drop_queued();
            for uuid in &dropped {
                self.tell(lifecycle(&EntryUuid::new(uuid), "cancelled")).await;
            }
            answer["cancelled"] = dropped.into();
        }
        answer["still_queued"] = control.queued().into();
        Ok(Some(answer))
    }

    fn set_mode(&self, request: &Value) -> Granted {
        let name = request["mode"].as_str().unwrap_or_default();
        let Some(mode) = Mode::parse(name) else {
            return Err(Refusal(
                "Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan".to_owned(),
                Some("invalid_mode"),
            ));
        };
        if mode == Mode::BypassPermissions && !self.facts.may_bypass {
            return Err(Refusal(
                "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions".to_owned(),
                Some("bypass_not_launched"),
            ));
        }
        lock(&self.shared.permissions).mode = mode;
        Ok(Some(json!({"mode": mode.name()})))
    }

    async fn set_model(&self, request: &Value) -> Granted {
        let model = model_named(request["model"].as_str().unwrap_or_default());
        lock(&self.shared.model).clone_from(&model);
        if self.shared.control.has_worked() {
            let text = format!("Set model to `{model}`");
            let command = ("model", model.clone(), text.clone());
            lock(&self.shared.changes).commands.push(command);
            self.tell(TurnEvent::Prompted {
                uuid: uuid::Uuid::new_v4().to_string(),
                content: format!("<local-command-stdout>{text}</local-command-stdout>").into(),
                is_output: true,
                is_known: false,
            })
            .await;
        }
        Ok(Some(json!({"model": model})))
    }

    fn set_thinking(&self, request: &Value) -> Granted {
        let thinking = match request["max_thinking_tokens"].as_u64() {
            Some(0) => Some(json!({"type": "disabled"}).into()),
            Some(tokens) => Some(json!({"type": "enabled", "budget_tokens": tokens}).into()),
            None => None,
        };
        *lock(&self.shared.thinking) = thinking;
        Ok(None)
    }

    async fn toggle_server(&self, request: &Value) -> Granted {
        let name = request["serverName"].as_str().unwrap_or_default();
        let is_on = request["enabled"] != false;
        let toggled = self.shared.servers.toggle(name, is_on).await;
        self.shared.offer_servers();
        toggled.map(|()| None).map_err(Refusal::plain)
    }

    async fn reconnect_server(&self, request: &Value) -> Granted {
        let name = request["serverName"].as_str().unwrap_or_default();
        let connected = self.shared.servers.reconnect(name).await;
        self.shared.offer_servers();
        connected.map(|()| None).map_err(Refusal::plain)
    }

    async fn set_servers(&self, request: &Value) -> Granted {
        let changed = self.shared.servers.replace(&request["servers"]).await;
        self.shared.offer_servers();
        Ok(Some(changed))
    }

    fn rewind(&self, request: &Value) -> Granted {
        let checkpoints = self.shared.checkpoints.as_ref().filter(|_| self.facts.may_rewind);
        let Some(checkpoints) = checkpoints else {
            return Err(Refusal::plain("File rewinding is not enabled."));
        };
        let prompt = request["user_message_id"].as_str().unwrap_or_default();
        let is_trial = request["dry_run"] == true;
        match lock(checkpoints).rewind(prompt, is_trial) {
            Ok(rewound) if is_trial => Ok(Some(json!({
                "canRewind": true,
                "filesChanged": rewound.files,
                "insertions": rewound.added,
                "deletions": rewound.removed,
            }))),
            Ok(_) => Ok(Some(json!({"canRewind": true, "skippedLinks": 0}))),
            Err(why) if is_trial => Ok(Some(json!({"canRewind": false, "error": why}))),
            Err(why) => Err(Refusal::plain(why)),
        }
    }

    async fn stop_task(&self, request: &Value) -> Granted {
        let id = request["task_id"].as_str().unwrap_or_default();
        let Some(notice) = self.tools.stop_task(id).await else { return Ok(Some(json!({}))) };
        lock(&self.shared.unheard).push(notice);
        self.shared.control.wake();
        if !self.shared.control.is_running() {
            // Nothing runs any more; whoever waits for that may go on after the answer.
            let events = self.shared.events.clone();
            tokio::spawn(async move { events.send(TurnEvent::State(State::Idle)).await });
        }
        Ok(Some(json!({})))
    }

    async fn rename(&self, request: &Value) -> Granted {
        let title = request["title"].as_str().unwrap_or_default().trim();
        if title.is_empty() {
            return Err(Refusal::plain("The title is empty."));
        }
        self.set_title(title, true).await;
        Ok(None)
    }

    pub(super) async fn set_title(&self, title: &str, is_name: bool) {
        lock(&self.shared.changes).title = Some((title.to_owned(), is_name));
        let line = json!({"type": "system", "subtype": "session_title_changed", "title": title});
        self.tell(TurnEvent::System(line)).await;
        self.shared.control.wake();
    }

    async fn cancel_prompt(&self, request: &Value) -> Value {
        let uuid = EntryUuid::new(request["message_uuid"].as_str().unwrap_or_default());
        let is_cancelled = self.shared.control.cancel(&uuid);
        if is_cancelled {
            self.tell(lifecycle(&uuid, "cancelled")).await;
        }
        json!({"cancelled": is_cancelled})
    }

    fn cost_text(&self) -> String {
        let totals = lock(&self.shared.totals);
        let mut text = format!(
            "Total cost: ${:.4}\nTotal duration (API): {}s\nTotal code changes: {} lines added, {} lines removed\nUsage by model:",
            dollars(totals.cost()),
            totals.api.as_secs(),
            totals.lines.0,
            totals.lines.1
        );
        for (name, model) in &totals.models {
            text.push_str(&format!("\n    {name}: {}", model.in_words()));
        }
        text
    }

    /// The folder that agents, skills and styles of the user are in.
    pub(super) fn user_folder(&self) -> PathBuf {
        self.shared.places.config.clone()
    }
}

/// What happens with a prompt that has a name.
pub(in crate::turn) fn lifecycle(uuid: &EntryUuid, state: &str) -> TurnEvent {
    TurnEvent::System(json!({
        "type": "command_lifecycle",
        "command_uuid": uuid.to_string(),
        "state": state,
    }))
}
