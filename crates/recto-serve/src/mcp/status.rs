//! `status`: what sessions do now.

use recto_session::status::PendingCall;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;
use serde_json::Value;
use serde_json::json;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::reply::cut;

/// How much of a text is given.
const TEXT: usize = 600;

impl Archive {
    pub(super) fn status(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let session = arguments.text("session")?;
        arguments.finish()?;
        let inventory = self.0.library.home().inventory();
        let scope = match session {
            Some(text) => StatusScope::Only(vec![self.choose_session(&inventory, &text)?.id]),
            None => StatusScope::Recent(RECENT),
        };
        let found = Statuses::default().look(self.0.library.home(), &inventory, &scope, self.now());
        let page = Page { offset: 0, total: found.len(), notes: Vec::new(), sum: None };
        Ok(page.finish(found.iter().map(|one| self.told_status(one))))
    }

    fn told_status(&self, one: &SessionStatus) -> Value {
        let status = &one.status;
        let text = |text: &Option<String>| text.as_deref().map(|text| cut(&self.say(text), TEXT));
        let call = |call: &Option<PendingCall>| {
            call.as_ref().map(|call| {
                json!({
                    "tool": cut(&self.say(&call.tool), 200),
                    "about": cut(&self.say(&call.about), TEXT),
                    "since": call.since.map(|time| format!("{time:.0}")),
                })
            })
        };
        let why: Vec<String> = status.why.iter().map(|why| cut(&self.say(why), TEXT)).collect();
        json!({
            "session": one.id.to_string(),
            "status": status.kind.name(),
            "since": status.since.map(|time| format!("{time:.0}")),
            "confidence": status.confidence.name(),
            "why": why,
            "is_live": one.is_live(),
            "title": text(&status.title),
            "goal": text(&status.goal),
            "last_output": text(&status.last_output),
            "pending": call(&status.pending),
            "current": call(&status.current),
            "running": status.running.len(),
            "cwd": text(&status.cwd),
            "branch": text(&status.branch),
            "model": text(&status.model),
        })
    }
}
