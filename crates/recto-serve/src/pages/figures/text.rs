//! Figures as people read them.

use std::collections::BTreeSet;
use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_session::usage::Money;
use recto_session::usage::Total;

pub(crate) use crate::pages::format::count;
pub(crate) use crate::pages::format::duration;
pub(crate) use crate::pages::format::plural;
pub(crate) use crate::pages::format::short;
use crate::pages::sessions::short_model;

/// How much of a text stands in one line, in bytes.
const MOST: usize = 400;

/// Dollars: cents, or more digits where cents say nothing.
pub(crate) fn dollars(amount: Money) -> String {
    const CENT: u128 = Money::PER_DOLLAR / 100;
    const HUNDREDTH: u128 = CENT / 100;
    match amount.pico() {
        0 => "$0.00".to_owned(),
        1..HUNDREDTH => "< $0.0001".to_owned(),
        HUNDREDTH..CENT => format!("${}", amount.rounded(4)),
        _ => {
            let text = amount.rounded(2);
            let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
            format!("${}.{cents}", count(whole.parse().unwrap_or(u64::MAX)))
        }
    }
}

/// The cost of a sum; what has no price is not passed over.
pub(crate) fn cost(total: &Total) -> String {
    match total.cost() {
        Some(cost) => dollars(cost),
        None if total.known_cost.pico() > 0 => format!("> {}", dollars(total.known_cost)),
        None => "unknown".to_owned(),
    }
}

/// Percent with one digit; what is not whole is never 100.
pub(crate) fn percent(percent: f64) -> String {
    if percent >= 100.0 {
        "100 %".into()
    } else {
        format!("{:.1} %", (percent * 10.0).floor() / 10.0)
    }
}

/// A time here, to the minute.
pub(crate) fn clock(time: Timestamp, zone: &TimeZone) -> String {
    zone.to_datetime(time).strftime("%b %-d, %Y, %H:%M").to_string()
}

/// A day as all pages write it: `Nov 3, 2026` for `2026-11-03`. What is no day stays.
pub(crate) fn day_text(label: &str) -> String {
    let day = label.parse::<Date>();
    day.map_or_else(|_| label.to_owned(), |day| day.strftime("%b %-d, %Y").to_string())
}

/// A text in one line, without characters that change how others are shown.
pub(crate) fn one_line(text: &str) -> String {
    crate::pages::text::one_line(text, MOST)
}

/// The last parts of a path, which tell most.
pub(crate) fn path_end(path: &str, parts: usize) -> String {
    let all: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    if all.len() <= parts {
        return path.to_owned();
    }
    let end = all[all.len() - parts..].join("/");
    if parts == 1 { end } else { format!("…/{end}") }
}

/// What projects and models are called wherever they stand beside their figures: the
/// last part of a path, more of it where two end alike, and the name of a model without
/// what all of them have.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, String>);

impl Names {
    /// Names for paths that are shown together.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Names {
        /// Paths that are alike up to here are called by all of it.
        const MOST_PARTS: usize = 6;
        let mut left: BTreeSet<&str> = paths.filter(|path| is_path(path)).collect();
        let mut names = HashMap::new();
        for parts in 1..=MOST_PARTS {
            let mut count: HashMap<String, usize> = HashMap::new();
            for path in &left {
                *count.entry(path_end(&one_line(path), parts)).or_default() += 1;
            }
            left.retain(|path| {
                let name = path_end(&one_line(path), parts);
                let is_alone = count.get(&name) == Some(&1);
                if is_alone {
                    names.insert((*path).to_owned(), name);
                }
                !is_alone
            });
        }
        names.extend(left.into_iter().map(|path| (path.to_owned(), one_line(path))));
        Names(names)
    }

    pub(crate) fn name(&self, label: &str) -> String {
        let line = || one_line(label);
        self.0.get(label).cloned().unwrap_or_else(|| match is_path(label) {
            true => path_end(&line(), 1),
            false => short_model(&line()),
        })
    }
}

fn is_path(label: &str) -> bool {
    label.contains(['/', '\\'])
}

/// The same with a capital letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How something changed, in words.
pub(crate) fn change(now: u128, before: u128) -> String {
    if now == before {
        return "no change".to_owned();
    }
    if before == 0 {
        return "none before".to_owned();
    }
    let percent = (now as f64 - before as f64) * 100.0 / before as f64;
    let sign = if percent < 0.0 { "−" } else { "+" };
    let size = percent.abs();
    match size {
        1000.0.. => format!("×{:.0}", now as f64 / before as f64),
        10.0.. => format!("{sign}{size:.0} %"),
        _ => format!("{sign}{size:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_never_say_less_than_is_known() {
        let money = |text| dollars(Money::parse(text).unwrap());
        assert_eq!(
            [money("0"), money("0.00123"), money("1234.5")],
            ["$0.00", "$0.0012", "$1,234.50"]
        );
        let mut total = Total { unpriced: 1, ..Total::default() };
        assert_eq!(cost(&total), "unknown");
        total.known_cost = Money::parse("2").unwrap();
        assert_eq!(cost(&total), "> $2.00");
        assert_eq!([percent(100.0), percent(99.99)], ["100 %", "99.9 %"]);
    }

    #[test]
    fn changes_have_a_sign() {
        let changes = [(150, 100), (95, 100), (5, 0), (0, 0), (3000, 100)];
        let texts = changes.map(|(now, before)| change(now, before));
        assert_eq!(texts, ["+50 %", "−5.0 %", "none before", "no change", "×30"]);
    }

    #[test]
    fn names_are_as_short_as_they_can_be_told_apart() {
        let paths = ["/home/dev/app", "/home/dev/docs", "/srv/docs", "/home/dev/app"];
        let names = Names::of(paths.into_iter());
        let shown = paths.map(|path| names.name(path));
        assert_eq!(shown, ["app", "…/dev/docs", "/srv/docs", "app"]);
        assert_eq!(names.name("claude-opus-4-5-20251101"), "opus-4-5");
        assert_eq!(names.name("3 others"), "3 others");
    }

    #[test]
    fn paths_and_lines_are_cut_where_they_say_least() {
        assert_eq!(path_end("/home/dev/app/src/main.rs", 2), "…/src/main.rs");
        assert_eq!(path_end("src/main.rs", 2), "src/main.rs");
        assert_eq!(path_end("/home/dev/app", 1), "app");
        assert_eq!([capitalised("day"), capitalised("")], ["Day", ""]);
        assert_eq!(one_line("a\n\u{202e} b\t"), "a b");
    }
}
