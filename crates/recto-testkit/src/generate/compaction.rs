//! Compaction: the boundary, the summary, and what is announced again.
//!
//! Owns: these lines. Does not own: when it happens (`turn`).

use super::Generator;
use super::clock::timestamp;
use super::ledger::Facts;
use super::lines::Origin;
use super::text::Style;
use super::transcript::Link;
use super::transcript::Transcript;

impl Generator {
    /// Replaces the context by a summary; the lines before stay in the file.
    pub(super) fn compaction(&mut self, transcript: &mut Transcript) {
        let Some(last) = transcript.leaf else { return };
        self.tick(transcript, 9_000, 60_000);
        let (boundary, summary) = (self.random.uuid(), self.random.uuid());
        let manual = self.random.chance(5_000);
        let before = transcript.context;
        transcript.context = 9_000 + self.random.between(0, 6_000);
        transcript.compacted = true;
        let mut json = self.head(transcript, None);
        json.text("logicalParentUuid", &transcript.chain[last].uuid);
        self.agent(&mut json, transcript);
        json.text("type", "system").text("subtype", "compact_boundary");
        json.text("content", "Conversation compacted").flag("isMeta", false);
        json.text("timestamp", &timestamp(transcript.now)).text("uuid", &boundary);
        json.text("level", "info").key("compactMetadata").open();
        json.text("trigger", if manual { "manual" } else { "auto" }).number("preTokens", before);
        if transcript.era.new {
            let tail = &transcript.chain[last].uuid;
            json.number("durationMs", 5_480).key("preservedSegment").open();
            json.text("headUuid", tail).text("anchorUuid", &summary).text("tailUuid", tail).close();
            json.key("preservedMessages").open().text("anchorUuid", &summary);
            json.texts("uuids", [tail.as_str()]).texts("allUuids", [tail.as_str()]).close();
            json.number("postTokens", transcript.context);
            let dropped = before.saturating_sub(transcript.context);
            json.number("cumulativeDroppedTokens", dropped);
        }
        json.close();
        let bytes = self.finish(json, transcript);
        let link = Link {
            uuid: boundary,
            parent: None,
            logical_parent: Some(last),
            message: None,
            call: None,
        };
        let facts = Facts { kind: "system", compaction: true, ..Facts::default() };
        self.push_link(transcript, bytes, facts, link);
        self.compact_summary(transcript, summary);
        if manual {
            self.caveat(transcript);
            let command = "<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n            <command-args></command-args>";
            self.user_text(transcript, command, Origin::Client);
            let output = "<local-command-stdout>Compacted </local-command-stdout>";
            self.user_text(transcript, output, Origin::Client);
        }
        // The next prompt announces everything again.
        transcript.new.shape = None;
        transcript.new.last_request = None;
        transcript.new.message_hashes.clear();
        transcript.new.kept_hashes = 0;
    }

    fn compact_summary(&mut self, transcript: &mut Transcript, uuid: String) {
        let mut text = String::from(
            "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\n",
        );
        self.text.append(&mut self.random, Style::Prose, 4_000, &mut text);
        let mut content = super::json::Json::new();
        content.string(&text);
        let content = content.into_bytes();
        let origin = Origin::CompactSummary;
        let line = super::lines::UserLine { uuid, content: &content, origin, needle: None };
        self.user(transcript, line);
    }
}
