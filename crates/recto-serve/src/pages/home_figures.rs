//! The figures of the first page: what it cost, when it was, which sessions were large.
//! All choices are links with parameters.

use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;
use recto_session::usage::Money;
use recto_session::usage::Total;

use crate::answer::Failure;
use crate::context::Context;
use crate::pages::card::Card;
use crate::pages::card::Sense;
use crate::pages::figures::Link;
use crate::pages::figures::cost;
use crate::pages::figures::dollars;
use crate::pages::figures::percent;
use crate::pages::figures::period_choice;
use crate::pages::figures::period_link;
use crate::pages::format::count;
use crate::pages::format::duration;
use crate::pages::format::plural;
use crate::pages::format::short;
use crate::pages::format::size;
use crate::pages::heat;
use crate::pages::sessions::address;
use crate::pages::sessions::project;
use crate::pages::sessions::short_model;
use crate::pages::sessions::title;
use crate::parameters::Parameters;
use recto_view::Activity;
use recto_view::ActivityQuestion;
use recto_view::Amounts;
use recto_view::Measure;
use recto_view::Overview;
use recto_view::SessionRow;
use recto_view::figures::Choice;
use recto_view::figures::Period;

/// What a reader can compare days and sessions by, as addresses and texts have it.
const HEAT: [(Measure, &str, &str); 3] = [
    (Measure::Messages, "messages", "Messages"),
    (Measure::Sessions, "sessions", "Sessions"),
    (Measure::Output, "output", "Output tokens"),
];
const TOP: [(Measure, &str, &str); 3] = [
    (Measure::Messages, "messages", "Messages"),
    (Measure::Duration, "duration", "Duration"),
    (Measure::Output, "output", "Output tokens"),
];

/// What is asked of the page.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    period: Period,
    model: Option<String>,
    heat: Measure,
    top: Measure,
}

impl Asked {
    pub(super) fn take(parameters: &mut Parameters, context: &Context) -> Result<Asked, Failure> {
        let usual = Choice::Days(30);
        Ok(Asked {
            period: parameters.period(usual, &context.library)?,
            model: parameters.text("model"),
            heat: measure(parameters, "heat", &HEAT)?,
            top: measure(parameters, "top", &TOP)?,
        })
    }

    pub(super) fn question(&self) -> ActivityQuestion {
        let (period, model) = (self.period.clone(), self.model.clone());
        ActivityQuestion { period, model, top_by: self.top }
    }

    fn link(&self) -> Link {
        let name = |measure: Measure, known: &[(Measure, &'static str, &str)]| {
            let found = known.iter().skip(1).find(|(one, _, _)| *one == measure);
            found.map(|(_, name, _)| *name)
        };
        period_link("/", &self.period)
            .with_some("model", self.model.as_deref())
            .with_some("heat", name(self.heat, &HEAT))
            .with_some("top", name(self.top, &TOP))
    }
}

/// The first one is meant where none is named.
fn measure(
    parameters: &mut Parameters,
    name: &str,
    known: &[(Measure, &str, &str)],
) -> Result<Measure, Failure> {
    let Some(text) = parameters.text(name) else { return Ok(known[0].0) };
    let found = known.iter().find(|(_, known, _)| *known == text);
    found.map(|(measure, _, _)| *measure).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(_, name, _)| *name).collect();
        Failure::bad_request("bad-parameter", format!("unknown value for `{name}`"))
            .with_hint(format!("it is one of {}", names.join(", ")))
    })
}

pub(super) fn figures(
    asked: &Asked,
    overview: &Overview,
    sessions: usize,
    activity: &Activity,
    top: &[TopRow],
    zone: &TimeZone,
) -> Markup {
    let link = asked.link();
    html! {
        div.figure-head {
            h2 { "Figures" span.faint { " " (asked.period.text()) } }
            (period_choice(&asked.period, &link))
            (model_choice(asked, activity, &link))
            a.button.quiet href=(link.at("/usage.csv").without(&["heat", "top"]).with("by", "day")) download { "CSV" }
        }
        (cards(overview, sessions, activity, asked))
        section.panel #activity {
            div.panel-head {
                h2 { "Activity" span.faint { " last 12 months" } }
                (choice(&link, "heat", asked.heat, &HEAT, "activity"))
                (scale())
            }
            div.panel-body.heat-scroll { (heat::by_day(activity, asked.heat)) }
        }
        div.columns {
            section.panel {
                div.panel-head { h2 { "By day and hour" span.faint { " messages" } } span.faint { (zone.iana_name().unwrap_or("local time")) } }
                div.panel-body { (heat::by_hour(activity)) }
            }
            (top_panel(asked, top, &link))
        }
    }
}

/// A choice of one of a few measures.
fn choice(
    link: &Link,
    name: &str,
    current: Measure,
    known: &[(Measure, &str, &str)],
    place: &str,
) -> Markup {
    html! {
        nav.choice aria-label=(name) {
            @for (at, (measure, value, text)) in known.iter().enumerate() {
                @let there = if at == 0 { link.without(&[name]) } else { link.with(name, value) };
                a href=(format!("{there}#{place}")) aria-current=[(*measure == current).then_some("true")] { (text) }
            }
        }
    }
}

