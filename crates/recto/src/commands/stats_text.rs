//! Many sessions in numbers, as text with bars.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_view::ActivityCounts;
use recto_view::ContextRow;
use recto_view::LengthRow;
use recto_view::LongSession;
use recto_view::StatsReport;
use recto_view::TurnLengths;

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

/// How wide a bar is.
const BAR: usize = 20;

/// A day of the week as people write it.
pub(crate) fn day_name(day: &str) -> String {
    day[..1].to_uppercase() + &day[1..]
}

/// What a session is called; one without a title has none.
pub(crate) fn title_of(session: &LongSession) -> &str {
    session.title.as_deref().unwrap_or("(session)")
}

/// What it is all about, in a few parts.
pub(crate) fn about(report: &StatsReport, zone: &TimeZone) -> Vec<String> {
    let day = |time: Timestamp| zone.to_datetime(time).date().to_string();
    let mut parts = vec![plural(report.sessions, "session")];
    if report.agents > 0 {
        parts.push(plural(report.agents, "subagent"));
    }
    parts.push(plural(report.turns, "turn"));
    parts.push(plural(report.prompts, "prompt"));
    if let (Some(first), Some(last)) = (report.started, report.ended) {
        parts.push(format!("{} to {}", day(first.0), day(last.0)));
    }
    parts
}

/// The turns whose context is shown: the first ones, then larger and larger steps.
pub(crate) fn shown_contexts(points: &[ContextRow]) -> impl Iterator<Item = &ContextRow> {
    const SHOWN: [u32; 13] = [1, 2, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000];
    points.iter().filter(|point| SHOWN.contains(&point.turn))
}

/// The ranges from the first in which there is something to the last.
pub(crate) fn shown_lengths(ranges: &[LengthRow]) -> &[LengthRow] {
    let is_used = |range: &LengthRow| range.turns > 0;
    match (ranges.iter().position(is_used), ranges.iter().rposition(is_used)) {
        (Some(first), Some(last)) => &ranges[first..=last],
        _ => &[],
    }
}

/// A range of lengths in words.
pub(crate) fn length_name(range: &LengthRow) -> String {
    let short = |milliseconds: u64| match milliseconds / 1000 {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3600),
    };
    match range.below_ms {
        Some(below) if range.from_ms == 0 => format!("below {}", short(below)),
        Some(below) => format!("{} to {}", short(range.from_ms), short(below)),
        None => format!("{} and more", short(range.from_ms)),
    }
}

pub(crate) fn write_text(
    report: &StatsReport,
    question: &Question<'_>,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    output.page();
    let about = about(report, &question.zone).join(", ");
    output.line(&output.paint(Look::Strong, &about))?;
    let mut second = vec![
        format!("{} of work", duration(report.working_ms)),
        plural(report.messages, "message"),
    ];
    if let Some(hits) = report.tokens.cache_hit_percent {
        second.push(format!("{hits:.1} % of input from the cache"));
    }
    output.line(&second.join(", "))?;
    write_tools(report, question.limit, output)?;
    write_models(report, question.limit, output)?;
    write_lengths(&report.turn_lengths, output)?;
    write_hours(report, output)?;
    write_longest(report, output)?;
    write_contexts(report, output)?;
    write_files(report, environment, output)
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
        for (at, cells) in table.aligned(output.width).into_iter().enumerate() {
            let line = cells.join("  ");
            let look = if at == 0 { Look::Faint } else { Look::Plain };
            output.line(&output.paint(look, line.trim_end()))?;
        }
        Ok(())
    })
}

fn write_tools(
    report: &StatsReport,
    limit: usize,
    output: &mut Output,
) -> Result<(), CommandError> {
    let most = report.tools.first().map_or(0, |tool| tool.calls);
    let rows = report.tools.iter().take(limit).map(|tool| {
        let failed = tool.failed_percent.filter(|_| tool.failed > 0);
        [
            one_line(&tool.name),
            count(tool.calls),
            bar(tool.calls, most, BAR),
            failed.map(|failed| format!("{failed:.1} %")).unwrap_or_default(),
            tool.median_ms.map(duration).unwrap_or_default(),
            tool.median_ms.map(|_| duration(tool.total_ms)).unwrap_or_default(),
        ]
    });
    let names = ["", "calls", "", "failed", "median", "total"];
    section(output, "tools", [Flexible, Right, Left, Right, Right, Right], names, rows)
}

