//! What in a log is not known to recto.
//!
//! A finding names types and fields of the format, never what is in them, so
//! that a report can be shown to anybody.

use std::collections::BTreeMap;

use crate::Entry;
use crate::Kind;
use crate::json::Value;
use crate::schema;

/// What kind of name is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// A `type` of line.
    Type,
    /// A subtype, or the type of an attachment.
    Subtype,
    /// A content block.
    Block,
    /// A field of a line, of a message or of its usage.
    Field,
}

impl FindingKind {
    /// The name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Type => "type",
            FindingKind::Subtype => "subtype",
            FindingKind::Block => "block",
            FindingKind::Field => "field",
        }
    }
}

/// One name that is not known, and the client that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Finding {
    /// What kind of name it is.
    pub kind: FindingKind,
    /// The name, with the line's type before it.
    pub name: String,
    /// The version of the client, `?` where the line does not say.
    pub version: String,
}

/// Names beyond this many are counted together: a hostile log could invent
/// them without end.
const MOST_NAMES: usize = 10_000;

const OTHERS: &str = "(others)";

/// How often each unknown name occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    findings: BTreeMap<Finding, u64>,
    lines: BTreeMap<String, u64>,
    /// The version of the last line that said it: lines outside the chain do not.
    version: String,
}

impl Drift {
    /// Looks at one line.
    pub fn add(&mut self, entry: &Entry<'_>) {
        if matches!(entry.kind(), Kind::Blank | Kind::Opaque) {
            return;
        }
        if let Some(version) = entry.version()
            && version != self.version
        {
            self.version = plain(&version);
            if self.lines.len() >= MOST_NAMES && !self.lines.contains_key(&self.version) {
                self.version = OTHERS.to_owned();
            }
        }
        let version = if self.version.is_empty() { "?" } else { &self.version };
        match self.lines.get_mut(version) {
            Some(count) => *count += 1,
            None => drop(self.lines.insert(version.to_owned(), 1)),
        }
        let kind = entry.kind();
        if kind == Kind::Unknown {
            let name = entry.type_name().map_or_else(|| "(none)".into(), |name| plain(&name));
            self.found(FindingKind::Type, name);
            return;
        }
        if let Some(subtype) = entry.subtype()
            && !schema::is_known_subtype(kind, &subtype)
        {
            self.found(FindingKind::Subtype, format!("{}/{}", kind.name(), plain(&subtype)));
        }
        for member in entry.object().members() {
            let key = member.key();
            if !schema::is_known_field(kind, &key) {
                self.found(FindingKind::Field, format!("{}.{}", kind.name(), plain(&key)));
            }
        }
        if matches!(kind, Kind::User | Kind::Assistant)
            && let Some(message) = entry.get("message")
        {
            self.add_message(kind, message);
        }
    }

    fn add_message(&mut self, kind: Kind, message: Value<'_>) {
        for member in message.members() {
            let key = member.key();
            if !schema::is_known_message_field(&key) {
                self.found(FindingKind::Field, format!("{}.message.{}", kind.name(), plain(&key)));
            }
            if key == "usage" {
                for part in member.value.members() {
                    if !schema::is_known_usage_field(&part.key()) {
                        let name = format!("{}.message.usage.{}", kind.name(), plain(&part.key()));
                        self.found(FindingKind::Field, name);
                    }
                }
            }
            if key == "content" {
                for block in member.value.elements() {
                    let name = block.str("type").unwrap_or_default();
                    if !schema::is_known_block(&name) {
                        self.found(FindingKind::Block, format!("{}/{}", kind.name(), plain(&name)));
                    }
                }
            }
        }
    }

    fn found(&mut self, kind: FindingKind, name: String) {
        let version = if self.version.is_empty() { "?".into() } else { self.version.clone() };
        self.count(Finding { kind, name, version }, 1);
    }

    fn count(&mut self, mut finding: Finding, count: u64) {
        if self.findings.len() >= MOST_NAMES && !self.findings.contains_key(&finding) {
            finding = Finding { name: OTHERS.into(), version: OTHERS.into(), ..finding };
        }
        *self.findings.entry(finding).or_default() += count;
    }

    /// Adds what another report found.
    pub fn merge(&mut self, other: Drift) {
        for (finding, count) in other.findings {
            self.count(finding, count);
        }
        for (mut version, count) in other.lines {
            if self.lines.len() >= MOST_NAMES && !self.lines.contains_key(&version) {
                version = OTHERS.to_owned();
            }
            *self.lines.entry(version).or_default() += count;
        }
    }

    /// Every unknown name, in order, and how often it occurs.
    pub fn findings(&self) -> impl Iterator<Item = (&Finding, u64)> {
        self.findings.iter().map(|(finding, count)| (finding, *count))
    }

    /// How many lines of which client were looked at.
    pub fn lines(&self) -> impl Iterator<Item = (&str, u64)> {
        self.lines.iter().map(|(version, count)| (version.as_str(), *count))
    }
}

/// A name that may be shown: one that looks like content is not.
fn plain(name: &str) -> String {
    let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.len() <= 48 && name.chars().all(usual) {
        name.to_owned()
    } else {
        "(unusual name)".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use crate::Lines;
    use crate::RawLine;
    use crate::decode;

    use super::*;

    #[test]
    fn names_without_end_are_counted_together() {
        let mut drift = Drift::default();
        for number in 0..MOST_NAMES + 50 {
            let line = format!(r#"{{"type":"t{number}","version":"{number}"}}"#);
            drift.add(&decode(RawLine::alone(line.as_bytes())).0);
        }
        let mut merged = drift.clone();
        merged.merge(drift);
        assert_eq!(merged.findings().count(), MOST_NAMES + 1);
        let others = merged.findings().find(|(finding, _)| finding.name == OTHERS);
        assert_eq!(others.unwrap().1, 100);
        assert_eq!(merged.lines().find(|(version, _)| *version == OTHERS), Some((OTHERS, 100)));
    }

    #[test]
    fn unknown_names_are_counted_by_version_without_content() {
        let log = concat!(
            r#"{"type":"mode","mode":"x"}"#,
            "\n",
            r#"{"type":"user","version":"3.0","secret text":1,"newField":{"k":"v"},"message":{"role":"user","content":[{"type":"hologram"}],"usage":{"carbon":1},"mood":"good"}}"#,
            "\n",
            r#"{"type":"hum","a":1}"#,
            "\n",
            r#"{"type":"hum"}"#,
            "\n",
            r#"{"type":"system","subtype":"dream"}"#,
            "\nnonsense\n",
        );
        let mut drift = Drift::default();
        for line in Lines::new(log.as_bytes()) {
            drift.add(&decode(line).0);
        }
        let found: Vec<String> = drift
            .findings()
            .map(|(finding, count)| {
                format!("{} {} {} {count}", finding.kind.name(), finding.name, finding.version)
            })
            .collect();
        assert_eq!(
            found,
            [
                "type hum 3.0 2",
                "subtype system/dream 3.0 1",
                "block user/hologram 3.0 1",
                "field user.(unusual name) 3.0 1",
                "field user.message.mood 3.0 1",
                "field user.message.usage.carbon 3.0 1",
                "field user.newField 3.0 1",
            ]
        );
        assert_eq!(drift.lines().collect::<Vec<_>>(), [("3.0", 4), ("?", 1)]);
    }
}
