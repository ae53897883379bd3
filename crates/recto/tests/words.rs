//! The words that people read: help, messages and documents use the ordinary ones.
//!
//! Each row is an expression that a native speaker would rewrite, and what to write instead.
//! Comments and names in code are not looked at.

use std::fs;
use std::path::Path;

use regex::Regex;

use crate::structure::sources;
use crate::support::TestHome;
use crate::support::repository;

/// What is not written, and what is.
const WORDS: [(&str, &str); 40] = [
    (r"\bfits?\b", "match"),
    (r"\bstands?\b", "appear, be"),
    (r"\b(go(es)?|going|went) on\b", "resume, continue"),
    (r"\bholds?\b", "contain"),
    (r"\banew\b", "again, from scratch"),
    (r"\bmend(s|ed|ing)?\b", "repair"),
    (r"\b(is|are|was|were|be|been|not) told\b", "report, notify"),
    (r"\b(is|are) said\b", "report"),
    (r"\b(nobody|somebody|whoever|anybody)\b", "name the actor"),
    (r"\b(is|are|was|were) no [a-z]", "is not a"),
    (r"\bany more\b", "no longer"),
    (r"\bpictures?\b", "image"),
    (r"\bthings to do\b", "to-dos"),
    (r"\b(left|leaves?|leaving) out\b", "skip, omit"),
    (r"\bbut for\b", "except"),
    (r"\b(take|takes|taken|took|taking) (it )?(out|back)\b", "remove, undo"),
    (r"\b(kept|put|puts) (\w+ )?aside\b", "set aside, suspend"),
    (r"\bnevertheless\b", "anyway"),
    (r"\b(is|are|was|were) not there\b", "does not exist, is missing"),
    (r"\b(is|are) gone\b", "no longer exists"),
    (r"\bhung\b", "link"),
    (r"\bheals?\b", "recover from"),
    (r"\bnoted\b", "log, record"),
    (r"\bin (the )?place of\b", "instead of, replace"),
    (r"\b(by|of) which\b", "two sentences"),
    (r"\bso that\b", "so, to"),
    (r"\bof (its|their|your) own\b", "its own …, separate"),
    (r"\bso many\b", "this many"),
    (r"\b(turn|match) before\b", "previous"),
    (r"\b(is|are) looked (at|for)\b", "name who reads or checks"),
    (r"\bcannot be understood\b", "invalid"),
    (r"\bthe client('s)?\b", "Claude Code"),
    (r"\bshall\b", "will, must"),
    (r"\bstood\b", "be, appear"),
    (r"\bto the letter\b", "exactly"),
    (r"\bput right\b", "repair"),
    (r"\b(is|are) asked (about|for)\b", "name who asks"),
    (r"\bhas? no such value\b", "invalid value"),
    (r"\bdearest\b", "most expensive"),
    (r"\b(has|have) ended with (it|them)\b", "exit, stop"),
];

/// What looks like one of them and is fine.
const FINE: [&str; 23] = [
    "there is no ",
    "there are no ",
    "there was no ",
    "is no longer",
    "are no longer",
    "is no more",
    "if there is none",
    // Options and fields of JSON.
    "--fit",
    "`pictures`",
    // A folder, and the task that fills it.
    "docs/pictures",
    "../pictures/",
    "xtask pictures",
    "`left_out`",
    "{pictures}",
    "a prompt to go on",
    "{noted}",
    // Sentences of Claude Code, as recorded.
    "nobody can answer a permission prompt",
    "what still fits in your context",
    "session still holds",
    "may hold at most",
    "once with that noted",
    "to stop and wait still stands",
    "was run by the client, not sent to you",
];

/// Values of columns that programs read.
const VALUES: [&str; 1] = ["picture"];

/// Documents about what clients of different versions do.
const ABOUT_CLIENTS: [&str; 5] = [
    "docs/concepts/oracle.md",
    "docs/concepts/request.md",
    "docs/concepts/sdk.md",
    "docs/reference/format.md",
    "docs/guides/mock.md",
];

/// Looks for words in texts, and says where they are.
struct Editor {
    words: Vec<(Regex, &'static str)>,
    fine: Regex,
    found: Vec<String>,
}

impl Editor {
    fn new() -> Editor {
        let words = WORDS
            .iter()
            .map(|(word, instead)| (Regex::new(&format!("(?i){word}")).unwrap(), *instead));
        let fine: Vec<String> = FINE.iter().map(|fine| regex::escape(fine)).collect();
        let fine = Regex::new(&format!("(?i){}", fine.join("|"))).unwrap();
        Editor { words: words.collect(), fine, found: Vec::new() }
    }

