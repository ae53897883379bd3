//! How work goes: activity, quality, the cache, the context. Every figure has its rule beside it
//! and a link to what it is made of.

use axum::extract::State;
use maud::Markup;
use maud::html;

use super::bars::cell_bar;
use super::empty;
use super::link::Link;
use super::period_choice;
use super::period_link;
use super::progress;
use super::session_link;
use super::text::clock;
use super::text::count;
use super::text::duration;
use super::text::one_line;
use super::text::percent;
use super::text::plural;
use super::text::short;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::card::Card;
use crate::pages::card::card;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::parameters::Parameters;
use recto_view::CACHE_MISS_RULE;
use recto_view::figures::Choice;
use recto_view::figures::Period;
use recto_view::figures::Progress;
use recto_view::insights::ACTIVITY_RULES;
use recto_view::insights::ActivityInsight;
use recto_view::insights::CONTEXT_RULE;
use recto_view::insights::CacheInsight;
use recto_view::insights::CacheRow;
use recto_view::insights::ContextInsight;
use recto_view::insights::QUALITY_RULES;
use recto_view::insights::QualityBy;
use recto_view::insights::QualityInsight;
use recto_view::insights::QualityRow;

/// The pages, with what they are called.
const PAGES: [(&str, &str); 4] = [
    ("/insights", "Activity"),
    ("/insights/quality", "Quality"),
    ("/insights/cache", "Cache"),
    ("/insights/context", "Context"),
];

/// What is asked.
struct Asked {
    path: &'static str,
    period: Period,
    by: Option<QualityBy>,
}

impl Asked {
    fn take(
        path: &'static str,
        context: &Context,
        mut parameters: Parameters,
        usual: Option<QualityBy>,
    ) -> Result<Asked, Failure> {
        let period = parameters.period(Choice::Days(30), &context.library)?;
        let by = match usual {
            None => None,
            Some(usual) => match parameters.text("by") {
                Some(name) => Some(QualityBy::named(&name)?),
                None => Some(usual),
            },
        };
        parameters.finish()?;
        Ok(Asked { path, period, by })
    }

    fn span(&self, context: &Context) -> recto_view::insights::TimeSpan {
        let zone = context.library.zone();
        (self.period.since(zone), self.period.until(zone))
    }

    fn link(&self) -> Link {
        period_link(self.path, &self.period).with_some("by", self.by.map(QualityBy::name))
    }

    /// A page with the head that all of them have.
    fn page(&self, looked: Option<Progress>, body: &Markup) -> Page {
        let name = PAGES.iter().find(|(path, _)| *path == self.path).map_or("", |(_, name)| name);
        let markup = html! {
            header.page-head {
                h1 { "Insights: " (name.to_lowercase()) }
                (period_choice(&self.period, &self.link()))
            }
            nav.choice.insight-pages aria-label="Insights" {
                @for (path, name) in PAGES {
                    a href=(period_link(path, &self.period)) aria-current=[(path == self.path).then_some("page")] { (name) }
                }
            }
            @if let Some(looked) = looked { (progress(looked)) }
            (body)
        };
        page(&format!("{name} · Insights"), Nav::Insights, &markup)
    }

    /// The choice of what rows stand for.
    fn groups(&self, all: &[QualityBy]) -> Markup {
        html! {
            nav.choice aria-label="Group by" {
                @for by in all {
                    a href=(self.link().with("by", by.name())) aria-current=[(Some(*by) == self.by).then_some("true")] { "By " (by.name()) }
                }
            }
        }
    }
}

/// A figure with what is to be said of it: our own words and numbers.
fn figure(label: &'static str, value: &str, note: &Markup) -> Card {
    card(label, value, &note.0)
}

fn rules(rules: &[&str]) -> Markup {
    html! { details.rules { summary { "How this is counted" } ul { @for rule in rules { li { (rule) } } } } }
}

