//! Usage, turns and tool calls for collectors of telemetry (OTLP over HTTP, protobuf).
//!
//! Sums are cumulative: what is sent twice says the same. A turn is a span with an id that is made
//! of its own; it is noted as sent when the collector has taken it. Texts never go.

mod payload;
mod wire;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use recto_session::usage::Dimension;
use recto_session::usage::Selection;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::keep::MachineId;
use recto_view::CallQuery;
use recto_view::Library;
use recto_view::SessionName;
use recto_view::SessionQuery;
use recto_view::SessionRow;
use recto_view::UsageTotal;
use recto_view::call_rows;
use recto_view::turn_rows;

use crate::beat::MachineFacts;
use crate::error::CollectError;
use crate::hub_token::client;
use crate::hub_token::hub_url;
use crate::hub_token::words;
use crate::otlp::payload::Conversation;
use crate::otlp::payload::Series;
use crate::otlp::payload::Source;
use crate::otlp::payload::call_span;
use crate::otlp::payload::turn_name;
use crate::otlp::payload::turn_span;
use crate::otlp::wire::Field;
use crate::otlp::wire::field;
use crate::policy::Policy;
use crate::policy::Project;
use crate::state::State;

/// So many spans are in a request.
const MANY: usize = 400;
/// How long to wait for another collector.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often a request is tried.
const TRIES: u32 = 4;

/// What was sent to a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtlpReport {
    /// Sessions that were looked at, because they have changed.
    pub sessions: u64,
    /// Turns that were sent.
    pub turns: u64,
    /// Tool calls that were sent.
    pub tool_calls: u64,
    /// Models whose sums were sent.
    pub models: u64,
    /// Messages in these sums.
    pub messages: u64,
    /// Turns that are not over yet.
    pub waiting: u64,
    /// Sessions that stay on this machine.
    pub withheld: u64,
    /// Sessions that could not be read.
    pub troubles: Vec<(String, String)>,
}

/// A collector of telemetry.
#[derive(Debug)]
pub struct Otlp {
    url: String,
    headers: Vec<(String, String)>,
    source: Source,
    policy: Policy,
    state: std::sync::Mutex<State>,
    lock: PathBuf,
    /// A turn that nothing follows is over when its session was not written for so long.
    settled: Duration,
    clock: fn() -> Timestamp,
}

/// Spans that wait for their request, and what is noted when they have arrived.
#[derive(Default)]
struct Batch {
    spans: Vec<Vec<u8>>,
    notes: Vec<(String, String)>,
    turns: u64,
    calls: u64,
}

impl Otlp {
    /// Makes ready to send to a collector. `headers` are those that it asks for, such as a key.
    pub fn open(
        home: &Home,
        data: &DataDirectory,
        address: &str,
        headers: Vec<(String, String)>,
        policy: Policy,
        facts: MachineFacts,
        clock: fn() -> Timestamp,
    ) -> Result<Otlp, CollectError> {
        let url = hub_url(address)?;
        let machine = MachineId::of(home);
        let folder = data.make(&["collect"])?;
        let lock = folder.join("stores.lock");
        let _held = recto_store::lock_file(&lock, LONGEST_WAIT)?;
        let state = State::open(&folder.join("stores.sqlite"), format!("{machine} otlp {url}"))?;
        Ok(Otlp {
            url,
            headers,
            source: Source { machine: machine.to_string(), facts },
            policy,
            state: std::sync::Mutex::new(state),
            lock: lock.clone(),
            settled: Duration::from_secs(600),
            clock,
        })
    }

