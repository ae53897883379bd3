//! `file_history`: what sessions did to a file, or which files a session used. `insights`: how
//! work goes.

use recto_view::Reading;
use recto_view::WantedFile;
use recto_view::insights::QualityBy;
use serde_json::Value;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::tools::LIST_MOST;
use super::tools::OFFSET;

/// How much of a text is given.
const TEXT: usize = 300;

impl Archive {
    pub(super) fn files(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let (path, session) = (arguments.text("path")?, arguments.text("session")?);
        let limit = arguments.number("limit", LIST_MOST)?.unwrap_or(20) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let library = &self.0.library;
        let (rows, notes): (Vec<Value>, Vec<String>) = match (path, session) {
            (Some(path), None) => {
                let wanted = WantedFile::named(&path)
                    .ok_or_else(|| Refusal("`path` takes a path, or the end of one".to_owned()))?;
                let history = library.file_history(&wanted, &|_, _| {});
                let rows = history.uses.iter().map(|row| self.told(row, TEXT)).collect();
                (rows, history.skipped)
            }
            (None, Some(session)) => {
                let session = self.choose_session(&library.inventory(), &session)?;
                let reading = Reading::open((*session).clone())?;
                let files = recto_view::files(&reading);
                (files.iter().map(|row| self.told(row, TEXT)).collect(), Vec::new())
            }
            _ => return Err(Refusal("give either `path` or `session`".to_owned())),
        };
        let page = Page { offset, total: rows.len(), notes, sum: None };
        Ok(page.finish(rows.into_iter().skip(offset).take(limit)))
    }

    pub(super) fn insights(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let kind = arguments.required_text("kind")?;
        let by = arguments.text("by")?;
        let span = (self.time(&mut arguments, "since")?, self.time(&mut arguments, "until")?);
        arguments.finish()?;
        let by = by.map(|by| QualityBy::named(&by)).transpose()?;
        let library = &self.0.library;
        let told = match kind.as_str() {
            "activity" => self.told(&library.activity_insight(span), TEXT),
            "quality" => {
                self.told(&library.quality_insight(span, by.unwrap_or(QualityBy::Tool)), TEXT)
            }
            "cache" => {
                self.told(&library.cache_insight(span, by.unwrap_or(QualityBy::Project)), TEXT)
            }
            "context" => self.told(&library.context_insight(span), TEXT),
            _ => {
                let all = "activity, quality, cache, context";
                return Err(Refusal(format!("`kind` takes one of {all}")));
            }
        };
        Ok(told.to_string())
    }
}
