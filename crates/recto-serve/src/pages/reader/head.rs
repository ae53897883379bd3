//! The head of a session: what it is, how it went, and what can be done with it.

use maud::Markup;
use maud::html;
use recto_view::resume_command;
use std::path::Path;

use super::Log;
use super::Wanted;
use super::rename;
use crate::context::Context;
use crate::pages::format::age_tag;
use crate::pages::format::count;
use crate::pages::format::plural;
use crate::pages::format::short;
use crate::pages::format::size;
use crate::pages::format::time_tag;
use crate::pages::format::tokens;
use crate::pages::sessions::address;
use crate::pages::sessions::archived_tag;
use crate::pages::sessions::project;
use crate::pages::sessions::short_model;
use crate::pages::sessions::status_dot;
use crate::pages::sessions::title;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use recto_view::BranchRow;
use recto_view::SessionHead;
use recto_view::SessionRow;
use recto_view::Show;
use recto_view::StatusRow;

/// What the session does now, and how that is known. The script keeps it new.
fn status(context: &Context, status: &StatusRow) -> Markup {
    html! {
        p #session-status .session-status data-status=(status.status) {
            (status_dot(status.status))
            strong { (status.status.replace('_', " ")) }
            @if let Some(since) = status.since { span.faint { "since " (age_tag(context.library.now(), context.library.zone(), since.0)) } }
            span.why.cut title=(format!("{} confidence", status.confidence)) { bdi { (one_line(&status.why.join("; "), 400)) } }
        }
    }
}

pub(super) fn head(
    context: &Context,
    log: &Log,
    head: &SessionHead,
    now_doing: Option<&StatusRow>,
    others: &[SessionRow],
) -> Markup {
    let row = &head.session;
    html! {
        header.session-head {
            div.session-title {
                (rename::editable(context, log.session, row))
                div.session-acts {
                    (marks(context, row))
                    (act(context, row))
                    (export(&row.name))
                }
            }
            div.session-line {
                a.cut.session-project href=(format!("/sessions?project={}", recto_view::encoded(row.cwd.as_deref().unwrap_or(&row.project)))) title=(shown(row.cwd.as_deref().unwrap_or(&row.project))) { bdi { (project(row)) } }
                @if row.archived { (archived_tag()) }
                @if let Some(branch) = row.branch.as_deref().filter(|branch| !branch.is_empty()) { span.tag title="Git branch" { bdi { (shown(branch)) } } }
                @if let Some(model) = &row.model { span.tag title=(shown(model)) { bdi { (short_model(model)) } } }
                (numbers(head))
                details #session-more .session-more {
                    summary title="Cost, health and context" { "Cost and health" }
                    (more_numbers(context, head))
                    // Needs all of the log: fetched when the page is there.
                    div #facts .facts data-load=(format!("/session/{}/facts", row.name)) {
                        noscript { a href=(format!("/session/{}/facts", row.name)) { "Cost, health and context" } }
                    }
                    p { a href=(format!("/session/{}/cost", row.name)) { "What this session cost, by turn, tool and subagent" } }
                }
            }
            @if let Some(now_doing) = now_doing { (status(context, now_doing)) }
            (namesakes(others))
        }
    }
}

/// The other logs that have the same id, for example in a copied project.
fn namesakes(others: &[SessionRow]) -> Markup {
    html! {
        @if !others.is_empty() {
            p.notice.namesakes {
                @if others.len() == 1 { "Another log has the same id: " } @else { "Other logs have the same id: " }
                @for (at, row) in others.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(address(row)) title=(shown(row.cwd.as_deref().unwrap_or(&row.project))) { bdi { (title(row)) } }
                    " in " bdi { (project(row)) }
                }
            }
        }
    }
}

