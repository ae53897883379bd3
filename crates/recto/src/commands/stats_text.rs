//! Many sessions in numbers, as text with bars.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_session::statistics::Activity;
use recto_session::statistics::ContextPoint;
use recto_session::statistics::LengthRange;
use recto_session::statistics::Statistics;
use recto_session::statistics::ToolStatistics;
use recto_session::statistics::cache_hit_percent;

use crate::commands::stats_all::Many;
use crate::commands::stats_all::Question;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Column::Flexible;
use crate::terminal::text::Column::Left;
use crate::terminal::text::Column::Right;
use crate::terminal::text::Table;
use crate::terminal::text::bar;
use crate::terminal::text::columns;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;
use crate::terminal::zone::zone_name;

/// How wide a bar is.
const BAR: usize = 20;

/// The days of the week, as they are counted.
pub(crate) const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// What it is all about, in a few parts.
pub(crate) fn about(statistics: &Statistics, zone: &TimeZone) -> Vec<String> {
    let day = |time: Timestamp| zone.to_datetime(time).date().to_string();
    let mut parts = vec![plural(statistics.sessions, "session")];
    if statistics.agents > 0 {
        parts.push(plural(statistics.agents, "subagent"));
    }
    parts.push(plural(statistics.turns, "turn"));
    parts.push(plural(statistics.prompts, "prompt"));
    if let (Some(first), Some(last)) = (statistics.started, statistics.ended) {
        parts.push(format!("{} to {}", day(first), day(last)));
    }
    parts
}

/// In percent of a whole, where there is one.
pub(crate) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

/// How many calls of a tool failed, in percent of those that ended.
pub(crate) fn failed_percent(tool: &ToolStatistics) -> Option<f64> {
    percent(tool.failed, tool.calls - tool.open)
}

/// The turns whose context is shown: the first ones, then larger and larger steps.
pub(crate) fn shown_contexts(points: &[ContextPoint]) -> impl Iterator<Item = &ContextPoint> {
    const SHOWN: [u32; 13] = [1, 2, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000];
    points.iter().filter(|point| SHOWN.contains(&point.turn))
}

/// The ranges from the first in which there is something to the last.
pub(crate) fn shown_lengths(ranges: &[LengthRange]) -> &[LengthRange] {
    let is_used = |range: &LengthRange| range.turns > 0;
    match (ranges.iter().position(is_used), ranges.iter().rposition(is_used)) {
        (Some(first), Some(last)) => &ranges[first..=last],
        _ => &[],
    }
}

/// A range of lengths in words.
pub(crate) fn length_name(range: &LengthRange) -> String {
    let short = |milliseconds: u64| match milliseconds / 1000 {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3600),
    };
    match range.below {
        Some(below) if range.from == 0 => format!("below {}", short(below)),
        Some(below) => format!("{} to {}", short(range.from), short(below)),
        None => format!("{} and more", short(range.from)),
    }
}

pub(crate) fn write_text(
    many: &Many,
    question: &Question<'_>,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    output.page();
    let statistics = &many.statistics;
    let about = about(statistics, &question.zone).join(", ");
    output.line(&output.paint(Look::Strong, &about))?;
    let mut second = vec![
        format!("{} of work", duration(statistics.working_milliseconds)),
        plural(statistics.messages, "message"),
    ];
    if let Some(hits) = cache_hit_percent(&statistics.tokens) {
        second.push(format!("{hits:.1} % of input from the cache"));
    }
    output.line(&second.join(", "))?;
    write_tools(statistics, question.limit, output)?;
    write_models(statistics, question.limit, output)?;
    write_lengths(statistics, output)?;
    write_hours(statistics, &question.zone, output)?;
    write_longest(many, output)?;
    write_contexts(statistics, output)?;
    write_files(statistics, question.limit, environment, output)
}

