//! What an extractor must know of the lines before, so that a log that has grown
//! can be gone on with.

use std::collections::VecDeque;

/// A tool call whose result has not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The file that the call is about.
    pub(crate) path: String,
}

/// Calls that wait for their results, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Calls(VecDeque<Call>);

/// More calls than this do not wait: the client sends tens at a time at most.
const MOST_CALLS: usize = 256;

impl Calls {
    pub(crate) fn add(&mut self, mut call: Call) {
        // What separates in the text of a state cannot be part of it.
        for field in [&mut call.id, &mut call.tool, &mut call.path] {
            if field.contains(['\t', '\n', '\r']) {
                *field = field.replace(['\t', '\n', '\r'], " ");
            }
        }
        if self.0.len() == MOST_CALLS {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    /// The call that a result answers. A second result finds none.
    pub(crate) fn take(&mut self, id: &str) -> Option<Call> {
        let at = self.0.iter().position(|call| call.id == id)?;
        self.0.remove(at)
    }
}

/// The place of a line whose text must be read again to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLine {
    /// Where the line starts.
    pub offset: u64,
    /// Its number, from 1.
    pub number: u64,
    /// Its length.
    pub length: u64,
    /// Whether the prompt on it has left the queue.
    pub is_taken: bool,
}

/// The state of an extractor between two lines, to be kept and gone on from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub(crate) calls: Calls,
    pub(crate) titles: [u64; 3],
    pub(crate) turns: u32,
    /// The lines with prompts that wait in the queue.
    pub pending: Vec<PendingLine>,
}

impl State {
    /// The state as text, for a file or a table.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        for Call { id, tool, path } in &self.calls.0 {
            text.push_str(&format!("c\t{id}\t{tool}\t{path}\n"));
        }
        for (place, title) in self.titles.iter().enumerate().filter(|(_, title)| **title != 0) {
            text.push_str(&format!("t\t{place}\t{title}\t\n"));
        }
        if self.turns > 0 {
            text.push_str(&format!("n\t{}\t\t\n", self.turns));
        }
        for line in &self.pending {
            let PendingLine { offset, number, length, is_taken } = line;
            text.push_str(&format!("p\t{offset}\t{number}\t{length} {}\n", u8::from(*is_taken)));
        }
        text
    }

    /// Reads what [`State::encode`] wrote. What cannot be read is left out.
    pub fn decode(text: &str) -> State {
        let mut state = State::default();
        for line in text.lines() {
            let mut fields = line.split('\t');
            let mut next = || fields.next().unwrap_or_default();
            let (kind, a, b, c) = (next(), next(), next(), next());
            match kind {
                "c" => state.calls.add(Call { id: a.into(), tool: b.into(), path: c.into() }),
                "t" => {
                    if let (Ok(place @ 0..3), Ok(title)) = (a.parse::<usize>(), b.parse()) {
                        state.titles[place] = title;
                    }
                }
                "n" => state.turns = a.parse().unwrap_or(0),
                "p" => {
                    let (length, is_taken) = c.split_once(' ').unwrap_or((c, "0"));
                    if let (Ok(offset), Ok(number), Ok(length)) =
                        (a.parse(), b.parse(), length.parse())
                    {
                        let is_taken = is_taken == "1";
                        state.pending.push(PendingLine { offset, number, length, is_taken });
                    }
                }
                _ => {}
            }
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_as_it_was() {
        let mut state = State { titles: [0, 7, u64::MAX], turns: 3, ..State::default() };
        let call = |id: &str| Call { id: id.into(), tool: "Read".into(), path: "/a b/c".into() };
        state.calls.add(call("one"));
        state.calls.add(call("two"));
        state.calls.add(Call { path: "/a\tb\r\nc".into(), ..call("three") });
        for is_taken in [false, true] {
            state.pending.push(PendingLine { offset: 9, number: 2, length: 100, is_taken });
        }
        assert_eq!(State::decode(&state.encode()), state);
        assert_eq!(State::decode(""), State::default());
        assert_eq!(State::decode("x\np\tq\nt\t9\t1\n"), State::default());
    }

    #[test]
    fn calls_that_nobody_answers_do_not_pile_up() {
        let mut calls = Calls::default();
        for number in 0..1000 {
            calls.add(Call { id: number.to_string(), tool: String::new(), path: String::new() });
        }
        assert_eq!(calls.0.len(), MOST_CALLS);
        assert!(calls.take("999").is_some() && calls.take("999").is_none());
    }
}