    /// The collector.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Sends the sums, and the turns that are over and were not sent.
    pub fn send(&self, library: &Library) -> Result<OtlpReport, CollectError> {
        let held = recto_store::lock_file(&self.lock, LONGEST_WAIT)?;
        let _held = held.ok_or_else(|| CollectError::Busy { url: self.url.clone() })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut report = OtlpReport::default();
        let all = self.series(library, &mut report)?;
        if !all.is_empty() {
            let body = self.source.metrics(&all, now_nanoseconds(self.clock));
            runtime.block_on(self.post("/v1/metrics", body))?;
            for series in &all {
                let note = format!("{} {}", series.start, sum(&series.total));
                self.state().set_text(&format!("sums {}", series.model), Some(&note))?;
            }
        }
        let mut batch = Batch::default();
        let query = SessionQuery { count: usize::MAX, ..SessionQuery::default() };
        for row in &library.sessions(&query).sessions {
            let before = batch.spans.len();
            if let Err(error) = self.session(library, row, &mut batch, &mut report) {
                batch.spans.truncate(before);
                report.troubles.push((row.id.clone(), error.to_string()));
            }
            if batch.spans.len() >= MANY {
                runtime.block_on(self.flush(&mut batch, &mut report))?;
            }
        }
        runtime.block_on(self.flush(&mut batch, &mut report))?;
        Ok(report)
    }

    fn takes(&self, directory: Option<&str>) -> bool {
        let remote = directory
            .filter(|_| self.policy.asks_for_remotes())
            .and_then(|directory| recto_store::git_remote(directory.as_ref()));
        self.policy.takes(&Project { directory: directory.map(str::to_owned), remote })
    }

    /// The sums of every model, as `recto usage` has them.
    fn series(
        &self,
        library: &Library,
        report: &mut OtlpReport,
    ) -> Result<Vec<Series>, CollectError> {
        let chooses = self.policy.chooses_projects();
        let by: &[Dimension] = match chooses {
            true => &[Dimension::Model, Dimension::Project],
            false => &[Dimension::Model],
        };
        let usage = library.usage(by, Selection::default());
        let mut models: BTreeMap<String, UsageTotal> = BTreeMap::new();
        for row in usage.rows {
            let key = |name: &str| {
                row.keys.0.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone())
            };
            if chooses && !self.takes(key("project").as_deref()) {
                continue;
            }
            let model = key("model").unwrap_or_else(|| "unknown".to_owned());
            match models.get_mut(&model) {
                Some(total) => add(total, &row.total),
                None => {
                    models.insert(model, row.total);
                }
            }
        }
        let now = now_nanoseconds(self.clock);
        let mut all = Vec::new();
        for (model, total) in models {
            let noted = self.state().text(&format!("sums {model}"))?;
            let noted =
                noted.as_deref().and_then(|text| text.split_once(' ')).and_then(|(start, sum)| {
                    Some((start.parse::<u64>().ok()?, sum.parse::<u64>().ok()?))
                });
            // Sums that have become smaller, because sessions were deleted, begin again.
            let start = match noted {
                Some((start, before)) if sum(&total) >= before => start,
                _ => now.saturating_sub(1),
            };
            report.models += 1;
            report.messages += total.messages;
            all.push(Series { model, total, start });
        }
        Ok(all)
    }

    /// The turns of a session that are over and were not sent.
    fn session(
        &self,
        library: &Library,
        row: &SessionRow,
        batch: &mut Batch,
        report: &mut OtlpReport,
    ) -> Result<(), CollectError> {
        let mark = format!("session {}", row.name);
        let state = format!("{} {}", row.bytes, row.updated.0.as_millisecond());
        if self.state().text(&mark)?.as_ref() == Some(&state) {
            return Ok(());
        }
        if !self.takes(row.cwd.as_deref()) {
            report.withheld += 1;
            return Ok(());
        }
        report.sessions += 1;
        let trouble = |error: &dyn std::fmt::Display| CollectError::Telemetry {
            url: row.id.clone(),
            reason: error.to_string(),
        };
        let id: SessionName = row.name.parse().map_err(|_| trouble(&"it has no id"))?;
        let reading = library.read_any(id, None).map_err(|error| trouble(&error))?;
        let mut calls: HashMap<u32, Vec<_>> = HashMap::new();
        for call in call_rows(library.home(), &reading, CallQuery::default()) {
            calls.entry(call.turn).or_default().push(call);
        }
        let conversation = Conversation {
            id: row.id.clone(),
            model: row.model.clone(),
            version: row.version.clone(),
        };
        let quiet = (self.clock)().duration_since(row.updated.0).unsigned_abs();
        let turns = turn_rows(&reading, 0);
        let count = turns.len();
        let mut is_all = true;
        for (at, turn) in turns.enumerate() {
            let noted = format!("turn {} {}", row.id, turn_name(&turn));
            if self.state().text(&noted)?.is_some() {
                continue;
            }
            if at + 1 == count && quiet < self.settled {
                report.waiting += 1;
                is_all = false;
                continue;
            }
            let Some(span) = turn_span(&conversation, &turn) else { continue };
            batch.spans.push(span);
            batch.turns += 1;
            for call in calls.get(&turn.turn).into_iter().flatten() {
                batch.spans.extend(call_span(&conversation, &turn, call));
                batch.calls += 1;
            }
            batch.notes.push((noted, "sent".to_owned()));
        }
        if is_all {
            batch.notes.push((mark, state));
        }
        Ok(())
    }

    /// Sends what waits, and notes that it has arrived.
    async fn flush(&self, batch: &mut Batch, report: &mut OtlpReport) -> Result<(), CollectError> {
        let Batch { spans, notes, turns, calls } = std::mem::take(batch);
        if !spans.is_empty() {
            self.post("/v1/traces", self.source.traces(&spans)).await?;
        }
        for (name, text) in notes {
            self.state().set_text(&name, Some(&text))?;
        }
        report.turns += turns;
        report.tool_calls += calls;
        Ok(())
    }

    async fn post(&self, path: &str, body: Vec<u8>) -> Result<(), CollectError> {
        let failed = |reason: String| CollectError::Telemetry { url: self.url.clone(), reason };
        let http = client(&self.url).map_err(|error| failed(words(&error)))?;
        let mut last = String::new();
        for attempt in 0..TRIES {
            let mut request = http
                .post(format!("{}{path}", self.url))
                .header("content-type", "application/x-protobuf");
            for (name, value) in &self.headers {
                request = request.header(name, value);
            }
            match request.body(body.clone()).send().await {
                Ok(answer) => {
                    let status = answer.status();
                    let body = answer.bytes().await.unwrap_or_default();
                    if status.is_success() {
                        return rejected(&body).map_or(Ok(()), |reason| Err(failed(reason)));
                    }
                    last = format!("it answered {status}");
                    if !status.is_server_error() && status.as_u16() != 429 {
                        break;
                    }
                }
                Err(error) => last = words(&error),
            }
            if attempt + 1 < TRIES {
                tokio::time::sleep(crate::pace::backoff(attempt + 1) / 20).await;
            }
        }
        Err(failed(last))
    }
}

