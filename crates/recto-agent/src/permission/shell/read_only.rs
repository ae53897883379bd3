//! Commands that only look: they run without a question inside the working directories.
//!
//! The list is positive. A command is here with the flags that let it write a file or start
//! another program; everything else is asked about.

use crate::permission::shell::operands::edits_in_place;
use crate::permission::shell::read_only_git;
use crate::permission::shell::script::Part;
use crate::permission::shell::word::Word;

/// How the flags of a command are judged.
enum Flags {
    /// No flag does any harm, so a pattern that expands to one does none either.
    Any,
    /// These short and long flags do.
    Except(&'static [char], &'static [&'static str]),
    /// The command takes no words at all.
    None,
    /// Flags only, and no other words.
    Lone,
}

use Flags::Any;
use Flags::Except;
use Flags::Lone;

const COMMANDS: &[(&str, Flags)] = &[
    ("base64", Any),
    ("basename", Any),
    ("cal", Any),
    ("cat", Any),
    ("cmp", Any),
    ("column", Any),
    ("comm", Any),
    ("cut", Any),
    ("df", Any),
    ("dirname", Any),
    ("du", Any),
    ("echo", Any),
    ("expr", Any),
    ("false", Any),
    ("fold", Any),
    ("free", Any),
    ("grep", Any),
    ("head", Any),
    ("hexdump", Any),
    ("id", Any),
    ("ls", Any),
    ("lsof", Any),
    ("md5sum", Any),
    ("netstat", Any),
    ("nl", Any),
    ("od", Any),
    ("paste", Any),
    ("ps", Any),
    ("pwd", Any),
    ("readlink", Any),
    ("realpath", Any),
    ("rev", Any),
    ("seq", Any),
    ("sha256sum", Any),
    ("sleep", Any),
    ("stat", Any),
    ("strings", Any),
    ("tac", Any),
    ("tail", Any),
    ("tr", Any),
    ("true", Any),
    ("type", Any),
    ("uname", Any),
    ("uptime", Any),
    ("wc", Any),
    ("which", Any),
    ("whoami", Any),
    // `-l` starts `pr`.
    ("diff", Except(&['l'], &["--paginate"])),
    // `-C` writes a compiled magic file, `-z` starts programs that unpack.
    (
        "file",
        Except(
            &['C', 'm', 'z', 'Z', 'f'],
            &["--compile", "--magic-file", "--uncompress", "--files-from"],
        ),
    ),
    (
        "jq",
        Except(
            &['f', 'L'],
            &["--from-file", "--rawfile", "--slurpfile", "--argfile", "--library-path"],
        ),
    ),
    // `-v` evaluates the name that it assigns to.
    ("printf", Except(&['v'], &[])),
    // `--pre` and `-z` start programs.
    ("rg", Except(&['z'], &["--pre", "--pre-glob", "--hostname-bin", "--search-zip"])),
    (
        "sort",
        Except(
            &['o', 'T', 'S'],
            &["--output", "--compress-program", "--temporary-directory", "--files0-from"],
        ),
    ),
    ("ss", Except(&['K'], &["--kill"])),
    // `-v` and `-R` evaluate the name that they ask for.
    ("test", Except(&['v', 'R'], &[])),
    ("[", Except(&['v', 'R'], &[])),
    ("tree", Except(&['o', 'R'], &["--output"])),
    ("hostname", Lone),
    ("history", Flags::None),
];

/// Whether a command only looks.
pub(crate) fn is_read_only(part: &Part) -> bool {
    part.assignments.is_empty() && words_are_read_only(&part.words, 0)
}

fn words_are_read_only(words: &[Word], depth: usize) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    let Some(name) = name.value.as_deref().filter(|_| !name.glob) else { return false };
    let values: Option<Vec<&str>> = rest.iter().map(|word| word.value.as_deref()).collect();
    match name {
        // What a variable holds cannot be a flag of a command without harmful ones.
        "echo" | "cat" | "ls" | "wc" | "head" | "tail" => return true,
        "cd" => return rest.len() <= 1,
        "timeout" if depth == 0 => {
            let duration = values.as_ref().and_then(|values| values.first().copied());
            let plain = duration
                .is_some_and(|d| d.trim_end_matches(['s', 'm', 'h', 'd']).parse::<u32>().is_ok());
            return plain && words_are_read_only(rest.get(1..).unwrap_or_default(), depth + 1);
        }
        "command" | "builtin" if depth < 4 => {
            let flagged = rest.first().is_none_or(|word| word.text().starts_with('-'));
            return !flagged && words_are_read_only(rest, depth + 1);
        }
        "xargs" => return values.is_some_and(|values| matches!(values.as_slice(), ["echo"])),
        _ => {}
    }
    let Some(values) = values else { return false };
    let globs = rest.iter().any(|word| word.glob);
    match name {
        "find" => !globs && harmful_find_flag(&values).is_none(),
        "sed" => !globs && sed_prints(rest, &values),
        "git" => !globs && read_only_git::is_read_only(&values),
        "date" => values.iter().all(|word| is_harmless_date(word)),
        "man" => values.len() == 1 && values.iter().all(|word| is_name(word)),
        "node" => matches!(values.as_slice(), ["--version" | "-v"]),
        "python3" | "python" => matches!(values.as_slice(), ["--version" | "-V"]),
        _ => COMMANDS
            .iter()
            .find(|(command, _)| *command == name)
            .is_some_and(|(_, flags)| flags_are_harmless(flags, &values, globs)),
    }
}

fn flags_are_harmless(flags: &Flags, words: &[&str], globs: bool) -> bool {
    match flags {
        Any => true,
        Flags::None => words.is_empty(),
        Lone => words.iter().all(|word| {
            word.starts_with('-')
                && is_name(&word.replace('-', ""))
                && !word.contains('F')
                && !word.contains('b')
        }),
        Except(short, long) => {
            !globs
                && words.iter().all(|word| match word.strip_prefix("--") {
                    // A long flag may be cut short: `--out` is `--output`.
                    Some(name) => {
                        let name = name.split('=').next().unwrap_or_default();
                        name.is_empty()
                            || !long
                                .iter()
                                .any(|flag| flag.trim_start_matches('-').starts_with(name))
                    }
                    None => !word.starts_with('-') || !word.contains(*short),
                })
        }
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

/// `sed -n 1,5p`: lines by number, printed. Scripts can write files and start programs.
fn sed_prints(words: &[Word], values: &[&str]) -> bool {
    if edits_in_place(words) {
        return false;
    }
    let Some((&"-n", rest)) = values.split_first() else { return false };
    let Some((script, files)) = rest.split_first() else { return false };
    let commands = script.strip_suffix('p');
    commands.is_some_and(|lines| {
        lines
            .split("p;")
            .all(|line| line.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$'))
    }) && !files.iter().any(|file| file.starts_with('-'))
}

fn is_harmless_date(word: &str) -> bool {
    word.starts_with('+')
        || matches!(word, "-u" | "--utc" | "-R" | "-I" | "-Iseconds" | "-Iminutes" | "--iso-8601")
        || word.starts_with("--date=")
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
}
