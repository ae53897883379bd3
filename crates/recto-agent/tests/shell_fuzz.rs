//! Commands that are allowed are run in real Bash, where every program leaves a trace.
//!
//! The generator puts commands together from pieces on which parsers of shells disagree, and
//! damages what it made. Of a command that is allowed, Bash must start only programs that a rule
//! allows or that only look, and must change no file that may not be changed. More cases:
//!
//! ```sh
//! RECTO_FUZZ_ITERATIONS=100000 RECTO_FUZZ_SEED=7 cargo test -p recto-agent --test runner shell_fuzz
//! ```

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use recto_agent::permission::Call;
use recto_agent::permission::CommandLine;
use recto_agent::permission::Mode;
use recto_agent::permission::Permissions;
use recto_agent::permission::Place;
use recto_agent::permission::Verdict;
use recto_agent::settings::Layer;
use recto_agent::settings::Settings;
use recto_agent::settings::Source;
use serde_json::json;

/// How many commands are run if nobody says.
const RUNS: usize = 500;

/// Programs that only look; they leave a trace and do nothing.
const LOOKS: &[&str] = &[
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "rg",
    "find",
    "sort",
    "date",
    "whoami",
    "id",
    "uname",
    "hostname",
    "stat",
    "file",
    "cut",
    "diff",
    "cmp",
    "comm",
    "paste",
    "tr",
    "tac",
    "rev",
    "fold",
    "nl",
    "od",
    "hexdump",
    "strings",
    "column",
    "md5sum",
    "sha256sum",
    "base64",
    "du",
    "df",
    "ps",
    "free",
    "uptime",
    "lsof",
    "ss",
    "tree",
    "expr",
    "seq",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "jq",
    "sed",
    "git",
    "man",
    "cal",
    "netstat",
    "which",
    "sleep",
];

/// Programs that nobody allowed. `xargs`, `timeout` and others start what they are told to.
const EVIL: &[&str] = &[
    "evil", "evil2", "curl", "python3", "node", "awk", "uniq", "make", "ok2", "okx", "sudo",
    "less", "chmod", "ln", "tar", "dd", "npm",
];

/// Programs that start others, and really do. They may start when what they start may.
const STARTERS: &[&str] = &["timeout", "nice", "nohup", "xargs", "env"];

/// Programs that change files, and really do.
const CHANGERS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "tee"];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Words that are files, patterns, flags, and what looks like them.
const WORDS: &[&str] = &[
    "a.txt",
    "b.md",
    "src",
    "src/main.rs",
    ".env",
    "link",
    "away/x",
    "../other",
    "..",
    "/",
    "~",
    "*",
    "*.txt",
    "-la",
    "-n",
    "-1",
    "--",
    "-x",
    "'a b'",
    "\"a b\"",
    "\"$HOME\"",
    "$HOME",
    "$x",
    "\"$x\"",
    "x=1",
    "A=evil",
    "evil",
    "#evil",
    "a#evil",
    "{a,evil}",
    "{evil,-x}",
    "[ab]",
    "?",
    "!evil",
    "!!",
    "\\;",
    "';'",
    "\";\"",
    "$'a'",
    "$'\\n evil'",
    "$\"a\"",
    "$(evil)",
    "`evil`",
    "\"$(evil)\"",
    "'$(evil)'",
    "\"`evil`\"",
    "\\$(evil)",
    "$((1+1))",
    "$((a[$(evil)]))",
    "${x:-$(evil)}",
    "${x@P}",
    "<(evil)",
    ">(evil)",
    "a\\ b",
    "a\\\nb",
    "-exec",
    "-delete",
    "-o",
    "--output=x",
    "--pre=evil",
    "-f",
    "-v",
    "'a[$(evil)]'",
    "-eq",
    "+x",
    "%s",
    "1,2p",
    "1e evil",
    "w/tmp/x",
    "s/a/b/e",
    "5",
    "5s",
    "-k",
    "-s",
    "-c",
    "log",
    "status",
    "diff",
    "--ext-diff",
    "é",
    "\u{a0}",
    "\u{2003}",
    "\u{200b}",
    "\t",
    "\r",
    "\u{c}",
    "\u{b}",
    "\\\r",
    "@(a|evil)",
    "+(evil)",
    "~evil",
    "a~b",
    "x:~",
];

