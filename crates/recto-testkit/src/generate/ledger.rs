//! Counting lines as they are written, and planting needles.
//!
//! Owns: what each line adds to the truth. Does not own: the text of lines.

use super::Generator;
use super::era::Model;
use super::transcript::Line;
use super::transcript::Link;
use super::transcript::Transcript;
use super::truth::Needle;
use super::truth::NeedleHit;
use super::truth::Usage;

/// What a line adds to the truth; enough to count it again when a fork copies it.
#[derive(Clone, Default)]
pub(super) struct Facts {
    /// `type` of the line; empty for blank and damaged ones.
    pub(super) kind: &'static str,
    /// Kind of damage.
    pub(super) damage: Option<&'static str>,
    pub(super) human: bool,
    pub(super) queued_human: bool,
    pub(super) compaction: bool,
    pub(super) tool: Option<&'static str>,
    pub(super) tool_result: bool,
    pub(super) tool_error: bool,
    pub(super) lone_surrogate: bool,
    pub(super) usage: Option<(&'static str, Usage)>,
    pub(super) needle: Option<usize>,
    /// Place in the chain.
    pub(super) link: Option<usize>,
}

/// Written for the first time, or copied by a fork.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copy {
    First,
    Fork,
}

/// Kinds of places for needles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Human,
    Assistant,
    Thinking,
    ToolResult,
    Agent,
}

/// A needle that waits for its place.
pub(super) struct Plan {
    needle: usize,
    place: Place,
    /// Planted once this many thousandths of the bytes are written.
    after: u64,
}

