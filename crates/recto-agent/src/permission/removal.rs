//! Removals that no rule and no mode allows without a question.

use std::path::Component;
use std::path::Path;

use crate::permission::place::Place;
use crate::permission::place::real_path;
use crate::permission::sentence;
use crate::permission::shell::forms;
use crate::permission::shell::script;
use crate::permission::shell::script::Part;
use crate::permission::shell::word::Word;

/// Scripts inside scripts are looked into so deep.
const DEEPEST: usize = 8;

/// What the question says if a command would remove a directory that much depends on.
pub(crate) fn dangerous(part: &Part, place: &Place) -> Option<String> {
    dangerous_below(part, place, 0)
}

fn dangerous_below(part: &Part, place: &Place, depth: usize) -> Option<String> {
    forms::started(&part.words).into_iter().find_map(|words| {
        let name = words.first()?.text();
        let name = name.rsplit('/').next().unwrap_or(name);
        match name {
            "rm" | "rmdir" => {
                let operands = words.get(1..)?;
                unknown_operand(name, &part.text, operands)
                    .or_else(|| printed_operand(name, operands))
                    .or_else(|| dangerous_operand(name, operands, place))
            }
            "sh" | "bash" | "dash" | "ksh" | "zsh" if depth < DEEPEST => {
                let script = script::parse(given_script(words)?, &place.home.to_string_lossy());
                script.everywhere.iter().find_map(|part| dangerous_below(part, place, depth + 1))
            }
            _ => None,
        }
    })
}

/// Whether a part starts a shell with a script in which a removal is one that `is_denied`.
pub(crate) fn any_in_shell(part: &Part, place: &Place, is_denied: &dyn Fn(&Part) -> bool) -> bool {
    any_below(part, place, is_denied, 0)
}

fn any_below(part: &Part, place: &Place, is_denied: &dyn Fn(&Part) -> bool, depth: usize) -> bool {
    if depth >= DEEPEST {
        return false;
    }
    let scripts = forms::started(&part.words).into_iter().filter_map(|words| {
        let name = words.first()?.text();
        let name = name.rsplit('/').next().unwrap_or(name);
        let is_shell = matches!(name, "sh" | "bash" | "dash" | "ksh" | "zsh");
        is_shell.then(|| given_script(words)).flatten()
    });
    scripts.map(|text| script::parse(text, &place.home.to_string_lossy())).any(|script| {
        script.everywhere.iter().any(|inner| {
            let removes = forms::started(&inner.words).into_iter().any(|words| {
                let name = words.first().map(Word::text).unwrap_or_default();
                matches!(name.rsplit('/').next().unwrap_or(name), "rm" | "rmdir")
            });
            (removes && is_denied(inner)) || any_below(inner, place, is_denied, depth + 1)
        })
    })
}

/// The text that a shell gets by `-c`.
fn given_script(words: &[Word]) -> Option<&str> {
    let is_command = |word: &Word| {
        let flags = word.text().strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        flags.is_some_and(|flags| flags.contains('c'))
    };
    let at = words.iter().position(is_command)?;
    let operands = words.get(at + 1..)?;
    operands.iter().find(|word| !word.text().starts_with('-'))?.value.as_deref()
}

/// What a word is for the shell: its value, or its text with the one variable that is known.
fn meant(word: &Word, place: &Place) -> String {
    let in_text = || word.raw.replace('"', "").replace("${HOME}", &place.home.to_string_lossy());
    word.value.clone().unwrap_or_else(in_text)
}

/// `$x/` is the root where `x` is empty.
fn unknown_operand(name: &str, command: &str, words: &[Word]) -> Option<String> {
    words.iter().find_map(|word| {
        let bare = word.raw.replace(['"', '{', '}'], "");
        let (variable, _) = bare.strip_prefix('$')?.split_once('/').filter(|(name, rest)| {
            let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            letters && !name.is_empty() && matches!(*rest, "" | "*")
        })?;
        if word.value.is_some() {
            return None;
        }
        Some(sentence::variable_removal(name, command, &word.raw, variable))
    })
}

/// What a command prints is not known before it runs.
fn printed_operand(name: &str, words: &[Word]) -> Option<String> {
    let is_recursive = |word: &Word| {
        let flags = word.text();
        let short = flags.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        flags == "--recursive" || short.is_some_and(|flags| flags.contains(['r', 'R']))
    };
    let is_printed = |word: &Word| {
        let raw = word.raw.trim_matches('"');
        let is_substitution =
            raw.starts_with("$(") && !raw.starts_with("$((") && raw.ends_with(')');
        is_substitution || (raw.len() > 1 && raw.starts_with('`') && raw.ends_with('`'))
    };
    let is_unknown = name == "rm" && words.iter().any(is_recursive) && words.iter().any(is_printed);
    is_unknown.then(|| sentence::PRINTED_REMOVAL.to_owned())
}

fn dangerous_operand(name: &str, words: &[Word], place: &Place) -> Option<String> {
    words.iter().filter(|word| !word.text().starts_with('-')).find_map(|word| {
        let text = meant(word, place);
        let path = place.absolute(&text);
        let goes_up = Path::new(&text).components().any(|part| part == Component::ParentDir);
        let removed = match path.file_name().and_then(|name| name.to_str()) {
            Some("*" | ".*" | "{*,.*}") => path.parent().unwrap_or(&path),
            _ => &path,
        };
        let is_pattern = removed != path.as_path();
        let what = if is_pattern && goes_up && is_critical(removed, place) {
            return Some(sentence::unresolved_removal(name, &path.display().to_string()));
        } else if is_critical(removed, place) && !(goes_up && text.starts_with('/')) {
            "a critical system directory"
        } else if is_workspace(removed, place) {
            "a workspace directory (the working directory, an additional working directory, or one of their parent directories)"
        } else {
            return None;
        };
        // As it is spelled: a slash at the end stays.
        let shown = match text.as_str() {
            text if text.starts_with('/') => text.to_owned(),
            text if text.ends_with('/') && text.starts_with('~') => format!("{}/", path.display()),
            _ => path.display().to_string(),
        };
        Some(sentence::dangerous_removal(name, &shown, what))
    })
}

/// The root, its directories, and homes.
fn is_critical(path: &Path, place: &Place) -> bool {
    let critical =
        |path: &Path| path == place.home || path.parent().is_none_or(|p| p.parent().is_none());
    critical(path) || critical(&real_path(path))
}

fn is_workspace(path: &Path, place: &Place) -> bool {
    let real = real_path(path);
    let directories = place.working_directories().chain(std::iter::once(place.cwd.as_path()));
    directories
        .into_iter()
        .any(|directory| directory.starts_with(path) || directory.starts_with(&real))
}
