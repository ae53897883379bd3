//! Which servers there are.

use std::collections::BTreeMap;

use serde_json::Value;

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process that reads and writes lines.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables besides those of this process.
        env: BTreeMap<String, String>,
    },
    /// An address that takes messages and streams answers.
    Http {
        /// The address.
        url: String,
        /// Headers to send.
        headers: BTreeMap<String, String>,
    },
    /// The program that started the session.
    Host,
    /// A kind that is not known here.
    Unknown(String),
}

impl Transport {
    /// The name in a status.
    pub fn name(&self) -> &str {
        match self {
            Transport::Stdio { .. } => "stdio",
            Transport::Http { .. } => "http",
            Transport::Host => "sdk",
            Transport::Unknown(name) => name,
        }
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Where it was named: `dynamic` (options, host) or `project`.
    pub scope: &'static str,
}

impl ServerConfig {
    /// Reads `{"mcpServers": {name: {…}}}`, or the inner object alone. Variables are filled in by
    /// `variable`: `${NAME}`, or `${NAME:-else}`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read_all(
        value: &Value,
        scope: &'static str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<ServerConfig>, String> {
        let servers = value.get("mcpServers").unwrap_or(value);
        let Some(servers) = servers.as_object() else {
            return Err("mcpServers must be an object".to_owned());
        };
        let read = |(name, server): (&String, &Value)| {
            let transport = transport(server, variable).map_err(|why| format!("{name}: {why}"))?;
            Ok(ServerConfig { name: name.clone(), transport, scope })
        };
        servers.iter().map(read).collect()
    }

    /// Where a session has it from, as `init` says.
    pub fn source(&self) -> &'static str {
        match self.transport {
            Transport::Host => "sdk",
            _ => self.scope,
        }
    }
}

fn transport(
    server: &Value,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Transport, String> {
    let filled = |text: &str| fill(text, variable);
    let text = |name: &str| server.get(name).and_then(Value::as_str);
    let texts = |name: &str| -> BTreeMap<String, String> {
        let object = server.get(name).and_then(Value::as_object);
        let pairs = object.into_iter().flatten();
        pairs.filter_map(|(key, value)| Some((key.clone(), filled(value.as_str()?)))).collect()
    };
    let kind = text("type").unwrap_or(if server.get("url").is_some() { "http" } else { "stdio" });
    match kind {
        "sdk" => Ok(Transport::Host),
        "stdio" => {
            let command = text("command").ok_or("command is missing")?;
            let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
            let args = args.filter_map(Value::as_str).map(filled).collect();
            Ok(Transport::Stdio { command: filled(command), args, env: texts("env") })
        }
        "http" | "streamable-http" => {
            let url = text("url").ok_or("url is missing")?;
            Ok(Transport::Http { url: filled(url), headers: texts("headers") })
        }
        other => Ok(Transport::Unknown(other.to_owned())),
    }
}

/// A text with variables filled in; those that are not set and have no `:-` stay.
fn fill(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        filled.push_str(before);
        let Some((inside, behind)) = behind.split_once('}') else {
            filled.push_str("${");
            rest = behind;
            continue;
        };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        match variable(name).or_else(|| otherwise.map(str::to_owned)) {
            Some(value) => filled.push_str(&value),
            None => filled.push_str(&format!("${{{inside}}}")),
        }
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_of_all_kinds_are_read() {
        let variable = |name: &str| (name == "KEY").then(|| "k".to_owned());
        let config = json!({"mcpServers": {
            "a": {"command": "run", "args": ["--key", "${KEY}"], "env": {"X": "${NO:-else}"}},
            "b": {"type": "http", "url": "https://example.org/${NO}", "headers": {"A": "${KEY}"}},
            "c": {"type": "sdk", "name": "c"},
            "d": {"type": "ws", "url": "x"},
        }});
        let servers = ServerConfig::read_all(&config, "dynamic", &variable).unwrap();
        let names: Vec<&str> = servers.iter().map(|server| server.transport.name()).collect();
        assert_eq!(names, ["stdio", "http", "sdk", "ws"]);
        let Transport::Stdio { args, env, .. } = &servers[0].transport else { panic!() };
        assert_eq!(args, &["--key", "k"]);
        assert_eq!(env["X"], "else");
        let Transport::Http { url, headers } = &servers[1].transport else { panic!() };
        assert_eq!((url.as_str(), headers["A"].as_str()), ("https://example.org/${NO}", "k"));
        assert_eq!(servers[2].source(), "sdk");
        let bad = json!({"mcpServers": {"x": {"args": []}}});
        let error = ServerConfig::read_all(&bad, "dynamic", &variable).unwrap_err();
        assert_eq!(error, "x: command is missing");
    }
}
