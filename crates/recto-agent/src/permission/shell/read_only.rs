//! Commands that only look: they run without a question inside the working directories.
//!
//! The list is positive. A command is here if no flag of it does any harm, or with the flags that
//! do none ([`flags`](super::flags)); everything else is asked about.

use crate::permission::shell::flags::OTHERS;
use crate::permission::shell::forms::has_safe_assignments;
use crate::permission::shell::forms::is_duration;
use crate::permission::shell::read_only_git;
use crate::permission::shell::script::Part;
use crate::permission::shell::sed;
use crate::permission::shell::word::Word;

/// Commands of which no flag does any harm, so a pattern that expands to one does none either.
const HARMLESS: &[&str] = &[
    "basename",
    "cal",
    "cat",
    "cmp",
    "column",
    "comm",
    "cut",
    "df",
    "dirname",
    "du",
    "echo",
    "expand",
    "expr",
    "false",
    "fmt",
    "fold",
    "free",
    "groups",
    "head",
    "hexdump",
    "id",
    "locale",
    "ls",
    "md5sum",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "pr",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha1sum",
    "sha256sum",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "tr",
    "true",
    "tsort",
    "type",
    "uname",
    "unexpand",
    "uptime",
    "wc",
    "which",
];

/// Whether a command only looks.
pub(crate) fn is_read_only(part: &Part) -> bool {
    has_safe_assignments(part) && words_are_read_only(&part.words, 0)
}

fn words_are_read_only(words: &[Word], depth: usize) -> bool {
    const DEEPEST: usize = 4;
    let Some((name, rest)) = words.split_first() else { return false };
    let Some(name) = name.value.as_deref().filter(|_| !name.glob) else { return false };
    let values: Option<Vec<&str>> = rest.iter().map(|word| word.value.as_deref()).collect();
    match name {
        // What a variable holds cannot be a flag of a command without harmful ones.
        "echo" | "cat" | "ls" | "wc" | "head" | "tail" => return true,
        "cd" => return rest.len() <= 1,
        "timeout" if depth < DEEPEST => {
            let is_plain = rest.first().is_some_and(|time| is_duration(time.text()));
            let inner = rest.get(1..).unwrap_or_default();
            return is_plain && words_are_read_only(inner, depth + 1);
        }
        "command" | "builtin" if depth < DEEPEST => {
            let flagged = rest.first().is_none_or(|word| word.text().starts_with('-'));
            return !flagged && words_are_read_only(rest, depth + 1);
        }
        _ => {}
    }
    let Some(values) = values else { return false };
    let globs = rest.iter().any(|word| word.glob);
    if matches!(name, "grep" | "egrep" | "fgrep") {
        return !has_dollar(&values) && has_known_grep_flags(&values);
    }
    if HARMLESS.contains(&name) {
        return true;
    }
    !globs && only_looks(name, rest, &values)
}

/// The long flags of `grep`. None of them changes anything.
const GREP_FLAGS: &[&str] = &[
    "after-context",
    "basic-regexp",
    "before-context",
    "binary",
    "binary-files",
    "byte-offset",
    "color",
    "colour",
    "context",
    "count",
    "dereference-recursive",
    "devices",
    "directories",
    "exclude",
    "exclude-dir",
    "exclude-from",
    "extended-regexp",
    "file",
    "files-with-matches",
    "files-without-match",
    "fixed-strings",
    "group-separator",
    "help",
    "ignore-case",
    "include",
    "initial-tab",
    "invert-match",
    "label",
    "line-buffered",
    "line-number",
    "line-regexp",
    "max-count",
    "no-filename",
    "no-group-separator",
    "no-ignore-case",
    "no-messages",
    "null",
    "null-data",
    "only-matching",
    "perl-regexp",
    "quiet",
    "recursive",
    "regexp",
    "silent",
    "text",
    "version",
    "with-filename",
    "word-regexp",
];

