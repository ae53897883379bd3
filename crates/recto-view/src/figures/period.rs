//! A span of whole days, as a reader chooses it.

use jiff::Span;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::error::ViewError;

/// What was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// So many days, today included.
    Days(u16),
    /// Everything.
    All,
    /// From one day to another.
    Custom,
}

impl Choice {
    /// The choices of a reader who names no days.
    pub const USUAL: [(&'static str, &'static str, Choice); 5] = [
        ("7d", "7 days", Choice::Days(7)),
        ("30d", "30 days", Choice::Days(30)),
        ("90d", "90 days", Choice::Days(90)),
        ("year", "Year", Choice::Days(365)),
        ("all", "All", Choice::All),
    ];

    /// As it stands in an address.
    pub fn name(self) -> Option<&'static str> {
        Choice::USUAL.iter().find(|(_, _, choice)| *choice == self).map(|(name, _, _)| *name)
    }
}

/// A span of whole days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// What was chosen.
    pub choice: Choice,
    /// The first day; none if it has no beginning.
    pub from: Option<Date>,
    /// The last day; none if it has no end.
    pub to: Option<Date>,
}

impl Period {
    /// The period that a reader names by a word or by days. Days win over a word.
    pub fn named(
        named: Option<&str>,
        from: Option<&str>,
        to: Option<&str>,
        usual: Choice,
        today: Date,
    ) -> Result<Period, ViewError> {
        let (from, to) = (day(from, "from")?, day(to, "to")?);
        if from.is_some() || to.is_some() {
            if from.zip(to).is_some_and(|(from, to)| from > to) {
                let message = "`from` is after `to`: a period ends on the day it begins, or later";
                return Err(ViewError::refused("bad-parameter", message));
            }
            return Ok(Period { choice: Choice::Custom, from, to });
        }
        let choice = match named {
            None => usual,
            Some(name) => {
                let known = Choice::USUAL.iter().find(|(known, _, _)| *known == name);
                known.map(|(_, _, choice)| *choice).ok_or_else(|| {
                    ViewError::refused("bad-parameter", "`period` is not known").with_hint(
                        "it is one of 7d, 30d, 90d, year and all; `from` and `to` take days",
                    )
                })?
            }
        };
        Ok(Period::of(choice, today))
    }

    fn of(choice: Choice, today: Date) -> Period {
        match choice {
            Choice::Days(days) => {
                let back = Span::new().try_days(i64::from(days) - 1);
                let from = back.and_then(|back| today.checked_sub(back)).unwrap_or(Date::MIN);
                Period { choice, from: Some(from), to: Some(today) }
            }
            Choice::All | Choice::Custom => Period { choice, from: None, to: None },
        }
    }

    /// A day alone.
    pub fn one_day(day: Date) -> Period {
        Period { choice: Choice::Custom, from: Some(day), to: Some(day) }
    }

    /// When it begins.
    pub fn since(&self, zone: &TimeZone) -> Option<Timestamp> {
        midnight(self.from?, zone)
    }

    /// When it is over.
    pub fn until(&self, zone: &TimeZone) -> Option<Timestamp> {
        midnight(self.to?.tomorrow().ok()?, zone)
    }

    /// How many days it has, if it has two ends.
    pub fn days(&self) -> Option<i64> {
        let (from, to) = (self.from?, self.to?);
        Some(i64::from(to.since(from).ok()?.get_days()) + 1)
    }

    /// The period of the same length before it.
    pub fn before(&self) -> Option<Period> {
        let days = Span::new().try_days(self.days()?).ok()?;
        let (from, to) = (self.from?.checked_sub(days).ok()?, self.from?.yesterday().ok()?);
        Some(Period { choice: Choice::Custom, from: Some(from), to: Some(to) })
    }

    /// In words.
    pub fn text(&self) -> String {
        let day = |day: Date| day.strftime("%b %-d, %Y").to_string();
        match (self.from, self.to) {
            (Some(from), Some(to)) if from == to => day(from),
            (Some(from), Some(to)) => format!("{} to {}", day(from), day(to)),
            (Some(from), None) => format!("since {}", day(from)),
            (None, Some(to)) => format!("until {}", day(to)),
            (None, None) => "all time".to_owned(),
        }
    }
}

fn midnight(date: Date, zone: &TimeZone) -> Option<Timestamp> {
    Some(date.to_zoned(zone.clone()).ok()?.timestamp())
}

fn day(text: Option<&str>, name: &str) -> Result<Option<Date>, ViewError> {
    let Some(text) = text else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        ViewError::refused("bad-parameter", format!("invalid day for `{name}`"))
            .with_hint("write a day as 2026-11-16")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(query: &str) -> Result<Period, ViewError> {
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
        };
        let today = "2026-11-16".parse().unwrap();
        let (named, from, to) = (value("period"), value("from"), value("to"));
        Period::named(named, from, to, Choice::Days(30), today)
    }

    #[test]
    fn periods_are_whole_days_and_have_one_before_them() {
        let week = period("period=7d").unwrap();
        assert_eq!(week.text(), "Nov 10, 2026 to Nov 16, 2026");
        assert_eq!(week.days(), Some(7));
        assert_eq!(week.before().unwrap().text(), "Nov 3, 2026 to Nov 9, 2026");
        let until = week.until(&TimeZone::UTC).unwrap();
        assert_eq!(until.to_string(), "2026-11-17T00:00:00Z");
        assert_eq!(period("").unwrap().days(), Some(30));
        let all = period("period=all").unwrap();
        assert_eq!((all.since(&TimeZone::UTC), all.before()), (None, None));
        let one = period("from=2026-11-02&to=2026-11-02&period=all").unwrap();
        assert_eq!((one.days(), one.choice), (Some(1), Choice::Custom));
        assert_eq!(period("from=2026-11-02&to=").unwrap().text(), "since Nov 2, 2026");
    }

    #[test]
    fn what_is_no_period_is_refused() {
        for bad in ["period=8d", "from=yesterday", "to=2026-02-30", "from=2026-11-02&to=2026-11-01"]
        {
            assert!(period(bad).is_err(), "{bad}");
        }
    }
}
