//! Plans that were made in plan mode: a list, and one to read.

use axum::extract::State;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;
use sha2::Digest as _;
use sha2::Sha256;

use super::ROWS;
use super::empty;
use super::explain::page_number;
use super::link::Link;
use super::paging;
use super::session_address;
use super::text::clock;
use super::text::one_line;
use super::text::plural;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::data;
use crate::data::PlanView;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::text::markdown;
use crate::parameters::Parameters;

pub(crate) async fn plans(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let wanted = parameters.text("plan");
    let number = page_number(&mut parameters)?;
    parameters.finish()?;
    let plans = context.work(|context| data::plans(context, None)).await?;
    let zone = &context.zone;
    let Some(wanted) = wanted else {
        return Ok(page("Plans", Nav::Plans, &list(&plans, number, zone)));
    };
    let found = plans.iter().find(|plan| key(plan) == wanted);
    let found = found.ok_or_else(|| Failure::not_found("there is no such plan any more"))?;
    Ok(page(&title(found), Nav::Plans, &reader(found, zone)))
}

/// A name that stays the same as long as the plan does.
fn key(plan: &PlanView) -> String {
    let mut hash = Sha256::new();
    let (turn, time) = (plan.turn.to_string(), plan.time.map(|time| time.0.to_string()));
    let parts = [plan.session.as_deref(), plan.agent.as_deref(), Some(&*turn), time.as_deref()];
    for part in parts.into_iter().chain([Some(plan.text.as_str())]) {
        hash.update(part.unwrap_or_default().as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The first line that says something, without the marks of a heading.
fn title(plan: &PlanView) -> String {
    let mut lines = plan.text.lines().map(|line| line.trim_start_matches('#').trim());
    let line = one_line(lines.find(|line| !line.is_empty()).unwrap_or_default());
    if line.is_empty() { "A plan without text".to_owned() } else { line }
}

fn state(plan: &PlanView) -> Markup {
    match (&plan.session, plan.agreed) {
        (None, _) => html! { span.tag { "file" } },
        (_, Some(true)) => html! { span.tag.good { "agreed" } },
        (_, Some(false)) => html! { span.tag.bad { "refused" } },
        (_, None) => html! { span.tag.warn { "open" } },
    }
}

fn list(plans: &[PlanView], number: usize, zone: &TimeZone) -> Markup {
    let agreed = plans.iter().filter(|plan| plan.agreed == Some(true)).count();
    html! {
        header.page-head {
            h1 { "Plans" }
            p { (plural(plans.len() as u64, "plan")) " that were shown in plan mode, " (agreed) " agreed to. Newest first." }
        }
        section.panel aria-label="Plans" {
            @if plans.is_empty() {
                (empty("No plans", "When a session in plan mode shows a plan, it is kept here."))
            } @else {
                div.table-scroll {
                    table.table {
                        thead { tr { th { "Plan" } th { "Answer" } th.hide-narrow { "Session" } th { "When" } } }
                        tbody {
                            @for plan in plans.iter().skip((number - 1) * ROWS).take(ROWS) {
                                tr {
                                    td.wide { div.cut { a href=(Link::new("/plans").with("plan", &key(plan))) { bdi { (title(plan)) } } } }
                                    td { (state(plan)) }
                                    td.nowrap.hide-narrow { (place(plan)) }
                                    td.nowrap.number { (when(plan, zone)) }
                                }
                            }
                        }
                    }
                }
                div.panel-foot { (paging(&Link::new("/plans"), number, plans.len(), "plans")) }
            }
        }
    }
}

fn when(plan: &PlanView, zone: &TimeZone) -> Markup {
    html! {
        @match plan.time {
            Some(time) => time datetime=(time.0) { (clock(time.0, zone)) },
            None => span.faint { "unknown" }
        }
    }
}

fn place(plan: &PlanView) -> Markup {
    html! {
        @match &plan.session {
            Some(id) => a href=(session_address(id, plan.agent.as_deref(), plan.turn)) { (id.chars().take(8).collect::<String>()) " · turn " (plan.turn) },
            None => span.faint { bdi { (plan.file.as_deref().map_or_else(|| "no session".to_owned(), one_line)) } }
        }
    }
}

fn reader(plan: &PlanView, zone: &TimeZone) -> Markup {
    html! {
        header.page-head {
            h1 { bdi { (title(plan)) } }
            a.button href="/plans" { "← Plans" }
            p { (state(plan)) " " (when(plan, zone)) " · " (place(plan))
                @if let (Some(_), Some(file)) = (&plan.session, &plan.file) { " · " span.mono { bdi { (one_line(file)) } } }
            }
        }
        article.panel.plan-text {
            div.panel-body.prose {
                @if plan.text.trim().is_empty() { p.muted { "Its text is not in the log, and its file is gone." } }
                (markdown(&plan.text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> PlanView {
        PlanView {
            session: Some("01234567-89ab".into()),
            agent: None,
            turn: 2,
            time: None,
            agreed: Some(true),
            file: Some("<f>.md".into()),
            text: text.into(),
        }
    }

    #[test]
    fn plans_are_listed_read_and_stay_text() {
        let plans = [plan("# Do <script>x</script>\n\n1. first\n2. second"), plan("")];
        let listed = list(&plans, 1, &TimeZone::UTC).into_string();
        assert!(
            listed.contains("Do &lt;script&gt;") && listed.contains("A plan without text"),
            "{listed}"
        );
        assert!(listed.contains(&format!("/plans?plan={}", key(&plans[0]))), "{listed}");
        let read = reader(&plans[0], &TimeZone::UTC).into_string();
        assert!(read.contains("/session/01234567-89ab?from=2#turn-2"), "{read}");
        assert!(read.contains("<li>first</li>") && !read.contains("<script"), "{read}");
        assert_ne!(key(&plans[0]), key(&plans[1]));
        assert!(list(&[], 1, &TimeZone::UTC).into_string().contains("No plans"));
    }
}
