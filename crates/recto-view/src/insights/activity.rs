//! When sessions worked, how many at once, and how long they waited for a person.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::TimeSpan;
use super::is_in;
use crate::Moment;
use crate::figures::TurnWork;
use crate::library::Library;

/// The longest pause that counts as waiting for a person.
const LONGEST_WAIT_MS: u64 = 2 * 3_600_000;

/// How many sessions are listed.
const MOST_SESSIONS: usize = 20;

/// The rules, in words.
pub const ACTIVITY_RULES: [&str; 3] = [
    "A session works from the first to the last line of a turn in which a model answered, \
    including time in which a tool waits for approval.",
    "A session waits for you from the end of such a turn to your next prompt, if that comes \
     within 2 hours. A longer pause is a break, and counts as neither.",
    "Sessions are concurrent while their turns overlap. Subagent logs count for the session \
    that started them.",
];

/// When sessions worked, and how long they waited.
#[derive(Debug, Serialize)]
pub struct ActivityInsight {
    /// How long sessions worked, in all.
    pub working_ms: u64,
    /// How long they waited for a person.
    pub waiting_ms: u64,
    /// How many times they waited.
    pub waits: u64,
    /// Half of the waits were no longer.
    pub median_wait_ms: Option<u64>,
    /// The most sessions that worked at once.
    pub peak: u32,
    /// When that was first.
    pub peak_at: Option<Moment>,
    /// Days on which a session worked.
    pub days: usize,
    /// By hour of the day.
    pub hours: Vec<HourActivity>,
    /// The sessions that waited longest.
    pub sessions: Vec<SessionActivity>,
}

/// An hour of the day, over all days.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HourActivity {
    /// The hour, from 0.
    pub hour: u8,
    /// How long sessions worked in it.
    pub working_ms: u64,
    /// How long sessions waited in it.
    pub waiting_ms: u64,
    /// The most sessions that worked at once in it.
    pub peak: u32,
    /// How many worked at once on average, on days with work.
    pub average: f64,
}

/// A session, and how long it waited.
#[derive(Debug, Serialize)]
pub struct SessionActivity {
    /// The session.
    pub session: String,
    /// Its title.
    pub title: Option<String>,
    /// How long it worked.
    pub working_ms: u64,
    /// How long it waited for a person.
    pub waiting_ms: u64,
    /// Its longest wait.
    pub longest_ms: u64,
    /// The turn that ended the longest wait.
    pub longest_turn: u32,
}

/// A piece of time, and the turn it leads to.
type Piece = (Timestamp, Timestamp, u32);

impl Library {
    /// When sessions worked in a span of time.
    pub fn activity_insight(&self, span: TimeSpan) -> ActivityInsight {
        let surveyed = self.survey();
        let (mut working, mut waits) = (Vec::new(), Vec::new());
        let mut sessions = Vec::new();
        for looked in surveyed.logs.iter().filter(|looked| looked.log.agent.is_none()) {
            let (worked, waited) = pieces(&looked.work.turns, span);
            if worked.is_empty() {
                continue;
            }
            let longest = waited.iter().max_by_key(|piece| length(piece));
            sessions.push(SessionActivity {
                session: looked.log.name(),
                title: None,
                working_ms: worked.iter().map(length).sum(),
                waiting_ms: waited.iter().map(length).sum(),
                longest_ms: longest.map_or(0, length),
                longest_turn: longest.map_or(0, |(_, _, turn)| *turn),
            });
            working.extend(worked);
            waits.extend(waited);
        }
        sessions.retain(|session| session.waiting_ms > 0);
        sessions.sort_by_key(|session| std::cmp::Reverse(session.waiting_ms));
        sessions.truncate(MOST_SESSIONS);
        for session in &mut sessions {
            let id = session.session.parse().ok();
            session.title = id.and_then(|id| self.title_of(&surveyed.inventory, id));
        }
        let mut lengths: Vec<u64> = waits.iter().map(length).collect();
        lengths.sort_unstable();
        let zone = self.zone();
        let day = |piece: &Piece| zone.to_datetime(piece.0).date();
        let days = working.iter().map(day).collect::<BTreeSet<_>>().len();
        let mut hours: Vec<HourActivity> =
            (0..24).map(|hour| HourActivity { hour, ..HourActivity::default() }).collect();
        for piece in &working {
            self.by_hour(piece, &mut |hour, ms| hours[hour].working_ms += ms);
        }
        for piece in &waits {
            self.by_hour(piece, &mut |hour, ms| hours[hour].waiting_ms += ms);
        }
        let (peak, peak_at) = self.peaks(&working, &mut hours);
        for hour in &mut hours {
            hour.average = hour.working_ms as f64 / 3_600_000.0 / days.max(1) as f64;
        }
        ActivityInsight {
            working_ms: working.iter().map(length).sum(),
            waiting_ms: lengths.iter().sum(),
            waits: lengths.len() as u64,
            median_wait_ms: super::at_share(&lengths, 5),
            peak,
            peak_at: peak_at.map(Moment),
            days,
            hours,
            sessions,
        }
    }

