//! Plans that were made in plan mode: a list, and one to read.

use std::collections::HashMap;

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
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::text::markdown;
use crate::parameters::Parameters;
use recto_view::PlanRow;
use recto_view::PlanScope;

pub(crate) async fn plans(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let wanted = parameters.text("plan");
    let number = page_number(&mut parameters)?;
    parameters.finish()?;
    let from = (number - 1) * ROWS;
    let is_list = wanted.is_none();
    let (plans, titles) = context
        .work(move |context| {
            let plans = context.library.plans(PlanScope::Home, &|_, _| {}).rows;
            let shown: &[PlanRow] =
                if is_list { plans.get(from..).unwrap_or_default() } else { &plans };
            let titles = titles(context, shown.iter().take(ROWS));
            Ok((plans, titles))
        })
        .await?;
    let zone = context.library.zone();
    let Some(wanted) = wanted else {
        return Ok(page("Plans", Nav::Plans, &list(&plans, &titles, number, zone)));
    };
    let found = plans.iter().find(|plan| key(plan) == wanted);
    let found = found.ok_or_else(|| Failure::not_found("the plan no longer exists"))?;
    Ok(page(&title(found), Nav::Plans, &reader(found, &titles, zone)))
}

/// What sessions are called, by their ids.
type Titles = HashMap<String, String>;

fn titles<'a>(context: &Context, plans: impl Iterator<Item = &'a PlanRow>) -> Titles {
    let inventory = context.library.inventory();
    let ids = plans.filter_map(|plan| plan.place.session.clone());
    let title = |id: String| {
        let title = context.library.title_of(&inventory, id.parse().ok()?)?;
        Some((id, title))
    };
    ids.filter_map(title).collect()
}

/// A name that stays the same as long as the plan does.
fn key(plan: &PlanRow) -> String {
    let mut hash = Sha256::new();
    let (turn, time) =
        (plan.place.turn.to_string(), plan.place.time.map(|time| time.0.to_string()));
    let parts =
        [plan.place.session.as_deref(), plan.place.agent.as_deref(), Some(&*turn), time.as_deref()];
    for part in parts.into_iter().chain([Some(plan.text.as_str())]) {
        hash.update(part.unwrap_or_default().as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The first line that says something, without the marks of a heading.
fn title(plan: &PlanRow) -> String {
    let line = one_line(plan.title());
    if line.is_empty() { "A plan without text".to_owned() } else { line }
}

fn state(plan: &PlanRow) -> Markup {
    match (&plan.place.session, plan.agreed) {
        (None, _) => html! { span.tag { "file only" } },
        (_, Some(true)) => html! { span.tag.good { "approved" } },
        (_, Some(false)) => html! { span.tag.bad { "rejected" } },
        (_, None) => html! { span.tag.warn { "no answer" } },
    }
}

fn list(plans: &[PlanRow], titles: &Titles, number: usize, zone: &TimeZone) -> Markup {
    let agreed = plans.iter().filter(|plan| plan.agreed == Some(true)).count();
    html! {
        header.page-head {
            h1 { "Plans" }
            p { (plural(plans.len() as u64, "plan")) " from plan mode, " (agreed) " of them approved. Newest first." }
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
                                    td.plan-session.hide-narrow { div.cut { (place(plan, titles)) } }
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

fn when(plan: &PlanRow, zone: &TimeZone) -> Markup {
    html! {
        @match plan.place.time {
            Some(time) => time datetime=(time.0) { (clock(time.0, zone)) },
            None => span.faint { "unknown" }
        }
    }
}

fn place(plan: &PlanRow, titles: &Titles) -> Markup {
    html! {
        @match &plan.place.session {
            Some(id) => a href=(session_address(id, plan.place.agent.as_deref(), plan.place.turn)) {
                bdi { (titles.get(id).map_or_else(|| id.chars().take(8).collect(), |title| one_line(title))) }
                span.faint { " · turn " (plan.place.turn) }
            },
            None => span.faint { bdi { (plan.file_name().map_or_else(|| "no session".to_owned(), one_line)) } }
        }
    }
}

fn reader(plan: &PlanRow, titles: &Titles, zone: &TimeZone) -> Markup {
    html! {
        header.page-head {
            h1 { bdi { (title(plan)) } }
            a.button href="/plans" { "← Plans" }
            p { (state(plan)) " " (when(plan, zone)) " · " (place(plan, titles))
                @if let (Some(_), Some(file)) = (&plan.place.session, plan.file_name()) { " · " span.mono { bdi { (one_line(file)) } } }
            }
        }
        article.panel.plan-text {
            div.panel-body.prose {
                @if plan.text.trim().is_empty() { p.muted { "Its text is not in the log, and its file no longer exists." } }
                (markdown(&plan.text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use recto_view::Place;

    use super::*;

    fn plan(text: &str) -> PlanRow {
        let mut place = Place::default();
        place.session = Some("01234567-89ab".into());
        place.turn = 2;
        let file = Some("<f>.md".into());
        PlanRow { place, agreed: Some(true), file, text: text.into() }
    }

    #[test]
    fn plans_are_listed_read_and_stay_text() {
        let plans = [plan("# Do <script>x</script>\n\n1. first\n2. second"), plan("")];
        let listed = list(
            &plans,
            &Titles::from([("01234567-89ab".into(), "The <parser>".into())]),
            1,
            &TimeZone::UTC,
        )
        .into_string();
        assert!(listed.contains("Do &lt;script&gt;") && listed.contains("&lt;f&gt;"), "{listed}");
        assert!(listed.contains("The &lt;parser&gt;"), "{listed}");
        assert!(listed.contains(&format!("/plans?plan={}", key(&plans[0]))), "{listed}");
        let read = reader(&plans[0], &Titles::new(), &TimeZone::UTC).into_string();
        assert!(read.contains("/session/01234567-89ab?from=2#turn-2"), "{read}");
        assert!(read.contains("<li>first</li>") && !read.contains("<script"), "{read}");
        assert_ne!(key(&plans[0]), key(&plans[1]));
        assert!(list(&[], &Titles::new(), 1, &TimeZone::UTC).into_string().contains("No plans"));
    }
}
