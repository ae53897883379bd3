//! Which sessions are meant, wherever it is asked.

use std::path::Path;

use jiff::SignedDuration;
use jiff::Span;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use recto_session::usage::Selection;

use crate::Digest;

/// The filters, read.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The project: a path, or a part of one.
    pub project: Option<String>,
    /// Written since then.
    pub since: Option<Timestamp>,
    /// Written before then.
    pub until: Option<Timestamp>,
    /// A part of the model's name.
    pub model: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
}

impl Filter {
    /// All sessions of a project. The name is compared, and not looked up.
    pub fn of_project(name: &str) -> Filter {
        Filter { project: Some(name.to_owned()), ..Filter::default() }
    }

    /// What can be told from the file's time.
    pub fn fits_time(&self, modified: Timestamp) -> bool {
        self.since.is_none_or(|since| modified >= since)
            && self.until.is_none_or(|until| modified < until)
    }

    /// Whether anything that is as old as this, or older, can fit.
    pub fn fits_since(&self, time: Timestamp) -> bool {
        self.since.is_none_or(|since| time >= since)
    }

    /// The same for single messages.
    pub fn selection(&self) -> Selection {
        Selection {
            since: self.since,
            until: self.until,
            project: self.project.clone(),
            model: self.model.clone(),
            branch: self.branch.clone(),
            ..Selection::default()
        }
    }

    /// Adds what a query says itself; the narrower one counts.
    pub fn narrow(&mut self, since: Option<Timestamp>, until: Option<Timestamp>) {
        self.since = self.since.max(since);
        self.until = match (self.until, until) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// The span of time, in milliseconds since 1970.
    pub fn span(&self) -> (Option<i64>, Option<i64>) {
        (self.since.map(Timestamp::as_millisecond), self.until.map(Timestamp::as_millisecond))
    }

    /// What must be read from the log.
    pub fn fits(&self, project_key: &str, digest: &Digest) -> bool {
        let contains = |text: &Option<String>, part: &str| {
            text.as_deref().is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()))
        };
        self.project.as_deref().is_none_or(|project| {
            if project.starts_with('/') {
                digest.cwd.as_deref().is_some_and(|cwd| Path::new(cwd).starts_with(project))
            } else {
                contains(&digest.cwd, project) || project_key == project
            }
        }) && self.model.as_deref().is_none_or(|model| contains(&digest.model, model))
            && self.branch.as_deref().is_none_or(|branch| digest.branch.as_deref() == Some(branch))
    }
}

/// A date, a time, or a span before now.
pub fn parse_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    if let Ok(time) = text.parse::<DateTime>() {
        return time.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp());
    }
    let midnight = |date: Date| Some(date.to_zoned(zone.clone()).ok()?.timestamp());
    if let Ok(date) = text.parse::<Date>() {
        return midnight(date);
    }
    let today = now.to_zoned(zone.clone()).date();
    match text {
        "today" => return midnight(today),
        "yesterday" => return midnight(today.yesterday().ok()?),
        _ => {}
    }
    if let Some(span) = parse_calendar_span(text) {
        return Some(now.to_zoned(zone.clone()).checked_sub(span).ok()?.timestamp());
    }
    now.checked_sub(parse_span(text)?).ok()
}

/// A number of months or years, which differ in length.
fn parse_calendar_span(text: &str) -> Option<Span> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let number: i64 = text[..split].parse().ok()?;
    match &text[split..] {
        "mo" => Span::new().try_months(number).ok(),
        "y" => Span::new().try_years(number).ok(),
        _ => None,
    }
}

/// A number of seconds, minutes, hours, days or weeks.
fn parse_span(text: &str) -> Option<SignedDuration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let number: i64 = text[..split].parse().ok()?;
    let seconds = match &text[split..] {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    Some(SignedDuration::from_secs(number.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_spans() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let time =
            |text: &str| parse_time(text, now, &TimeZone::system()).map(|time| time.to_string());
        let in_utc =
            |text: &str| parse_time(text, now, &TimeZone::UTC).map(|time| time.to_string());
        assert_eq!(in_utc("3mo").unwrap(), "2026-08-16T12:00:00Z");
        assert_eq!(in_utc("1y").unwrap(), "2025-11-16T12:00:00Z");
        assert_eq!(in_utc("99999999999999mo"), None);
        assert_eq!(time("7d").as_deref(), Some("2026-11-09T12:00:00Z"));
        assert_eq!(time("90m").as_deref(), Some("2026-11-16T10:30:00Z"));
        assert_eq!(time("90s").as_deref(), Some("2026-11-16T11:58:30Z"));
        assert_eq!(time("2w").as_deref(), Some("2026-11-02T12:00:00Z"));
        assert_eq!(time("2026-11-01T00:00:00Z").as_deref(), Some("2026-11-01T00:00:00Z"));
        assert!(time("2026-11-01").is_some() && time("2026-11-01T09:30").is_some());
        assert!(time("today").is_some() && time("yesterday").is_some());
        for bad in ["", "d", "7", "7 parsecs", "soon", "99999999999999999999d", "-1d"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }

    #[test]
    fn filters_look_at_the_digest() {
        let digest = Digest {
            cwd: Some("/home/dev/app".into()),
            model: Some("claude-opus-5-5".into()),
            branch: Some("main".into()),
            ..Digest::default()
        };
        let fits = |change: &dyn Fn(&mut Filter)| {
            let mut filter = Filter::default();
            change(&mut filter);
            filter.fits("-home-dev-app", &digest)
        };
        assert!(fits(&|_| {}));
        assert!(fits(&|filter| filter.project = Some("/home/dev".into())));
        assert!(!fits(&|filter| filter.project = Some("/home/de".into())));
        assert!(fits(&|filter| filter.project = Some("App".into())));
        assert!(fits(&|filter| filter.project = Some("-home-dev-app".into())));
        assert!(fits(&|filter| filter.model = Some("OPUS".into())));
        assert!(!fits(&|filter| filter.branch = Some("mai".into())));
    }
}
