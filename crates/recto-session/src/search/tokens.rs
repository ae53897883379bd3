//! Text to tokens.
//!
//! The rules, which `docs/concepts/search.md` tells users:
//!
//! * A word is a run of letters and digits; all else separates.
//! * Case and accents do not count.
//! * A word in mixed case is cut into its parts (`parseJSONLine`: `parse`,
//!   `json`, `line`), and is a whole token beside them (`parsejsonline`).
//! * Letters and digits stay together (`e0308`, `utf8`).
//! * Characters of scripts without spaces, and pictograms, are tokens by themselves.

use std::ops::Range;

/// The longest token, in bytes. What is longer is cut, in texts and queries alike.
const LONGEST_TOKEN: usize = 64;

/// A word of more parts is no name but noise, such as base64: it stays whole.
const MOST_PARTS: usize = 8;

/// Where a token belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// It stands in the order of the text.
    Part,
    /// It is the whole of the parts that came just before.
    Whole,
}

/// What a byte of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Separator,
    /// A lower-case letter or a digit, which is in its token what it is in the text.
    Plain,
    Upper,
    /// Of a character that is not ASCII.
    Other,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Separator; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'0'..=b'9' => Class::Plain,
            b'A'..=b'Z' => Class::Upper,
            0x80.. => Class::Other,
            _ => Class::Separator,
        };
        byte += 1;
    }
    classes
};

/// Cuts a text into tokens, in order, and says where in the text each one is.
pub fn tokens(text: &str, mut see: impl FnMut(&str, Range<usize>, TokenKind)) {
    let bytes = text.as_bytes();
    let class_at = |at: usize| match bytes.get(at) {
        Some(byte) => CLASSES[usize::from(*byte)],
        None => Class::Separator,
    };
    let mut word = Word::default();
    let mut at = 0;
    while at < bytes.len() {
        if class_at(at) == Class::Separator {
            at += 1;
            continue;
        }
        let start = at;
        while class_at(at) == Class::Plain {
            at += 1;
        }
        // Most words end here, and need no copy.
        if class_at(at) == Class::Separator {
            see(cut(&text[start..at]), start..at, TokenKind::Part);
            continue;
        }
        while matches!(class_at(at), Class::Plain | Class::Upper) {
            at += 1;
        }
        if class_at(at) == Class::Other {
            at = start + word.of_any(&text[start..], start, &mut see);
        } else {
            word.of_ascii(&text[start..at], start, &mut see);
        }
    }
}

/// A word that is being read. Its buffers are used again.
#[derive(Default)]
struct Word {
    folded: String,
    /// Where parts begin, in `folded` and in the text.
    parts: Vec<(usize, usize)>,
}

impl Word {
    fn of_ascii(
        &mut self,
        word: &str,
        start: usize,
        see: &mut impl FnMut(&str, Range<usize>, TokenKind),
    ) {
        self.folded.clear();
        self.folded.push_str(word);
        self.folded.make_ascii_lowercase();
        self.parts.clear();
        self.parts.push((0, start));
        let bytes = word.as_bytes();
        for (at, pair) in bytes.windows(2).enumerate() {
            let at = at + 1;
            if pair[1].is_ascii_uppercase() {
                let is_before_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
                if pair[0].is_ascii_lowercase() || is_before_lower {
                    self.parts.push((at, start + at));
                }
            }
        }
        self.give(start, start + word.len(), see);
    }

