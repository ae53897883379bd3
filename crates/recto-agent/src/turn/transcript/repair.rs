//! Lines that put a log right, and those of older logs.

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::MessageId;
use recto_log::build::Position;
use recto_log::build::SyntheticLine;
use recto_log::build::UserLine;

use super::Transcript;
use super::Written;
use super::for_generation;
use super::new_uuid;
use crate::turn::sentence::CALL_LOST;
use crate::turn::sentence::NO_RESPONSE;
use crate::wire::Json;

impl Transcript {
    /// Answers calls that a session which was cut off left open, in the log alone: the
    /// conversation has the answers already.
    pub(in crate::turn) fn mend(
        &mut self,
        calls: &[(String, EntryUuid)],
        needs_answer: bool,
    ) -> Written<()> {
        let envelope = self.old.clone().unwrap_or_else(|| self.envelope.clone());
        for (id, line) in calls {
            let blocks = Json::from(serde_json::json!([
                {"type": "tool_result", "content": CALL_LOST, "is_error": true, "tool_use_id": id}
            ]));
            let result = Json::string(CALL_LOST);
            let mut user = UserLine::tool_result(blocks.value(), Some(result.value()));
            user.tool_denial = Some("interrupted".into());
            user.source_assistant = Some(line.clone());
            let position = Position::after(line.clone(), new_uuid(), Timestamp::now());
            let bytes = envelope.user(&position, &for_generation(&user, &envelope));
            self.append(&bytes)?;
            self.last = Some(position.uuid);
        }
        if needs_answer {
            let id = uuid::Uuid::new_v4().to_string();
            let mut line = SyntheticLine::new(MessageId::new(&id), NO_RESPONSE);
            line.made_by = Some("other".into());
            let position = self.next();
            let bytes = envelope.synthetic(&position, &line);
            self.append(&bytes)?;
            self.last = Some(position.uuid);
        }
        Ok(())
    }

    /// A progress line of an older log.
    pub(in crate::turn) fn progress(
        &mut self,
        line: &recto_log::build::ProgressLine<'_>,
    ) -> Written<()> {
        let Some(old) = &self.old else { return Ok(()) };
        let position = self.next();
        let bytes = old.progress(&position, line);
        self.append(&bytes)?;
        self.last = Some(position.uuid);
        Ok(())
    }
}
