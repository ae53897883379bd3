//! Rows as metrics and spans, by the GenAI conventions.

use recto_view::ToolCallRow;
use recto_view::TurnRow;
use recto_view::UsageTotal;
use sha2::Digest as _;
use sha2::Sha256;

use crate::beat::MachineFacts;
use crate::otlp::wire::Message;

const SCOPE: &str = "recto";
/// Sums since the beginning: what is sent twice is the same.
const CUMULATIVE: u64 = 2;
const INTERNAL: u64 = 1;
const FAILED: u64 = 2;

/// Who sends.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) machine: String,
    pub(crate) facts: MachineFacts,
}

/// The sums of one model.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) model: String,
    pub(crate) total: UsageTotal,
    /// When the sums began.
    pub(crate) start: u64,
}

/// A session, as spans name it.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(crate) id: String,
    pub(crate) model: Option<String>,
    pub(crate) version: Option<String>,
}

impl Source {
    fn resource(&self, message: &mut Message) {
        message.attribute(1, "service.name", "claude-code");
        message.attribute(1, "recto.machine", &self.machine);
        message.attribute(1, "recto.version", &self.facts.version);
        if let Some(host) = &self.facts.host {
            message.attribute(1, "host.name", host);
        }
        if let Some(user) = &self.facts.user {
            message.attribute(1, "user.name", user);
        }
    }

    fn scope(&self, message: &mut Message) {
        message.text(1, SCOPE);
        message.text(2, &self.facts.version);
    }

    /// An `ExportMetricsServiceRequest`.
    pub(crate) fn metrics(&self, all: &[Series], now: u64) -> Vec<u8> {
        let mut request = Message::default();
        request.within(1, |resource_metrics| {
            resource_metrics.within(1, |resource| self.resource(resource));
            resource_metrics.within(2, |scope_metrics| {
                scope_metrics.within(1, |scope| self.scope(scope));
                scope_metrics.within(2, |metric| tokens(metric, all, now));
                scope_metrics.within(2, |metric| cost(metric, all, now));
            });
        });
        request.bytes()
    }

    /// An `ExportTraceServiceRequest` of spans that are written already.
    pub(crate) fn traces(&self, spans: &[Vec<u8>]) -> Vec<u8> {
        let mut request = Message::default();
        request.within(1, |resource_spans| {
            resource_spans.within(1, |resource| self.resource(resource));
            resource_spans.within(2, |scope_spans| {
                scope_spans.within(1, |scope| self.scope(scope));
                for span in spans {
                    scope_spans.text(2, span);
                }
            });
        });
        request.bytes()
    }
}

fn model(point: &mut Message, field: u32, series: &Series) {
    point.attribute(field, "gen_ai.provider.name", "anthropic");
    point.attribute(field, "gen_ai.request.model", &series.model);
    point.attribute(field, "gen_ai.response.model", &series.model);
}

fn tokens(metric: &mut Message, all: &[Series], now: u64) {
    metric.text(1, "gen_ai.client.token.usage");
    metric.text(2, "Tokens of messages, each counted once");
    metric.text(3, "{token}");
    metric.within(9, |histogram| {
        for series in all {
            let tokens = &series.total.tokens;
            for (kind, sum) in [
                ("input", tokens.input_tokens),
                ("output", tokens.output_tokens),
                ("cache_read", tokens.cache_read_input_tokens),
                ("cache_creation", tokens.cache_creation_input_tokens),
            ] {
                histogram.within(1, |point| {
                    point.fixed(2, series.start);
                    point.fixed(3, now);
                    point.fixed(4, series.total.messages);
                    point.double(5, sum as f64);
                    model(point, 9, series);
                    point.attribute(9, "gen_ai.operation.name", "chat");
                    point.attribute(9, "gen_ai.token.type", kind);
                });
            }
        }
        histogram.varint(2, CUMULATIVE);
    });
}

fn cost(metric: &mut Message, all: &[Series], now: u64) {
    metric.text(1, "recto.usage.cost");
    metric.text(2, "Cost at list prices, of messages whose price is known");
    metric.text(3, "USD");
    metric.within(7, |sum| {
        for series in all {
            sum.within(1, |point| {
                point.fixed(2, series.start);
                point.fixed(3, now);
                point.double(4, series.total.known_cost_usd);
                model(point, 7, series);
            });
        }
        sum.varint(2, CUMULATIVE);
        sum.varint(3, 1);
    });
}

