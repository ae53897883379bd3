//! Hooks: what ran beside a turn, and what it blocked.
//!
//! Clients tell a run of a hook in up to four ways, and each version in others:
//! when it starts (`progress`, 2.1.29), when it has ended (`attachment`, 2.1.200
//! and later), in a summary at the end of the turn (`system`, 2.0.50 and later),
//! and in what the model is told if it blocked something (all). The runs of one
//! hook at one occasion are those of the way that tells most of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use recto_log::Block;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::json::Value;

use crate::NameId;
use crate::Names;
use crate::NodeId;

/// Which way of telling a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Teller {
    Start,
    End,
    Summary,
    Result,
    Feedback,
}

/// What a line tells of hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookLine<'a> {
    pub(crate) teller: Teller,
    /// Such as `PreToolUse:Bash` or `Stop`.
    pub(crate) name: Cow<'a, str>,
    /// The occasion: the call, or an id of the client's own.
    pub(crate) occasion: Option<Cow<'a, str>>,
    pub(crate) runs: u32,
    pub(crate) failed: u32,
    pub(crate) blocked: u32,
    /// What was run, or why it failed or blocked.
    pub(crate) why: Cow<'a, str>,
}

impl<'a> HookLine<'a> {
    /// What a line tells. Most lines tell nothing.
    pub(crate) fn of(entry: &Entry<'a>) -> Option<HookLine<'a>> {
        match entry.kind() {
            Kind::Attachment => HookLine::of_attachment(entry),
            Kind::Progress => HookLine::of_progress(entry),
            Kind::System => HookLine::of_summary(entry),
            Kind::User => HookLine::of_user(entry),
            _ => None,
        }
    }

    fn of_attachment(entry: &Entry<'a>) -> Option<HookLine<'a>> {
        let attachment = entry.attachment()?;
        let kind = attachment.name().filter(|name| name.starts_with("hook_"))?;
        let text = |name| attachment.get(name).and_then(Value::as_str);
        let exit = attachment.get("exitCode").and_then(Value::as_u64).unwrap_or(0);
        let is_blocked = kind == "hook_blocking_error";
        let is_failed = !is_blocked && (exit != 0 || kind.ends_with("error"));
        // Text that a hook adds stands beside the line that says that it ran.
        let runs = u32::from(is_blocked || is_failed || kind == "hook_success");
        let why = match attachment.get("blockingError") {
            Some(error) => error.str("blockingError").or_else(|| error.as_str()),
            None if is_failed => text("stderr").filter(|text| !text.is_empty()),
            None => None,
        };
        Some(HookLine {
            teller: Teller::End,
            name: text("hookName").or_else(|| text("hookEvent")).unwrap_or_default(),
            occasion: text("toolUseID"),
            runs,
            failed: u32::from(is_failed),
            blocked: u32::from(is_blocked),
            why: why.or_else(|| text("command")).unwrap_or_default(),
        })
    }

    fn of_progress(entry: &Entry<'a>) -> Option<HookLine<'a>> {
        let data = entry.get("data")?;
        (data.str("type")? == "hook_progress").then(|| HookLine {
            teller: Teller::Start,
            name: data.str("hookName").or_else(|| data.str("hookEvent")).unwrap_or_default(),
            occasion: entry.str("toolUseID"),
            runs: 1,
            failed: 0,
            blocked: 0,
            why: data.str("command").unwrap_or_default(),
        })
    }

    fn of_summary(entry: &Entry<'a>) -> Option<HookLine<'a>> {
        if entry.subtype()? != "stop_hook_summary" {
            return None;
        }
        let errors = entry.get("hookErrors").into_iter().flat_map(Value::elements);
        let errors: Vec<Cow<'a, str>> = errors.filter_map(Value::as_str).collect();
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let runs = entry.get("hookCount").and_then(Value::as_u64).unwrap_or(0);
        let runs = u32::try_from(runs).unwrap_or(u32::MAX).max(number(errors.len()));
        Some(HookLine {
            teller: Teller::Summary,
            name: "Stop".into(),
            occasion: entry.str("toolUseID"),
            runs,
            failed: 0,
            // An error of a hook at the end is a reason not to end.
            blocked: number(errors.len()),
            why: errors.into_iter().next().unwrap_or_default(),
        })
    }

    /// What the model is told: `PreToolUse:Bash hook error: […]: why`, or
    /// `Stop hook feedback:` and why.
    fn of_user(entry: &Entry<'a>) -> Option<HookLine<'a>> {
        // Looking for the word is many times faster than reading the blocks once more.
        static WORD: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b" hook "));
        WORD.find(entry.bytes())?;
        let content = entry.message()?.content();
        let blocked = |teller, name: &str, occasion, why: &str| HookLine {
            teller,
            name: name.to_owned().into(),
            occasion,
            runs: 1,
            failed: 0,
            blocked: 1,
            why: why.trim().to_owned().into(),
        };
        for block in content.blocks() {
            match block {
                Block::ToolResult { content, is_error: true, .. } => {
                    let text = content.text();
                    let Some((name, why)) = text.split_once(" hook error: [") else { continue };
                    let is_name = name.starts_with("PreToolUse:") && !name.contains('\n');
                    if !is_name {
                        continue;
                    }
                    let why = why.split_once("]: ").map_or("", |(_, why)| why);
                    return Some(blocked(Teller::Result, name, block.id(), why));
                }
                Block::Text { text } => {
                    let text = text.as_str()?;
                    let why = text.strip_prefix("Stop hook feedback:\n")?;
                    return Some(blocked(Teller::Feedback, "Stop", None, why));
                }
                _ => return None,
            }
        }
        None
    }

    /// What happened, in words.
    pub(crate) fn text(&self) -> String {
        let (name, why) = (&self.name, self.why.trim());
        let what = match (self.blocked, self.failed, self.runs) {
            (1.., _, _) => "blocked",
            (0, 1.., _) => "failed",
            (0, 0, 0) => "added a text",
            (0, 0, _) => "ran",
        };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        format!("hook {name} {what}{why}")
    }
}

/// What a line tells of hooks, kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HookFact {
    pub(crate) node: NodeId,
    teller: Teller,
    name: NameId,
    occasion: Option<NameId>,
    counts: Counts,
}

/// How often a hook ran, failed and blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    runs: u32,
    failed: u32,
    blocked: u32,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.runs = self.runs.saturating_add(other.runs);
        self.failed = self.failed.saturating_add(other.failed);
        self.blocked = self.blocked.saturating_add(other.blocked);
    }