/// What a person noted about the session: a star, a pin, tags and a note.
fn marks(context: &Context, row: &SessionRow) -> Markup {
    // Marks that cannot be read are not shown, and not overwritten.
    let Ok(all) = context.library.marks() else { return html! {} };
    let marks = all.of(&row.id);
    let tags: Vec<&str> = marks.tags.iter().map(String::as_str).collect();
    html! {
        div.marks data-marks=(format!("/api/v1/sessions/{}/marks", row.name)) {
            button.button.quiet.icon type="button" data-mark="starred" aria-pressed=(marks.starred) aria-label="Star this session" title="Star" { "★" }
            button.button.quiet.icon type="button" data-mark="pinned" aria-pressed=(marks.pinned) aria-label="Pin this session" title="Pin: first in lists" { "⚑" }
            details.menu {
                summary.button.quiet { "Tags" @if !tags.is_empty() { ": " bdi { (one_line(&tags.join(", "), 40)) } } @if !marks.note.is_empty() { " ✎" } }
                form.sheet.marks-form {
                    label { span { "Tags, with commas" } input.field name="tags" value=(shown(&tags.join(", "))) autocomplete="off"; }
                    label { span { "Note" } textarea.field name="note" rows="4" { (shown(&marks.note)) } }
                    button.button.primary { "Save" }
                }
            }
        }
    }
}

/// What comes first with a session: to resume it, or to bring it back.
fn act(context: &Context, row: &SessionRow) -> Markup {
    if row.archived { restore(context, row) } else { resume(context, row) }
}

/// What stays on the screen while the turns go by: the name, what is shown, and what can be
/// done. The name and the way to resume are there when those of the head are not.
pub(super) fn bar(context: &Context, log: &Log, head: &SessionHead, wanted: &Wanted) -> Markup {
    let row = &head.session;
    let name = title(row);
    html! {
        div #reader-bar .reader-bar {
            a.bar-title.cut href="#main" title=(one_line(&name, 200)) {
                @if let Some(status) = row.status { (status_dot(status)) }
                bdi { (one_line(&name, 80)) }
            }
            nav.chips aria-label="Show" {
                @for show in Show::ALL {
                    @let query = Wanted { show, branch: wanted.branch.clone(), ..Wanted::default() }.query();
                    a.chip href=(format!("{}{query}", log.page())) data-show=(show.name())
                        aria-current=[(show == wanted.show).then_some("true")] { (show_name(show)) }
                }
            }
            span #reader-place .bar-place.faint {}
            @if log.agent.is_none() {
                div.bar-acts { (act(context, row)) }
            }
        }
    }
}

fn show_name(show: Show) -> &'static str {
    match show {
        Show::All => "All",
        Show::Conversation => "Conversation",
        Show::Errors => "Errors",
        Show::Edits => "Edits",
    }
}

/// How far the session is. The script keeps it new.
pub(super) fn numbers(head: &SessionHead) -> Markup {
    let (row, counts) = (&head.session, &head.counts);
    html! {
        dl #session-numbers .session-numbers {
            (number("turn", counts.turns))
            (number("message", counts.messages))
            (number("tool call", counts.tool_calls))
            @if counts.failed_tool_calls > 0 {
                div.bad { dt { "failed" } dd { a.bad href=(format!("/session/{}?show=errors", row.name)) { (count(counts.failed_tool_calls as u64)) } } }
            }
            @if counts.damaged_lines > 0 {
                div.bad { dt { @if counts.damaged_lines == 1 { "damaged line" } @else { "damaged lines" } } dd { a.bad href=(format!("/health#{}", row.id)) { (count(counts.damaged_lines as u64)) } } }
            }
        }
    }
}

/// A number with what it counts, in the singular or the plural.
fn number(what: &str, number: usize) -> Markup {
    html! { div { dt { (what) @if number != 1 { "s" } } dd { (count(number as u64)) } } }
}