fn hash<const LENGTH: usize>(parts: &[&str]) -> [u8; LENGTH] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let mut id = [0; LENGTH];
    id.copy_from_slice(&digest[..LENGTH]);
    // An id of zeros is none.
    id[0] |= 1;
    id
}

fn nanoseconds(milliseconds: i64) -> u64 {
    u64::try_from(milliseconds).unwrap_or(0).saturating_mul(1_000_000)
}

/// What identifies a turn: the same whenever it is asked.
pub(crate) fn turn_name(turn: &TurnRow) -> String {
    turn.uuid.clone().unwrap_or_else(|| format!("line {}", turn.line))
}

/// A turn as a span.
pub(crate) fn turn_span(session: &Conversation, turn: &TurnRow) -> Option<Vec<u8>> {
    let started = turn.started?.0.as_millisecond();
    let ended = turn.ended.map_or(started, |time| time.0.as_millisecond()).max(started);
    let name = turn_name(turn);
    let mut span = Message::default();
    span.text(1, hash::<16>(&["trace", &session.id, &name]));
    span.text(2, hash::<8>(&["turn", &session.id, &name]));
    span.text(5, "invoke_agent claude-code");
    span.varint(6, INTERNAL);
    span.fixed(7, nanoseconds(started));
    span.fixed(8, nanoseconds(ended));
    span.attribute(9, "gen_ai.operation.name", "invoke_agent");
    span.attribute(9, "gen_ai.provider.name", "anthropic");
    span.attribute(9, "gen_ai.agent.name", "claude-code");
    span.attribute(9, "gen_ai.conversation.id", &session.id);
    if let Some(model) = &session.model {
        span.attribute(9, "gen_ai.request.model", model);
    }
    if let Some(version) = &session.version {
        span.attribute(9, "gen_ai.agent.version", version);
    }
    let tokens = &turn.tokens;
    for (name, value) in [
        ("gen_ai.usage.input_tokens", tokens.input_tokens),
        ("gen_ai.usage.output_tokens", tokens.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", tokens.cache_read_input_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", tokens.cache_creation_input_tokens),
        ("recto.turn", u64::from(turn.turn)),
        ("recto.messages", u64::from(turn.messages)),
        ("recto.tool_calls", u64::from(turn.tool_calls)),
        ("recto.failed_tool_calls", u64::from(turn.failed_tool_calls)),
    ] {
        span.attribute_number(9, name, value);
    }
    if turn.api_errors > 0 || turn.interrupted {
        let kind = if turn.interrupted { "interrupted" } else { "api_error" };
        span.attribute(9, "error.type", kind);
        span.within(15, |status| status.varint(3, FAILED));
    }
    Some(span.bytes())
}

/// A call of a tool as a span of its turn.
pub(crate) fn call_span(
    session: &Conversation,
    turn: &TurnRow,
    call: &ToolCallRow,
) -> Option<Vec<u8>> {
    let started = call.called.or(turn.started)?.0.as_millisecond();
    let ended = call.ended.map_or(started, |time| time.0.as_millisecond()).max(started);
    let (name, tool) = (turn_name(turn), call.name.as_deref().unwrap_or("unknown"));
    let mut span = Message::default();
    span.text(1, hash::<16>(&["trace", &session.id, &name]));
    span.text(2, hash::<8>(&["call", &session.id, &call.id]));
    span.text(4, hash::<8>(&["turn", &session.id, &name]));
    span.text(5, format!("execute_tool {tool}"));
    span.varint(6, INTERNAL);
    span.fixed(7, nanoseconds(started));
    span.fixed(8, nanoseconds(ended));
    span.attribute(9, "gen_ai.operation.name", "execute_tool");
    span.attribute(9, "gen_ai.tool.name", tool);
    span.attribute(9, "gen_ai.tool.type", "function");
    span.attribute(9, "gen_ai.tool.call.id", &call.id);
    span.attribute(9, "gen_ai.conversation.id", &session.id);
    if !call.is_ok() {
        span.attribute(9, "error.type", &call.state.replace(' ', "_"));
        span.within(15, |status| status.varint(3, FAILED));
    }
    Some(span.bytes())
}
