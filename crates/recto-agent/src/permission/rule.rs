//! Permission rules: `Tool` or `Tool(content)`, with the layer that sets them.

use crate::settings::Source;

/// What a rule does with the calls that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Behavior {
    /// They are refused.
    Deny,
    /// The user is asked.
    Ask,
    /// They run.
    Allow,
}

impl Behavior {
    /// The key in `permissions`, and the word in permission updates.
    pub fn name(self) -> &'static str {
        match self {
            Behavior::Deny => "deny",
            Behavior::Ask => "ask",
            Behavior::Allow => "allow",
        }
    }
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The tool.
    pub tool: String,
    /// What stands in parentheses.
    pub content: Option<String>,
    /// What it does.
    pub behavior: Behavior,
    /// Where it comes from.
    pub source: Source,
}

impl Rule {
    /// Reads a rule. Text that is not a rule matches nothing.
    pub fn parse(text: &str, behavior: Behavior, source: Source) -> Option<Rule> {
        let text = text.trim();
        let (tool, content) = match text.split_once('(') {
            None if text.contains(')') => return None,
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
        };
        let tool = match tool {
            "Task" => "Agent",
            "" => return None,
            tool => tool,
        };
        let content = match content {
            // An empty pair of parentheses says neither everything nor something.
            Some("") => return None,
            // `Bash(*)` is `Bash`; a server's tools take no content.
            Some("*") if !tool.starts_with("mcp__") => None,
            Some(content) => Some(content.to_owned()),
            None => None,
        };
        Some(Rule { tool: tool.to_owned(), content, behavior, source })
    }

    /// Whether it is a rule about every call of a tool.
    pub fn is_about_all_of(&self, tool: &str) -> bool {
        if self.content.is_some() {
            return false;
        }
        self.tool == tool || is_server_of(&self.tool, tool)
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.content {
            Some(content) => write!(f, "{}({content})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

/// `mcp__server` and `mcp__server__*` are about all tools of a server.
fn is_server_of(rule: &str, tool: &str) -> bool {
    let Some(server) = rule.strip_prefix("mcp__") else { return false };
    let server = server.strip_suffix("__*").unwrap_or(server);
    if server.is_empty() || server.contains('*') || server.contains("__") {
        return false;
    }
    tool.strip_prefix("mcp__")
        .and_then(|tool| tool.strip_prefix(server))
        .is_some_and(|rest| rest.starts_with("__"))
}

/// Splits the value of `--allowedTools`: commas or blanks part rules, parentheses protect.
pub fn split_list(text: &str) -> Vec<String> {
    let mut rules = Vec::new();
    let mut rule = String::new();
    let mut depth = 0usize;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' | '\t' | '\n' if depth == 0 => {
                rules.push(std::mem::take(&mut rule));
                continue;
            }
            _ => {}
        }
        rule.push(character);
    }
    rules.push(rule);
    rules.retain(|rule| !rule.trim().is_empty());
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Rule> {
        Rule::parse(text, Behavior::Allow, Source::User)
    }

    #[test]
    fn text_that_is_not_a_rule_matches_nothing() {
        for text in ["", "Bash(", "Bash()", "(x)", "Bash(npm test", "Bash)"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("Bash(*)").unwrap().content, None);
        assert_eq!(parse("Task(Plan)").unwrap().to_string(), "Agent(Plan)");
    }

    #[test]
    fn a_server_rule_is_about_its_tools_only() {
        let about = |rule: &str, tool: &str| parse(rule).unwrap().is_about_all_of(tool);
        assert!(about("mcp__lab", "mcp__lab__echo"));
        assert!(about("mcp__lab__*", "mcp__lab__echo"));
        assert!(about("mcp__lab__echo", "mcp__lab__echo"));
        assert!(!about("mcp__lab", "mcp__labs__echo"));
        assert!(!about("mcp__*", "mcp__lab__echo"));
        assert!(!about("mcp__lab__echo(*)", "mcp__lab__echo"));
        assert!(!about("*", "Bash"));
        assert!(!about("Web*", "WebFetch"));
    }

    #[test]
    fn lists_of_the_command_line_are_split_outside_parentheses() {
        let rules = split_list("Bash(npm test),Bash(git log *) Write");
        assert_eq!(rules, ["Bash(npm test)", "Bash(git log *)", "Write"]);
    }
}
