//! Maps of heat: how much happened on each day of a year, and at each hour of a
//! week. Drawn as SVG; colours come from the style sheet by class.

use jiff::ToSpan;
use jiff::civil::Date;
use maud::Markup;
use maud::html;

use crate::pages::format::plural;
use crate::pages::format::short;
use recto_view::Activity;
use recto_view::Amounts;
use recto_view::Measure;
use recto_view::WEEKS;

/// A square and the room around it.
const SQUARE: usize = 15;
const STEP: usize = 18;
const LEFT: usize = 30;
const TOP: usize = 18;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The step of colour of a value, from 0 for nothing to 4. Steps are quarters of
/// the largest by square roots: a few very busy days must not pale all others.
fn step(value: u64, most: u64) -> u64 {
    if value == 0 || most == 0 {
        return 0;
    }
    let share = (value as f64 / most as f64).sqrt();
    ((share * 4.0).ceil() as u64).clamp(1, 4)
}

/// A year, a column for each week. A day leads to its sessions.
pub(crate) fn by_day(activity: &Activity, by: Measure) -> Markup {
    let today = activity.today;
    let weekday = today.weekday().to_monday_zero_offset() as i64;
    let first = today.saturating_sub((7 * (WEEKS as i64 - 1) + weekday).days());
    let most = activity.days.values().map(|day| day.of(by)).max().unwrap_or(0);
    let days: Vec<Date> = first.series(1.day()).take_while(|day| *day <= today).collect();
    let width = LEFT + STEP * WEEKS;
    let height = TOP + STEP * 7;
    let total: u64 = activity.days.values().map(|day| day.messages).sum();
    html! {
        svg.heat.heat-year viewBox=(format!("0 0 {width} {height}")) role="group"
            aria-label=(format!("{} on {} days of the last year", plural(total, "message"), activity.days.len())) {
            @for (row, name) in DAYS.iter().enumerate().step_by(2) {
                text x="0" y=(TOP + STEP * row + SQUARE - 4) { (name) }
            }
            @for (at, day) in days.iter().enumerate() {
                @let (column, row) = (at / 7, at % 7);
                @if day.day() <= 7 && row == 0 && column + 2 < WEEKS {
                    text x=(LEFT + STEP * column) y=(TOP - 6) { (day.strftime("%b").to_string()) }
                }
                @let what = activity.days.get(day).copied().unwrap_or_default();
                @let square = html! {
                    rect class=(format!("heat-{}", step(what.of(by), most))) x=(LEFT + STEP * column)
                        y=(TOP + STEP * row) width=(SQUARE) height=(SQUARE) rx="2" { title { (day_words(*day, &what)) } }
                };
                @if what.messages == 0 { (square) }
                // A year of links is no way for keys; the list of sessions has them all.
                @else { a href=(format!("/sessions?day={day}")) tabindex="-1" aria-label=(day_words(*day, &what)) { (square) } }
            }
        }
    }
}

fn day_words(day: Date, what: &Amounts) -> String {
    let day = day.strftime("%a, %b %-d, %Y").to_string();
    if what.messages == 0 {
        return format!("{day}: nothing");
    }
    let (messages, sessions) = (plural(what.messages, "message"), plural(what.sessions, "session"));
    format!("{day}: {messages} in {sessions}, {} output tokens", short(what.output))
}

/// A week, a column for each hour.
pub(crate) fn by_hour(activity: &Activity) -> Markup {
    let most = activity.hours.iter().flatten().copied().max().unwrap_or(0);
    let wide = 18;
    let width = LEFT + wide * 24;
    let height = TOP + STEP * 7;
    html! {
        svg.heat.heat-week viewBox=(format!("0 0 {width} {height}")) role="img"
            aria-label="Messages by weekday and hour" {
            @for hour in (0..24).step_by(3) {
                text x=(LEFT + wide * hour) y=(TOP - 6) { (format!("{hour:02}")) }
            }
            @for (row, hours) in activity.hours.iter().enumerate() {
                text x="0" y=(TOP + STEP * row + SQUARE - 4) { (DAYS[row]) }
                @for (hour, messages) in hours.iter().enumerate() {
                    rect class=(format!("heat-{}", step(*messages, most))) x=(LEFT + wide * hour)
                        y=(TOP + STEP * row) width=(wide - 3) height=(SQUARE) rx="2" {
                        title { (DAYS[row]) ", " (format!("{hour:02}:00")) ": " (plural(*messages, "message")) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_never_drawn_as_nothing() {
        assert_eq!(step(0, 10), 0);
        assert_eq!(step(1, 1_000_000), 1);
        assert_eq!(step(10, 10), 4);
        assert_eq!(step(0, 0), 0);
    }
}
