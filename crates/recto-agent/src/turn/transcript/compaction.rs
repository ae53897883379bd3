//! The lines of a compaction, and of commands of the client.

use std::path::Path;

use recto_log::CompactMetadata;
use recto_log::EntryUuid;
use recto_log::PreservedSegment;
use recto_log::SessionId;
use recto_log::build::MetaLine;
use recto_log::build::SystemLine;
use recto_log::build::UserLine;
use recto_store::append::LogWriter;

use super::Transcript;
use super::Written;
use super::for_generation;
use super::new_uuid;
use crate::turn::mirror::Mirror;

/// What is known of a compaction.
#[derive(Debug)]
pub(in crate::turn) struct CompactFacts<'a> {
    pub(in crate::turn) trigger: &'static str,
    pub(in crate::turn) summary: &'a str,
    pub(in crate::turn) before: u64,
    pub(in crate::turn) after: u64,
    pub(in crate::turn) milliseconds: u64,
    pub(in crate::turn) keeps: Kept,
}

/// What stays as it is beside a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::turn) enum Kept {
    Nothing,
    /// The prompt, which has no answer yet.
    Prompt,
    /// It and the answer before it.
    AnswerAndPrompt,
    /// The last answer with its calls and their results.
    Step,
}

/// What a compaction wrote.
#[derive(Debug)]
pub(in crate::turn) struct Compacted {
    pub(in crate::turn) summary: EntryUuid,
    pub(in crate::turn) kept: Vec<EntryUuid>,
    pub(in crate::turn) logical_parent: Option<EntryUuid>,
    pub(in crate::turn) dropped: u64,
}

impl Transcript {
    /// Replaces the conversation by a summary of it, and the lines that stay.
    pub(in crate::turn) fn compact(&mut self, facts: &CompactFacts<'_>) -> Written<Compacted> {
        let logical_parent = self.last.take();
        let summary = new_uuid();
        let step = std::mem::take(&mut self.step_lines);
        self.step_message.clear();
        let kept: Vec<(EntryUuid, Vec<u8>)> = match facts.keeps {
            Kept::Nothing => Vec::new(),
            Kept::Prompt => self.prompt_line.clone().into_iter().collect(),
            Kept::AnswerAndPrompt => {
                self.answer_line.take().into_iter().chain(self.prompt_line.clone()).collect()
            }
            Kept::Step => step,
        };
        let uuids: Vec<EntryUuid> = kept.iter().map(|(uuid, _)| uuid.clone()).collect();
        let segment = match (uuids.first(), uuids.last()) {
            (Some(head), Some(tail)) => Some(PreservedSegment {
                head: head.clone(),
                anchor: summary.clone(),
                tail: tail.clone(),
            }),
            _ => None,
        };
        self.dropped += facts.before.saturating_sub(facts.after);
        let metadata = CompactMetadata {
            trigger: Some(facts.trigger.to_owned()),
            tokens_before: Some(facts.before),
            tokens_after: Some(facts.after),
            milliseconds: Some(facts.milliseconds),
            tokens_dropped: Some(self.dropped),
            anchor: segment.as_ref().map(|_| summary.clone()),
            segment,
            preserved: uuids.clone(),
            preserved_with_others: uuids.clone(),
        };
        for envelope in std::iter::once(&mut self.envelope).chain(&mut self.old) {
            envelope.slug.get_or_insert_with(|| self.slug.clone());
        }
        // Older clients call a session by what was said until here.
        if let (Some(leaf), true) = (&logical_parent, self.old.is_some()) {
            let title = title_of(facts.summary).into();
            self.meta(&MetaLine::Summary { title, leaf: leaf.clone() })?;
        }
        self.system(&SystemLine::CompactBoundary {
            logical_parent: logical_parent.clone(),
            metadata,
        })?;
        let mut line = UserLine::compact_summary(facts.summary);
        let prompt = self.prompt_id.clone();
        line.prompt = Some(prompt.into());
        let position = self.next_as(summary.clone());
        self.history.forget();
        self.chained(position, None, true, |envelope, position| {
            envelope.user(position, &for_generation(&line, envelope))
        })?;
        for (_, line) in &kept {
            self.history.push(line, None);
        }
        Ok(Compacted { summary, kept: uuids, logical_parent, dropped: self.dropped })
    }

    /// Begins another conversation, in another log.
    pub(in crate::turn) fn start_over(
        &mut self,
        session: SessionId,
        writer: Option<LogWriter>,
        mirror: Option<Mirror>,
        log: &Path,
    ) {
        for envelope in std::iter::once(&mut self.envelope).chain(&mut self.old) {
            envelope.session = Some(session);
        }
        self.writer = writer;
        self.history.forget();
        self.mirror_to(mirror, log);
        self.go_on_from(None, 0, 0);
        self.prompt_id.clear();
        self.prompt_text.clear();
        self.tools_used.clear();
        self.newest.clear();
        self.prompt_line = None;
        self.answer_line = None;
        self.step_lines.clear();
        self.step_message.clear();
        self.dropped = 0;
    }

    /// A line of the client about a command, in place of the user.
    pub(in crate::turn) fn command_line(
        &mut self,
        text: &str,
        is_meta: bool,
    ) -> Written<EntryUuid> {
        let mut line = UserLine::text(text);
        line.is_meta = is_meta;
        let prompt = self.prompt_id.clone();
        line.prompt = Some(prompt.into());
        let position = self.next();
        self.chained(position, None, true, |envelope, position| {
            envelope.user(position, &for_generation(&line, envelope))
        })
    }
}

/// The first words of a summary.
fn title_of(summary: &str) -> String {
    let lines = summary.lines().map(str::trim);
    // The first line is the client's own.
    let said = lines.skip(1).find(|line| line.chars().any(char::is_alphanumeric));
    let words = said.unwrap_or(summary).split_whitespace().take(10);
    words.collect::<Vec<_>>().join(" ")
}
