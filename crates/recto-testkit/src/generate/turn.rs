//! The course of a conversation: prompts, rounds of tool calls, answers, and what comes between.
//!
//! Owns: the order of events. Does not own: how a line looks.

use super::Generator;
use super::json::Json;
use super::lines::Origin;
use super::message::Block;
use super::message::Stop;
use super::request::Role;
use super::text::Style;
use super::text::phrase;
use super::tools::Call;
use super::transcript::Transcript;
use super::transcript::TurnEnd;

/// Things that happen now and then. They come in a fixed rota, so that small homes have all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Nothing,
    CustomCommand,
    LocalCommand,
    Shell,
    Rewind,
    Compaction,
    Image,
    Interrupt,
    ServiceError,
    Queued,
    PullRequest,
    Hook,
    Unknown,
    Reminder,
}

const ROTA: [Special; 20] = [
    Special::Nothing,
    Special::Rewind,
    Special::CustomCommand,
    Special::Compaction,
    Special::Queued,
    Special::LocalCommand,
    Special::Nothing,
    Special::Shell,
    Special::Interrupt,
    Special::Image,
    Special::Hook,
    Special::Nothing,
    Special::ServiceError,
    Special::PullRequest,
    Special::Nothing,
    Special::Reminder,
    Special::Unknown,
    Special::Nothing,
    Special::Nothing,
    Special::Nothing,
];

impl Generator {
    /// One turn of a session log.
    pub(super) fn turn(&mut self, transcript: &mut Transcript) {
        self.tick(transcript, 4_000, 240_000);
        let special = self.next_special(transcript);
        self.before_prompt(transcript, special);
        self.human_prompt(transcript, special == Special::Image);
        if special == Special::Rewind && transcript.era.new {
            self.no_leaf(transcript);
        }
        self.tick(transcript, 100, 900);
        if transcript.era.new {
            if transcript.new.shape.is_none() {
                self.announcements(transcript);
            } else if self.random.chance(8_000) {
                self.prompt_snapshot(transcript, true);
            }
        }
        match special {
            Special::ServiceError => self.service_error(transcript),
            Special::Interrupt => self.interrupt(transcript),
            _ => {
                self.rounds(transcript, special);
                self.last_answer(transcript);
            }
        }
        self.after_answer(transcript, special);
        if let Some(leaf) = transcript.leaf {
            let (lines, links) = (transcript.lines.len(), transcript.chain.len());
            let costs = transcript.new.costs.clone();
            transcript.turn_ends.push(TurnEnd { lines, links, leaf, costs });
        }
    }

    fn next_special(&mut self, transcript: &Transcript) -> Special {
        let has_past = transcript.turn_ends.len() > 1;
        if has_past && let Some(special) = self.postponed.pop() {
            return special;
        }
        let special = ROTA[self.turn_counter % ROTA.len()];
        self.turn_counter += 1;
        let needs_past = matches!(special, Special::Rewind | Special::Compaction);
        if needs_past && !has_past {
            if !self.postponed.contains(&special) {
                self.postponed.insert(0, special);
            }
            return Special::Nothing;
        }
        special
    }

    fn before_prompt(&mut self, transcript: &mut Transcript, special: Special) {
        match special {
            Special::CustomCommand => self.custom_command(transcript),
            Special::LocalCommand => self.local_command(transcript, "cost", "Total cost: $0.42"),
            Special::Shell => {
                self.user_text(transcript, "<bash-input>git status</bash-input>", Origin::Client);
                let output = self.text.piece(&mut self.random, Style::Terminal, 300);
                let output =
                    format!("<bash-stdout>{output}</bash-stdout><bash-stderr></bash-stderr>");
                self.user_text(transcript, &output, Origin::Client);
            }
            Special::Rewind => {
                let back = 2 + self.random.below(transcript.turn_ends.len().min(4) - 1);
                let target = transcript.turn_ends[transcript.turn_ends.len() - back].leaf;
                transcript.leaf = Some(target);
            }
            Special::Compaction => self.compaction(transcript),
            Special::PullRequest => self.pull_request(transcript),
            Special::Unknown => self.unknown(transcript),
            _ if transcript.context > 165_000 => self.compaction(transcript),
            _ => {}
        }
    }