const NAMES: &[&str] = &[
    "ok",
    "ok",
    "ok",
    "okmake all",
    "ls",
    "cat",
    "echo",
    "printf",
    "grep",
    "find",
    "sort",
    "git",
    "sed",
    "head",
    "wc",
    "test",
    "[",
    "[[",
    "cd",
    "pwd",
    "true",
    "type",
    "which",
    "date",
    "xargs",
    "timeout 5",
    "nice",
    "nohup",
    "time",
    "command",
    "builtin",
    "env",
    "exec",
    "eval",
    ".",
    "source",
    "export",
    "declare",
    "local",
    "read",
    "alias",
    "trap",
    "evil",
    "\\ls",
    "'ls'",
    "\"ls\"",
    "l\"s\"",
    "/bin/ls",
    "./evil",
    "$x",
    "$(echo evil)",
    "FOO=1 ls",
    "PATH=. ls",
    "NODE_ENV=x ok",
    "touch",
    "rm",
    "mkdir",
    "tee",
    "cp",
    "mv",
    "if",
    "then",
    "do",
    "coproc",
    "function",
    "select",
    "!",
    "{",
    "}",
    "(",
    "((",
    "let",
    "history",
    "jq",
    "man",
    "tree",
    "hostname",
    "base64",
    "tr",
    "seq",
    "diff",
    "file",
    "xargs echo",
    "timeout 5 ls",
];

const JOINTS: &[&str] = &[
    ";",
    " ; ",
    "&&",
    " && ",
    "||",
    " || ",
    "|",
    " | ",
    "|&",
    "\n",
    "\n\n",
    " \\\n",
    "\\\n",
    "&",
    " & ",
    ";;",
    "; ;",
    " #x\n",
    ";#\n",
    "\r\n",
    "&&\n",
    "|\n",
    " && # c\n",
    " ",
    "\t;\t",
];

const REDIRECTS: &[&str] = &[
    "> out",
    ">> out",
    ">out",
    "2>/dev/null",
    "2>&1",
    "> /dev/null",
    "&> out",
    ">| out",
    "< a.txt",
    "<> out",
    "<<< x",
    "<<<$(evil)",
    "<<EOF\n$(evil)\nEOF\n",
    "<<'EOF'\n$(evil)\nEOF\n",
    "<<-EOF\n\tevil\n\tEOF\n",
    "<<\\EOF\nevil\nEOF\nevil",
    "<<A <<B\nx\nA\nevil\nB\n",
    "<<E; evil\nE\n",
    "<<'E' | evil\nx\nE\n",
    "1>&2",
    ">&out",
    "3>out",
    "{fd}>out",
    "> \"$HOME/x\"",
    "> away/new",
    "> src/new",
    "> .git/hooks/x",
    "2>&1 > out",
    "< <(evil)",
    ">&-",
    "<&0",
];

const SHAPES: &[(&str, &str)] = &[
    ("", ""),
    ("", ""),
    ("", ""),
    ("", ""),
    ("", ""),
    ("(", ")"),
    ("{ ", "; }"),
    ("if ", "; then ls; fi"),
    ("if true; then ", "; fi"),
    ("while false; do ", "; done"),
    ("for i in a b; do ", "; done"),
    ("for i in $(evil); do ", "; done"),
    ("! ", ""),
    ("time ", ""),
    ("$(", ")"),
    ("echo $(", ")"),
    ("case x in x) ", ";; esac"),
    ("f() { ", "; }; f"),
    ("[ -f a.txt ] && ", ""),
    ("until true; do ", "; done"),
    ("coproc ", ""),
    ("echo `", "`"),
    ("cat <(", ")"),
    ("time -p ", ""),
    ("cd src && ", ""),
    ("cd .. && ", ""),
    ("cd && ", ""),
    ("true; ", " #"),
    ("echo \"", "\""),
    ("echo '", "'"),
    ("\\\n", ""),
    ("# x\n", ""),
    ("ls # ", ""),
    ("[[ a == ", " ]]"),
    ("export X=", ""),
    ("x=", " ls"),
];

fn simple(random: &mut Random) -> String {
    let mut command = random.one(NAMES).to_owned();
    for _ in 0..random.below(4) {
        command.push(' ');
        command.push_str(random.one(WORDS));
    }
    if random.one_in(4) {
        command.push(' ');
        command.push_str(random.one(REDIRECTS));
    }
    command
}

