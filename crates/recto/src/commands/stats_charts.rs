//! Many sessions in numbers, as charts.

use recto_session::chart::Bar;
use recto_session::chart::Chart;
use recto_session::statistics::ToolStatistics;

use crate::commands::stats_all::Many;
use crate::commands::stats_all::Question;
use crate::commands::stats_text::DAYS;
use crate::commands::stats_text::failed_percent;
use crate::commands::stats_text::length_name;
use crate::commands::stats_text::shown_contexts;
use crate::commands::stats_text::shown_lengths;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::zone::zone_name;

pub(crate) fn charts(many: &Many, question: &Question<'_>) -> Vec<Chart> {
    let statistics = &many.statistics;
    let tools = statistics.tools.iter().take(question.limit).map(|tool| {
        let failed = failed_percent(tool).filter(|_| tool.failed > 0);
        let failed = failed.map_or(String::new(), |failed| format!(", {failed:.1} % failed"));
        bar(&tool.name, tool.calls, count(tool.calls) + &failed)
    });
    let times = by_time(&statistics.tools).into_iter().take(question.limit).map(|tool| {
        let median = tool.median_milliseconds.map(duration).unwrap_or_default();
        let text = format!("{}, median {median}", duration(tool.total_milliseconds));
        bar(&tool.name, tool.total_milliseconds, text)
    });
    let models = statistics.models.iter().take(question.limit);
    let models =
        models.map(|model| bar(&model.name, model.messages, plural(model.messages, "message")));
    let lengths = shown_lengths(&statistics.lengths).iter();
    let lengths =
        lengths.map(|range| bar(&length_name(range), range.turns, plural(range.turns, "turn")));
    let hours = (0..24).zip(&statistics.hours);
    let hours = hours.map(|(hour, at)| {
        bar(&format!("{hour:02}:00"), at.messages, plural(at.messages, "message"))
    });
    let days = DAYS.iter().zip(&statistics.weekdays);
    let days = days.map(|(day, at)| bar(day, at.messages, plural(at.messages, "message")));
    let longest = many.longest.iter().map(|one| {
        bar(&one.row.title(), one.working_milliseconds, duration(one.working_milliseconds))
    });
    let contexts = shown_contexts(&statistics.contexts).map(|point| {
        let text = format!("{} tokens", count(point.median_tokens));
        bar(&format!("turn {}", point.turn), point.median_tokens, text)
    });
    let files = statistics.files.iter().take(question.limit);
    let files = files.map(|file| bar(end_of(&file.path), file.edits, plural(file.edits, "edit")));
    let hours_title = format!("Hours ({})", zone_name(&question.zone));
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
fn by_time(tools: &[ToolStatistics]) -> Vec<&ToolStatistics> {
    let timed = tools.iter().filter(|tool| tool.total_milliseconds > 0);
    let mut timed: Vec<&ToolStatistics> = timed.collect();
    timed.sort_by_key(|tool| std::cmp::Reverse(tool.total_milliseconds));
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
        let tool = |name: &str, total_milliseconds| ToolStatistics {
            name: name.to_owned(),
            calls: 9,
            failed: 0,
            open: 0,
            median_milliseconds: None,
            total_milliseconds,
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