fn write_models(
    report: &StatsReport,
    limit: usize,
    output: &mut Output,
) -> Result<(), CommandError> {
    let most = report.models.first().map_or(0, |model| model.messages);
    let rows = report.models.iter().take(limit).map(|model| {
        let hits = model.tokens.cache_hit_percent;
        [
            one_line(&model.model),
            count(model.messages),
            bar(model.messages, most, BAR),
            hits.map(|hits| format!("{hits:.1} %")).unwrap_or_default(),
        ]
    });
    let names = ["", "messages", "", "from cache"];
    section(output, "models", [Flexible, Right, Left, Right], names, rows)
}

fn write_lengths(lengths: &TurnLengths, output: &mut Output) -> Result<(), CommandError> {
    let (Some(median), Some(long)) = (lengths.median_ms, lengths.p90_ms) else {
        return Ok(());
    };
    let heading = format!("turn duration (median {}, p90 {})", duration(median), duration(long));
    let most = lengths.ranges.iter().map(|range| range.turns).max().unwrap_or(0);
    let rows = shown_lengths(&lengths.ranges)
        .iter()
        .map(|range| [length_name(range), count(range.turns), bar(range.turns, most, BAR)]);
    section(output, &heading, [Left, Right, Left], ["", "turns", ""], rows)
}

fn write_hours(report: &StatsReport, output: &mut Output) -> Result<(), CommandError> {
    let hours: Vec<u64> = report.hours.iter().map(|row| row.activity.messages).collect();
    if hours.iter().all(|messages| *messages == 0) {
        return Ok(());
    }
    output.line("")?;
    let heading = format!("hours, by messages ({})", one_line(&report.time_zone));
    output.line(&output.paint(Look::Strong, &heading))?;
    output.line(format!("  {}", columns(&hours, 2)).trim_end())?;
    let marks: String = (0..24).step_by(3).map(|hour| format!("{hour:<6}")).collect();
    output.line(&output.paint(Look::Faint, &format!("  {}", marks.trim_end())))?;
    let most = report.days.iter().map(|row| row.activity.messages).max().unwrap_or(0);
    let rows = report.days.iter().map(|row| {
        let ActivityCounts { messages, prompts } = row.activity;
        [day_name(row.day), count(messages), bar(messages, most, BAR), count(prompts)]
    });
    let names = ["", "messages", "", "prompts"];
    section(output, "days", [Left, Right, Left, Right], names, rows)
}

fn write_longest(report: &StatsReport, output: &mut Output) -> Result<(), CommandError> {
    let most = report.longest_sessions.first().map_or(0, |one| one.working_ms);
    let rows = report.longest_sessions.iter().map(|one| {
        [
            one.id.chars().take(8).collect(),
            duration(one.working_ms),
            bar(one.working_ms, most, BAR),
            count(one.turns),
            count(one.tool_calls),
            one_line(title_of(one)),
        ]
    });
    let names = ["", "work", "", "turns", "calls", ""];
    section(output, "longest sessions", [Left, Right, Left, Right, Right, Flexible], names, rows)
}

fn write_contexts(report: &StatsReport, output: &mut Output) -> Result<(), CommandError> {
    let most = report.context.iter().map(|point| point.median_tokens).max().unwrap_or(0);
    let rows = shown_contexts(&report.context).map(|point| {
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
    report: &StatsReport,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    let most = report.files.first().map_or(0, |file| file.edits);
    let rows = report.files.iter().map(|file| {
        [
            one_line(&path_from_home(&file.path, environment.user_home.as_deref())),
            count(file.edits),
            bar(file.edits, most, BAR),
            format!("+{}", count(file.lines_added)),
            format!("-{}", count(file.lines_removed)),
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
        let range = |from_ms, below_ms, turns| LengthRow { from_ms, below_ms, turns };
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
