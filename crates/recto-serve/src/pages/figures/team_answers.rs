//! Answers to named questions as tables and charts. Every text in them is somebody else's.

use std::collections::BTreeSet;

use maud::Markup;
use maud::html;
use recto_session::usage::Money;

use super::bars::COLOURS;
use super::bars::Column;
use super::bars::cell_bar;
use super::bars::columns;
use super::bars::legend;
use super::empty;
use super::text::capitalised;
use super::text::count;
use super::text::day_text;
use super::text::dollars;
use super::text::duration;
use super::text::one_line;
use super::text::percent;
use crate::team::TeamAnswer;
use crate::team::TeamValue;

/// How many rows a table has; who wants more asks the question.
const MOST_ROWS: usize = 25;
/// How many weeks a chart has.
const MOST_WEEKS: usize = 26;
/// A dollar has a million micro-dollars.
const PICO_PER_MICRO: u128 = Money::PER_DOLLAR / 1_000_000;

/// What the values of a column are, by the suffixes that all questions use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Day,
    Cost,
    Time,
    Percent,
    Count,
    Text,
}

fn kind_of(answer: &TeamAnswer, at: usize) -> Kind {
    let name = answer.columns[at].trim_end_matches("_sum");
    let is_text = |row: &Vec<TeamValue>| matches!(row.get(at), Some(TeamValue::Text(_)));
    match name {
        "day" | "week" | "month" => Kind::Day,
        _ if answer.rows.iter().any(is_text) => Kind::Text,
        _ if name.ends_with("_micros") => Kind::Cost,
        _ if name.ends_with("_ms") => Kind::Time,
        _ if name.ends_with("_percent") => Kind::Percent,
        _ => Kind::Count,
    }
}

