//! Permission rules: `Tool` or `Tool(content)`, with the layer that sets them.

use crate::permission::shell::rules;
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
        // A rule that allows means what it says, one that forbids also what it was to say.
        let text = if behavior == Behavior::Allow { text } else { text.trim() };
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
            // `Bash(*)` is `Bash`; a server's tools take no content, and `*` is a file of the
            // directory for a rule that allows to read.
            Some("*") if behavior == Behavior::Allow && tool == "Read" => Some("*".to_owned()),
            Some("*") if !tool.starts_with("mcp__") => None,
            Some(content) => Some(content.to_owned()),
            None => None,
        };
        Some(Rule { tool: tool.to_owned(), content, behavior, source })
    }

    /// Whether it is a rule about every call of a tool.
    pub fn is_about_all_of(&self, tool: &str) -> bool {
        let forbids = self.behavior != Behavior::Allow;
        if self.content.is_some() {
            return false;
        }
        self.tool == tool
            || is_server_of(&self.tool, tool)
            || self.tool.contains('*') && (forbids || is_below_a_server(&self.tool)) && {
                rules::matches_pattern(&self.tool, tool)
            }
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

/// `mcp__server` is about all tools of a server.
fn is_server_of(rule: &str, tool: &str) -> bool {
    let Some(server) = rule.strip_prefix("mcp__") else { return false };
    if server.is_empty() || server.contains('*') || server.contains("__") {
        return false;
    }
    tool.strip_prefix("mcp__")
        .and_then(|tool| tool.strip_prefix(server))
        .is_some_and(|rest| rest.starts_with("__"))
}

/// `mcp__server__*`: a pattern that allows must name its server.
fn is_below_a_server(rule: &str) -> bool {
    let parts = rule.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.is_some_and(|(server, _)| !server.is_empty() && !server.contains('*'))
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
        assert!(about("mcp__lab__e*", "mcp__lab__echo"));
        assert!(!about("mcp__lab__e*", "mcp__lab__fail"));
        assert!(!about("mcp__*__echo", "mcp__lab__echo"));
        assert!(!about(" Write", "Write"));
        assert!(!about("Read(*)", "Read"));
    }

    #[test]
    fn a_rule_that_forbids_may_name_tools_by_a_pattern() {
        let about = |rule: &str, tool: &str| {
            Rule::parse(rule, Behavior::Deny, Source::User).unwrap().is_about_all_of(tool)
        };
        for (rule, tool) in [
            ("*", "Bash"),
            ("Web*", "WebFetch"),
            ("Task*", "TaskList"),
            ("mcp__*", "mcp__lab__echo"),
            ("mcp__*__echo", "mcp__lab__echo"),
            ("Read(*)", "Read"),
            (" Write ", "Write"),
        ] {
            assert!(about(rule, tool), "{rule} {tool}");
        }
        assert!(!about("Web*", "Write"));
        assert!(!about("mcp__lab__echo(*)", "mcp__lab__echo"));
    }

    #[test]
    fn lists_of_the_command_line_are_split_outside_parentheses() {
        let rules = split_list("Bash(npm test),Bash(git log *) Write");
        assert_eq!(rules, ["Bash(npm test)", "Bash(git log *)", "Write"]);
    }
}
