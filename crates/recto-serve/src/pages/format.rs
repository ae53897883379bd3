//! Numbers and times for people, as all pages write them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;
pub(crate) use recto_session::duration;
pub(crate) use recto_session::plural;
use recto_session::with_marks;
pub(crate) use recto_session::with_marks as count;

/// A number in little room: `12.3k`.
pub(crate) fn short(number: u64) -> String {
    scaled(number, 1000.0, &["", "k", "M", "B", "T"])
}

/// A size of a file: `12.3 MB`.
pub(crate) fn size(bytes: u64) -> String {
    scaled(bytes, 1000.0, &[" B", " kB", " MB", " GB", " TB"])
}

fn scaled(number: u64, step: f64, units: &[&str]) -> String {
    let mut value = number as f64;
    let mut unit = 0;
    // What would be rounded up to the next unit is written in it.
    while value >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 99.95);
    format!("{value:.digits$}{}", units[unit])
}

/// A number of tokens in full: `1 token`, `1,234 tokens`.
pub(crate) fn tokens(number: u64) -> String {
    plural(number, "token")
}

/// Dollars: `$1,234.56`, and more digits where there is less.
pub(crate) fn money(dollars: f64) -> String {
    if !dollars.is_finite() {
        return "unknown".to_owned();
    }
    if dollars > 0.0 && dollars < 0.0001 {
        return "< $0.0001".to_owned();
    }
    if dollars > 0.0 && dollars < 0.01 {
        return format!("${dollars:.4}");
    }
    let cents = (dollars * 100.0).round() as u64;
    format!("${}.{:02}", with_marks(cents / 100), cents % 100)
}

/// How long ago something was: `now`, `5m`, `3h`, `2d`, `6w`, `2y`.
pub(crate) fn age(now: Timestamp, time: Timestamp) -> String {
    let seconds = now.duration_since(time).as_secs();
    match seconds {
        ..60 => "now".to_owned(),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        86_400..1_209_600 => format!("{}d", seconds / 86_400),
        1_209_600..31_536_000 => format!("{}w", seconds / 604_800),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

/// An age that says the whole time when it is pointed at. The script keeps it new.
pub(crate) fn age_tag(now: Timestamp, zone: &TimeZone, time: Timestamp) -> Markup {
    html! {
        time datetime=(format!("{time:.0}")) title=(moment(zone, time)) data-age { (age(now, time)) }
    }
}

/// A time as a tag: `Nov 3, 14:05`.
pub(crate) fn time_tag(now: Timestamp, zone: &TimeZone, time: Timestamp) -> Markup {
    let here = time.to_zoned(zone.clone());
    let today = now.to_zoned(zone.clone());
    let pattern = if here.date() == today.date() {
        "%H:%M"
    } else if here.year() == today.year() {
        "%b %-d, %H:%M"
    } else {
        "%b %-d, %Y, %H:%M"
    };
    html! {
        time datetime=(format!("{time:.0}")) title=(moment(zone, time)) {
            (here.strftime(pattern).to_string())
        }
    }
}

/// A time in full: `2026-11-03 14:05:09`.
pub(crate) fn moment(zone: &TimeZone, time: Timestamp) -> String {
    time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_little_room() {
        assert_eq!(short(0), "0");
        assert_eq!(short(999), "999");
        assert_eq!(short(1000), "1.0k");
        assert_eq!(short(99_940), "99.9k");
        assert_eq!(short(123_456), "123k");
        assert_eq!(short(999_999), "1.0M");
        assert_eq!(short(1_900_000_000), "1.9B");
        assert_eq!(size(13_000_000), "13.0 MB");
    }

    #[test]
    fn amounts_are_exact_where_it_matters() {
        assert_eq!(money(0.0), "$0.00");
        assert_eq!(money(0.0042), "$0.0042");
        assert_eq!(money(0.000_004), "< $0.0001");
        assert_eq!(tokens(1), "1 token");
        assert_eq!(money(1234.5), "$1,234.50");
        assert_eq!(money(f64::NAN), "unknown");
    }

    #[test]
    fn ages_are_of_one_unit() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let ages = ["2026-03-01T12:00:09Z", "2026-03-01T11:55:00Z", "2026-02-20T12:00:00Z"];
        let ages: Vec<String> = ages.iter().map(|time| age(now, time.parse().unwrap())).collect();
        assert_eq!(ages, ["now", "5m", "9d"]);
    }
}