    fn read(&mut self, place: &str, text: &str) {
        let plain = self.fine.replace_all(text, " ");
        for (word, instead) in &self.words {
            let is_about_clients = ABOUT_CLIENTS.iter().any(|path| place.starts_with(path));
            if *instead == "Claude Code" && is_about_clients {
                continue;
            }
            if let Some(found) = word.find(&plain) {
                let found = found.as_str();
                self.found.push(format!("{place}: `{found}` (write: {instead}): {}", text.trim()));
            }
        }
    }

    fn finish(self) {
        assert!(self.found.is_empty(), "{} phrases:\n{}", self.found.len(), self.found.join("\n"));
    }
}

/// The texts in quotation marks in a line of code.
fn literals(line: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut text: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (&mut text, c) {
            (Some(_), '"') => texts.extend(text.take()),
            (None, '"') => text = Some(String::new()),
            (Some(text), '\\') => {
                // A character after a backslash is part of the text.
                text.push(' ');
                characters.next();
            }
            (Some(text), c) => text.push(c),
            (None, '\'') => {
                // `'"'` is a character.
                let rest = characters.as_str();
                if rest.starts_with("\"'") {
                    characters.nth(1);
                } else if rest.starts_with("\\\"'") {
                    characters.nth(2);
                }
            }
            (None, _) => {}
        }
    }
    // What begins here and ends on another line.
    texts.extend(text);
    texts
}

#[test]
fn help_uses_ordinary_words() {
    let test = TestHome::empty();
    let mut editor = Editor::new();
    let names = crate::reference::commands(&test);
    let all = names.iter().map(|name| vec!["help", name.as_str()]).chain([vec!["--help"]]);
    for arguments in all {
        let help = test.run(&arguments).stdout;
        for line in help.lines() {
            editor.read(&format!("recto {}", arguments.join(" ")), line);
        }
    }
    editor.finish();
}

#[test]
fn messages_use_ordinary_words() {
    let mut editor = Editor::new();
    for name in [
        "recto",
        "recto-view",
        "recto-serve",
        "recto-agent",
        "recto-collect",
        "recto-lake",
        "recto-store",
        "recto-session",
        "recto-log",
    ] {
        for source in sources(&format!("crates/{name}/src")) {
            // Words of the client itself, and of tests that are not beside the code.
            let is_other = ["/running/", "/trial.rs", "/request/"];
            if is_other.iter().any(|part| source.path.contains(part)) {
                continue;
            }
            for (at, line) in source.code.lines().enumerate() {
                if line.trim_start().starts_with("//") {
                    continue;
                }
                for text in literals(line).iter().filter(|text| !VALUES.contains(&text.as_str())) {
                    editor.read(&format!("{}:{}", source.path, at + 1), text);
                }
            }
        }
    }
    editor.finish();
}

#[test]
fn documents_use_ordinary_words() {
    let mut editor = Editor::new();
    let root = repository();
    let mut waiting = vec![root.join("docs")];
    let mut pages = vec![root.join("README.md")];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => pages.push(path),
            }
        }
    }
    // What is to come out next is read by everyone; what came out stays as it was.
    let changes = fs::read_to_string(root.join("CHANGELOG.md")).unwrap();
    let unreleased = changes.split("\n## ").nth(1).unwrap();
    assert!(unreleased.starts_with("Unreleased"), "{unreleased}");
    for line in unreleased.lines() {
        editor.read("CHANGELOG.md", line);
    }
    let is_page = |path: &Path| path.extension().is_some_and(|ending| ending == "md");
    for path in pages.iter().filter(|path| is_page(path)) {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        // What the program prints is looked at where it is written.
        let mut is_code = name == "docs/reference/cli.md";
        for (at, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if !is_code && name != "docs/reference/cli.md" {
                editor.read(&format!("{name}:{}", at + 1), line);
            }
        }
    }
    editor.finish();
}

#[test]
fn a_planted_phrase_is_found() {
    let found = |text: &str| {
        let mut editor = Editor::new();
        editor.read("here", text);
        editor.found.len()
    };
    for bad in [
        "no session fits `x`",
        "the line is no JSON",
        "Go on with a session",
        "`recto undo` takes it back",
        "what the client will delete",
        "it does not exist any more",
        "you are told when it ends",
        "the line is taken out",
        "a log that is gone",
        "a file of which something was sent",
        "the turn before",
        "deleted within so many days",
        "a session with a log of its own",
        "what stood there",
        "put right for this run",
    ] {
        assert_eq!(found(bad), 1, "{bad}");
    }
    for good in ["there is no session yet", "it no longer exists", "--fit TOKENS", "clients differ"]
    {
        assert_eq!(found(good), 0, "{good}");
    }
    let line = r#"let c = '"'; say("one \" more", '\"', "two");"#;
    assert_eq!(literals(line), ["one   more", "two"]);
}
