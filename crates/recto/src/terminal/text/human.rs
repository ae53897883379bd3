//! Numbers, times and paths as people read them.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_session::usage::Money;

/// A size, such as `13.6 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if value < 9.95 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

/// An amount of money, such as `$1.20`. What is less than a cent is not nothing.
pub(crate) fn money(amount: Money) -> String {
    let text = amount.rounded(2);
    if text == "0.00" && amount.pico() > 0 { "<$0.01".to_owned() } else { format!("${text}") }
}

/// How long ago, such as `5m` or `3d`.
pub(crate) fn age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(time).as_secs();
    match seconds {
        ..0 => "soon".into(),
        0..60 => "now".into(),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        86_400..1_209_600 => format!("{}d", seconds / 86_400),
        1_209_600..7_776_000 => format!("{}w", seconds / 604_800),
        7_776_000..63_072_000 => format!("{}mo", seconds / 2_629_800),
        _ => format!("{}y", seconds / 31_557_600),
    }
}

/// The date and time here, to the second.
pub(crate) fn clock(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A path with `~` for the user's home.
pub(crate) fn path_from_home(path: &str, home: Option<&Path>) -> String {
    let Some(rest) = home.and_then(|home| Path::new(path).strip_prefix(home).ok()) else {
        return path.to_owned();
    };
    if rest.as_os_str().is_empty() { "~".into() } else { format!("~/{}", rest.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1000, 9_949, 9_950, 13_600_000, 999_499, 999_500, u64::MAX];
        let shown: Vec<String> = sizes.iter().map(|size| bytes(*size)).collect();
        assert_eq!(
            shown,
            ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "14 MB", "999 kB", "1.0 MB", "18447 PB"]
        );
    }

    #[test]
    fn money_has_two_decimals_and_little_is_not_nothing() {
        let shown = |text: &str| money(Money::parse(text).unwrap());
        assert_eq!(
            ["0", "0.0004", "0.005", "1.2", "12.345"].map(shown),
            ["$0.00", "<$0.01", "$0.01", "$1.20", "$12.35"]
        );
    }

    #[test]
    fn ages_have_one_unit() {
        let now: Timestamp = "2026-11-16T00:00:00Z".parse().unwrap();
        let ages: Vec<String> = [-5, 0, 59, 60, 7200, 90_000, 1_209_600, 8_000_000, 70_000_000]
            .iter()
            .map(|seconds| age(now - jiff::SignedDuration::from_secs(*seconds), now))
            .collect();
        assert_eq!(ages, ["soon", "now", "now", "1m", "2h", "1d", "2w", "3mo", "2y"]);
    }

    #[test]
    fn the_home_is_a_tilde() {
        let home = Path::new("/home/dev");
        assert_eq!(path_from_home("/home/dev/app", Some(home)), "~/app");
        assert_eq!(path_from_home("/home/device", Some(home)), "/home/device");
        assert_eq!(path_from_home("/home/dev", Some(home)), "~");
    }
}
