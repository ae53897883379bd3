//! Many sessions in numbers, as charts.

use recto_view::ActivityCounts;
use recto_view::StatsReport;
use recto_view::ToolTotal;
use recto_view::chart::Bar;
use recto_view::chart::Chart;

use crate::commands::stats_text::day_name;
use crate::commands::stats_text::length_name;
use crate::commands::stats_text::shown_contexts;
use crate::commands::stats_text::shown_lengths;
use crate::commands::stats_text::title_of;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

pub(crate) fn charts(report: &StatsReport, limit: usize) -> Vec<Chart> {
    let tools = report.tools.iter().take(limit).map(|tool| {
        let failed = tool.failed_percent.filter(|_| tool.failed > 0);
        let failed = failed.map_or(String::new(), |failed| format!(", {failed:.1} % failed"));
        bar(&tool.name, tool.calls, count(tool.calls) + &failed)
    });
    let times = by_time(&report.tools).into_iter().take(limit).map(|tool| {
        let median = tool.median_ms.map(duration).unwrap_or_default();
        let text = format!("{}, median {median}", duration(tool.total_ms));
        bar(&tool.name, tool.total_ms, text)
    });
    let models = report.models.iter().take(limit);
    let models =
        models.map(|model| bar(&model.model, model.messages, plural(model.messages, "message")));
    let lengths = shown_lengths(&report.turn_lengths.ranges).iter();
    let lengths =
        lengths.map(|range| bar(&length_name(range), range.turns, plural(range.turns, "turn")));
    let messages = |label: &str, counts: &ActivityCounts| {
        bar(label, counts.messages, plural(counts.messages, "message"))
    };
    let hours = report.hours.iter();
    let hours = hours.map(|row| messages(&format!("{:02}:00", row.hour), &row.activity));
    let days = report.days.iter().map(|row| messages(&day_name(row.day), &row.activity));
    let longest = report.longest_sessions.iter();
    let longest = longest.map(|one| bar(title_of(one), one.working_ms, duration(one.working_ms)));
    let contexts = shown_contexts(&report.context).map(|point| {
        let text = format!("{} tokens", count(point.median_tokens));
        bar(&format!("turn {}", point.turn), point.median_tokens, text)
    });
    let files = report.files.iter();
    let files = files.map(|file| bar(end_of(&file.path), file.edits, plural(file.edits, "edit")));
    let hours_title = format!("Hours ({})", report.time_zone);
    vec![
        chart("Tools by calls", tools),
        chart("Tools by time", times),
        chart("Models", models),
        chart("Length of turns", lengths),
        chart(&hours_title, hours),
        chart("Days", days),
        chart("Longest sessions", longest),
        chart("Context at the start of a turn (median)", contexts),
        chart("Files changed most", files),
    ]
}

/// The tools that took time, the longest first.
fn by_time(tools: &[ToolTotal]) -> Vec<&ToolTotal> {
    let timed = tools.iter().filter(|tool| tool.total_ms > 0);
    let mut timed: Vec<&ToolTotal> = timed.collect();
    timed.sort_by_key(|tool| std::cmp::Reverse(tool.total_ms));
    timed
}

fn chart(title: &str, bars: impl Iterator<Item = Bar>) -> Chart {
    let bars: Vec<Bar> = bars.collect();
    // Bars of nothing say nothing.
    let is_empty = bars.iter().all(|bar| bar.value == 0);
    Chart { title: title.to_owned(), bars: if is_empty { Vec::new() } else { bars } }
}

fn bar(label: &str, value: u64, text: String) -> Bar {
    Bar { label: one_line(label), value, text }
}

/// The last two parts of a path, which say the most.
fn end_of(path: &str) -> &str {
    match path.rmatch_indices('/').nth(1) {
        Some((at, _)) => &path[at + 1..],
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_ordered_by_their_time() {
        let tool = |name: &str, total_ms| ToolTotal {
            name: name.to_owned(),
            calls: 9,
            failed: 0,
            open: 0,
            failed_percent: None,
            median_ms: None,
            total_ms,
        };
        let tools = [tool("short", 5), tool("none", 0), tool("long", 50)];
        let names: Vec<&str> = by_time(&tools).iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["long", "short"]);
    }

    #[test]
    fn a_path_is_known_by_its_end() {
        assert_eq!(end_of("/home/dev/app/src/a.rs"), "src/a.rs");
        assert_eq!((end_of("/a"), end_of("a/b")), ("/a", "a/b"));
    }
}