/// A heading and a table, whose first row says what its columns are.
fn section<const N: usize>(
    output: &mut Output,
    heading: &str,
    columns: [Column; N],
    names: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Result<(), CommandError> {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    let mut table = Table::new(&columns);
    table.row(names.map(str::to_owned));
    for row in rows {
        table.row(row);
    }
    output.line("")?;
    output.line(&output.paint(Look::Strong, heading))?;
    output.set_in("  ", |output| {
        for (at, cells) in table.layout(output.width).into_iter().enumerate() {
            let line = cells.join("  ");
            let look = if at == 0 { Look::Faint } else { Look::Plain };
            output.line(&output.paint(look, line.trim_end()))?;
        }
        Ok(())
    })
}

fn write_tools(
    statistics: &Statistics,
    limit: usize,
    output: &mut Output,
) -> Result<(), CommandError> {
    let most = statistics.tools.first().map_or(0, |tool| tool.calls);
    let rows = statistics.tools.iter().take(limit).map(|tool| {
        let failed = failed_percent(tool).filter(|_| tool.failed > 0);
        [
            one_line(&tool.name),
            count(tool.calls),
            bar(tool.calls, most, BAR),
            failed.map(|failed| format!("{failed:.1} %")).unwrap_or_default(),
            tool.median_milliseconds.map(duration).unwrap_or_default(),
            tool.median_milliseconds.map(|_| duration(tool.total_milliseconds)).unwrap_or_default(),
        ]
    });
    let names = ["", "calls", "", "failed", "median", "total"];
    section(output, "tools", [Flexible, Right, Left, Right, Right, Right], names, rows)
}

fn write_models(
    statistics: &Statistics,
    limit: usize,
    output: &mut Output,
) -> Result<(), CommandError> {
    let most = statistics.models.first().map_or(0, |model| model.messages);
    let rows = statistics.models.iter().take(limit).map(|model| {
        let hits = cache_hit_percent(&model.tokens);
        [
            one_line(&model.name),
            count(model.messages),
            bar(model.messages, most, BAR),
            hits.map(|hits| format!("{hits:.1} %")).unwrap_or_default(),
        ]
    });
    let names = ["", "messages", "", "from cache"];
    section(output, "models", [Flexible, Right, Left, Right], names, rows)
}

fn write_lengths(statistics: &Statistics, output: &mut Output) -> Result<(), CommandError> {
    let (Some(median), Some(long)) = (statistics.median_turn, statistics.long_turn) else {
        return Ok(());
    };
    let heading =
        format!("turns (half take {} at most, nine of ten {})", duration(median), duration(long));
    let most = statistics.lengths.iter().map(|range| range.turns).max().unwrap_or(0);
    let rows = shown_lengths(&statistics.lengths)
        .iter()
        .map(|range| [length_name(range), count(range.turns), bar(range.turns, most, BAR)]);
    section(output, &heading, [Left, Right, Left], ["", "turns", ""], rows)
}

fn write_hours(
    statistics: &Statistics,
    zone: &TimeZone,
    output: &mut Output,
) -> Result<(), CommandError> {
    let messages = |activities: &[Activity]| -> Vec<u64> {
        activities.iter().map(|activity| activity.messages).collect()
    };
    let hours = messages(&statistics.hours);
    if hours.iter().all(|messages| *messages == 0) {
        return Ok(());
    }
    output.line("")?;
    let heading = format!("hours, by messages ({})", one_line(&zone_name(zone)));
    output.line(&output.paint(Look::Strong, &heading))?;
    output.line(format!("  {}", columns(&hours, 2)).trim_end())?;
    let marks: String = (0..24).step_by(3).map(|hour| format!("{hour:<6}")).collect();
    output.line(&output.paint(Look::Faint, &format!("  {}", marks.trim_end())))?;
    let days = messages(&statistics.weekdays);
    let most = days.iter().copied().max().unwrap_or(0);
    let rows = DAYS.iter().zip(&statistics.weekdays).map(|(name, day)| {
        let bar = bar(day.messages, most, BAR);
        [(*name).to_owned(), count(day.messages), bar, count(day.prompts)]
    });
    let names = ["", "messages", "", "prompts"];
    section(output, "days", [Left, Right, Left, Right], names, rows)
}

fn write_longest(many: &Many, output: &mut Output) -> Result<(), CommandError> {
    let most = many.longest.first().map_or(0, |one| one.working_milliseconds);
    let rows = many.longest.iter().map(|one| {
        [
            one.row.short_id(),
            duration(one.working_milliseconds),
            bar(one.working_milliseconds, most, BAR),
            count(one.turns),
            count(one.calls),
            one.row.title(),
        ]
    });
    let names = ["", "work", "", "turns", "calls", ""];
    section(output, "longest sessions", [Left, Right, Left, Right, Right, Flexible], names, rows)
}

fn write_contexts(statistics: &Statistics, output: &mut Output) -> Result<(), CommandError> {
    let most = statistics.contexts.iter().map(|point| point.median_tokens).max().unwrap_or(0);
    let rows = shown_contexts(&statistics.contexts).map(|point| {
        [
            point.turn.to_string(),
            count(point.median_tokens),
            bar(point.median_tokens, most, BAR),
            count(point.sessions),
        ]
    });
    let names = ["turn", "tokens", "", "sessions"];
    let heading = "context at the start of a turn (median)";
    section(output, heading, [Right, Right, Left, Right], names, rows)
}

fn write_files(
    statistics: &Statistics,
    limit: usize,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    let most = statistics.files.first().map_or(0, |file| file.edits);
    let rows = statistics.files.iter().take(limit).map(|file| {
        [
            one_line(&path_from_home(&file.path, environment.user_home.as_deref())),
            count(file.edits),
            bar(file.edits, most, BAR),
            format!("+{}", count(file.added)),
            format!("-{}", count(file.removed)),
        ]
    });
    let names = ["", "edits", "", "", ""];
    section(output, "files changed most", [Flexible, Right, Left, Right, Right], names, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_in_words_and_empty_ends_are_left_out() {
        let range = |from: u64, below: Option<u64>, turns| LengthRange { from, below, turns };
        let ranges = [
            range(0, Some(10_000), 0),
            range(10_000, Some(60_000), 1),
            range(60_000, Some(3_600_000), 0),
            range(3_600_000, None, 2),
        ];
        let names: Vec<String> = shown_lengths(&ranges).iter().map(length_name).collect();
        assert_eq!(names, ["10s to 1m", "1m to 1h", "1h and more"]);
        assert_eq!(length_name(&ranges[0]), "below 10s");
        assert_eq!(shown_lengths(&ranges[..1]), []);
    }
}
