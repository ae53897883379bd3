//! The texts of a simple command that a rule can match: with and without what stands before
//! the program that really runs.

use crate::permission::shell::script::Part;
use crate::permission::shell::word::Word;

/// Variables that change what is printed, not what is run.
const SAFE_VARIABLES: &[&str] = &[
    "NODE_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "GO111MODULE",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_TIME",
    "TZ",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "BLOCKSIZE",
    "BLOCK_SIZE",
    "CHARSET",
    "CI",
    "COLORTERM",
    "COLUMNS",
    "GCC_COLORS",
    "GREP_COLOR",
    "GREP_COLORS",
    "LINES",
    "LSCOLORS",
    "LS_COLORS",
    "PYTEST_DEBUG",
    "TERM",
    "TIME_STYLE",
];

/// Whether the variables that are set before a command change nothing but what is printed.
pub(crate) fn has_safe_assignments(part: &Part) -> bool {
    let is_plain = |word: &Word| {
        !word.raw.is_empty()
            && word.raw.chars().all(|c| c.is_ascii_alphanumeric() || "_./:@+,-".contains(c))
    };
    part.assignments
        .iter()
        .all(|(name, value)| SAFE_VARIABLES.contains(&name.as_str()) && is_plain(value))
}

/// What a program that runs another one is for the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapper {
    /// A rule for the program behind it allows the whole.
    Transparent,
    /// Only rules that forbid look through it.
    Opaque,
}

/// If the words start another program, where its name is.
pub(crate) fn unwrap(words: &[Word]) -> Option<(Wrapper, usize)> {
    let name = program(words.first()?.text());
    let value = |at: usize| words.get(at).map(Word::text);
    let transparent = |at: usize| words.get(at).map(|_| (Wrapper::Transparent, at));
    let opaque = |at: usize| words.get(at).map(|_| (Wrapper::Opaque, at));
    let first_operand =
        || (1..words.len()).find(|at| value(*at).is_some_and(|w| !w.starts_with('-')));
    match name {
        "timeout" => {
            let mut at = 1;
            let mut known = true;
            while let Some(flag) = value(at).filter(|word| word.starts_with('-')) {
                at += if matches!(flag, "-k" | "-s" | "--kill-after" | "--signal") { 2 } else { 1 };
                known &= matches!(flag, "-k" | "-s" | "-v" | "--foreground" | "--preserve-status")
                    || flag.starts_with("--kill-after=")
                    || flag.starts_with("--signal=");
            }
            match value(at) {
                Some(time) if known && is_duration(time) => transparent(at + 1),
                _ => opaque(at + 1),
            }
        }
        "nice" => match (value(1), value(2)) {
            (Some("-n"), Some(by)) if by.parse::<i8>().is_ok() => transparent(3),
            (Some(flag), _)
                if flag.strip_prefix('-').is_some_and(|by| by.parse::<u8>().is_ok()) =>
            {
                transparent(2)
            }
            (Some(flag), _) if flag.starts_with('-') => opaque(first_operand()?),
            _ => transparent(1),
        },
        "stdbuf" => {
            let at = first_operand()?;
            match (1..at).all(|at| value(at).is_some_and(is_buffering)) {
                true if at > 1 => transparent(at),
                _ => opaque(at),
            }
        }
        "command" | "builtin" if value(1).is_some_and(|word| !word.starts_with('-')) => {
            transparent(1)
        }
        // It tells what a name means.
        "command" if matches!(value(1), Some("-v" | "-V")) => None,
        // Another shell's, which this one does not have.
        "noglob" | "nocorrect" => opaque(1),
        "nohup" | "time" | "xargs" => match value(1) {
            Some(flag) if flag.starts_with('-') => opaque(first_operand()?),
            _ => transparent(1),
        },
        "command" | "builtin" | "exec" | "sudo" | "doas" | "env" | "setsid" | "ionice" | "chrt"
        | "taskset" | "nsenter" | "unshare" | "unbuffer" | "watch" | "strace" | "ltrace"
        | "flock" | "script" | "coproc" | "busybox" => {
            let after_assignments = (1..words.len())
                .find(|at| value(*at).is_some_and(|w| !w.starts_with('-') && !w.contains('=')));
            opaque(after_assignments?)
        }
        _ => None,
    }
}

/// `-oL`: how `stdbuf` buffers one of the streams.
fn is_buffering(flag: &str) -> bool {
    let size = flag.strip_prefix("-i").or(flag.strip_prefix("-o")).or(flag.strip_prefix("-e"));
    size.is_some_and(|size| size == "L" || size.parse::<u32>().is_ok())
}