    /// Reads a word of any characters, or passes one that is in no word. Gives
    /// the length of what was read.
    fn of_any(
        &mut self,
        text: &str,
        start: usize,
        see: &mut impl FnMut(&str, Range<usize>, TokenKind),
    ) -> usize {
        self.folded.clear();
        self.parts.clear();
        self.parts.push((0, start));
        let mut length = 0;
        let mut was_upper_or_digit = true;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            if stands_alone(c) {
                if length == 0 {
                    length = c.len_utf8();
                    see(c.encode_utf8(&mut [0; 4]), start..start + length, TokenKind::Part);
                    return length;
                }
                break;
            }
            if is_mark(c) {
                length += c.len_utf8();
                continue;
            }
            if !c.is_alphanumeric() {
                break;
            }
            if c.is_uppercase() && !self.folded.is_empty() {
                let is_before_lower = characters.peek().is_some_and(|next| next.is_lowercase());
                if !was_upper_or_digit || is_before_lower {
                    self.parts.push((self.folded.len(), start + length));
                }
            }
            was_upper_or_digit = !c.is_lowercase();
            length += c.len_utf8();
            fold(c, &mut self.folded);
        }
        if length == 0 {
            return text.chars().next().map_or(1, char::len_utf8);
        }
        self.give(start, start + length, see);
        length
    }

    fn give(&self, start: usize, end: usize, see: &mut impl FnMut(&str, Range<usize>, TokenKind)) {
        let whole = cut(&self.folded);
        if whole.is_empty() {
            return;
        }
        let count = self.parts.len();
        if count == 1 || count > MOST_PARTS || whole.len() < self.folded.len() {
            see(whole, start..end, TokenKind::Part);
            return;
        }
        for (number, (at, from)) in self.parts.iter().enumerate() {
            let next = self.parts.get(number + 1);
            let (until, to) = next.copied().unwrap_or((self.folded.len(), end));
            see(&self.folded[*at..until], *from..to, TokenKind::Part);
        }
        see(whole, start..end, TokenKind::Whole);
    }
}

fn cut(token: &str) -> &str {
    let mut end = token.len().min(LONGEST_TOKEN);
    while !token.is_char_boundary(end) {
        end -= 1;
    }
    &token[..end]
}

/// Whether a character is a token by itself: it is of a script that has no spaces
/// between words, or a pictogram.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}'
        | '\u{3100}'..='\u{312f}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}'
        | '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a character only changes the one before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}'
        | '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}')
}

