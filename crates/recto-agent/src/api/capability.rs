//! What an endpoint accepts.

use toml::de::DeTable;
use toml::de::DeValue;

use serde_json::Value;

/// The table that comes with recto.
const BUILT_IN: &str = include_str!("../../data/endpoints.toml");

/// What one endpoint accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The name of the row.
    pub name: String,
    /// Names in `anthropic-beta`, with `*` for anything.
    pub betas: Vec<String>,
    /// Fields of a request beside the usual ones.
    pub fields: Vec<String>,
    /// The types of `thinking`.
    pub thinking: Vec<String>,
    /// Whether `cache_control` is accepted.
    pub cache_control: bool,
    /// Whether messages of the role `system` are.
    pub system_messages: bool,
    /// Whether tools of the endpoint itself are, such as web search.
    pub server_tools: bool,
    /// Whether it counts tokens.
    pub count_tokens: bool,
    /// How long the name of a tool may be.
    pub tool_name_length: usize,
}

impl Capabilities {
    /// Whether a beta is accepted.
    pub fn has_beta(&self, name: &str) -> bool {
        self.betas.iter().any(|pattern| matches(pattern, name))
    }

    /// Whether a field is accepted.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|pattern| matches(pattern, name))
    }
}

/// What is wrong with a table of endpoints, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CapabilityError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Endpoints by host.
#[derive(Clone, Debug, Default)]
pub struct EndpointTable {
    rows: Vec<(Vec<String>, Capabilities)>,
}

impl EndpointTable {
    /// The table that comes with recto.
    pub fn built_in() -> Result<EndpointTable, CapabilityError> {
        let mut table = EndpointTable::default();
        table.add_first(BUILT_IN)?;
        Ok(table)
    }

    /// Adds rows that count before the others.
    pub fn add_first(&mut self, text: &str) -> Result<(), CapabilityError> {
        let mut rows = parse(text)?;
        rows.append(&mut self.rows);
        self.rows = rows;
        Ok(())
    }

    /// What the endpoint at a host accepts; of a host that no row names, everything.
    pub fn of_host(&self, host: &str) -> Capabilities {
        let found =
            self.rows.iter().find(|(hosts, _)| hosts.iter().any(|pattern| matches(pattern, host)));
        found.map_or_else(Capabilities::anything, |(_, row)| row.clone())
    }
}

impl Capabilities {
    /// An endpoint that accepts everything.
    pub fn anything() -> Capabilities {
        let any = || vec!["*".to_owned()];
        Capabilities {
            name: "any".into(),
            betas: any(),
            fields: any(),
            thinking: any(),
            cache_control: true,
            system_messages: true,
            server_tools: true,
            count_tokens: true,
            tool_name_length: 128,
        }
    }
}

/// Whether a name matches a pattern, in which `*` at either end stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => pattern == name,
    }
}

fn parse(text: &str) -> Result<Vec<(Vec<String>, Capabilities)>, CapabilityError> {
    let line = |at: usize| 1 + text.get(..at).unwrap_or_default().matches('\n').count();
    let fail = |at: usize, message: String| CapabilityError { line: line(at), message };
    let table = DeTable::parse(text).map_err(|error| {
        fail(error.span().map_or(0, |span| span.start), error.message().to_owned())
    })?;
    let mut rows = Vec::new();
    for (key, value) in table.get_ref() {
        let ("endpoint", DeValue::Array(found)) = (key.get_ref().as_ref(), value.get_ref()) else {
            let message = format!("`{}` is not an `[[endpoint]]`", key.get_ref());
            return Err(fail(key.span().start, message));
        };
        for row in found.iter() {
            let DeValue::Table(members) = row.get_ref() else {
                return Err(fail(row.span().start, "write an endpoint as a table".into()));
            };
            let mut hosts = Vec::new();
            let mut capabilities = Capabilities::anything();
            for (key, value) in members.iter() {
                let value = crate::mock::json_of(value.get_ref());
                let set = set(&mut capabilities, &mut hosts, key.get_ref(), &value);
                set.map_err(|message| fail(key.span().start, message))?;
            }
            if hosts.is_empty() {
                return Err(fail(row.span().start, "this endpoint has no `hosts`".into()));
            }
            rows.push((hosts, capabilities));
        }
    }
    Ok(rows)
}

fn set(
    row: &mut Capabilities,
    hosts: &mut Vec<String>,
    key: &str,
    value: &Value,
) -> Result<(), String> {
    let texts = || {
        let texts = value.as_array().map(|items| items.iter().map(|item| item.as_str()));
        let texts = texts.and_then(|items| items.collect::<Option<Vec<&str>>>());
        let texts = texts.map(|items| items.into_iter().map(str::to_owned).collect::<Vec<_>>());
        texts.ok_or_else(|| format!("`{key}` must be a list of strings"))
    };
    let truth = || value.as_bool().ok_or_else(|| format!("`{key}` must be true or false"));
    match key {
        "name" => {
            let name = value.as_str().ok_or("`name` must be a string")?;
            row.name = name.to_owned();
        }
        "hosts" => *hosts = texts()?,
        "betas" => row.betas = texts()?,
        "fields" => row.fields = texts()?,
        "thinking" => row.thinking = texts()?,
        "cache_control" => row.cache_control = truth()?,
        "system_messages" => row.system_messages = truth()?,
        "server_tools" => row.server_tools = truth()?,
        "count_tokens" => row.count_tokens = truth()?,
        "tool_name_length" => {
            let length = value.as_u64().and_then(|length| usize::try_from(length).ok());
            row.tool_name_length =
                length.filter(|length| *length > 0).ok_or("`tool_name_length` must be a number")?;
        }
        _ => return Err(format!("unknown key `{key}` in an endpoint")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_user_come_first_and_hosts_may_have_stars() {
        let mut table = EndpointTable::built_in().unwrap();
        assert_eq!(table.of_host("api.anthropic.com").name, "anthropic");
        assert_eq!(table.of_host("eu.anthropic.com").name, "anthropic");
        assert_eq!(table.of_host("127.0.0.1").name, "loopback");
        assert_eq!(table.of_host("llm.example").name, "compatible");
        let own = "[[endpoint]]\nname = \"ours\"\nhosts = [\"llm.*\"]\nbetas = [\"context-*\"]\n";
        table.add_first(own).unwrap();
        let ours = table.of_host("llm.example");
        assert_eq!(ours.name, "ours");
        assert!(ours.has_beta("context-management-2025-06-27") && !ours.has_beta("effort-1"));
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, line, words) in [
            ("[[endpoint]]\nhosts = 1\n", 2, "list of strings"),
            ("[[endpoint]]\nname = \"x\"\n", 1, "no `hosts`"),
            ("[[endpoint]]\nhosts = [\"h\"]\n\nhost = 1\n", 4, "unknown key `host`"),
            ("[[endpoint]\n", 1, ""),
            ("x = 1", 1, "not an `[[endpoint]]`"),
        ] {
            let error = EndpointTable::default().add_first(text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(error.message.contains(words), "{text}: {error}");
        }
    }
}
