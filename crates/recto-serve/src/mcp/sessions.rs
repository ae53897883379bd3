//! `list_sessions`.

use recto_store::Digest;
use recto_store::Digests;
use recto_store::FileKind;
use recto_store::SessionFile;
use serde_json::Value;
use serde_json::json;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::reply::cut;
use super::tools::LIST_MOST;
use super::tools::OFFSET;

/// How much of a title is given.
const TITLE: usize = 300;

impl Archive {
    pub(super) fn list(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let filter = self.filter(&mut arguments)?;
        let limit = arguments.number("limit", LIST_MOST)?.unwrap_or(50) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let inventory = self.0.library.home().inventory();
        let sessions: Vec<&SessionFile> =
            inventory.sessions.iter().filter(|file| filter.fits_time(file.modified())).collect();
        let mut digests = Digests::new(self.0.library.home(), self.0.library.cache());
        let read = digests.read(sessions.iter().copied());
        digests.finish();
        let found: Vec<(&SessionFile, Digest)> = sessions
            .into_iter()
            .zip(read)
            .filter_map(|(session, digest)| {
                let digest = digest?;
                let project = session.project.key.as_str();
                let fits = digest.kind == FileKind::Session && filter.fits(project, &digest);
                fits.then_some((session, digest))
            })
            .collect();
        let skipped = inventory.skipped.iter();
        let notes = skipped.map(ToString::to_string);
        let page = Page { offset, total: found.len(), notes: notes.collect(), sum: None };
        let wanted = found.iter().skip(offset).take(limit);
        Ok(page.finish(wanted.map(|(session, digest)| self.listed(session, digest))))
    }

    fn listed(&self, session: &SessionFile, digest: &Digest) -> Value {
        let title = digest.title.as_ref().map(|(title, _)| cut(&self.say(title), TITLE));
        json!({
            "session": session.id.to_string(),
            "title": title,
            "cwd": self.say_some(digest.cwd.as_deref()),
            "branch": self.say_some(digest.branch.as_deref()),
            "model": self.say_some(digest.model.as_deref()),
            "started": digest.started.map(|time| format!("{time:.0}")),
            "written": format!("{:.0}", session.modified()),
            "bytes": session.bytes(),
        })
    }
}
