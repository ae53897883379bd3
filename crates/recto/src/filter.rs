//! The filters that every command shares.

use std::path::Path;

use clap::Args;
use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use recto_session::usage::Selection;
use recto_store::Digest;

use crate::error::CommandError;

/// Which sessions are meant.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Only sessions of this project: a path, or a part of one
    // The names of project directories begin with a hyphen.
    #[arg(long, value_name = "PROJECT", allow_hyphen_values = true)]
    pub(crate) project: Option<String>,
    /// Only sessions written since then: a date, a time, or a span such as 7d or 12h
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only sessions written before then
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Only sessions whose last answer is from a model with this in its name
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Only sessions on this git branch
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
}

/// The filters, read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    project: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    model: Option<String>,
    branch: Option<String>,
}

impl FilterArgs {
    pub(crate) fn read(&self, now: Timestamp) -> Result<Filter, CommandError> {
        self.read_in(now, &TimeZone::system())
    }

    /// The same, with days of a time zone.
    pub(crate) fn read_in(&self, now: Timestamp, zone: &TimeZone) -> Result<Filter, CommandError> {
        let time = |text: &Option<String>, option: &str| match text {
            None => Ok(None),
            Some(text) => read_time_in(option, text, now, zone).map(Some),
        };
        Ok(Filter {
            project: self.canonical_project(),
            since: time(&self.since, "--since")?,
            until: time(&self.until, "--until")?,
            model: self.model.clone(),
            branch: self.branch.clone(),
        })
    }
}

impl FilterArgs {
    /// A path is compared as the client writes it: absolute, without links.
    fn canonical_project(&self) -> Option<String> {
        self.project.clone().map(|project| match Path::new(&project).canonicalize() {
            Ok(path) if project.starts_with(['.', '/', '~']) => path.to_string_lossy().into_owned(),
            _ => project,
        })
    }
}

impl Filter {
    /// What can be told from the file's time.
    pub(crate) fn fits_time(&self, modified: Timestamp) -> bool {
        self.since.is_none_or(|since| modified >= since)
            && self.until.is_none_or(|until| modified < until)
    }

    /// Whether anything that is as old as this, or older, can fit.
    pub(crate) fn fits_since(&self, time: Timestamp) -> bool {
        self.since.is_none_or(|since| time >= since)
    }

    /// The same for single messages.
    pub(crate) fn selection(&self) -> Selection {
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
    pub(crate) fn narrow(&mut self, since: Option<Timestamp>, until: Option<Timestamp>) {
        self.since = self.since.max(since);
        self.until = match (self.until, until) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// The span of time, in milliseconds since 1970.
    pub(crate) fn span(&self) -> (Option<i64>, Option<i64>) {
        (self.since.map(Timestamp::as_millisecond), self.until.map(Timestamp::as_millisecond))
    }

    /// The same for another project.
    pub(crate) fn of_project(project: &str) -> Filter {
        let args = FilterArgs { project: Some(project.to_owned()), ..FilterArgs::default() };
        Filter { project: args.canonical_project(), ..Filter::default() }
    }

    /// What must be read from the log.
    pub(crate) fn fits(&self, project_key: &str, digest: &Digest) -> bool {
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

/// Reads the value of an option that is a time.
pub(crate) fn read_time(
    option: &str,
    text: &str,
    now: Timestamp,
) -> Result<Timestamp, CommandError> {
    read_time_in(option, text, now, &TimeZone::system())
}

fn read_time_in(
    option: &str,
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Timestamp, CommandError> {
    parse_time(text, now, zone).ok_or_else(|| {
        CommandError::user("bad-time", format!("{option} does not understand `{text}`")).with_hint(
            "use a date (2026-11-16), a time (2026-11-16T09:30), or a span (7d, 12h, 30m)",
        )
    })
}

/// A date, a time, or a span before now.
fn parse_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
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
    now.checked_sub(parse_span(text)?).ok()
}

/// A number of seconds, minutes, hours, days or weeks.
pub(crate) fn parse_span(text: &str) -> Option<SignedDuration> {
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

/// A number of bytes with a unit.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    let factor = match text[split..].trim().to_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        "tb" | "t" => 1_000_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_spans() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let time =
            |text: &str| parse_time(text, now, &TimeZone::system()).map(|time| time.to_string());
        assert_eq!(time("7d").as_deref(), Some("2026-11-09T12:00:00Z"));
        assert_eq!(time("90m").as_deref(), Some("2026-11-16T10:30:00Z"));
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

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("1GB"), Some(1_000_000_000));
        assert_eq!(parse_size("500 mb"), Some(500_000_000));
        assert_eq!(parse_size("12"), Some(12));
        for bad in ["", "GB", "1 parsec", "-1", "99999999999999999999", "99999999999999TB"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