type Definition = (&'static str, &'static str, &'static str, Place, u64);

const NEEDLES: [Definition; 8] = [
    ("human_once", "cormorant ladder symposium", "human prompt", Place::Human, 280),
    ("assistant_once", "granite umbrella treaty", "assistant text", Place::Assistant, 470),
    ("thinking_once", "tangerine gearbox theorem", "assistant thinking", Place::Thinking, 410),
    (
        "tool_once",
        "pelican_digest_mismatch_9043",
        "Bash tool result (also in toolUseResult)",
        Place::ToolResult,
        620,
    ),
    ("agent_once", "cinnamon iceberg register", "subagent assistant text", Place::Agent, 250),
    ("unicode_once", "спрятанная 縫い針 🧷", "assistant text", Place::Assistant, 700),
    (
        "escaped_once",
        "the \"hidden\"\n\tneedle\\path",
        "human prompt (escaped on disk)",
        Place::Human,
        740,
    ),
    (
        "late_once",
        "antepenultimate otter recital",
        "assistant text near the end",
        Place::Assistant,
        960,
    ),
];

/// The needles and the plan to plant them.
pub(super) fn needles() -> (Vec<Needle>, Vec<Plan>) {
    let mut needles = Vec::new();
    let mut plans = Vec::new();
    for (name, text, words, place, after) in NEEDLES {
        plans.push(Plan { needle: needles.len(), place, after });
        needles.push(Needle {
            name: name.to_string(),
            text: text.to_string(),
            place: words.to_string(),
            hits: Vec::new(),
        });
    }
    for step in 0..100 {
        plans.push(Plan { needle: needles.len(), place: Place::Human, after: step * 98 / 10 });
    }
    needles.push(Needle {
        name: "common".to_string(),
        text: "stegosaurus".to_string(),
        place: "up to 100 human prompts".to_string(),
        hits: Vec::new(),
    });
    (needles, plans)
}

impl Generator {
    /// If a needle is due at this kind of place, puts it into the middle of `text`.
    pub(super) fn plant(&mut self, place: Place, text: &mut String) -> Option<usize> {
        let share = self.written * 1000 / self.total.max(1);
        let due = self.plans.iter().position(|plan| plan.place == place && share >= plan.after)?;
        let needle = self.plans.remove(due).needle;
        let mut middle = text.len() / 2;
        while !text.is_char_boundary(middle) {
            middle += 1;
        }
        text.insert_str(middle, &format!(" {} ", self.truth.needles[needle].text));
        Some(needle)
    }

    /// Appends a line without a uuid.
    pub(super) fn push(&mut self, transcript: &mut Transcript, line: Vec<u8>, facts: Facts) {
        self.store(transcript, &line, facts);
        self.line_counter += 1;
        self.maybe_damage(transcript, &line);
    }

    /// Appends a line with a uuid, which becomes the parent of the next.
    pub(super) fn push_link(
        &mut self,
        transcript: &mut Transcript,
        line: Vec<u8>,
        mut facts: Facts,
        link: Link,
    ) -> usize {
        let place = transcript.chain.len();
        transcript.chain.push(link);
        transcript.leaf = Some(place);
        facts.link = Some(place);
        self.push(transcript, line, facts);
        place
    }

    /// Appends bytes and a newline, and counts them.
    pub(super) fn store(&mut self, transcript: &mut Transcript, line: &[u8], facts: Facts) {
        let start = transcript.bytes.len();
        transcript.bytes.extend_from_slice(line);
        if facts.damage != Some("truncated_eof") {
            transcript.bytes.push(b'\n');
        }
        let line = Line { start, end: transcript.bytes.len(), facts };
        self.count(transcript, &line, Copy::First);
        transcript.lines.push(line);
    }

    /// Adds a line to the totals. It must not be in `transcript.lines` yet.
    pub(super) fn count(&mut self, transcript: &Transcript, line: &Line, copy: Copy) {
        let length = (line.end - line.start) as u64;
        let facts = &line.facts;
        let truth = &mut self.truth;
        self.written += length;
        truth.lines.total += 1;
        if let Some(kind) = facts.damage {
            *truth.lines.malformed_by_kind.entry(kind.to_string()).or_default() += 1;
            return;
        }
        if facts.kind.is_empty() {
            truth.lines.blank += 1;
            return;
        }
        match truth.lines.by_type.get_mut(facts.kind) {
            Some(count) => *count += 1,
            None => {
                truth.lines.by_type.insert(facts.kind.to_string(), 1);
            }
        }
        truth.lines.max_bytes = truth.lines.max_bytes.max(length);
        truth.lines.over_100k += u64::from(length > 100_000);
        truth.lines.lone_surrogate += u64::from(facts.lone_surrogate);
        truth.tool_calls.result_lines += u64::from(facts.tool_result);
        truth.tool_calls.error_lines += u64::from(facts.tool_error);
        truth.compactions += u64::from(facts.compaction);
        truth.human_turns.lines += u64::from(facts.human);
        if copy == Copy::First {
            truth.human_turns.unique += u64::from(facts.human);
            truth.human_turns.queued += u64::from(facts.queued_human);
        }
        if let Some(name) = facts.tool {
            *truth.tool_calls.lines_by_name.entry(name.to_string()).or_default() += 1;
            if copy == Copy::First {
                *truth.tool_calls.unique_by_name.entry(name.to_string()).or_default() += 1;
            }
        }
        if let Some((model, usage)) = &facts.usage {
            let tokens = truth.tokens.entry((*model).to_string()).or_default();
            tokens.naive.add(usage);
            tokens.assistant_lines += 1;
        }
        if let Some(needle) = facts.needle {
            let uuid = facts.link.map_or("", |place| transcript.chain[place].uuid.as_str());
            truth.needles[needle].hits.push(NeedleHit {
                path: transcript.path.clone(),
                line: transcript.lines.len() as u64 + 1,
                uuid: uuid.to_string(),
                session_id: transcript.session_id.clone(),
            });
        }
    }

    /// Adds a message to the totals: the usage of its first line and the largest one.
    pub(super) fn count_message(
        &mut self,
        transcript: &mut Transcript,
        model: Model,
        first: &Usage,
        last: &Usage,
    ) {
        let tokens = self.truth.tokens.entry(model.name.to_string()).or_default();
        tokens.messages += 1;
        tokens.first.add(first);
        tokens.last.add(last);
        let cost = transcript.new.costs.entry(model.name).or_insert((model, Usage::default()));
        cost.1.add(last);
    }
}