    fn rounds(&mut self, transcript: &mut Transcript, special: Special) {
        let count = self.random.below(4) + self.random.below(5) + self.random.below(5);
        for round in 0..count {
            self.round(transcript);
            if round == 0 && special == Special::Queued {
                self.queued(transcript);
            }
            if transcript.era.new && self.random.chance(800) {
                self.prompt_snapshot(transcript, true);
            }
        }
    }

    /// One message with tool calls, and their results.
    pub(super) fn round(&mut self, transcript: &mut Transcript) {
        let count = self.random.pick(&[1, 1, 1, 1, 1, 1, 1, 2, 2, 3]);
        let mut blocks = self.opening_blocks(transcript);
        let mut calls = Vec::new();
        let opening = blocks.len();
        for _ in 0..count {
            let (block, call) = self.tool_call(transcript);
            blocks.push(block);
            calls.push(call);
        }
        self.request(transcript);
        let mut message = self.begin_message(transcript, blocks.len(), Stop::ToolUse);
        let mut pending: Vec<(Call, usize)> = Vec::new();
        let mut calls = calls.into_iter();
        // Fast results stand between the blocks of a message.
        let fast = transcript.era.new && count > 1 && self.random.chance(3_000);
        for (index, block) in blocks.into_iter().enumerate() {
            let place = self.block(transcript, &mut message, block);
            if index < opening {
                continue;
            }
            let Some(call) = calls.next() else { continue };
            if fast && index == opening {
                self.tool_result(transcript, &call, place);
            } else {
                pending.push((call, place));
            }
        }
        while !pending.is_empty() {
            // Parallel results come in the order in which the tools end.
            let next = if transcript.era.tree { self.random.below(pending.len()) } else { 0 };
            let (call, place) = pending.remove(next);
            self.tool_result(transcript, &call, place);
        }
    }

    fn opening_blocks(&mut self, transcript: &Transcript) -> Vec<Block> {
        let mut blocks = Vec::new();
        if self.random.chance(3_500) {
            blocks.push(self.thinking_block(transcript));
        }
        if self.random.chance(4_000) {
            blocks.push(self.text_block(transcript));
        }
        blocks
    }

    /// The message that ends a turn.
    pub(super) fn last_answer(&mut self, transcript: &mut Transcript) {
        let mut blocks = Vec::new();
        if self.random.chance(3_500) {
            blocks.push(self.thinking_block(transcript));
        }
        blocks.push(self.text_block(transcript));
        self.request(transcript);
        let mut message = self.begin_message(transcript, blocks.len(), Stop::EndTurn);
        for block in blocks {
            self.block(transcript, &mut message, block);
        }
    }

    /// A call whose result never comes: the client was killed.
    pub(super) fn unanswered_call(&mut self, transcript: &mut Transcript) {
        self.human_prompt(transcript, false);
        let (block, _) = self.tool_call(transcript);
        self.request(transcript);
        let mut message = self.begin_message(transcript, 1, Stop::ToolUse);
        self.block(transcript, &mut message, block);
    }

