//! Which files a command reads and writes, by its name and its words.

use crate::permission::shell::script::Part;
use crate::permission::shell::sed;
use crate::permission::shell::word::Word;

/// What a command does with the files that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It reads them.
    Reads,
    /// It creates, changes or removes them.
    Writes,
    /// It goes there.
    Enters,
}

/// The files of a command.
#[derive(Debug, Clone)]
pub(crate) struct Operands<'a> {
    /// The command's name.
    pub(crate) name: &'a str,
    /// What it does with them.
    pub(crate) usage: Use,
    /// The words that name files.
    pub(crate) words: Vec<&'a Word>,
    /// What it does, in the words of the refusal: `list files in`.
    pub(crate) verb: &'static str,
    /// Whether it has flags as well.
    pub(crate) is_flagged: bool,
}

/// Commands that name files, what they do with them, and how a refusal says it.
const READERS: &[(&str, &str)] = &[
    ("cat", "concatenate files from"),
    ("head", "read the beginning of files from"),
    ("tail", "read the end of files from"),
    ("ls", "list files in"),
    ("find", "search files in"),
    ("fd", "search files in"),
    ("fdfind", "search files in"),
    ("grep", "search for patterns in files from"),
    ("rg", "search for patterns in files from"),
    ("wc", "count lines/words/bytes in files from"),
    ("sort", "sort contents of files from"),
    ("uniq", "filter duplicate lines from files in"),
    ("cut", "extract columns from files in"),
    ("paste", "merge files from"),
    ("column", "format files from"),
    ("file", "examine file types in"),
    ("stat", "read file stats from"),
    ("diff", "compare files from"),
    ("awk", "process text from files in"),
    ("strings", "extract strings from files in"),
    ("hexdump", "display hex dump of files from"),
    ("od", "display octal dump of files from"),
    ("base64", "encode/decode files from"),
    ("nl", "number lines in files from"),
    ("jq", "process JSON from files in"),
    ("md5sum", "compute MD5 checksums for files in"),
    ("sha1sum", "compute SHA-1 checksums for files in"),
    ("sha256sum", "compute SHA-256 checksums for files in"),
    ("tac", "read files (reversed) from"),
    ("rev", "read files (reversed lines) from"),
    ("fold", "wrap lines of files from"),
    ("egrep", "search for patterns in files from"),
    ("fgrep", "search for patterns in files from"),
    ("expand", "convert tabs in files from"),
    ("unexpand", "convert tabs in files from"),
    ("fmt", "reformat files from"),
    ("pr", "paginate files from"),
    ("tsort", "sort files from"),
    ("comm", "compare files from"),
    ("cmp", "compare files from"),
    ("join", "merge files from"),
    ("less", "read files from"),
    ("more", "read files from"),
    ("git", "access files with git from"),
    ("xxd", "display hex dump of files from"),
    ("sed", "edit files in"),
];

/// Commands that tell names, sizes and times of files and never what is in them. They are asked
/// about nowhere, so only rules that forbid look at their files.
const LOOKERS: &[&str] = &["tree", "du", "df", "realpath", "readlink", "test", "[", "lsof", "date"];

const WRITERS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "tee"];

/// Commands that write files as well. They are asked about whatever they name, so only rules
/// that forbid look at their files.
const OTHER_WRITERS: &[&str] = &["ln", "truncate", "install", "shred", "chmod", "chown", "rsync"];

/// The files that a command names, when it is a command that is known to take files. More
/// commands are known to rules that forbid.
pub(crate) fn of<'a>(part: &'a Part, forbidding: bool) -> Option<Operands<'a>> {
    let (first, rest) = part.words.split_first()?;
    let name = first.value.as_deref()?;
    let is_flagged = rest.iter().any(|word| word.text().starts_with('-') && word.text() != "-");
    if name == "cd" {
        let words = operands(rest, &[]);
        return Some(Operands {
            name,
            usage: Use::Enters,
            words,
            verb: "change directories to",
            is_flagged,
        });
    }
    // Only lines that are printed by number are known to stay as they are.
    let prints = if forbidding { !edits_in_place(rest) } else { sed::prints_lines(rest) };
    if name == "sed" && !prints {
        let words = operands(rest, &["-e", "-f"]).into_iter();
        let skipped = usize::from(!has_flag(rest, "-e") && !has_flag(rest, "-f"));
        let words = words.skip(skipped).collect();
        return Some(Operands {
            name,
            usage: Use::Writes,
            words,
            verb: "edit files in",
            is_flagged,
        });
    }
    if WRITERS.contains(&name) || (forbidding && OTHER_WRITERS.contains(&name)) {
        let words = operands(rest, &["-m", "--mode", "-t", "-r", "-d", "-S"]);
        // `touch -r FILE` and `cp -t DIR` name files in flags as well.
        let flags =
            rest.iter().filter(|word| word.text().contains("=/") || word.text().contains("=.."));
        let words = words.into_iter().chain(flags).collect();
        return Some(Operands {
            name,
            usage: Use::Writes,
            words,
            verb: "change files in",
            is_flagged,
        });
    }
    let verb = READERS.iter().find(|(reader, _)| *reader == name).map(|(_, verb)| *verb);
    let verb = verb.or((forbidding && LOOKERS.contains(&name)).then_some("look at files in"))?;
    let words = match (name, rest.first().map(Word::text)) {
        // Other commands of `git` show what is in the repository, which is inside.
        ("git", Some("diff")) if forbidding => operands(rest.get(1..).unwrap_or_default(), &[]),
        ("git", command) if !forbidding && !matches!(command, Some("diff" | "grep")) => Vec::new(),
        _ => reader_operands(name, rest, forbidding),
    };
    Some(Operands { name, usage: Use::Reads, words, verb, is_flagged })
}

