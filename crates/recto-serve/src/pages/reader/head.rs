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
use crate::pages::sessions::archived_tag;
use crate::pages::sessions::project;
use crate::pages::sessions::short_model;
use crate::pages::sessions::status_dot;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use recto_view::BranchRow;
use recto_view::SessionHead;
use recto_view::StatusRow;

/// What the session does now, and how that is known. The script keeps it new.
fn status(context: &Context, status: &StatusRow) -> Markup {
    html! {
        p #session-status .session-status data-status=(status.status) {
            (status_dot(status.status))
            strong { (status.status.replace('_', " ")) }
            @if let Some(since) = status.since { span.faint { "since " (age_tag(context.library.now(), context.library.zone(), since.0)) } }
            span.why { bdi { (one_line(&status.why.join("; "), 400)) } }
            span.faint { (status.confidence) " confidence" }
        }
    }
}

pub(super) fn head(
    context: &Context,
    log: &Log,
    head: &SessionHead,
    now_doing: Option<&StatusRow>,
) -> Markup {
    let row = &head.session;
    html! {
        header.session-head {
            p.crumbs {
                a href="/sessions" { "Sessions" } " / "
                a href=(format!("/sessions?project={}", recto_view::encoded(row.cwd.as_deref().unwrap_or(&row.project)))) { bdi { (project(row)) } }
            }
            div.session-title {
                (rename::editable(context, log.session, row))
                div.session-acts {
                    @if row.archived { (restore(context, row)) } @else { (resume(context, row)) }
                    (export(&row.id))
                }
            }
            p.session-facts {
                @if row.archived { (archived_tag()) }
                @if let Some(cwd) = &row.cwd { code.cut title="Directory" { bdi { (shown(cwd)) } } }
                @if let Some(branch) = row.branch.as_deref().filter(|branch| !branch.is_empty()) { span.tag title="Git branch" { bdi { (shown(branch)) } } }
                @if let Some(model) = &row.model { span.tag title=(shown(model)) { bdi { (short_model(model)) } } }
                @if let Some(version) = &row.version { span.faint title="Client" { bdi { "v" (shown(version)) } } }
                @if let Some(mode) = &head.permission_mode { span.tag title="Permission mode" { bdi { (shown(mode)) } } }
            }
            @if let Some(now_doing) = now_doing { (status(context, now_doing)) }
            (numbers(context, head))
            // Needs all of the log: fetched when the page is there.
            div #facts .facts data-load=(format!("/session/{}/facts", row.id)) {
                noscript { a href=(format!("/session/{}/facts", row.id)) { "Cost, health and context" } }
            }
        }
    }
}

/// How far the session is. The script keeps it new.
pub(super) fn numbers(context: &Context, head: &SessionHead) -> Markup {
    let (row, counts, now) = (&head.session, &head.counts, context.library.now());
    html! {
        dl #session-numbers .session-numbers {
            @if let Some(started) = row.started {
                div { dt { "Started" } dd { (time_tag(now, context.library.zone(), started.0)) } }
            }
            div { dt { "Updated" } dd { (age_tag(now, context.library.zone(), row.updated.0)) } }
            div { dt { "Turns" } dd { (count(counts.turns as u64)) } }
            div { dt { "Messages" } dd { (count(counts.messages as u64)) } }
            div { dt { "Tool calls" } dd { (count(counts.tool_calls as u64)) @if counts.failed_tool_calls > 0 { span.bad { " " (count(counts.failed_tool_calls as u64)) " failed" } } } }
            div { dt { "Output tokens" } dd title=(format!("{} tokens", count(head.tokens.output))) { (short(head.tokens.output)) } }
            div { dt { "Size" } dd { (size(row.bytes)) } }
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
fn restore(context: &Context, row: &recto_view::SessionRow) -> Markup {
    let command = format!("recto restore {}", row.id);
    html! {
        @if context.allows_edits {
            button.button.primary type="button" data-restore=(format!("/api/v1/sessions/{}/restore", row.id)) { "Restore" }
        } @else {
            button.button.primary type="button" data-copy=(command) data-copied="Command copied: paste it in a terminal" title=(command) { "Restore" }
        }
    }
}

fn resume(context: &Context, row: &recto_view::SessionRow) -> Markup {
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
