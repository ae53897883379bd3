//! `status`: what sessions do now. `stats`: one of them in numbers.

use recto_view::Reading;

use super::archive::Archive;
use super::archive::Meant;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;

/// How much of a text is given.
const TEXT: usize = 600;

impl Archive {
    pub(super) fn status(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let session = arguments.text("session")?;
        arguments.finish()?;
        let library = &self.0.library;
        let session = match session {
            Some(text) => Some(self.choose_session(&library.home().inventory(), &text)?.id),
            None => None,
        };
        let found = library.statuses(session);
        let page = Page { offset: 0, total: found.len(), notes: Vec::new(), sum: None };
        Ok(page.finish(found.iter().map(|one| self.told(one, TEXT))))
    }

    pub(super) fn stats(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let session = arguments.text("session")?.unwrap_or_default();
        arguments.finish()?;
        let library = &self.0.library;
        let log = match self.choose(&library.inventory(), &session)? {
            Meant::Session(session) => (*session).clone(),
            Meant::Agent(agent) => agent,
        };
        let stats = library.session_stats(&Reading::open(log)?)?;
        Ok(self.told(&stats, TEXT).to_string())
    }
}