/// What is of interest to few: how much was written, and when.
fn more_numbers(context: &Context, head: &SessionHead) -> Markup {
    let (row, now) = (&head.session, context.library.now());
    html! {
        dl.session-numbers {
            div { dt { @if head.tokens.output == 1 { "Output token" } @else { "Output tokens" } } dd title=(tokens(head.tokens.output)) { (short(head.tokens.output)) } }
            div { dt { "Size" } dd { (size(row.bytes)) } }
            @if let Some(started) = row.started {
                div { dt { "Started" } dd { (time_tag(now, context.library.zone(), started.0)) } }
            }
            div { dt { "Updated" } dd { (age_tag(now, context.library.zone(), row.updated.0)) } }
            @if let Some(version) = &row.version { div { dt { "Client" } dd { bdi { (shown(version)) } } } }
            @if let Some(mode) = &head.permission_mode { div { dt { "Permission mode" } dd { bdi { (shown(mode)) } } } }
        }
    }
}

pub(super) fn agent_head(log: &Log, agent: &str, name: &str) -> Markup {
    html! {
        header.session-head {
            p.crumbs {
                a href="/sessions" { "Sessions" } " / "
                a href=(format!("/session/{}", log.session)) { bdi { (name) } }
            }
            div.session-title { h1 { "Subagent " code { (shown(agent)) } } }
        }
    }
}

/// A session that only the archive has must come back before a client can resume it.
fn restore(context: &Context, row: &SessionRow) -> Markup {
    let command = format!("recto restore {}", row.id);
    html! {
        @if context.allows_edits {
            button.button.primary type="button" data-restore=(format!("/api/v1/sessions/{}/restore", row.id)) { "Restore" }
        } @else {
            button.button.primary type="button" data-copy=(command) data-copied="Command copied: paste it in a terminal" title=(command) { "Restore" }
        }
    }
}

fn resume(context: &Context, row: &SessionRow) -> Markup {
    let home = context.home_to_name.as_deref();
    let there = resume_command(home, "claude", &row.id, row.cwd.as_deref().map(Path::new));
    let fork = format!("{there} --fork-session");
    let ways = [("Resume the session", &there), ("Continue in a copy of the session", &fork)];
    html! {
        details.menu {
            summary.button.primary { "Resume" }
            div.sheet.commands-sheet {
                p { "Choose one to copy its command, then paste it in a terminal." }
                @for (what, command) in ways {
                    button type="button" data-copy=(command) data-copied="Command copied: paste it in a terminal" {
                        small { (what) }
                        code { (command) }
                    }
                }
            }
        }
    }
}

fn export(id: &str) -> Markup {
    let formats =
        [("md", "Markdown"), ("html", "One HTML file"), ("json", "JSON"), ("txt", "Text")];
    html! {
        details.menu {
            summary.button { "Export" }
            div.sheet {
                @for (format, name) in formats {
                    a href=(format!("/api/v1/sessions/{id}/export?format={format}")) download { (name) }
                }
                button type="button" data-copy=(id) data-copied="Session id copied" { small { "Copy the session id" } code { (id) } }
            }
        }
    }
}

/// The branches of the session, and what is to be known of them.
pub(super) fn branches(log: &Log, branches: &[BranchRow], wanted: &Wanted) -> Markup {
    html! {
        p.branches-note {
            "This conversation was continued from an earlier point, so it has " (count(branches.len() as u64)) " branches. "
            "A resume continues the current one; turns of the others have a dashed line at their left."
        }
        nav.branches aria-label="Branches" {
            a.way href=(log.page()) aria-current=[wanted.branch.is_none().then_some("true")] {
                strong { "All branches" }
                span.faint { "every turn" }
            }
            @for branch in branches {
                @let prompt = match branch.last_prompt.as_str() { "" => "(no prompt)", prompt => prompt };
                a.way href=(format!("{}?branch={}", log.page(), branch.tip))
                    aria-current=[(wanted.branch.as_deref() == Some(&branch.tip)).then_some("true")] {
                    strong.cut { bdi { (one_line(prompt, 60)) } }
                    span.faint {
                        (plural(u64::from(branch.turns), "turn"))
                        @if let Some(fork) = &branch.fork { ", from turn " (fork.turn) }
                        @if branch.is_current { " · current" }
                    }
                }
            }
        }
    }
}