    /// Cuts a piece at full hours.
    fn by_hour(&self, (start, end, _): &Piece, add: &mut dyn FnMut(usize, u64)) {
        let mut at = start.as_millisecond();
        let end = end.as_millisecond();
        // A turn can be days long; beyond a month the log is wrong.
        for _ in 0..24 * 31 {
            if at >= end {
                break;
            }
            let Ok(time) = Timestamp::from_millisecond(at) else { break };
            let local = self.zone().to_datetime(time);
            let into = i64::from(local.minute()) * 60_000
                + i64::from(local.second()) * 1000
                + i64::from(local.millisecond());
            let next = (at - into + 3_600_000).min(end);
            add(local.hour() as usize % 24, u64::try_from(next - at).unwrap_or(0));
            at = next;
        }
    }

    /// The most that worked at once, in all and by hour.
    fn peaks(&self, working: &[Piece], hours: &mut [HourActivity]) -> (u32, Option<Timestamp>) {
        let mut events: Vec<(Timestamp, i32)> = Vec::with_capacity(working.len() * 2);
        for (start, end, _) in working {
            events.push((*start, 1));
            events.push((*end, -1));
        }
        // What ends in the moment in which another begins was not there at once.
        events.sort();
        let (mut now, mut peak, mut peak_at) = (0i32, 0u32, None);
        for (time, change) in events {
            now += change;
            let at_once = u32::try_from(now).unwrap_or(0);
            if change > 0 {
                let hour = &mut hours[self.zone().to_datetime(time).hour() as usize % 24];
                hour.peak = hour.peak.max(at_once);
                if at_once > peak {
                    (peak, peak_at) = (at_once, Some(time));
                }
            }
        }
        (peak, peak_at)
    }
}

fn length((start, end, _): &Piece) -> u64 {
    u64::try_from(end.duration_since(*start).as_millis()).unwrap_or(0)
}

/// When a session worked, and when it waited.
fn pieces(turns: &[TurnWork], span: TimeSpan) -> (Vec<Piece>, Vec<Piece>) {
    let (mut worked, mut waited) = (Vec::new(), Vec::new());
    let mut last_end: Option<Timestamp> = None;
    for turn in turns {
        let (Some(start), Some(end)) = (turn.started, turn.ended) else { continue };
        if let Some(before) = last_end
            && is_in(span, Some(start))
        {
            let wait = (before, start, turn.turn);
            if (1..=LONGEST_WAIT_MS).contains(&length(&wait)) {
                waited.push(wait);
            }
        }
        last_end = None;
        if turn.has_answer && end >= start {
            if is_in(span, Some(start)) {
                worked.push((start, end, turn.turn));
            }
            last_end = Some(end);
        }
    }
    (worked, waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_waits_from_the_end_of_a_turn_to_the_next_prompt() {
        let time = |minute: i64| Timestamp::from_second(minute * 60).ok();
        let turn = |turn, from, to| TurnWork {
            turn,
            started: time(from),
            ended: time(to),
            has_answer: true,
            ..TurnWork::default()
        };
        let turns = [turn(1, 0, 10), turn(2, 15, 20), turn(3, 400, 401)];
        let (worked, waited) = pieces(&turns, (None, None));
        assert_eq!(worked.iter().map(length).sum::<u64>(), 16 * 60_000);
        // The pause of more than six hours is a break.
        assert_eq!(waited, [(time(10).unwrap(), time(15).unwrap(), 2)]);
    }
}