fn command(random: &mut Random) -> String {
    let mut text = simple(random);
    for _ in 0..random.below(3) {
        text.push_str(random.one(JOINTS));
        text.push_str(&simple(random));
    }
    let (before, after) = SHAPES[random.below(SHAPES.len())];
    text = format!("{before}{text}{after}");
    if random.one_in(3) {
        damage(random, &mut text);
    }
    text
}

/// Inserts, removes or doubles a few characters.
fn damage(random: &mut Random, text: &mut String) {
    const BITS: &[&str] = &[
        "'", "\"", "\\", "`", "$", "(", ")", "{", "}", ";", "&", "|", "<", ">", "\n", " ", "#",
        "=", "!", "[", "]", "*", "~", "evil", "\r", "\u{a0}", "$(", "${", "<<", ">>", "\\\n", "ok",
        "ls",
    ];
    for _ in 0..=random.below(3) {
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = places[random.below(places.len())];
        match random.below(3) {
            0 if at < text.len() => drop(text.remove(at)),
            _ => text.insert_str(at, random.one(BITS)),
        }
    }
}

struct Arena {
    _directory: tempfile::TempDir,
    bin: PathBuf,
    home: PathBuf,
    app: PathBuf,
    trace: PathBuf,
}

impl Arena {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Deep, so that a few `..` stay inside.
        let root = fs::canonicalize(directory.path()).unwrap().join("a/b/c/d/e");
        let (bin, home) = (root.join("bin"), root.join("home"));
        let app = home.join("app");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&app).unwrap();
        let trace = root.join("trace");
        for name in LOOKS.iter().chain(EVIL).chain(&["ok", "okmake", "sh", "bash"]) {
            program(&bin, name, &trace, "");
        }
        // Some that look can be told to start programs and to write files: those are real.
        let real = ["find", "sort", "sed", "cat", "head"];
        for name in STARTERS.iter().chain(CHANGERS).chain(&real) {
            let real = format!("exec /usr/bin/{name} \"$@\"");
            program(&bin, name, &trace, &real);
        }
        let arena = Arena { _directory: directory, bin, home, app, trace };
        arena.reset();
        arena
    }

    fn reset(&self) {
        for path in [&self.app, &self.home.join("other")] {
            let _ = fs::remove_dir_all(path);
            fs::create_dir_all(path).unwrap();
        }
        for folder in ["src", ".git/hooks", ".claude"] {
            fs::create_dir_all(self.app.join(folder)).unwrap();
        }
        for (path, text) in [
            ("a.txt", "alpha\n"),
            ("b.md", "evil\nls\n"),
            ("src/main.rs", "x"),
            (".env", "K=1"),
            ("evil", "evil"),
            ("../other/x", "x"),
            (".git/HEAD", "x"),
            ("-exec", ""),
            ("--pre=evil", ""),
        ] {
            fs::write(self.app.join(path), text).unwrap();
        }
        let _ = std::os::unix::fs::symlink("../other", self.app.join("away"));
        let _ = std::os::unix::fs::symlink(".env", self.app.join("link"));
        let _ = fs::remove_file(&self.trace);
    }

    /// All files of the home and what they contain.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.home.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    files.insert(entry.path(), b"directory".to_vec());
                    open.push(entry.path());
                } else {
                    let content = if kind.is_symlink() {
                        b"link".to_vec()
                    } else {
                        fs::read(entry.path()).unwrap_or_default()
                    };
                    files.insert(entry.path(), content);
                }
            }
        }
        files
    }

    /// Runs a command, and returns the programs that started.
    fn run(&self, command: &str) -> BTreeSet<String> {
        let _ = fs::remove_file(&self.trace);
        let mut bash = Command::new("/bin/bash");
        bash.args(["--noprofile", "--norc", "-c", command]);
        bash.env_clear().env("PATH", &self.bin).env("HOME", &self.home).env("USER", "dev");
        bash.current_dir(&self.app)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        bash.process_group(0);
        let mut child = bash.spawn().unwrap();
        let group = rustix::process::Pid::from_child(&child);
        let end = Instant::now() + Duration::from_secs(20);
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait();
        let trace = fs::read_to_string(&self.trace).unwrap_or_default();
        trace.lines().map(str::to_owned).collect()
    }
}