/// The head of a column: `Cost` for `cost_micros_sum`, `Calls` for `call_count`.
fn head(name: &str) -> String {
    let mut name = name;
    for suffix in ["_sum", "_micros", "_ms", "_name"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    let words = match name.strip_suffix("_count") {
        Some(counted) if counted.ends_with("ed") => counted.to_owned(),
        Some(counted) => format!("{counted}s"),
        None => name.to_owned(),
    };
    one_line(&capitalised(&words.replace('_', " ")))
}

fn number(value: Option<&TeamValue>) -> u64 {
    match value {
        Some(TeamValue::Integer(number)) => u64::try_from(*number).unwrap_or(0),
        Some(TeamValue::Real(number)) => number.max(0.0) as u64,
        Some(TeamValue::Null | TeamValue::Text(_)) | None => 0,
    }
}

fn text(value: Option<&TeamValue>) -> &str {
    match value {
        Some(TeamValue::Text(text)) => text,
        _ => "",
    }
}

pub(super) fn money(micros: u128) -> String {
    dollars(Money::from_pico(micros.saturating_mul(PICO_PER_MICRO)))
}

fn cell(kind: Kind, value: &TeamValue) -> Markup {
    let some = number(Some(value));
    html! {
        @match (kind, value) {
            (_, TeamValue::Null) => span.faint { "–" },
            (Kind::Day, _) => (one_line(&day_text(text(Some(value))))),
            (Kind::Text, TeamValue::Text(text)) if text.is_empty() => span.faint { "unknown" },
            (Kind::Text, _) => bdi { (one_line(text(Some(value)))) },
            (Kind::Cost, _) => (money(some.into())),
            (Kind::Time, _) => (duration(some)),
            (Kind::Percent, TeamValue::Real(share)) => (percent(*share)),
            (Kind::Percent | Kind::Count, _) => span.faint[some == 0] { (count(some)) },
        }
    }
}

/// A panel with the rows of an answer and a bar for the last number of each. Weeks are shown with
/// the newest first.
pub(super) fn panel(answer: &TeamAnswer, title: &str) -> Markup {
    let kinds: Vec<Kind> = (0..answer.columns.len()).map(|at| kind_of(answer, at)).collect();
    let bar = kinds.iter().rposition(|kind| !matches!(kind, Kind::Text | Kind::Day));
    let most =
        bar.map_or(0, |at| answer.rows.iter().map(|row| number(row.get(at))).max().unwrap_or(0));
    let mut rows: Vec<&Vec<TeamValue>> = answer.rows.iter().collect();
    if kinds.contains(&Kind::Day) {
        rows.reverse();
    }
    let id = format!("team-{}", answer.question);
    html! {
        section.panel aria-labelledby=(id) {
            div.panel-head {
                h2 id=(id) { (title) }
                span.faint { code { "recto query " (answer.question) } }
            }
            @if rows.is_empty() { (empty("No rows", "The tables have nothing about this.")) } @else {
                div.table-scroll {
                    table.table {
                        thead { tr {
                            @for (at, name) in answer.columns.iter().enumerate() {
                                th.number[is_number(kinds[at])] { (head(name)) }
                            }
                            @if bar.is_some() { th.hide-narrow { span.unseen { "Share, drawn" } } }
                        } }
                        tbody {
                            @for row in rows.iter().take(MOST_ROWS) {
                                tr {
                                    @for (kind, value) in kinds.iter().zip(row.iter()) {
                                        td.number[is_number(*kind)] .cut[*kind == Kind::Text] { (cell(*kind, value)) }
                                    }
                                    @if let Some(at) = bar {
                                        td.bar-cell.hide-narrow { (cell_bar(number(row.get(at)).into(), most.into(), 0)) }
                                    }
                                }
                            }
                        }
                    }
                }
                @if rows.len() > MOST_ROWS || answer.is_cut {
                    div.panel-foot { span.faint { "The first " (MOST_ROWS) " rows." } }
                }
            }
        }
    }
}

fn is_number(kind: Kind) -> bool {
    !matches!(kind, Kind::Text | Kind::Day)
}

/// Where the columns of a chart are in an answer.
struct Places {
    user: usize,
    week: usize,
    cost: usize,
}

/// A column for each week, in parts for each user: those who cost most have colours of their own.
pub(super) fn cost_chart(answer: &TeamAnswer) -> Option<Markup> {
    let place = |name: &str| answer.columns.iter().position(|column| column == name);
    let at =
        Places { user: place("user_name")?, week: place("week")?, cost: place("cost_micros_sum")? };
    let mut sums: Vec<(&str, u128)> = Vec::new();
    let mut weeks: Vec<&str> = Vec::new();
    for row in &answer.rows {
        let (user, cost) = (text(row.get(at.user)), number(row.get(at.cost)));
        match sums.iter_mut().find(|(name, _)| *name == user) {
            Some((_, sum)) => *sum += u128::from(cost),
            None => sums.push((user, cost.into())),
        }
        weeks.push(text(row.get(at.week)));
    }
    weeks.sort_unstable();
    weeks.dedup();
    let weeks = &weeks[weeks.len().saturating_sub(MOST_WEEKS)..];
    sums.sort_by_key(|(name, sum)| (std::cmp::Reverse(*sum), *name));
    let drawn: Vec<Column> = weeks.iter().map(|week| column(answer, &at, &sums, week)).collect();
    if drawn.is_empty() {
        return None;
    }
    let mut names: Vec<String> =
        sums.iter().take(COLOURS - 1).map(|(name, _)| named(name)).collect();
    if sums.len() >= COLOURS {
        names.push("Others".to_owned());
    }
    Some(html! {
        section.panel aria-labelledby="team-chart" {
            div.panel-head { h2 #team-chart { "Cost by week and user" } (legend(&names)) }
            div.panel-body { (columns("Cost by week and user", &drawn, 13, &money)) }
        }
    })
}

fn column(answer: &TeamAnswer, at: &Places, sums: &[(&str, u128)], week: &str) -> Column {
    let mut parts: Vec<(usize, u128)> = Vec::new();
    let mut all = 0;
    for row in answer.rows.iter().filter(|row| text(row.get(at.week)) == week) {
        let user = text(row.get(at.user));
        let rank = sums.iter().position(|(name, _)| *name == user).unwrap_or(COLOURS);
        let cost = u128::from(number(row.get(at.cost)));
        all += cost;
        parts.push((rank.min(COLOURS - 1), cost));
    }
    parts.sort_unstable();
    let day = one_line(&day_text(week));
    let label = day.split(',').next().unwrap_or_default().to_owned();
    Column { title: format!("Week of {day}: {}", money(all)), label, address: None, parts }
}

fn named(user: &str) -> String {
    if user.is_empty() { "unknown".to_owned() } else { one_line(user) }
}

/// How many different texts a column has.
pub(super) fn distinct(answer: Option<&TeamAnswer>, column: &str) -> u64 {
    let Some(answer) = answer else { return 0 };
    let Some(at) = answer.columns.iter().position(|name| name == column) else { return 0 };
    let found: BTreeSet<&str> = answer.rows.iter().map(|row| text(row.get(at))).collect();
    found.len() as u64
}

/// The sum of a column of numbers.
pub(super) fn sum(answer: Option<&TeamAnswer>, column: &str) -> u64 {
    let Some(answer) = answer else { return 0 };
    let Some(at) = answer.columns.iter().position(|name| name == column) else { return 0 };
    answer.rows.iter().map(|row| number(row.get(at))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(columns: &[&str], rows: Vec<Vec<TeamValue>>) -> TeamAnswer {
        TeamAnswer {
            question: "q".to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows,
            ..TeamAnswer::default()
        }
    }

    fn word(text: &str) -> TeamValue {
        TeamValue::Text(text.to_owned())
    }

    #[test]
    fn columns_are_shown_as_what_their_names_say() {
        let columns = ["week", "tool", "call_count", "waited_ms_sum", "cost_micros_sum"];
        let row = |week: &str| {
            let [calls, waited, cost] = [7, 90_000, 1_234_560].map(TeamValue::Integer);
            vec![word(week), word("<b>Bash</b>"), calls, waited, cost]
        };
        let shown = panel(&answer(&columns, vec![row("2026-11-02"), row("2026-11-09")]), "Title");
        let shown = shown.into_string();
        for text in [
            ">Week</th>",
            "<th class=\"number\">Calls</th>",
            ">Waited<",
            ">Cost<",
            "Nov 9, 2026",
            "&lt;b&gt;Bash&lt;/b&gt;",
            "1m 30s",
            "$1.23",
        ] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
        let place = |text: &str| shown.find(text).unwrap();
        assert!(place("Nov 9, 2026") < place("Nov 2, 2026"), "the newest week is first");
    }

    #[test]
    fn weeks_are_stacked_by_user_and_those_beyond_the_colours_share_one() {
        let rows = (0..12).map(|user| {
            let cost = TeamValue::Integer(1_000_000 * (user + 1));
            vec![word(&format!("user{user}")), word("2026-11-02"), TeamValue::Integer(1), cost]
        });
        let columns = ["user_name", "week", "session_count", "cost_micros_sum"];
        let shown = cost_chart(&answer(&columns, rows.collect())).unwrap().into_string();
        assert!(shown.contains("Week of Nov 2, 2026: $78.00"), "{shown}");
        assert!(shown.contains("user11") && shown.contains("Others"), "{shown}");
        assert!(!shown.contains("user4<"), "{shown}");
    }

    #[test]
    fn rows_that_are_too_short_or_of_another_kind_are_harmless() {
        let odd = answer(
            &["user_name", "week", "cost_micros_sum"],
            vec![
                vec![],
                vec![TeamValue::Integer(-5), TeamValue::Real(f64::NAN), word("\u{202e}x")],
            ],
        );
        assert!(!panel(&odd, "Odd").into_string().contains('\u{202e}'));
        assert!(cost_chart(&odd).is_some());
        assert!(cost_chart(&answer(&[], vec![])).is_none());
    }
}
