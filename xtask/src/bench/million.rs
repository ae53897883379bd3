//! A session of a million tokens, and how fast it is trimmed.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

use anyhow::Context as _;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use super::measure::Case;
use super::measure::Group;
use super::recto;

const ID: &str = "1000000a-0000-4000-8000-000000000000";

/// Turns, and lines of output in each: four bytes count as a token.
const TURNS: usize = 1000;
const LINES: usize = 67;

/// How old the log is made: recto refuses to edit what was just written.
const AGE: Duration = Duration::from_secs(3600);

/// Makes the session anew, without what was trimmed in earlier runs, and gives the
/// commands.
pub(super) fn group(folder: &Path) -> anyhow::Result<Group> {
    let place = folder.join("million");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let home = place.join(".claude");
    let log = home.join("projects/-home-dev-app").join(format!("{ID}.jsonl"));
    fs::create_dir_all(log.parent().context("a log without a folder")?)?;
    fs::write(&log, session().bytes())?;
    File::options().append(true).open(&log)?.set_modified(SystemTime::now() - AGE)?;
    let mut group = Group::new("a session of a million tokens".to_owned(), &home);
    group.cases.push(Case::new("cat", ["cat".into(), log.into()]));
    let words = ["trim", ID, "--to-tokens", "200000"];
    group.cases.push(recto(&[&words[..], &["--dry-run"]].concat(), &home));
    group.cases.push(recto(&words, &home));
    Ok(group)
}

fn session() -> SessionBuilder {
    let mut session = SessionBuilder::new(ID, Client::V2_1_325);
    for turn in 0..TURNS {
        let output: String = (0..LINES)
            .map(|line| format!("src/file_{turn}.rs:{line}: the words that a search found here\n"))
            .collect();
        session = session
            .prompt(&format!("Where is the part of the program that does step {turn}?"))
            .tool("Bash", r#"{"command":"rg words","description":"Search"}"#, &output)
            .answer(&format!("It is in `src/file_{turn}.rs`, in the function that is named so."));
    }
    session
}

#[cfg(test)]
mod tests {
    use recto_session::Session;
    use recto_session::health::health;
    use recto_session::request::Generation;

    use super::*;

    #[test]
    fn a_million_tokens_are_sent() {
        let mut folded = Session::new();
        for line in recto_log::Lines::new(session().bytes()) {
            folded.push(&recto_log::decode(line).0);
        }
        let sent = health(&folded, &[Generation::latest()], &|_| None).reaches[0].sent;
        assert!((1_000_000..1_100_000).contains(&sent.tokens), "{sent:?}");
    }
}