    fn after_answer(&mut self, transcript: &mut Transcript, special: Special) {
        if special == Special::Hook {
            let members = if transcript.era.new {
                r#""hookCount":1,"hookInfos":[{"command":"./hooks/stop.sh","durationMs":183}],"hookErrors":[],"hookAdditionalContext":[],"preventedContinuation":false,"stopReason":"","hasOutput":true,"level":"suggestion""#
            } else {
                r#""hookCount":1,"hookInfos":[{"command":"./hooks/stop.sh"}],"hookErrors":[],"preventedContinuation":false,"stopReason":"","hasOutput":true,"level":"suggestion""#
            };
            self.system(transcript, "stop_hook_summary", members);
        }
        if special == Special::Reminder && transcript.era.new {
            let text = "<total_tokens>1500000 tokens left</total_tokens>";
            let rendered = Some((Role::System, text));
            self.attachment(transcript, "total_tokens_reminder", rendered, |json| {
                json.text("text", text);
            });
        }
        for notification in std::mem::take(&mut transcript.new.notifications) {
            let text = format!(
                "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n<status>completed</status>\n<result>{}</result>\n</task-notification>",
                notification.agent_id, notification.tool_use_id, notification.answer
            );
            self.tick(transcript, 500, 60_000);
            self.queue_operation(transcript, "enqueue", Some(&text));
            self.queue_operation(transcript, "dequeue", None);
            transcript.new.prompt_id = self.random.uuid();
            self.user_text(transcript, &text, Origin::TaskNotification);
            self.last_answer(transcript);
        }
        if transcript.era.new && transcript.interactive {
            let duration = (transcript.now - transcript.new.turn_started).max(0);
            let count = transcript.chain.len();
            let members =
                format!(r#""durationMs":{duration},"messageCount":{count},"isMeta":false"#);
            self.system(transcript, "turn_duration", &members);
        }
        self.tail_block(transcript);
    }

    fn custom_command(&mut self, transcript: &mut Transcript) {
        let text = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>src</command-args>";
        self.user_text(transcript, text, Origin::Client);
        let expanded = self.text.piece(&mut self.random, Style::Prose, 1_200);
        self.user_block(transcript, &expanded, Origin::Meta);
        self.request(transcript);
        self.answer(transcript, "Reviewed.", Stop::EndTurn);
    }

    fn local_command(&mut self, transcript: &mut Transcript, name: &str, output: &str) {
        let command = format!(
            "<command-name>/{name}</command-name>\n            <command-message>{name}</command-message>\n            <command-args></command-args>"
        );
        let output = format!("<local-command-stdout>{output}</local-command-stdout>");
        if transcript.era.new {
            for content in [command, output] {
                let mut json = Json::new();
                json.text("content", &content).text("level", "info").flag("isMeta", false);
                let members = String::from_utf8_lossy(&json.into_bytes()).into_owned();
                self.system(transcript, "local_command", &members);
            }
        } else {
            self.caveat(transcript);
            self.user_text(transcript, &command, Origin::Client);
            self.user_text(transcript, &output, Origin::Client);
        }
    }

    pub(super) fn caveat(&mut self, transcript: &mut Transcript) {
        let text =
            "Caveat: The messages below were generated by the user while running local commands.";
        let text = match transcript.era.tree {
            true => format!("<local-command-caveat>{text}</local-command-caveat>"),
            false => text.to_string(),
        };
        self.user_text(transcript, &text, Origin::Meta);
    }

    fn service_error(&mut self, transcript: &mut Transcript) {
        self.request(transcript);
        if transcript.era.new {
            let members = r#""level":"error","error":{"message":"500 Internal server error","status":500},"retryInMs":531,"retryAttempt":1,"maxRetries":10,"source":"request_retry""#;
            self.system(transcript, "api_error", members);
        }
        self.tick(transcript, 500, 9_000);
        self.synthetic(transcript, "API Error: 500 Internal server error.");
    }

    fn interrupt(&mut self, transcript: &mut Transcript) {
        self.request(transcript);
        if transcript.era.new {
            let words = phrase(&mut self.random, 30);
            self.answer(transcript, &words, Stop::Aborted);
        }
        self.tick(transcript, 500, 3_000);
        self.user_block(transcript, "[Request interrupted by user]", Origin::Client);
    }

    /// A prompt typed while the model works.
    fn queued(&mut self, transcript: &mut Transcript) {
        let words = phrase(&mut self.random, 12);
        self.queue_operation(transcript, "enqueue", Some(&words));
        self.queue_operation(transcript, "remove", None);
        if transcript.era.new {
            let text = format!("The user sent a new message while you were working:\n{words}");
            let source = self.random.uuid();
            self.attachment(transcript, "queued_command", Some((Role::System, &text)), |json| {
                json.text("prompt", &words).text("source_uuid", &source);
                json.members(r#""commandMode":"prompt","origin":{"kind":"human"}"#);
                json.flag("humanTurn", true);
            });
        }
    }
}
