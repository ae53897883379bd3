//! Many sessions in numbers, as one JSON object.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::Tokens;
use recto_session::statistics::Activity;
use recto_session::statistics::Statistics;
use recto_session::statistics::cache_hit_percent;

use crate::commands::stats_all::LongSession;
use crate::commands::stats_all::Many;
use crate::commands::stats_all::Question;
use crate::commands::stats_text::DAYS;
use crate::commands::stats_text::failed_percent;
use crate::terminal::zone::zone_name;

pub(crate) fn json(many: &Many, question: &Question<'_>) -> ObjectWriter {
    let statistics = &many.statistics;
    let time = |time: Option<jiff::Timestamp>| time.map(|time| format!("{time:.3}"));
    let object = ObjectWriter::new()
        .number("sessions", statistics.sessions)
        .number("agents", statistics.agents)
        .number("turns", statistics.turns)
        .number("prompts", statistics.prompts)
        .number("messages", statistics.messages)
        .string_or_null("started", time(statistics.started).as_deref())
        .string_or_null("ended", time(statistics.ended).as_deref())
        .string("time_zone", &zone_name(&question.zone))
        .number("working_ms", statistics.working_milliseconds);
    with_tokens(object, &statistics.tokens)
        .json("tools", &tools(statistics))
        .json("models", &models(statistics))
        .json("turn_lengths", &lengths(statistics))
        .json("hours", &hours(statistics))
        .json("days", &days(statistics))
        .json("longest_sessions", &list(&many.longest, long_session))
        .json("context", &contexts(statistics))
        .json("files", &files(statistics, question.limit))
}

fn list<T>(items: &[T], object: impl Fn(&T) -> ObjectWriter) -> Vec<u8> {
    let add = |array: ArrayWriter, item| array.json(&object(item).finish());
    items.iter().fold(ArrayWriter::new(), add).finish()
}

fn number_or_null(object: ObjectWriter, name: &str, number: Option<u64>) -> ObjectWriter {
    match number {
        Some(number) => object.number(name, number),
        None => object.json(name, b"null"),
    }
}

/// To a tenth of a percent.
fn percent_or_null(object: ObjectWriter, name: &str, percent: Option<f64>) -> ObjectWriter {
    let text = percent.map_or_else(|| "null".to_owned(), |percent| format!("{percent:.1}"));
    object.json(name, text.as_bytes())
}

fn with_tokens(object: ObjectWriter, tokens: &Tokens) -> ObjectWriter {
    let object = object
        .number("input_tokens", tokens.input)
        .number("output_tokens", tokens.output)
        .number("cache_creation_input_tokens", tokens.cache_creation)
        .number("cache_read_input_tokens", tokens.cache_read);
    percent_or_null(object, "cache_hit_percent", cache_hit_percent(tokens))
}

fn tools(statistics: &Statistics) -> Vec<u8> {
    list(&statistics.tools, |tool| {
        let object = ObjectWriter::new()
            .string("name", &tool.name)
            .number("calls", tool.calls)
            .number("failed", tool.failed)
            .number("open", tool.open);
        let object = percent_or_null(object, "failed_percent", failed_percent(tool));
        number_or_null(object, "median_ms", tool.median_milliseconds)
            .number("total_ms", tool.total_milliseconds)
    })
}

fn models(statistics: &Statistics) -> Vec<u8> {
    list(&statistics.models, |model| {
        let object = ObjectWriter::new().string("model", &model.name);
        with_tokens(object.number("messages", model.messages), &model.tokens)
    })
}

fn lengths(statistics: &Statistics) -> Vec<u8> {
    let ranges = list(&statistics.lengths, |range| {
        let object = ObjectWriter::new().number("from_ms", range.from);
        number_or_null(object, "below_ms", range.below).number("turns", range.turns)
    });
    let object = number_or_null(ObjectWriter::new(), "median_ms", statistics.median_turn);
    let object = number_or_null(object, "p90_ms", statistics.long_turn);
    object.json("ranges", &ranges).finish()
}

fn with_activity(object: ObjectWriter, activity: &Activity) -> ObjectWriter {
    object.number("prompts", activity.prompts).number("messages", activity.messages)
}

fn hours(statistics: &Statistics) -> Vec<u8> {
    let hours: Vec<(u64, &Activity)> = (0..).zip(&statistics.hours).collect();
    list(&hours, |(hour, activity)| {
        with_activity(ObjectWriter::new().number("hour", *hour), activity)
    })
}

fn days(statistics: &Statistics) -> Vec<u8> {
    let days: Vec<(&str, &Activity)> = DAYS.into_iter().zip(&statistics.weekdays).collect();
    list(&days, |(day, activity)| {
        with_activity(ObjectWriter::new().string("day", &day.to_lowercase()), activity)
    })
}

fn long_session(one: &LongSession) -> ObjectWriter {
    let digest = &one.row.digest;
    ObjectWriter::new()
        .string("id", &one.row.session.id.to_string())
        .string_or_null("title", digest.title.as_ref().map(|(title, _)| title.as_str()))
        .string_or_null("cwd", digest.cwd.as_deref())
        .number("working_ms", one.working_milliseconds)
        .number("turns", one.turns)
        .number("tool_calls", one.calls)
}

fn contexts(statistics: &Statistics) -> Vec<u8> {
    list(&statistics.contexts, |point| {
        ObjectWriter::new()
            .number("turn", u64::from(point.turn))
            .number("sessions", point.sessions)
            .number("median_tokens", point.median_tokens)
    })
}

fn files(statistics: &Statistics, limit: usize) -> Vec<u8> {
    let most = limit.min(statistics.files.len());
    list(&statistics.files[..most], |file| {
        ObjectWriter::new()
            .string("path", &file.path)
            .number("edits", file.edits)
            .number("lines_added", file.added)
            .number("lines_removed", file.removed)
            .number("logs", file.logs)
    })
}
