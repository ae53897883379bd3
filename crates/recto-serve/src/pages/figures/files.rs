//! The files that were changed most.

use axum::extract::State;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;

use super::ROWS;
use super::bars::cell_bar;
use super::empty;
use super::explain::page_number;
use super::link::Link;
use super::paging;
use super::period_choice;
use super::progress;
use super::text::count;
use super::text::one_line;
use super::text::plural;
use super::tools::period_link;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::card::card;
use crate::pages::format::age_tag;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::parameters::Parameters;
use recto_view::ChangedFile;
use recto_view::figures::Choice;
use recto_view::figures::Period;
use recto_view::figures::Progress;
use recto_view::figures::Totals;

/// What is asked.
struct Asked {
    period: Period,
    /// A part of the path.
    part: Option<String>,
    page: usize,
}

pub(crate) async fn files(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let period = parameters.period(Choice::All, &context.library)?;
    let (part, page_at) = (parameters.text("q"), page_number(&mut parameters)?);
    parameters.finish()?;
    let span = (period.since(context.library.zone()), period.until(context.library.zone()));
    let (files, progress) = context
        .work(move |context| {
            let surveyed = context.library.survey();
            Ok((changed_files(context.library.totals(&surveyed, span, None)), surveyed.progress))
        })
        .await?;
    let asked = Asked { period, part, page: page_at };
    let (now, zone) = (context.library.now(), context.library.zone());
    Ok(page("Files", Nav::Files, &body(&asked, &files, progress, (now, zone))))
}

/// A file with when it was changed last.
type DatedFile = (ChangedFile, Option<Timestamp>);

/// The most changed first; of those that were changed as often, the newest first.
fn changed_files(totals: Totals) -> Vec<DatedFile> {
    let changed = &totals.changed;
    let with_time = |file: ChangedFile| {
        let time = changed.get(&file.path).copied();
        (file, time)
    };
    let mut files: Vec<DatedFile> = totals.statistics.files.into_iter().map(with_time).collect();
    files.sort_by(|(a, then), (b, now)| b.edits.cmp(&a.edits).then(now.cmp(then)));
    files
}

fn body(
    asked: &Asked,
    files: &[DatedFile],
    at: Progress,
    (now, zone): (Timestamp, &TimeZone),
) -> Markup {
    let part = asked.part.as_deref().map(str::to_lowercase);
    let fits = |(file, _): &&DatedFile| {
        part.as_deref().is_none_or(|part| file.path.to_lowercase().contains(part))
    };
    let shown: Vec<&DatedFile> = files.iter().filter(fits).collect();
    let sum = |of: fn(&ChangedFile) -> u64| shown.iter().map(|(file, _)| of(file)).sum::<u64>();
    let most = shown.first().map_or(0, |(file, _)| file.edits);
    let link = period_link("/files", &asked.period).with_some("q", asked.part.as_deref());
    let hidden = link.without(&["q"]);
    html! {
        header.page-head {
            h1 { "Files" }
            (period_choice(&asked.period, &link))
            p { "Files that the file tools changed, in sessions written in the period. Changes by shell commands are not included." }
        }
        (progress(at))
        form.filters.figure-filters method="get" action="/files" {
            @for (name, value) in hidden.pairs() { input type="hidden" name=(name) value=(value); }
            label.unseen for="part" { "A part of the path" }
            input #part .field type="search" name="q" value=[asked.part.as_deref()] placeholder="A part of the path" autocomplete="off" spellcheck="false";
            button.button type="submit" { "Filter" }
            @if asked.part.is_some() { a.button.quiet href=(hidden) { "Clear" } }
        }
        @if shown.is_empty() {
            div.panel { (empty("No files", "No session of this period changed a file with this in its path.")) }
        } @else {
            dl.cards {
                (card("Files", &count(shown.len() as u64), "changed at least once"))
                (card("Edits", &count(sum(|file| file.edits)), ""))
                (card("Lines added", &count(sum(|file| file.lines_added)), ""))
                (card("Lines removed", &count(sum(|file| file.lines_removed)), ""))
            }
            section.panel aria-label="Files by edits" {
                div.table-scroll {
                    table.table {
                        thead { tr { th { "File" } th.number { "Edits" } th.number { "Lines" } th.number.hide-narrow { "Logs" } th.number { "Last changed" } } }
                        tbody {
                            @for (file, time) in shown.iter().skip((asked.page - 1) * ROWS).take(ROWS) {
                                tr {
                                    td.wide {
                                        (file_link(&file.path))
                                        @if most > 1 { (cell_bar(file.edits.into(), most.into(), 0)) }
                                    }
                                    td.number { (count(file.edits)) }
                                    td.number { (lines(file.lines_added, file.lines_removed)) }
                                    td.number.hide-narrow title=(plural(file.logs, "log")) { (count(file.logs)) }
                                    td.number.muted { @if let Some(time) = time { (age_tag(now, zone, *time)) } @else { "–" } }
                                }
                            }
                        }
                    }
                }
                div.panel-foot { (paging(&link, asked.page, shown.len(), "files")) }
            }
        }
    }
}

/// A file, by its name first: the end of a path says most.
pub(super) fn file_link(path: &str) -> Markup {
    let line = one_line(path);
    let (folder, name) = line.rsplit_once(['/', '\\']).unwrap_or(("", &line));
    html! {
        div.cut title=(line) {
            a href=(Link::new("/file").with("path", path)) { bdi { (name) } }
            span.faint { " " bdi { (folder) } }
        }
    }
}

/// Lines added and removed.
pub(super) fn lines(added: u64, removed: u64) -> Markup {
    html! { span.good { "+" (count(added)) } " " span.bad { "−" (count(removed)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lead_to_their_own_page_and_stay_text() {
        let file = ChangedFile {
            path: "/home/dev/<app>/\"a\" & b.rs".into(),
            edits: 3,
            lines_added: 10,
            lines_removed: 2,
            logs: 1,
        };
        let asked = Asked {
            period: Period { choice: Choice::All, from: None, to: None },
            part: None,
            page: 1,
        };
        let shown = body(
            &asked,
            &[(file, None)],
            Progress::default(),
            (Timestamp::UNIX_EPOCH, &TimeZone::UTC),
        )
        .into_string();
        assert!(
            shown.contains("/file?path=%2Fhome%2Fdev%2F%3Capp%3E%2F%22a%22+%26+b.rs"),
            "{shown}"
        );
        assert!(!shown.contains("<app>") && !shown.contains("style="), "{shown}");
        let none = Asked { part: Some("zzz".into()), ..asked };
        assert!(
            body(&none, &[], Progress::default(), (Timestamp::UNIX_EPOCH, &TimeZone::UTC))
                .into_string()
                .contains("No files")
        );
    }
}
