//! Which sessions fit what was typed, and how well.
//!
//! Every word must fit. It fits best where the title has it as it was typed, then where
//! the directory, the branch or the id has it; else its letters may stand apart in the
//! title, but not far: in a long title, a few letters are always somewhere.

use nucleo_matcher::Matcher;
use nucleo_matcher::Utf32Str;
use nucleo_matcher::pattern::Atom;
use nucleo_matcher::pattern::AtomKind;
use nucleo_matcher::pattern::CaseMatching;
use nucleo_matcher::pattern::Normalization;

use super::message::Entry;

/// What the title having a word counts, beside how well it has it.
const IN_TITLE: u32 = 2000;
/// The same for what is known beside the title.
const BESIDE_TITLE: u32 = 1000;

pub(super) struct Fitter {
    words: Vec<Word>,
}

struct Word {
    length: usize,
    whole: Atom,
    apart: Atom,
}

impl Fitter {
    pub(super) fn new(typed: &str) -> Fitter {
        let atom = |word: &str, kind: AtomKind| {
            Atom::new(word, CaseMatching::Smart, Normalization::Smart, kind, false)
        };
        let words = typed.split_whitespace().map(|word| Word {
            length: word.chars().count(),
            whole: atom(word, AtomKind::Substring),
            apart: atom(word, AtomKind::Fuzzy),
        });
        Fitter { words: words.collect() }
    }

    /// How well a session fits, and the characters of the title that do.
    pub(super) fn fit(&self, entry: &Entry, matcher: &mut Matcher) -> Option<(u32, Vec<u32>)> {
        let mut buffer = Vec::new();
        let mut score = 0;
        let mut places = Vec::new();
        let beside = format!("{} {} {}", entry.project, entry.branch, entry.id());
        for word in &self.words {
            let title = Utf32Str::new(&entry.title, &mut buffer);
            let mut found = Vec::new();
            if let Some(fits) = word.whole.indices(title, matcher, &mut found) {
                score += IN_TITLE + u32::from(fits);
                places.extend(found);
                continue;
            }
            found.clear();
            let apart = word.apart.indices(title, matcher, &mut found);
            let fits = Utf32Str::new(&beside, &mut buffer);
            if let Some(fits) = word.whole.score(fits, matcher) {
                score += BESIDE_TITLE + u32::from(fits);
                continue;
            }
            score += u32::from(apart.filter(|_| word.is_near(&found))?);
            places.extend(found);
        }
        Some((score, places))
    }
}

impl Word {
    /// Whether the letters stand near enough to be meant.
    fn is_near(&self, places: &[u32]) -> bool {
        let (first, last) = (places.iter().min(), places.iter().max());
        let span = first.zip(last).map_or(0, |(first, last)| (last - first) as usize + 1);
        span <= 2 * self.length + 1
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use nucleo_matcher::Config;
    use recto_store::LogFile;

    use super::*;

    fn entry(title: &str) -> Entry {
        Entry {
            id: "3f2a1b4c".into(),
            log: LogFile::alone(PathBuf::new(), None),
            title: title.into(),
            project: "~/code/harbour".into(),
            directory: None,
            branch: "fix/dst".into(),
            model: String::new(),
            bytes: 0,
            modified: jiff::Timestamp::UNIX_EPOCH,
            live: None,
        }
    }

    fn score(typed: &str, title: &str) -> Option<u32> {
        let mut matcher = Matcher::new(Config::DEFAULT);
        Fitter::new(typed).fit(&entry(title), &mut matcher).map(|(score, _)| score)
    }

    #[test]
    fn whole_words_fit_better_than_letters_apart() {
        let typed = "pars";
        assert!(score(typed, "Fix the parser") > score("prsr", "Fix the parser"));
        assert!(score("prsr", "Fix the parser").is_some());
        assert!(score("harbour", "Fix the parser").is_some(), "by its directory");
        assert!(score("3f2a", "Fix the parser").is_some(), "by its id");
        assert!(score("parser harbour", "Fix the parser").is_some(), "every word somewhere");
        assert!(score("parser lexer", "Fix the parser").is_none(), "every word");
        assert!(score("Parser", "Fix the parser").is_none(), "capitals are meant");
        assert!(score("grosse", "größere Änderung").is_none());
        assert!(score("grö", "größere Änderung").is_some());
    }

    #[test]
    fn letters_that_are_somewhere_do_not_fit() {
        assert_eq!(score("thm", "the list of what happens to each module"), None);
        assert!(score("thm", "a theme").is_some());
    }

    #[test]
    fn the_characters_that_fit_are_told() {
        let mut matcher = Matcher::new(Config::DEFAULT);
        let fit = Fitter::new("本").fit(&entry("日本語"), &mut matcher);
        assert_eq!(fit.map(|(_, places)| places), Some(vec![1]));
    }
}
