//! The kinds of subagents.

use super::DEFAULT_TYPE;
use crate::tool::offer::AgentType;

/// The kinds of subagents that every session has.
#[must_use]
pub fn built_in() -> Vec<AgentType> {
    let kind = |name: &str, about: &str, tools: Option<&[&str]>| AgentType {
        name: name.to_owned(),
        about: about.to_owned(),
        prompt: None,
        tools: tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
        model: None,
    };
    let reads: &[&str] = &["Bash", "Glob", "Grep", "Read", "WebFetch", "WebSearch"];
    vec![
        kind(DEFAULT_TYPE, "Any task of several steps", None),
        kind("Explore", "Explores code without changing it", Some(reads)),
        kind("Plan", "Designs a change without making it", Some(reads)),
        kind("claude", "Any other task", None),
        AgentType {
            model: Some("sonnet".to_owned()),
            ..kind("statusline-setup", "Sets up the status line", Some(&["Read", "Edit"]))
        },
    ]
}
