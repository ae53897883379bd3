//! Lines that go to the model beside what people and the model say.

use recto_log::EntryUuid;
use recto_log::build::AttachmentLine;
use serde_json::Value;

use super::Transcript;
use super::Written;
use crate::wire::Json;

impl Transcript {
    /// What the client tells the model beside the prompts; `role` is `system` or `user`.
    pub(in crate::turn) fn attachment(
        &mut self,
        attachment: &Value,
        note: Option<(&str, &'static str)>,
    ) -> Written<EntryUuid> {
        match note {
            Some((text, role)) => self.attachment_in_parts(attachment, &[text], role),
            None => self.attachment_in_parts::<&str>(attachment, &[], ""),
        }
    }

    /// The same with several texts for the model, or none.
    pub(in crate::turn) fn attachment_in_parts<T: std::fmt::Display>(
        &mut self,
        attachment: &Value,
        notes: &[T],
        role: &'static str,
    ) -> Written<EntryUuid> {
        let attachment = Json::from(attachment);
        let texts = notes.iter().map(|text| {
            let text = format!("<system-reminder>\n{text}\n</system-reminder>");
            serde_json::json!({ "content": text })
        });
        let rendered = Json::from(texts.collect::<Value>());
        let mut line = AttachmentLine::new(attachment.value());
        if !notes.is_empty() {
            line.rendered = Some(rendered.value());
            line.rendered_role = Some(role.into());
        }
        let position = self.next();
        self.chained(position, None, false, |envelope, position| {
            envelope.attachment(position, &line)
        })
    }
}