/// What the letters from U+00C0 to U+017F are without accents; `.` stands for
/// those that have none.
const PLAIN: &str = "aaaaaa.ceeeeiiii.nooooo.ouuuuy..aaaaaa.ceeeeiiii.nooooo.ouuuuy.y\
aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.lllllllllln\
nnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/// Appends a letter in lower case, without its accent.
fn fold(c: char, folded: &mut String) {
    if let Some(at) = (c as usize).checked_sub(0xc0)
        && let Some(&plain) = PLAIN.as_bytes().get(at)
        && plain != b'.'
    {
        folded.push(char::from(plain));
        return;
    }
    match c {
        'ß' | 'ẞ' => folded.push_str("ss"),
        'æ' | 'Æ' => folded.push_str("ae"),
        'œ' | 'Œ' => folded.push_str("oe"),
        // The final form is the same letter.
        'ς' => folded.push('σ'),
        _ => folded.extend(c.to_lowercase().filter(|c| !is_mark(*c))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts and wholes, the latter in brackets.
    fn shown(text: &str) -> String {
        let mut all = Vec::new();
        tokens(text, |token, _, kind| match kind {
            TokenKind::Part => all.push(token.to_owned()),
            TokenKind::Whole => all.push(format!("[{token}]")),
        });
        all.join(" ")
    }

    #[test]
    fn names_of_code_are_cut_into_parts() {
        assert_eq!(shown("snake_case kebab-case"), "snake case kebab case");
        assert_eq!(shown("parseJSONLine"), "parse json line [parsejsonline]");
        assert_eq!(shown("HTTPServer2Go"), "http server2 go [httpserver2go]");
        assert_eq!(
            shown("utf8Decoder X509Cert"),
            "utf8 decoder [utf8decoder] x509 cert [x509cert]"
        );
        assert_eq!(shown("src/main.rs:12:5"), "src main rs 12 5");
        assert_eq!(shown("error[E0308]: ENOENT 3F2A1B4C"), "error e0308 enoent 3f2a1b4c");
        assert_eq!(shown("std::fs::File"), "std fs file");
        assert_eq!(shown("getX aB"), "get x [getx] a b [ab]");
        assert_eq!(shown("--no-pager $HOME #42"), "no pager home 42");
    }

    /// What ASCII gives is what the rules for all characters give.
    #[test]
    fn short_ways_end_where_the_long_one_does() {
        const LETTERS: [char; 5] = ['a', 'z', 'B', '7', '-'];
        for number in 0..LETTERS.len().pow(6) {
            let letter = |place: u32| LETTERS[number / LETTERS.len().pow(place) % LETTERS.len()];
            let text: String = (0..6).map(letter).collect();
            let mut long = Vec::new();
            let (mut word, mut at) = (Word::default(), 0);
            while at < text.len() {
                at += word.of_any(&text[at..], at, &mut |token: &str, range, kind| {
                    long.push((token.to_owned(), range, kind));
                });
            }
            let mut short = Vec::new();
            tokens(&text, |token, range, kind| short.push((token.to_owned(), range, kind)));
            assert_eq!(short, long, "{text}");
        }
    }

    #[test]
    fn case_and_accents_do_not_count() {
        assert_eq!(shown("Ärger CRÈME naïve"), "arger creme naive");
        // The same word composed, decomposed, and without the accent.
        assert_eq!(shown("\u{e9}t\u{e9} e\u{301}te\u{301} ete"), "ete ete ete");
        assert_eq!(shown("Straße ŒUVRE Łódź ŠKODA"), "strasse oeuvre lodz skoda");
        assert_eq!(shown("ПРИВЕТ спрятанная ΟΔΟΣ οδος"), "привет спрятанная οδοσ οδοσ");
        assert_eq!(shown("İstanbul"), "istanbul");
        assert_eq!(shown("éclairCafé"), "eclair cafe [eclaircafe]");
    }

    #[test]
    fn every_accent_of_the_table_is_in_its_place() {
        assert_eq!(PLAIN.len(), 0x17f - 0xc0 + 1);
        for (c, plain) in [
            ('À', 'a'),
            ('ÿ', 'y'),
            ('Đ', 'd'),
            ('ğ', 'g'),
            ('ķ', 'k'),
            ('ł', 'l'),
            ('ň', 'n'),
            ('ő', 'o'),
            ('ř', 'r'),
            ('ţ', 't'),
            ('ű', 'u'),
            ('ŵ', 'w'),
            ('Ÿ', 'y'),
            ('ž', 'z'),
            ('ſ', 's'),
            ('ħ', 'h'),
            ('ı', 'i'),
            ('ĵ', 'j'),
        ] {
            let mut folded = String::new();
            fold(c, &mut folded);
            assert_eq!(folded, plain.to_string(), "{c}");
        }
    }

    #[test]
    fn scripts_without_spaces_and_pictograms_are_single_tokens() {
        assert_eq!(shown("縫い針 検索abc"), "縫 い 針 検 索 abc");
        assert_eq!(shown("검색 ไทย"), "검 색 ไ ท ย");
        assert_eq!(shown("ok🧷done ✅"), "ok 🧷 done ✅");
        assert_eq!(shown("  1→fn 2│x “q” …"), "1 fn 2 x q");
    }

    #[test]
    fn long_words_are_cut_and_noise_stays_whole() {
        assert_eq!(shown(&"x".repeat(200)), "x".repeat(64));
        assert_eq!(shown("aGVsbG8gd29ybGQhIGFiY2Rl"), "agvsbg8gd29ybgqhigfiy2rl");
        let sum = "0123456789abcdef".repeat(4);
        assert_eq!(shown(&sum), sum);
        assert_eq!(shown(&"é".repeat(100)), "e".repeat(64));
        assert_eq!(shown(&"ж".repeat(100)), "ж".repeat(32));
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "a éclairCafé\u{301}! 針x";
        let mut all = Vec::new();
        tokens(text, |token, range, _| all.push((token.to_owned(), text[range].to_owned())));
        let expected = [
            ("a", "a"),
            ("eclair", "éclair"),
            ("cafe", "Café\u{301}"),
            ("eclaircafe", "éclairCafé\u{301}"),
            ("針", "針"),
            ("x", "x"),
        ];
        assert_eq!(all, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
