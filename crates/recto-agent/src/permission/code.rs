//! Shell commands that run what their words say: what is asked about them, whatever rules allow.

use crate::permission::check::Ask;
use crate::permission::sentence;
use crate::permission::shell::forms;
use crate::permission::shell::forms::Wrapper;
use crate::permission::shell::read_only;
use crate::permission::shell::script::Part;
use crate::permission::shell::word::Word;

/// Builtins that run their words, or change what later words mean.
const EVALUATORS: &[&str] = &[
    "eval",
    "source",
    ".",
    "exec",
    "alias",
    "coproc",
    "trap",
    "enable",
    "mapfile",
    "readarray",
    "bind",
    "complete",
    "hash",
    "let",
];

/// Builtins that set and unset variables for all that follows.
const DECLARATIONS: &[&str] = &["export", "declare", "typeset", "readonly", "local", "unset"];

/// Builtins of another shell. Here they are unknown programs.
const OF_ANOTHER_SHELL: &[&str] = &[
    "autoload",
    "disable",
    "emulate",
    "foreach",
    "functions",
    "repeat",
    "setopt",
    "shopt",
    "sysopen",
    "sysread",
    "sysseek",
    "syswrite",
    "unsetopt",
    "vared",
    "zmodload",
    "zpty",
    "zselect",
    "zsocket",
    "zstyle",
    "zsystem",
    "ztcp",
];

/// Programs that start another one in a way that no prefix rule can mean.
const CALLERS: &[&str] = &[
    "chrt", "flock", "ionice", "ltrace", "nsenter", "script", "setsid", "strace", "taskset",
    "unshare", "watch",
];

/// Asks about commands that run their words, or change what later words mean: no rule about a
/// prefix can mean them.
pub(crate) fn check(part: &Part) -> Result<(), Box<Ask>> {
    let name = part.words.first().and_then(|word| word.value.as_deref());
    let Some(name) = name else { return Ok(()) };
    if DECLARATIONS.contains(&name) {
        return Err(Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned())));
    }
    if CALLERS.contains(&name) {
        return Err(Box::new(Ask::plain(sentence::starts(name))));
    }
    if EVALUATORS.contains(&name) {
        return Err(Box::new(Ask::plain(sentence::evaluates(name))));
    }
    let values: Vec<&str> = part.words.iter().skip(1).map(Word::text).collect();
    match name {
        name if OF_ANOTHER_SHELL.contains(&name) || name.starts_with("zf_") => {
            Err(Box::new(Ask::plain(sentence::other_shell(name))))
        }
        "timeout" => match values.as_slice() {
            [time, ..] if !time.starts_with('-') && !forms::is_duration(time) => {
                Err(Box::new(Ask::plain(sentence::unknown_duration(time))))
            }
            _ => Ok(()),
        },
        "find" => match read_only::harmful_find_flag(&values) {
            Some(flag) => Err(Box::new(Ask::plain(sentence::find_executes(flag)))),
            None => Ok(()),
        },
        // `time -p ls`: without the wrapper, a flag is left.
        "time" | "nohup" | "nice"
            if values.first().is_some_and(|word| word.starts_with('-'))
                && forms::unwrap(&part.words).is_none_or(|(kind, _)| kind == Wrapper::Opaque) =>
        {
            Err(Box::new(Ask::plain(sentence::FRAGMENT.to_owned())))
        }
        "jq" if values.iter().any(|word| has_modules(word)) => {
            Err(Box::new(Ask::plain(sentence::JQ_MODULES.to_owned())))
        }
        "jq" if values.iter().any(|word| runs_other_programs(word)) => {
            Err(Box::new(Ask::plain(sentence::JQ_FLAGS.to_owned())))
        }
        "awk" | "gawk" | "mawk" if values.iter().any(|word| word.contains("system(")) => {
            Err(Box::new(Ask::plain(sentence::AWK_SYSTEM.to_owned())))
        }
        _ => Ok(()),
    }
}

fn has_modules(program: &str) -> bool {
    let mut words = program.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| matches!(word, "include" | "import"))
}

/// Flags of `jq` that read a program or a file.
fn runs_other_programs(word: &str) -> bool {
    const LONG: &[&str] = &["--from-file", "--rawfile", "--slurpfile", "--library-path"];
    match word.strip_prefix("--") {
        Some(_) => LONG.iter().any(|flag| word.starts_with(flag)),
        None => word.starts_with("-f") || word.starts_with("-L"),
    }
}
