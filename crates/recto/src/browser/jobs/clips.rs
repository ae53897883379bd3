//! Texts of a turn that can be copied: the answer, and blocks of code.

use recto_log::LineReader;
use recto_log::decode;
use recto_session::Feed;
use recto_session::Item;
use recto_session::Shown;
use recto_store::open_file;

use crate::browser::message::Clip;
use crate::browser::message::Entry;
use crate::error::CommandError;
use crate::terminal::text::code_blocks;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// How many blocks of code are offered: each has a digit.
const MOST_BLOCKS: usize = 9;

/// What a turn says that can be copied.
pub(super) fn clips(entry: &Entry, turn: u32) -> Result<Vec<Clip>, CommandError> {
    let mut feed = Feed::default();
    let mut said = Said::default();
    let mut lines = LineReader::new(open_file(&entry.log.path)?);
    while let Some(line) = lines.next_line()? {
        for shown in feed.next(&decode(line).0) {
            said.take(&shown, turn);
        }
    }
    for shown in feed.rest() {
        said.take(&shown, turn);
    }
    Ok(said.clips(turn))
}

#[derive(Default)]
struct Said {
    /// What the model wrote after its last call.
    answer: Vec<String>,
    /// Language and text.
    blocks: Vec<(String, String)>,
}

impl Said {
    fn take(&mut self, shown: &Shown, turn: u32) {
        if shown.turn != turn {
            return;
        }
        match &shown.item {
            Item::Answer { text } => {
                self.answer.push(text.trim().to_owned());
                self.blocks.extend(code_blocks(text));
            }
            Item::Call { .. } => self.answer.clear(),
            _ => {}
        }
    }

    fn clips(self, turn: u32) -> Vec<Clip> {
        let size = |text: &str| plural(text.lines().count() as u64, "line");
        let answer = self.answer.join("\n\n");
        let mut clips = Vec::new();
        if !answer.is_empty() {
            let name = format!("answer of turn {turn}, {}", size(&answer));
            clips.push(Clip { letter: 'a', name, text: answer });
        }
        let blocks = self.blocks.into_iter().filter(|(_, text)| !text.trim().is_empty());
        for ((language, text), digit) in blocks.take(MOST_BLOCKS).zip('1'..='9') {
            let language =
                if language.is_empty() { "code".to_owned() } else { one_line(&language) };
            let name = format!("{language}, {}", size(&text));
            clips.push(Clip { letter: digit, name, text });
        }
        clips
    }
}
