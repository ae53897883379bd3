//! Damage: lines that are no JSON, blank lines, a torn end of file.
//!
//! Owns: extra lines that spoil a naive reader. It never touches a counted line, so that every
//! conversation stays whole.

use super::Generator;
use super::clock::timestamp;
use super::json::Json;
use super::ledger::Facts;
use super::transcript::Transcript;

const KINDS: [&str; 5] = ["truncated", "nul_run", "glued", "invalid_utf8", "truncated_eof"];

impl Generator {
    /// After a good line, now and then, a bad or a blank one.
    pub(super) fn maybe_damage(&mut self, transcript: &mut Transcript, line: &[u8]) {
        let step = self.line_counter % self.damage_interval;
        if step == self.damage_interval / 2 {
            let kind = KINDS[self.damage_counter % KINDS.len()];
            self.damage_counter += 1;
            self.damage(transcript, line, kind);
        }
        if self.line_counter % (self.damage_interval * 3) == self.damage_interval / 4 {
            self.store(transcript, b"", Facts::default());
        }
    }

    fn damage(&mut self, transcript: &mut Transcript, line: &[u8], kind: &'static str) {
        let mut bad = Vec::new();
        match kind {
            "truncated" => {
                let cut = 1 + self.random.below(line.len().min(4_000) - 1);
                bad.extend_from_slice(&line[..cut]);
            }
            "nul_run" => bad.resize(200 + self.random.below(2_000), 0),
            "glued" => {
                for _ in 0..2 {
                    let mut json = Json::line();
                    json.text("type", "queue-operation").text("operation", "dequeue");
                    json.text("timestamp", &timestamp(transcript.now));
                    json.text("sessionId", &transcript.session_id);
                    bad.extend_from_slice(&json.finish());
                }
            }
            "invalid_utf8" => {
                bad.extend_from_slice(
                    b"{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"broken ",
                );
                bad.extend_from_slice(&[0xff, 0xfe, 0xe2, 0x82]);
                bad.extend_from_slice(b" bytes\"}");
            }
            _ => {
                transcript.torn_end = true;
                return;
            }
        }
        self.store(transcript, &bad, Facts { damage: Some(kind), ..Facts::default() });
    }

    /// The end of a file: sometimes half a line without a newline.
    pub(super) fn end_of_file(&mut self, transcript: &mut Transcript) {
        if !transcript.torn_end {
            return;
        }
        let mut json = self.head(transcript, transcript.leaf);
        json.text("type", "user").key("message").open().text("role", "user");
        json.text("content", "cut in the middle of");
        let mut bad = json.into_bytes();
        bad.pop();
        let damage = Some("truncated_eof");
        self.store(transcript, &bad, Facts { damage, ..Facts::default() });
    }
}