fn program(bin: &Path, name: &str, trace: &Path, then: &str) {
    let text = format!("#!/bin/sh\necho {name} >> '{}'\n{then}\n", trace.display());
    let path = bin.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn permissions(mode: Mode) -> Permissions {
    let value = json!({ "permissions": { "allow": ["Bash(ok:*)", "Bash(okmake *)"] } });
    let value = value.as_object().unwrap().clone();
    let settings = Settings::from_layers(vec![Layer { source: Source::User, path: None, value }]);
    Permissions::new(&settings, &CommandLine { mode: Some(mode), ..CommandLine::default() })
}

/// Runs what is allowed, and reports what went wrong.
fn fuzz(
    mode: Mode,
    seed: u64,
    runs: usize,
    judge: impl Fn(&Arena, &BTreeSet<String>) -> Option<String>,
) {
    let arena = Arena::new();
    let place = Place::new(arena.app.clone(), arena.home.clone());
    let permissions = permissions(mode);
    let mut random = Random(seed);
    let (mut ran, mut seen) = (0, BTreeSet::new());
    let mut failures = Vec::new();
    while ran < runs {
        let text = command(&mut random);
        if text.contains('\0') || !seen.insert(text.clone()) {
            continue;
        }
        let input = json!({ "command": text });
        let decision = permissions.decide(Call { tool: "Bash", input: &input }, &place);
        if decision.verdict != Verdict::Allowed {
            continue;
        }
        ran += 1;
        let started = arena.run(&text);
        if let Some(what) = judge(&arena, &started) {
            failures.push(format!("{text:?}: {what}"));
            arena.reset();
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {ran} ({} generated): {failures:#?}",
        failures.len(),
        seen.len()
    );
}

fn runs() -> usize {
    number("RECTO_FUZZ_ITERATIONS").unwrap_or(RUNS as u64) as usize
}

fn seed() -> u64 {
    // Zero is the one number that the generator cannot start from.
    number("RECTO_FUZZ_SEED").unwrap_or(0x5eed).max(1)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn bash_starts_nothing_that_no_rule_allows_and_changes_no_file() {
    let before = {
        let arena = Arena::new();
        arena.files().into_values().collect::<Vec<_>>()
    };
    fuzz(Mode::Default, seed(), runs(), |arena, started| {
        let known = |name: &String| {
            let name = name.as_str();
            LOOKS.contains(&name) || STARTERS.contains(&name) || name == "ok" || name == "okmake"
        };
        let unknown: Vec<&String> = started.iter().filter(|name| !known(name)).collect();
        if !unknown.is_empty() {
            return Some(format!("started {unknown:?}"));
        }
        let after: Vec<Vec<u8>> = arena.files().into_values().collect();
        (after != before).then(|| "changed files".to_owned())
    });
}

#[test]
fn edits_that_are_accepted_stay_in_the_working_directory() {
    let outside = |arena: &Arena| {
        let mut files = arena.files();
        let protected = [arena.app.join(".git"), arena.app.join(".claude")];
        files.retain(|path, _| {
            !path.starts_with(&arena.app) || protected.iter().any(|folder| path.starts_with(folder))
        });
        files
            .into_iter()
            .map(|(path, text)| (path.strip_prefix(&arena.home).unwrap().to_owned(), text))
            .collect::<BTreeMap<_, _>>()
    };
    let before = outside(&Arena::new());
    fuzz(Mode::AcceptEdits, seed() ^ 0xed17, runs() / 2, |arena, started| {
        let evil: Vec<&String> =
            started.iter().filter(|name| EVIL.contains(&name.as_str())).collect();
        if !evil.is_empty() {
            return Some(format!("started {evil:?}"));
        }
        let after = outside(arena);
        arena.reset();
        (after != before).then(|| format!("changed {after:?}"))
    });
}

#[test]
fn the_trace_shows_what_bash_starts_and_files_show_what_it_writes() {
    let arena = Arena::new();
    let before = arena.files();
    let started = arena.run("ls; echo $(evil) | timeout 5 ok; find . -name a.txt -exec evil2 {} +");
    let expected = ["evil", "evil2", "find", "ls", "ok", "timeout"];
    assert_eq!(started.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    assert_eq!(arena.files(), before);
    arena.run("echo x > ../other/new");
    assert_ne!(arena.files(), before);
}