    fn raise(&mut self, other: Counts) {
        self.runs = self.runs.max(other.runs);
        self.failed = self.failed.max(other.failed);
        self.blocked = self.blocked.max(other.blocked);
    }
}

impl HookFact {
    pub(crate) fn of(entry: &Entry<'_>, node: NodeId, names: &mut Names) -> Option<HookFact> {
        let line = HookLine::of(entry)?;
        Some(HookFact {
            node,
            teller: line.teller,
            name: names.add(&line.name),
            occasion: line.occasion.map(|occasion| names.add(&occasion)),
            counts: Counts { runs: line.runs, failed: line.failed, blocked: line.blocked },
        })
    }
}

/// A hook in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnHook {
    /// Such as `PreToolUse:Bash` or `Stop`.
    pub name: NameId,
    /// How often it ran.
    pub runs: u32,
    /// How often it failed without stopping anything.
    pub failed: u32,
    /// How often it stopped a call, or kept the turn from ending.
    pub blocked: u32,
}

/// The hooks of a turn, in the order in which they are first told.
pub(crate) fn hooks_of(facts: &[HookFact]) -> Vec<TurnHook> {
    // One way of telling adds up; of several ways at one occasion the most counts.
    let mut told: HashMap<(NameId, Option<NameId>, Teller), Counts> = HashMap::new();
    for fact in facts {
        told.entry((fact.name, fact.occasion, fact.teller)).or_default().add(fact.counts);
    }
    let mut occasions: HashMap<(NameId, Option<NameId>), Counts> = HashMap::new();
    // Feedback names no occasion, so it is compared with all of its hook.
    let mut feedback: HashMap<NameId, Counts> = HashMap::new();
    for ((name, occasion, teller), counts) in told {
        match teller {
            Teller::Feedback => feedback.entry(name).or_default().raise(counts),
            Teller::Start | Teller::End | Teller::Summary | Teller::Result => {
                occasions.entry((name, occasion)).or_default().raise(counts);
            }
        }
    }
    let mut sums: HashMap<NameId, Counts> = HashMap::new();
    for ((name, _), counts) in occasions {
        sums.entry(name).or_default().add(counts);
    }
    for (name, counts) in feedback {
        sums.entry(name).or_default().raise(counts);
    }
    let in_order = facts.iter().filter_map(|fact| Some((fact.name, sums.remove(&fact.name)?)));
    let hooks = in_order.map(|(name, Counts { runs, failed, blocked })| TurnHook {
        name,
        runs,
        failed,
        blocked,
    });
    hooks.filter(|hook| hook.runs > 0).collect()
}

#[cfg(test)]
#[path = "hooks_tests.rs"]
mod tests;