/// `sed -i`, in all its spellings.
pub(crate) fn edits_in_place(words: &[Word]) -> bool {
    words.iter().any(|word| {
        let text = word.text();
        text.starts_with("--in-place")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('i'))
    })
}

fn has_flag(words: &[Word], flag: &str) -> bool {
    words.iter().any(|word| word.text().starts_with(flag))
}

/// Words that are not flags. The value of a flag counts too: it is a name inside the directory
/// at worst. All that follows `--` counts.
fn operands<'a>(words: &'a [Word], valued: &[&str]) -> Vec<&'a Word> {
    let mut found = Vec::new();
    let mut only_operands = false;
    let mut skip = false;
    for word in words {
        let text = word.text();
        if std::mem::take(&mut skip) {
            continue;
        }
        if !only_operands && text == "--" {
            only_operands = true;
        } else if !only_operands && text.starts_with('-') && text.len() > 1 {
            skip = valued.contains(&text) && matches!(text, "-e" | "-m" | "--mode" | "-d" | "-S");
        } else {
            found.push(word);
        }
    }
    found
}

fn reader_operands<'a>(name: &str, words: &'a [Word], forbidding: bool) -> Vec<&'a Word> {
    // A file in a flag: `--files0-from=/etc/x`, `-f/etc/x`.
    let in_flags = words.iter().filter(|word| {
        let text = word.text();
        let leads_out = text.contains("=/") || text.contains("=~") || text.contains("..");
        text.starts_with('-') && (leads_out || (forbidding && text.contains('=')))
    });
    let plain: Vec<&Word> = match name {
        "find" => find_starts(words),
        "grep" | "egrep" | "fgrep" | "rg" | "jq" | "awk" | "sed" | "fd" | "fdfind" => {
            let named = ["-e", "-f", "--regexp", "--file", "--files"];
            let given = named.iter().any(|flag| has_flag(words, flag));
            operands(words, &["-e"]).into_iter().skip(usize::from(!given)).collect()
        }
        // Subcommands, dates and expressions are not files, but absolute paths always are.
        "git" | "date" | "test" | "[" | "lsof" => {
            let looks =
                |text: &str| text.starts_with('/') || text.starts_with('~') || text.contains("..");
            let is_revision = |text: &str| {
                name == "git" && !text.starts_with(['/', '~', '.']) && !text.contains("../")
            };
            words.iter().filter(|w| looks(w.text()) && !is_revision(w.text())).collect()
        }
        _ => operands(words, &[]),
    };
    plain.into_iter().chain(in_flags).collect()
}

/// `find` starts at the words before its expression; files inside it are read too.
fn find_starts(words: &[Word]) -> Vec<&Word> {
    let mut found = Vec::new();
    let mut expression = false;
    let mut reads_file = false;
    for word in words {
        let text = word.text();
        if std::mem::take(&mut reads_file) {
            found.push(word);
        }
        reads_file = text.starts_with("-newer") || matches!(text, "-samefile" | "-files0-from");
        expression |= text.starts_with(['-', '(', '!']) && !matches!(text, "-H" | "-L" | "-P");
        if !expression && !text.starts_with('-') {
            found.push(word);
        }
    }
    found
}

/// Whether a path goes up again after a directory: where that one is a link, it leads elsewhere.
pub(crate) fn traverses(text: &str) -> bool {
    let mut names = text.split('/').filter(|name| !name.is_empty() && *name != ".");
    names.by_ref().any(|name| name != "..") && names.any(|name| name == "..")
}

/// The text that a file's word adds to the directory: flags are cut off.
pub(crate) fn path_text(word: &Word) -> Option<&str> {
    let text = word.value.as_deref()?;
    if text.starts_with('-')
        && let Some((_, path)) = text.split_once('=')
    {
        return Some(path);
    }
    Some(text)
}
