//! Control sequences in every field of a log: no character of them acts on the terminal.

use std::fs;

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::arena::Arena;
use super::arena::Random;
use super::report::Figures;

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

const COMMANDS: &[&[&str]] = &[
    &["ls"],
    &[],
    &["show", SESSION, "--tools", "full", "--meta", "--thinking"],
    &["turns", SESSION],
    &["tools", SESSION],
    &["branches", SESSION],
    &["todos", SESSION],
    &["files", SESSION],
    &["stats", SESSION],
    &["check", SESSION, "--notes"],
    &["usage", "--by", "model"],
    &["status", "-a"],
    &["find", "word"],
    &["grep", "word"],
    &["drift"],
    &["home"],
    &["plans"],
    &["context", SESSION],
    &["request", SESSION],
    &["export", SESSION, "--to", "md"],
    &["export", SESSION, "--to", "txt"],
    &["ls", "--json"],
    &["show", SESSION, "--json"],
];

/// What sequences consist of.
const PIECES: [&str; 40] = [
    "\u{1b}",
    "\u{1b}[",
    "\u{1b}]",
    "\u{1b}P",
    "\u{1b}_",
    "\u{1b}^",
    "\u{1b}X",
    "\u{1b}\\",
    "\u{9b}",
    "\u{9d}",
    "\u{90}",
    "\u{9c}",
    "\u{7}",
    "\u{8}",
    "\u{7f}",
    "\r",
    "\u{c}",
    "\u{b}",
    "\u{e}",
    "\u{f}",
    "2J",
    "6n",
    "0;title",
    "52;c;aGk=",
    "8;;http://x",
    "?1049h",
    "31m",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{3164}",
    "\u{115f}",
    "\u{e0041}",
    "\u{2028}",
    "\u{ad}",
    "\u{85}",
    "\0",
    "é",
];

/// So many logs are worth a page.
const FULL: u64 = 200;

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let mut round = 0u64;
    loop {
        let home = FakeHome::new();
        let mut field = |word: &str| format!("{word}{}", sequence(&mut arena.random));
        let input =
            serde_json::json!({"command": field("word"), "file_path": format!("/{}", field("f"))})
                .to_string();
        let log = SessionBuilder::new(SESSION, Client::V2_1_325)
            .branch(&field("branch"))
            .version(&field("version"))
            .model(&field("model"))
            .prompt(&field("word prompt"))
            .thinking(&field("thinking"))
            .tool(&field("tool"), &input, &field("result"))
            .tool("Read", &input, &field("result"))
            .answer(&field("word answer"))
            .system(&field("subtype"), &field("content"))
            .attachment(&field("attachment"), ("x", &field("y")))
            .unknown(&field("type"), ("x", &field("y")))
            .custom_title(&field("title"))
            .raw(format!("garbage {}\n", field("z").replace('\n', " ")));
        home.add(&log, jiff::Timestamp::now());
        home.write("plans/x.md", format!("# {}", field("plan")));
        for _ in 0..6 {
            let words = *arena.random.pick(COMMANDS);
            let mut command = arena.command(words);
            command.env("CLAUDE_CONFIG_DIR", home.path());
            let run = arena.finish(&mut command)?;
            let seed = arena.seed;
            let outcome = run
                .sound()
                .and_then(|()| harmless(&run.stdout))
                .and_then(|()| harmless(&run.stderr));
            figures.tried(
                "outputs with control sequences in every field",
                outcome.map_err(|what| format!("seed {seed}, round {round}, {words:?}: {what}")),
            );
        }
        fs::remove_dir_all(home.path())?;
        round += 1;
        if !arena.goes_on(round, FULL) {
            return Ok(());
        }
    }
}

fn sequence(random: &mut Random) -> String {
    (0..=random.below(8)).map(|_| *random.pick(&PIECES)).collect()
}

/// Listed here again, so that a hole in the program's list is found.
fn harmless(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let acts = |c: char| {
        let hides = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}');
        hides || (c.is_control() && c != '\n' && c != '\t')
    };
    match text.char_indices().find(|(_, c)| acts(*c)) {
        None => Ok(()),
        Some((at, c)) => {
            let line: String = text[at..].chars().take(60).collect();
            Err(format!("{c:?} in {line:?}"))
        }
    }
}