pub(crate) fn is_duration(text: &str) -> bool {
    let digits = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !digits.is_empty()
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// The program that a name starts: `/bin/ls` is `ls`.
fn program(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    match name.len().checked_sub(4).and_then(|at| name.split_at_checked(at)) {
        Some((stem, end)) if !stem.is_empty() && end.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    }
}

/// The command that runs in the end, without variables and wrappers that are known. Its files are
/// those of the whole.
pub(crate) fn innermost(part: &Part) -> Part {
    let mut words = part.words.as_slice();
    while let Some((Wrapper::Transparent, at)) = unwrap(words) {
        match name_of(words) {
            // What `xargs` reads is not known.
            Some("xargs") => break,
            _ => words = words.get(at..).unwrap_or_default(),
        }
    }
    Part { words: words.to_vec(), ..Part::default() }
}

fn name_of(words: &[Word]) -> Option<&str> {
    words.first()?.value.as_deref()
}

/// The texts that a rule which allows may match.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    /// As they are written: what a rule without a pattern means.
    pub(crate) written: Vec<String>,
    /// With a plain name and single blanks between the words: what a pattern means.
    pub(crate) plain: Vec<String>,
}

/// The texts that a rule which allows may match.
pub(crate) fn for_allow(part: &Part) -> Forms {
    let single = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut forms = Forms { written: vec![part.text.clone()], plain: Vec::new() };
    if !has_safe_assignments(part) || part.words.is_empty() {
        forms.plain.push(single(&part.text));
        return forms;
    }
    let mut words = part.words.as_slice();
    loop {
        if let Some(text) = raw_text(part, words) {
            forms.written.push(text.to_owned());
        }
        let (name, rest) = words.split_at(words.len().min(1));
        let texts = name.iter().map(Word::text).chain(rest.iter().map(|word| word.raw.as_str()));
        forms.plain.push(texts.collect::<Vec<_>>().join(" "));
        // A wrapper that is spelled in another way is not one that is known.
        match unwrap(words) {
            Some((Wrapper::Transparent, at)) if words.iter().take(at).all(Word::is_plain) => {
                words = words.get(at..).unwrap_or_default();
            }
            _ => break,
        }
    }
    forms
}

/// The text of a command from one of its words on.
fn raw_text<'a>(part: &'a Part, words: &[Word]) -> Option<&'a str> {
    // Words are in their order in the text, so the last place where all of them follow is theirs.
    let skipped = part.words.len().checked_sub(words.len())?;
    let mut at = 0;
    let before = part.assignments.iter().map(|(name, value)| format!("{name}={}", value.raw));
    let before = before.chain(part.words.iter().take(skipped).map(|word| word.raw.clone()));
    for text in before {
        at += part.text.get(at..)?.find(&text)? + text.len();
    }
    Some(part.text.get(at..)?.trim_start_matches(['\\', '\n', ' ', '\t']))
        .filter(|text| words.first().is_some_and(|word| text.starts_with(&word.raw)))
        .or_else(|| {
            // A name that starts with an escape lost it above.
            let text = part.text.get(at..)?.trim_start_matches([' ', '\t']);
            words.first().is_some_and(|word| text.starts_with(&word.raw)).then_some(text)
        })
}

/// The commands that a command can start: itself, and what a wrapper runs. Which word of an
/// unusual wrapper is the program is a guess, so every one may be.
pub(crate) fn started(words: &[Word]) -> Vec<&[Word]> {
    const MOST: usize = 32;
    let mut found = Vec::new();
    let mut open = vec![words];
    while let Some(words) = open.pop() {
        if words.is_empty() || found.len() >= MOST {
            continue;
        }
        found.push(words);
        match unwrap(words) {
            Some((Wrapper::Transparent, at)) => open.extend(words.get(at..)),
            Some((Wrapper::Opaque, _)) => {
                open.extend((1..words.len().min(MOST)).rev().filter_map(|at| words.get(at..)));
            }
            None => {}
        }
    }
    found
}

/// The texts that a rule which forbids or asks may match: it looks through quotes, paths,
/// variables and every wrapper.
pub(crate) fn for_deny(part: &Part) -> Vec<String> {
    let mut forms = vec![part.text.clone()];
    for words in started(&part.words) {
        if let Some(text) = raw_text(part, words) {
            forms.push(text.to_owned());
        }
        let values: Vec<&str> = words.iter().map(Word::text).collect();
        let Some((name, rest)) = values.split_first() else { continue };
        let plain = std::iter::once(program(name)).chain(rest.iter().copied());
        forms.push(values.join(" "));
        forms.push(plain.collect::<Vec<_>>().join(" "));
    }
    forms.sort();
    forms.dedup();
    forms
}