/// A command whose words decide.
fn only_looks(name: &str, words: &[Word], values: &[&str]) -> bool {
    match name {
        "find" => harmful_find_flag(values).is_none(),
        "sed" => sed::prints_lines(words) || sed::only_filters(words),
        "git" => !has_dollar(values) && read_only_git::is_read_only(values),
        "xargs" => xargs_only_looks(values),
        "node" => matches!(values, ["--version" | "-v"]),
        "python3" | "python" => matches!(values, ["--version"]),
        "history" => match values {
            [] => true,
            [number] => number.chars().all(|c| c.is_ascii_digit()),
            _ => false,
        },
        "help" => values.iter().all(|word| is_name(word)),
        "arch" | "ifconfig" | "pwd" | "whoami" => values.is_empty(),
        // `-l` starts `pr`.
        "diff" => !values.iter().any(|word| starts_pages(word)),
        "ip" => matches!(values, ["addr"]),
        // `-v` evaluates the name that it assigns to.
        "printf" => !values.first().is_some_and(|word| word.starts_with("-v")),
        "test" => is_harmless_test(values),
        // What the parser makes of `[ a = b ]`; the client does not understand `test a = b`.
        "[" => {
            let values = values.strip_prefix(&["!"]).unwrap_or(values);
            is_harmless_test(values) || matches!(values, [_, "=" | "==" | "!=", _])
        }
        _ => OTHERS.iter().any(|(command, flags)| {
            let mut names = command.split(' ');
            let second = names.next().filter(|first| *first == name).map(|_| names.next());
            let rest = match second {
                None => return false,
                Some(None) => Some(values),
                Some(Some(second)) => values.strip_prefix(&[second]),
            };
            // A program of `jq` has variables of its own.
            let rest = rest.filter(|rest| name == "jq" || !has_dollar(rest));
            let sorted = rest.and_then(|rest| flags.sort(rest));
            sorted.is_some_and(|sorted| operands_only_look(name, &sorted.operands))
        }),
    }
}

/// Whether all long flags of `grep` are flags that it has.
fn has_known_grep_flags(words: &[&str]) -> bool {
    let flags = words.iter().take_while(|word| **word != "--");
    let mut names = flags.filter_map(|word| word.strip_prefix("--"));
    names.all(|name| GREP_FLAGS.contains(&name.split('=').next().unwrap_or(name)))
}

fn operands_only_look(name: &str, operands: &[&str]) -> bool {
    match name {
        // The second file of `uniq` is written, and others set a clock or a name.
        "uniq" | "hostname" => operands.is_empty(),
        "date" => operands.iter().all(|word| word.starts_with('+')),
        "man" => operands.iter().all(|word| is_name(word)),
        // Others change what the terminal shows.
        "tput" => matches!(operands, ["cols" | "lines"]),
        "jq" => !operands.iter().any(|program| reads_more(program)),
        _ => true,
    }
}

/// Whether a program of `jq` can read variables of the environment or other programs.
fn reads_more(program: &str) -> bool {
    let mut words = program.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| matches!(word, "env" | "ENV" | "include" | "import" | "input_filename"))
}

/// Operators of `test` that look at one file or text. `-v` and `-R` evaluate the name that they ask
/// for, and `-t` a number.
fn is_harmless_test(values: &[&str]) -> bool {
    let number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    match values {
        [] => true,
        [operator, _] => {
            operator.len() == 2
                && operator.strip_prefix('-').is_some_and(|c| "efdrwxsLhnzbgkupScON".contains(c))
        }
        [left, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge", right] => {
            number(left) && number(right)
        }
        _ => false,
    }
}

/// `xargs echo`, `xargs grep x`: what is written is what was read, or lines of it. The words that
/// are there must not leave the directory: those that come are not known.
fn xargs_only_looks(values: &[&str]) -> bool {
    let mut words = values.iter();
    while let Some(word) = words.next() {
        match *word {
            "-n" | "-P" | "-L" | "-s" | "-I" | "-d" => drop(words.next()),
            "--" => {}
            "echo" | "printf" => return !has_dollar(words.as_slice()),
            "head" | "tail" | "wc" => return stays(words.as_slice()),
            "grep" => return stays(words.as_slice()) && has_known_grep_flags(words.as_slice()),
            flag => {
                let known = flag.strip_prefix('-').is_some_and(|letters| {
                    !letters.is_empty() && letters.chars().all(|c| "0rtx".contains(c))
                });
                if !known {
                    return false;
                }
            }
        }
    }
    true
}

/// Whether no word leads out of the directory.
fn stays(words: &[&str]) -> bool {
    !has_dollar(words)
        && !words.iter().any(|word| word.contains("..") || word.contains('/') || word.contains('~'))
}

/// Whether a word has what another shell or program could take for a variable.
fn has_dollar(values: &[&str]) -> bool {
    values.iter().any(|word| word.contains('$'))
}

fn starts_pages(word: &str) -> bool {
    match word.strip_prefix("--") {
        // A long flag may be cut short.
        Some(name) => !name.is_empty() && "paginate".starts_with(name),
        None => word.starts_with('-') && word.contains('l'),
    }
}

/// The first word of `find` that runs a program or changes files.
pub(crate) fn harmful_find_flag<'a>(words: &[&'a str]) -> Option<&'a str> {
    words.iter().copied().find(|word| {
        matches!(
            *word,
            "-exec"
                | "-execdir"
                | "-ok"
                | "-okdir"
                | "-delete"
                | "-fprint"
                | "-fprint0"
                | "-fprintf"
                | "-fls"
        )
    })
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
}