pub(crate) async fn activity(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let asked = Asked::take("/insights", &context, parameters, None)?;
    let span = asked.span(&context);
    let work = move |context: &Context| {
        let looked = context.library.survey().progress;
        Ok((context.library.activity_insight(span), looked))
    };
    let (insight, looked) = context.work(work).await?;
    let zone = context.library.zone();
    let peak = insight.peak_at.map(|at| clock(at.0, zone));
    Ok(asked.page(Some(looked), &activity_body(&insight, peak.as_deref())))
}

fn activity_body(insight: &ActivityInsight, peak: Option<&str>) -> Markup {
    if insight.working_ms == 0 {
        return html! { div.panel { (empty("No work in this period", "No turn of a session was written in this period.")) } };
    }
    let longest =
        insight.hours.iter().map(|hour| hour.working_ms.max(hour.waiting_ms)).max().unwrap_or(0);
    html! {
        dl.cards {
            (figure("Working", &duration(insight.working_ms), &html! { "on " (plural(insight.days as u64, "day")) }))
            (figure("Waiting for you", &duration(insight.waiting_ms), &html! { (plural(insight.waits, "time")) }))
            (figure("Median wait", &insight.median_wait_ms.map_or_else(|| "–".to_owned(), duration), &html! { "from an answer to your next prompt" }))
            (figure("Most at once", &count(u64::from(insight.peak)), &html! { @if let Some(peak) = peak { (peak) } }))
        }
        section.panel aria-labelledby="hours-title" {
            div.panel-head { h2 #hours-title { "Over the day" } }
            div.table-scroll {
                table.table {
                    thead { tr { th { "Hour" } th.number { "Most at once" } th.number { "On average" } th.number { "Working" } th { span.unseen { "Working, drawn" } } th.number { "Waiting for you" } th { span.unseen { "Waiting, drawn" } } } }
                    tbody {
                        @for hour in &insight.hours {
                            tr {
                                td.number { (format!("{:02}:00", hour.hour)) }
                                td.number { (hour.peak) }
                                td.number { (format!("{:.2}", hour.average)) }
                                td.number { @if hour.working_ms > 0 { (duration(hour.working_ms)) } }
                                td.bar-cell { (cell_bar(u128::from(hour.working_ms), u128::from(longest), 0)) }
                                td.number { @if hour.waiting_ms > 0 { (duration(hour.waiting_ms)) } }
                                td.bar-cell { (cell_bar(u128::from(hour.waiting_ms), u128::from(longest), 1)) }
                            }
                        }
                    }
                }
            }
        }
        section.panel aria-labelledby="waits-title" {
            div.panel-head { h2 #waits-title { "Sessions that waited longest" } }
            div.table-scroll {
                table.table {
                    thead { tr { th { "Session" } th.number { "Waited" } th.number { "Worked" } th.number { "Longest wait" } th { "Before" } } }
                    tbody {
                        @for row in &insight.sessions {
                            tr {
                                td.wide { div.cut { (session_link(Some(&row.session), None, 0, row.title.as_deref())) } }
                                td.number { (duration(row.waiting_ms)) }
                                td.number { (duration(row.working_ms)) }
                                td.number { (duration(row.longest_ms)) }
                                td { a href=(super::session_address(&row.session, None, row.longest_turn)) { "turn " (row.longest_turn) } }
                            }
                        }
                    }
                }
            }
        }
        (rules(&ACTIVITY_RULES))
    }
}

pub(crate) async fn quality(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let asked = Asked::take("/insights/quality", &context, parameters, Some(QualityBy::Tool))?;
    let (span, by) = (asked.span(&context), asked.by.unwrap_or_default());
    let work = move |context: &Context| {
        let looked = context.library.survey().progress;
        Ok((context.library.quality_insight(span, by), looked))
    };
    let (insight, looked) = context.work(work).await?;
    let body = html! { (asked.groups(&QualityBy::ALL)) (quality_body(&insight, &asked)) };
    Ok(asked.page(Some(looked), &body))
}

fn quality_body(insight: &QualityInsight, asked: &Asked) -> Markup {
    let total = &insight.total;
    let has_turns = asked.by != Some(QualityBy::Tool);
    let largest = insight.rows.iter().map(|row| u128::from(row.failed)).max().unwrap_or(0);
    let tools = period_link("/tools", &asked.period);
    let key = |row: &QualityRow| {
        html! {
            @match asked.by {
                Some(QualityBy::Tool) => a href=(tools.with("tool", &row.key)) { bdi { (one_line(&row.key)) } },
                _ => bdi { (one_line(&row.key)) },
            }
        }
    };
    html! {
        dl.cards {
            (figure("Failed calls", &count(total.failed), &html! { "of " (plural(total.calls, "call")) ", " (percent(total.failed_percent())) }))
            (figure("Retries", &count(total.retries), &html! { (count(total.repaired)) " repaired" }))
            (figure("Stopped turns", &count(total.interrupted), &html! { "of " (plural(total.turns, "turn")) }))
            (figure("API errors", &count(total.api_errors), &html! { "error responses" }))
        }
        section.panel aria-label="Quality" {
            div.table-scroll {
                table.table {
                    thead {
                        tr {
                            th { (super::text::capitalised(insight.by)) } th.number { "Calls" } th.number { "Failed" } th.number { "Share" }
                            th { span.unseen { "Failed, drawn" } } th.number.hide-narrow { "Retries" } th.number.hide-narrow { "Repaired" }
                            @if has_turns { th.number.hide-narrow { "Stopped" } th.number.hide-narrow { "API errors" } }
                            th.hide-narrow { "Evidence" }
                        }
                    }
                    tbody {
                        @for row in insight.rows.iter().take(100) {
                            tr {
                                td.wide { div.cut { (key(row)) } }
                                td.number { (count(row.calls)) }
                                td.number { (count(row.failed)) }
                                td.number { (percent(row.failed_percent())) }
                                td.bar-cell { (cell_bar(u128::from(row.failed), largest, 0)) }
                                td.number.hide-narrow { (count(row.retries)) }
                                td.number.hide-narrow { (count(row.repaired)) }
                                @if has_turns { td.number.hide-narrow { (count(row.interrupted)) } td.number.hide-narrow { (count(row.api_errors)) } }
                                td.hide-narrow.nowrap { @if let Some(session) = &row.session { a href=(format!("/session/{}?show=errors", super::link::segment(session))) { "most failures" } } }
                            }
                        }
                    }
                }
            }
        }
        (rules(&QUALITY_RULES))
    }
}

/// By what the cache is grouped.
const CACHE_BY: [QualityBy; 3] = [QualityBy::Project, QualityBy::Model, QualityBy::Week];

pub(crate) async fn cache(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let asked = Asked::take("/insights/cache", &context, parameters, Some(QualityBy::Project))?;
    let (span, by) = (asked.span(&context), asked.by.unwrap_or_default());
    let insight = context.answer(move |library| Ok(library.cache_insight(span, by))).await?;
    let body = html! { (asked.groups(&CACHE_BY)) (cache_body(&insight)) };
    Ok(asked.page(None, &body))
}

fn cache_table(name: &str, rows: &[CacheRow], are_sessions: bool) -> Markup {
    let hit = |row: &CacheRow| row.hit_percent().map_or_else(|| "–".to_owned(), percent);
    html! {
        div.table-scroll {
            table.table {
                thead { tr { th { (name) } th.number { "Messages" } th.number { "Cache hit" } th.number.hide-narrow { "Read" } th.number.hide-narrow { "Written" } th.number { "Misses" } th.number { "Tokens sent again" } } }
                tbody {
                    @for row in rows.iter().take(100) {
                        tr {
                            td.wide {
                                div.cut {
                                    @if are_sessions {
                                        a href=(format!("/session/{}/cost", super::link::segment(&row.key))) { bdi { (row.title.as_deref().map_or_else(|| one_line(&row.key), one_line)) } }
                                    } @else { bdi { (one_line(&row.key)) } }
                                }
                            }
                            td.number { (count(row.messages)) }
                            td.number { (hit(row)) }
                            td.number.hide-narrow { (short(row.read_tokens)) }
                            td.number.hide-narrow { (short(row.written_tokens)) }
                            td.number { (count(row.misses)) }
                            td.number { (short(row.missed_tokens)) }
                        }
                    }
                }
            }
        }
    }
}

fn cache_body(insight: &CacheInsight) -> Markup {
    let total = &insight.total;
    if total.messages == 0 {
        return html! { div.panel { (empty("No usage in this period", "No message of a model was logged in this period.")) } };
    }
    html! {
        dl.cards {
            (figure("Cache hit", &total.hit_percent().map_or_else(|| "–".to_owned(), percent), &html! { "of " (short(total.sent_tokens)) " tokens sent" }))
            (figure("Written", &short(total.written_tokens), &html! { "tokens" }))
            (figure("Misses", &count(total.misses), &html! { "of " (plural(total.messages, "message")) }))
            (figure("Sent again", &short(total.missed_tokens), &html! { "tokens that the cache no longer had" }))
        }
        section.panel aria-label="Cache" { (cache_table(&super::text::capitalised(insight.by), &insight.rows, false)) }
        @if !insight.sessions.is_empty() {
            section.panel aria-labelledby="missing-title" {
                div.panel-head { h2 #missing-title { "Sessions that missed most" } }
                (cache_table("Session", &insight.sessions, true))
            }
        }
        (rules(&[CACHE_MISS_RULE]))
    }
}

pub(crate) async fn growth(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let asked = Asked::take("/insights/context", &context, parameters, None)?;
    let span = asked.span(&context);
    let insight = context.answer(move |library| Ok(library.context_insight(span))).await?;
    Ok(asked.page(None, &context_body(&insight)))
}

fn context_body(insight: &ContextInsight) -> Markup {
    if insight.sessions.is_empty() {
        return html! { div.panel { (empty("No usage in this period", "No message of a model was logged in this period.")) } };
    }
    let largest = insight.steps.iter().map(|step| u128::from(step.p90_tokens)).max().unwrap_or(0);
    html! {
        section.panel aria-labelledby="growth-title" {
            div.panel-head { h2 #growth-title { "How contexts grow" } span.faint { (plural(insight.sessions_seen as u64, "session")) } }
            div.table-scroll {
                table.table {
                    thead { tr { th.number { "Message" } th.number { "Sessions" } th.number { "Median context" } th { span.unseen { "Median, drawn" } } th.number { "90th percentile" } th { span.unseen { "90th percentile, drawn" } } } }
                    tbody {
                        @for step in &insight.steps {
                            tr {
                                td.number { (count(step.message as u64)) }
                                td.number { (count(step.sessions as u64)) }
                                td.number { (short(step.median_tokens)) }
                                td.bar-cell { (cell_bar(u128::from(step.median_tokens), largest, 0)) }
                                td.number { (short(step.p90_tokens)) }
                                td.bar-cell { (cell_bar(u128::from(step.p90_tokens), largest, 1)) }
                            }
                        }
                    }
                }
            }
        }
        section.panel aria-labelledby="largest-title" {
            div.panel-head { h2 #largest-title { "Largest contexts" } }
            div.table-scroll {
                table.table {
                    thead { tr { th { "Session" } th.number { "Messages" } th.number.hide-narrow { "First" } th.number { "Peak" } th.number.hide-narrow { "Last" } th.number.hide-narrow { "Growth per message" } th.number { "Compacted or cleared" } } }
                    tbody {
                        @for row in &insight.sessions {
                            tr {
                                td.wide { div.cut { a href=(format!("/session/{}/cost", super::link::segment(&row.session))) { bdi { (row.title.as_deref().map_or_else(|| one_line(&row.session), one_line)) } } } }
                                td.number { (count(row.messages as u64)) }
                                td.number.hide-narrow { (short(row.first_tokens)) }
                                td.number { (short(row.peak_tokens)) }
                                td.number.hide-narrow { (short(row.last_tokens)) }
                                td.number.hide-narrow { (short(row.growth_tokens)) }
                                td.number { (row.drops) }
                            }
                        }
                    }
                }
            }
        }
        (rules(&[CONTEXT_RULE]))
    }
}