/// What a collector says that it did not take.
fn rejected(mut body: &[u8]) -> Option<String> {
    while let Some(one) = field(&mut body) {
        let Field::Bytes(1, mut partial) = one else { continue };
        let (mut count, mut words) = (0, String::new());
        while let Some(one) = field(&mut partial) {
            match one {
                Field::Number(1, number) => count = number,
                Field::Bytes(2, text) => words = String::from_utf8_lossy(text).into_owned(),
                _ => {}
            }
        }
        if count > 0 {
            return Some(format!("it rejected {count}: {words}"));
        }
    }
    None
}

fn now_nanoseconds(clock: fn() -> Timestamp) -> u64 {
    u64::try_from(clock().as_nanosecond()).unwrap_or(0)
}

/// What grows with every message.
fn sum(total: &UsageTotal) -> u64 {
    let tokens = &total.tokens;
    tokens.input_tokens
        + tokens.output_tokens
        + tokens.cache_read_input_tokens
        + tokens.cache_creation_input_tokens
}

fn add(total: &mut UsageTotal, other: &UsageTotal) {
    total.messages += other.messages;
    total.tokens.input_tokens += other.tokens.input_tokens;
    total.tokens.output_tokens += other.tokens.output_tokens;
    total.tokens.cache_read_input_tokens += other.tokens.cache_read_input_tokens;
    total.tokens.cache_creation_input_tokens += other.tokens.cache_creation_input_tokens;
    total.known_cost_usd += other.known_cost_usd;
}
