//! `recto stats` without a session: many of them in numbers.

use std::path::Path;

use jiff::tz::TimeZone;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_view::Listing;
use recto_view::chart::svg;

use crate::commands::stats_charts::charts;
use crate::commands::stats_text::about;
use crate::commands::stats_text::write_text;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::Filter;
use crate::select::target::tell_skipped;
use crate::terminal::document_file::DocumentFile;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;

/// What is asked of all sessions.
pub(crate) struct Question<'a> {
    pub(crate) filter: Filter,
    pub(crate) zone: TimeZone,
    /// How many rows a list has.
    pub(crate) limit: usize,
    /// Where the charts go.
    pub(crate) svg: Option<&'a Path>,
    pub(crate) existing: Existing,
}

pub(crate) fn stats_of_all(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    question: &Question<'_>,
) -> Result<Outcome, CommandError> {
    let inventory = home.inventory();
    let listing = Listing { filter: question.filter.clone(), ..Listing::default() };
    let library = environment.library_in(home, PriceTable::default(), Some(question.zone.clone()));
    let sessions = library.listed(&listing, &inventory);
    tell_skipped(&inventory, output);
    if sessions.is_empty() {
        output.remark("no session matches");
    }
    let progress = Progress::new("reading", output);
    let report =
        library.statistics(sessions, question.limit, &|done, all| progress.tell(done, all));
    progress.done();
    for error in &report.skipped {
        output.remark(&format!("skipped: {error}"));
    }
    if let Some(path) = question.svg {
        let about = about(&report, &question.zone);
        let document = svg("Sessions", &about.join(" · "), &charts(&report, question.limit));
        DocumentFile::write(path, question.existing, &document)?;
        output.remark(&format!("wrote {}", path.display()));
    }
    if output.json {
        output.row(&report)?;
    } else if report.sessions > 0 {
        write_text(&report, question, environment, output)?;
    }
    Ok(if report.sessions == 0 { Outcome::Found } else { Outcome::Done })
}