fn model_choice(asked: &Asked, activity: &Activity, link: &Link) -> Markup {
    let hidden = link.without(&["model"]);
    let other = asked.model.as_ref().filter(|model| !activity.models.contains(*model));
    html! {
        form.filters action="/" {
            @for (name, value) in hidden.pairs() { input type="hidden" name=(name) value=(value); }
            label.unseen for="model" { "Model" }
            select #model .field name="model" data-submit {
                option value="" { "All models" }
                @for model in activity.models.iter().chain(other) {
                    option value=(model) selected[asked.model.as_ref() == Some(model)] { (short_model(model)) }
                }
            }
            noscript { button.button { "Show" } }
        }
    }
}

fn cards(overview: &Overview, sessions: usize, activity: &Activity, asked: &Asked) -> Markup {
    let (total, today) = (&activity.usage, &activity.usage_today);
    let before = activity.usage_before.as_ref();
    let of = |what: &dyn Fn(&Total) -> u128| before.map(|before| (what(total), what(before)));
    let burn = Money::from_pico(total.known_cost.pico() / u128::from(activity.day_count.max(1)));
    let rate =
        |total: &Total| total.tokens.cache_hit_percent().map_or(0, |hit| (hit * 1000.0) as u128);
    let usage = asked.link().at("/usage").without(&["heat", "top"]);
    let cost_note = match before {
        Some(_) => "compared with the previous period",
        None if asked.period.before().is_some() => "nothing in the previous period",
        None => "in total",
    };
    let spread = activity.messages_of_session;
    html! {
        dl.cards.home-cards {
            (Card::new("Cost", cost(total), cost_note)
                .against(Sense::Less, of(&|total| total.known_cost.pico()))
                .leading_to(Some(usage)))
            (Card::new("Cost today", cost(today), plural(today.messages, "message")))
            (Card::new("Daily average", dollars(burn), format!("over {}", plural(activity.day_count, "day"))))
            (Card::new("Cache hit", total.tokens.cache_hit_percent().map_or_else(|| "–".into(), percent), "of input tokens")
                .against(Sense::More, of(&rate)))
            (Card::new("Output tokens", short(total.tokens.output), "written by models")
                .against(Sense::Neither, of(&|total| total.tokens.output.into())))
            (Card::new("Messages", count(total.messages), format!("in {}", plural(activity.session_count as u64, "session")))
                .against(Sense::Neither, of(&|total| total.messages.into())))
            (Card::new("Messages per session", spread.map_or_else(|| "–".into(), |(median, _)| count(median)),
                spread.map_or_else(String::new, |(_, p90)| format!("median; 90th percentile {}", count(p90)))))
            (Card::new("All sessions", count(sessions as u64), format!("{}, {}", plural(overview.projects as u64, "project"), size(overview.bytes))))
        }
    }
}

fn scale() -> Markup {
    html! {
        span.heat-scale aria-hidden="true" {
            "less "
            svg viewBox="0 0 68 11" { @for step in 0..5 { rect class=(format!("heat-{step}")) x=(step * 14) width="11" height="11" rx="2" {} } }
            " more"
        }
    }
}

pub(super) struct TopRow {
    row: SessionRow,
    amounts: Amounts,
}

pub(super) fn top_rows(context: &Context, activity: &Activity) -> Vec<TopRow> {
    let rows =
        context.library.session_rows(activity.top.iter().filter_map(|top| top.id.parse().ok()));
    let rows = rows.into_iter().filter_map(|row| {
        let top = activity.top.iter().find(|top| top.id == row.id)?;
        Some(TopRow { amounts: top.amounts, row })
    });
    rows.collect()
}

fn top_panel(asked: &Asked, top: &[TopRow], link: &Link) -> Markup {
    let value = |amounts: &Amounts| match asked.top {
        Measure::Messages | Measure::Sessions => count(amounts.messages),
        Measure::Output => short(amounts.output),
        Measure::Duration => duration(amounts.milliseconds),
    };
    let all = |amounts: &Amounts| {
        format!(
            "{}, {} output tokens, {} from the first to the last",
            plural(amounts.messages, "message"),
            count(amounts.output),
            duration(amounts.milliseconds)
        )
    };
    html! {
        section.panel #top {
            div.panel-head {
                h2 { "Top sessions" }
                (choice(link, "top", asked.top, &TOP, "top"))
                a.button.quiet.small href=(link.at("/usage.csv").without(&["heat", "top"]).with("by", "session")) download { "CSV" }
            }
            @if top.is_empty() {
                p.panel-body.faint { "No messages in this period." }
            } @else {
                ol.top-list {
                    @for entry in top {
                        li {
                            a.top href=(address(&entry.row)) title=(all(&entry.amounts)) {
                                span.cut.top-title { bdi { (title(&entry.row)) } }
                                span.faint.cut { bdi { (project(&entry.row)) } }
                                span.number { (value(&entry.amounts)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
