//! `ToolSearch`: loads tools that are not declared until a model asks for them.

use serde_json::Value;
use serde_json::json;

use super::Tool;
use super::context::Call;
use super::offer::Offer;
use super::outcome::Note;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::session::Session;

pub(super) const ABOUT: &str = "Loads tools whose names you know but whose schemas you do not: \
select:Name,Name for exact names, or words to search for; a word with + before it must be in the \
name.";

pub(super) const SCHEMA: Schema = Schema::open(&[
    Field::required("query", Kind::String, "select:Name,Name or words"),
    Field::optional("max_results", Kind::Number, "How many at most, 5 by default"),
]);

const DEFAULT_RESULTS: i64 = 5;

pub(super) fn run(call: &Call<'_>) -> ToolOutcome {
    let offer = call.session.offer.get();
    let query = call.text("query").trim();
    let most = call.number("max_results").map_or(DEFAULT_RESULTS, |most| most as i64);
    let matches: Vec<String> = match query.strip_prefix("select:") {
        Some(names) => {
            let is_there = |name: &&str| {
                offer.deferred.iter().any(|tool| tool.name == *name)
                    || offer.tool(name).is_some()
                    || offer.mcp_tool(name).is_some()
            };
            let mut wanted: Vec<String> = Vec::new();
            for name in names.split(',').map(str::trim).filter(is_there) {
                if !wanted.iter().any(|known| known == name) {
                    wanted.push(name.to_owned());
                }
            }
            wanted
        }
        None => first(found(call, query), most),
    };
    let structured = json!({
        "matches": matches,
        "query": call.text("query"),
        "total_deferred_tools": offer.deferred.len(),
    });
    if matches.is_empty() {
        return ToolOutcome::text("No matching deferred tools found", structured);
    }
    call.session.state().loaded.extend(matches.iter().cloned());
    let entries: Vec<Value> = super::loaded_tools(call.session)
        .into_iter()
        .filter(|tool| matches.iter().any(|name| tool["name"] == **name))
        .collect();
    let record = json!({"type": "deferred_tools_record", "entries": entries});
    let blocks = matches.iter().map(|name| json!({"type": "tool_reference", "tool_name": name}));
    ToolOutcome::blocks(blocks.collect(), structured).with_note(Note::Attached(record, None))
}

/// The first of them. A negative number leaves out as many at the end.
fn first(mut names: Vec<String>, most: i64) -> Vec<String> {
    let most = match usize::try_from(most) {
        Ok(most) => most,
        Err(_) => names.len().saturating_sub(most.unsigned_abs() as usize),
    };
    names.truncate(most);
    names
}

/// The names of deferred tools that have the words, the best first.
fn found(call: &Call<'_>, query: &str) -> Vec<String> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let offer = call.session.offer.get();
    if let Some(name) = named(&offer, query) {
        return vec![name];
    }
    let mut found: Vec<(usize, &str)> = Vec::new();
    if query.starts_with("mcp__") {
        let names = offer.deferred.iter().map(|tool| tool.name.as_str());
        found.extend(names.filter(|name| name.starts_with(query)).map(|name| (0, name)));
    }
    let rest = offer.deferred.iter().filter(|_| found.is_empty());
    for tool in rest.collect::<Vec<_>>() {
        let parts = name_parts(&tool.name);
        let about = tool.about.to_lowercase();
        let in_name = |word: &str| parts.iter().any(|part| part.contains(word));
        let must = words.iter().filter_map(|word| word.strip_prefix('+'));
        if !must.clone().all(in_name) {
            continue;
        }
        let score: usize = words
            .iter()
            .map(|word| {
                let word = word.trim_start_matches('+');
                if parts.iter().any(|part| part == word) {
                    10
                } else if in_name(word) {
                    5
                } else {
                    usize::from(about.split(|c: char| !c.is_alphanumeric()).any(|one| one == word))
                        * 2
                }
            })
            .sum();
        if score > 0 {
            found.push((score, &tool.name));
        }
    }
    found.sort_by_key(|(score, name)| (std::cmp::Reverse(*score), *name));
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// The tool whose name a query is, deferred or not.
fn named(offer: &Offer, query: &str) -> Option<String> {
    let deferred = offer.deferred.iter().map(|tool| tool.name.as_str());
    let mut names = deferred.chain(offer.tools.iter().map(|tool| tool.name()));
    names.find(|name| name.eq_ignore_ascii_case(query)).map(str::to_owned)
}

impl Session {
    /// Whether a tool is declared only when it is asked for, and nobody asked yet.
    pub(super) fn has_deferred(&self, name: &str) -> bool {
        self.offer.get().deferred.iter().any(|one| one.name == name)
            && !self.state().loaded.contains(name)
    }
}

/// What a wrong call gets of a tool that was not loaded.
pub(super) fn not_loaded(tool: Tool) -> String {
    format!(
        "\n\nThis tool's schema was not sent to the API — it was not in the discovered-tool set \
         derived from message history. Without the schema in your prompt, typed parameters (arrays, \
         numbers, booleans) get emitted as strings and the client-side parser rejects them. Load \
         the tool first: call ToolSearch with query \"select:{}\", then retry this call. For \
         reference, this tool's input schema is: {}",
        tool.name(),
        tool.schema().json_schema()
    )
}

/// The words of a name in lower case (`mcp__lab__echo`, `CronList`), without the `mcp` prefix.
fn name_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in name.strip_prefix("mcp__").unwrap_or(name).chars() {
        if c == '_' || c == '-' || c.is_uppercase() {
            parts.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(part) = parts.last_mut()
        {
            part.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The declarations of tools that a session has loaded, for the next request.
#[must_use]
pub fn loaded(session: &super::Session) -> Vec<Value> {
    let names = session.state().loaded.clone();
    let offer = session.offer.get();
    let own = names.iter().filter_map(|name| offer.tool(name)).map(Tool::declaration);
    let servers = names.iter().filter_map(|name| offer.mcp_tool(name)).map(
        |tool| json!({"name": tool.name(), "description": tool.about, "input_schema": tool.schema}),
    );
    own.chain(servers).collect()
}
