//! `sed`: which of its scripts only print or replace. Others can write files and start programs.

use crate::permission::shell::word::Word;

/// `sed -n 1,5p`: lines by number, printed.
pub(crate) fn prints_lines(words: &[Word]) -> bool {
    let [quiet, script, files @ ..] = words else { return false };
    let is_line = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == ',');
    matches!(quiet.text(), "-n" | "--quiet" | "--silent")
        && script
            .value
            .as_deref()
            .and_then(|script| script.strip_suffix('p'))
            .is_some_and(|lines| lines.split("p;").all(is_line))
        && !files.iter().any(|file| file.text().starts_with('-'))
}

/// `sed -i 's/a/b/g'`: one replacement, in place or not.
pub(crate) fn only_replaces(words: &[Word]) -> bool {
    let flags = words.iter().take_while(|word| word.text().starts_with('-')).count();
    let (flags, rest) = words.split_at(flags);
    let known = |word: &Word| {
        matches!(word.value.as_deref(), Some("-i" | "--in-place" | "-E" | "-r" | "-Ei"))
    };
    let script = rest.first().and_then(|word| word.value.as_deref());
    flags.iter().all(known)
        && script.is_some_and(is_replacement)
        && !rest.iter().any(|word| word.text().starts_with('-'))
}

/// Whether nothing but the input is changed: there is no file.
pub(crate) fn only_filters(words: &[Word]) -> bool {
    only_replaces(words)
        && !words.iter().any(|word| word.text() == "-i")
        && words.iter().filter(|word| !word.text().starts_with('-')).count() == 1
}

fn is_replacement(script: &str) -> bool {
    let Some(rest) = script.strip_prefix("s/") else { return false };
    let mut slashes = Vec::new();
    let mut escaped = false;
    for (at, character) in rest.char_indices() {
        match character {
            '\n' => return false,
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '/' => slashes.push(at),
            _ => {}
        }
    }
    let [_, last] = slashes.as_slice() else { return false };
    rest.get(last + 1..).is_some_and(|flags| flags.chars().all(|c| "gpiIm0123456789".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::shell::word::scan;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ').map(|word| scan(word, "/home/dev").0).collect()
    }

    #[test]
    fn only_lines_by_number_are_printed() {
        for text in ["-n 1p a", "--quiet 1,5p", "-n '1p;3p' a b"] {
            assert!(prints_lines(&words(text)), "{text}");
        }
        for text in ["1p a", "-n $p a", "-n /x/p a", "-n 1p -i a", "-n 1w a", "-ni 1p a"] {
            assert!(!prints_lines(&words(text)), "{text}");
        }
    }

    #[test]
    fn only_a_replacement_without_side_effects_passes() {
        for text in ["s/a/b/ x", "-i s/a/b/ x y", "-E -i 's/(a)/b/g' x", "'s/a\\/b/c/' x"] {
            assert!(only_replaces(&words(text)), "{text}");
        }
        for text in [
            "s/a/b/w",
            "s/a/b/e x",
            "-i.bak s/a/b/ x",
            "-i -e s/a/b/ x",
            "-ie s/a/b/ x",
            "--in-place=.b s/a/b/ x",
            "-i 1d x",
            "s/a/b x",
            "s/a/b/;e x",
            "s/a/b/ -i x",
        ] {
            assert!(!only_replaces(&words(text)), "{text}");
        }
        assert!(only_filters(&words("-E s/a/b/")));
        assert!(!only_filters(&words("s/a/b/ x")));
    }
}
