//! The long session that is read: 13 MB, every turn with calls, results, an edit and an answer.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

/// Its id.
pub(super) const SESSION: &str = "5e551011-0000-4000-8000-00000000000d";
/// How large it is at least.
const BYTES: usize = 13_000_000;

pub(super) struct LongLog {
    path: PathBuf,
    builder: SessionBuilder,
    written: usize,
    turns: u32,
    /// How it was before anything was added.
    pub(super) first_bytes: usize,
    pub(super) first_turns: u32,
}

impl LongLog {
    /// Writes it into a home.
    pub(super) fn write(home: &Path) -> anyhow::Result<LongLog> {
        let mut builder = SessionBuilder::new(SESSION, Client::V2_1_325).at(jiff::Timestamp::now());
        let mut turns = 0;
        while builder.bytes().len() < BYTES {
            turns += 1;
            builder = turn(builder, turns);
        }
        let project = home.join("projects/-home-dev-app");
        fs::create_dir_all(&project)?;
        let path = project.join(format!("{SESSION}.jsonl"));
        fs::write(&path, builder.bytes())?;
        let written = builder.bytes().len();
        Ok(LongLog { path, builder, written, turns, first_bytes: written, first_turns: turns })
    }

    /// A text that only the last answer has.
    pub(super) fn last_mark(&self) -> String {
        mark(self.turns)
    }

    /// Adds a turn, and says when.
    pub(super) fn append(&mut self) -> anyhow::Result<SystemTime> {
        self.turns += 1;
        let answer = format!("Done: {}.", mark(self.turns));
        self.builder = self.builder.clone().prompt(&prompt(self.turns)).answer(&answer);
        let mut file = fs::File::options().append(true).open(&self.path)?;
        let now = SystemTime::now();
        file.write_all(&self.builder.bytes()[self.written..])?;
        self.written = self.builder.bytes().len();
        Ok(now)
    }
}

/// What every answer has, with its number.
pub(super) const MARK: &str = "answer mark";

fn mark(turn: u32) -> String {
    format!("{MARK} {turn:05}")
}

fn prompt(turn: u32) -> String {
    format!("Prompt {turn}: make the station parser read its zones from the table.")
}

fn turn(log: SessionBuilder, number: u32) -> SessionBuilder {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let source: String = (0..90)
        .map(|line| format!("{line:>5}\tlet station_{line} = table.zone({number}, {line})?;\n"))
        .collect();
    let file = format!("/home/dev/app/src/zone_{}.rs", number % 40);
    let patch: Vec<String> = (0..12)
        .flat_map(|line| {
            [format!("-    old_{line}(station)"), format!("+    new_{line}(&station)")]
        })
        .map(|line| json(&line))
        .collect();
    let detail = format!(
        r#"{{"filePath":{0},"oldString":"a","newString":"b","structuredPatch":[{{"oldStart":1,"oldLines":12,"newStart":1,"newLines":12,"lines":[{1}]}}]}}"#,
        json(&file),
        patch.join(",")
    );
    let edit = format!(r#"{{"file_path":{},"old_string":"a","new_string":"b"}}"#, json(&file));
    let mut log = log.prompt(&prompt(number)).thinking("The zones come first, then the stations.");
    for call in 0..3 {
        let read = format!(r#"{{"file_path":{}}}"#, json(&file));
        let run = format!(r#"{{"command":"cargo test zone_{call}"}}"#);
        log =
            log.tool("Read", &read, &source).tool("Bash", &run, &"test zones ... ok\n".repeat(60));
    }
    let answer = format!(
        "The parser reads **zones** from the table now: {}.\n\n\
         ```rust\n{}```\n\n| station | zone |\n|---|---|\n{}\n- one\n- two\n- three\n",
        mark(number),
        "let zone = table.zone(station)?;\n".repeat(12),
        "| Husum | Europe/Berlin |\n".repeat(8)
    );
    log.tool_with_detail("Edit", &edit, "done", &detail).answer(&answer)
}
