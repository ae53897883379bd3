//! Prompts that were typed while the client was busy, as the queue tells them.
//!
//! Newer clients write such a prompt into the chain when the model gets it, as
//! an attachment or as a line of its own. Clients 2.0.50 and 2.1.29 do not: the
//! text is only in the line that put it into the queue. What the queue tells is
//! given only if the chain does not tell it too.

use std::collections::VecDeque;

use jiff::Timestamp;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::QueueOperation;
use recto_log::UserText;
use recto_log::classify_user;

use crate::Span;
use crate::items;
use crate::show::items::Item;
use crate::show::items::pictures;
use crate::show::turns::kind_of_text;

/// How many prompts are held; no person types more while one waits.
const MOST_WAITING: usize = 1000;

/// A prompt that only the queue tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPrompt {
    /// The line that put it into the queue.
    pub line: u64,
    /// Where that line is.
    pub span: Span,
    /// When it was typed.
    pub time: Option<Timestamp>,
    /// Its text.
    pub text: String,
    /// Pictures and documents in it.
    pub pictures: usize,
}

impl QueuedPrompt {
    /// The prompt that a line puts into the queue.
    pub fn of(entry: &Entry<'_>) -> Option<QueuedPrompt> {
        let Some(QueueOperation::Enqueue(content)) = entry.queue_operation() else { return None };
        let (line, content) = (entry.line(), Content::of(content));
        Some(QueuedPrompt {
            line: line.number,
            span: Span { offset: line.offset, length: line.length },
            time: entry.timestamp(),
            text: content.text().into_owned(),
            pictures: pictures(content),
        })
    }

    /// Whether a person typed it: background tasks that ended are queued too.
    fn is_typed(&self) -> bool {
        !self.text.trim_start().starts_with("<task-notification>")
    }
}

/// The queue of a client, line by line.
#[derive(Debug, Clone, Default)]
pub struct PromptQueue {
    waiting: VecDeque<QueuedPrompt>,
    /// Given to the model while it worked, and not yet told by the chain.
    taken: VecDeque<QueuedPrompt>,
}

impl PromptQueue {
    /// Takes in a line. Gives the prompts that the model got before it, and
    /// that no line of the chain tells.
    pub fn next(&mut self, entry: &Entry<'_>) -> Vec<QueuedPrompt> {
        if let Some(operation) = entry.queue_operation() {
            self.operate(operation, entry);
            return Vec::new();
        }
        if self.is_empty() {
            return Vec::new();
        }
        match entry.kind() {
            Kind::Attachment => {
                let attachment = entry.attachment();
                if let Some(prompt) = attachment.and_then(|attachment| attachment.queued_prompt()) {
                    self.forget(&Content::of(Some(prompt)).text());
                }
                Vec::new()
            }
            Kind::User => {
                let kind = classify_user(entry);
                if kind_of_text(kind).is_none() {
                    return Vec::new();
                }
                for item in items(entry) {
                    if let Item::Prompt { text, .. } = item {
                        self.forget(&text);
                    }
                }
                if kind == UserText::TaskNotification {
                    self.forget(&entry.message().map_or("".into(), |m| m.content().text()));
                }
                self.told()
            }
            Kind::Assistant => self.told(),
            _ => Vec::new(),
        }
    }

    /// Whether no prompt is held, so that lines of the chain tell nothing about one.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.taken.is_empty()
    }

    /// The prompts that are left at the end of a log: taken last, or never.
    pub fn rest(&self) -> Vec<QueuedPrompt> {
        let all = self.taken.iter().chain(&self.waiting);
        all.filter(|prompt| prompt.is_typed()).cloned().collect()
    }

    /// All prompts that were not told, and whether each one has left the queue.
    #[cfg(feature = "search")]
    pub(crate) fn pending(&self) -> impl Iterator<Item = (&QueuedPrompt, bool)> {
        let taken = self.taken.iter().map(|prompt| (prompt, true));
        taken.chain(self.waiting.iter().map(|prompt| (prompt, false)))
    }

    /// Puts back what [`PromptQueue::pending`] gave.
    #[cfg(feature = "search")]
    pub(crate) fn put_back(&mut self, prompt: QueuedPrompt, is_taken: bool) {
        let list = if is_taken { &mut self.taken } else { &mut self.waiting };
        list.push_back(prompt);
    }

    fn operate(&mut self, operation: QueueOperation<'_>, entry: &Entry<'_>) {
        match operation {
            QueueOperation::Enqueue(_) => {
                if self.waiting.len() < MOST_WAITING {
                    self.waiting.extend(QueuedPrompt::of(entry));
                }
            }
            // It becomes a line of the chain.
            QueueOperation::Dequeue => drop(self.waiting.pop_front()),
            QueueOperation::Remove(content) => {
                // 2.1.29 does not say which one; it takes them in order.
                let at = content.map_or(Some(0), |content| {
                    let text = Content::of(Some(content)).text();
                    self.waiting.iter().position(|prompt| prompt.text == *text)
                });
                self.taken.extend(at.and_then(|at| self.waiting.remove(at)));
            }
            // They are in the input line again, where they can be changed.
            QueueOperation::PopAll(_) => self.waiting.clear(),
            QueueOperation::Unknown => {}
        }
    }

    /// The chain tells a prompt itself.
    fn forget(&mut self, text: &str) {
        for list in [&mut self.taken, &mut self.waiting] {
            let found = list.iter().position(|prompt| prompt.text.trim() == text.trim());
            if found.is_some_and(|at| list.remove(at).is_some()) {
                return;
            }
        }
    }

    fn told(&mut self) -> Vec<QueuedPrompt> {
        self.taken.drain(..).filter(QueuedPrompt::is_typed).collect()
    }
}

