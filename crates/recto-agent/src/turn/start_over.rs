//! `/clear`: the conversation starts over, under another id and in another log.

use std::sync::Arc;

use recto_store::append::LogWriter;
use recto_store::append::SyncPolicy;
use recto_store::new_session_id;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::checkpoint::Checkpoints;
use super::conversation::Written;
use super::event::LocalCommand;
use super::event::TurnEvent;
use super::resume::Resumed;
use super::runner::Runner;
use super::shared::lock;

impl Runner {
    /// Ends the log and begins another one, with what the command was. What the model knew is
    /// gone; what the user granted stays.
    pub(super) async fn start_over(&mut self, cancel: &CancellationToken) -> Written<()> {
        // Whoever reports later would report to nobody.
        self.conversation.tools.close().await;
        self.end_log("clear").await;
        self.change_session();
        self.conversation.transcript.begin_prompt();
        let command = self.write_command("clear", "")?;
        let said = LocalCommand {
            name: "clear".into(),
            arguments: String::new(),
            is_error: false,
            is_unavailable: false,
        };
        self.write_output(&said, "")?;
        let reset = uuid::Uuid::new_v4().to_string();
        let line = json!({
            "type": "conversation_reset",
            "new_conversation_id": reset,
            "uuid": reset,
            "trigger": "clear",
            "user_message_uuid": command.to_string(),
            "timestamp": format!("{:.3}", jiff::Timestamp::now()),
        });
        self.conversation.tell(TurnEvent::System(line)).await;
        let line = json!({"type": "system", "subtype": "background_tasks_changed", "tasks": []});
        self.conversation.tell(TurnEvent::System(line)).await;
        let session = self.setup.session.to_string();
        self.conversation.tell(TurnEvent::StartedOver { session }).await;
        self.session_start_hooks("clear", cancel).await?;
        self.tell_began().await;
        Ok(())
    }

    /// Everything that has the id of the session in it.
    fn change_session(&mut self) {
        let session = new_session_id();
        let shared = Arc::clone(&self.conversation.shared);
        let log = lock(&shared.log).with_file_name(format!("{session}.jsonl"));
        self.setup.session = session;
        shared.places.session.set(session.to_string());
        lock(&shared.log).clone_from(&log);
        if let Some(checkpoints) = &shared.checkpoints {
            let folder = self.setup.home.file_history().join(session.to_string());
            *lock(checkpoints) = Checkpoints::new(folder, self.setup.project.clone());
        }
        lock(&shared.totals).start_over();
        *lock(&shared.size) = super::size::Size::default();
        lock(&shared.noted).clear();
        let conversation = &mut self.conversation;
        conversation.tools.forget();
        conversation.deferred.clear();
        let keeps_log = self.setup.keeps_log;
        let writer = keeps_log.then(|| LogWriter::new(&self.setup.home, &log, SyncPolicy::Never));
        conversation.transcript.start_over(session, writer, shared.mirror.clone(), &log);
        self.resumed = Resumed::default();
        self.knows_world = false;
        self.knows_day = false;
        self.prompt_lines.clear();
        self.started = jiff::Timestamp::now();
        self.show_session();
    }
}