#[cfg(test)]
mod tests {
    use recto_log::Lines;
    use recto_log::decode;

    use super::*;

    const ENQUEUE: &str = r#"{"type":"queue-operation","operation":"enqueue","content":"more"}"#;
    const REMOVE: &str = r#"{"type":"queue-operation","operation":"remove"}"#;
    const NAMED: &str = r#"{"type":"queue-operation","operation":"remove","content":"more"}"#;
    const DEQUEUE: &str = r#"{"type":"queue-operation","operation":"dequeue"}"#;
    const POP_ALL: &str = r#"{"type":"queue-operation","operation":"popAll","content":"more"}"#;
    const RESULT: &str = r#"{"type":"user","uuid":"r","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
    const ATTACHED: &str = r#"{"type":"attachment","uuid":"q","attachment":{"type":"queued_command","prompt":"more"}}"#;
    const PROMPT: &str = r#"{"type":"user","uuid":"p","message":{"content":"more"}}"#;
    const ANSWER: &str =
        r#"{"type":"assistant","uuid":"a","message":{"content":[{"type":"text","text":"ok"}]}}"#;
    const TASK: &str = r#"{"type":"queue-operation","operation":"enqueue","content":"<task-notification>x</task-notification>"}"#;

    /// The line before which each prompt is told, and its line.
    fn told(lines: &[&str]) -> Vec<(u64, u64)> {
        let log = lines.join("\n");
        let mut queue = PromptQueue::default();
        let mut told = Vec::new();
        for line in Lines::new(log.as_bytes()) {
            let number = line.number;
            let before = queue.next(&decode(line).0);
            told.extend(before.into_iter().map(|prompt| (number, prompt.line)));
        }
        told.extend(queue.rest().into_iter().map(|prompt| (0, prompt.line)));
        told
    }

    #[test]
    fn what_only_the_queue_tells_comes_where_the_model_got_it() {
        assert_eq!(told(&[ENQUEUE, REMOVE, RESULT, ANSWER]), [(4, 1)]);
        assert_eq!(told(&[ENQUEUE, NAMED, RESULT, ANSWER, ANSWER]), [(4, 1)]);
        assert_eq!(told(&[ENQUEUE, ENQUEUE, REMOVE, REMOVE, ANSWER]), [(5, 1), (5, 2)]);
    }

    #[test]
    fn what_the_chain_tells_is_not_told_twice() {
        assert_eq!(told(&[ENQUEUE, REMOVE, RESULT, ATTACHED, ANSWER]), []);
        assert_eq!(told(&[ENQUEUE, NAMED, RESULT, ATTACHED, ANSWER]), []);
        assert_eq!(told(&[ENQUEUE, DEQUEUE, PROMPT, ANSWER]), []);
        assert_eq!(told(&[ENQUEUE, POP_ALL, PROMPT, ANSWER]), []);
        assert_eq!(told(&[ENQUEUE, REMOVE, PROMPT, ANSWER]), []);
        assert_eq!(told(&[DEQUEUE, PROMPT, ANSWER]), []);
        // Of two alike, one is told.
        assert_eq!(told(&[ENQUEUE, ENQUEUE, REMOVE, REMOVE, ATTACHED, ANSWER]), [(6, 2)]);
    }

    #[test]
    fn what_still_waits_is_told_at_the_end_and_tasks_are_not_typed() {
        assert_eq!(told(&[ENQUEUE, ANSWER]), [(0, 1)]);
        assert_eq!(told(&[ENQUEUE, REMOVE]), [(0, 1)]);
        assert_eq!(told(&[TASK, REMOVE, ANSWER]), []);
        assert_eq!(told(&[TASK, ENQUEUE, REMOVE, REMOVE, ANSWER]), [(5, 2)]);
        assert_eq!(told(&[REMOVE, DEQUEUE, POP_ALL, ANSWER]), []);
    }
}
