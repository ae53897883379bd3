//! A search by a regular expression over all logs of a home.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_session::search::Expression;
use recto_session::search::Query;
use recto_session::search::Searchable;

use crate::Home;
use crate::Inventory;
use crate::LogFile;
use crate::Skipped;
use crate::StoreError;
use crate::each_alone;
use crate::search::index::Answer;
use crate::search::index::Hit;
use crate::search::index::LogFacts;
use crate::search::overflow_matches::AllOverflowMatches;
use crate::search::overflow_matches::OverflowMatches;
use crate::search::overflow_matches::overflow_files;
use crate::search::scan::scan;

/// What to look for.
pub struct GrepRequest<'a> {
    /// What the text must match.
    pub expression: &'a Expression,
    /// What else must fit, as words or fields.
    pub query: Option<&'a Query>,
    /// How many hits to give at most; 0 for all.
    pub limit: usize,
    /// Only hits since then, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only hits before then.
    pub until: Option<i64>,
    /// Which logs to look at.
    pub keep: &'a (dyn Fn(&LogFacts) -> bool + Sync),
}

impl Home {
    /// Searches all logs, without an index. `tell` is called with the bytes that
    /// were read so far and those of all.
    pub fn grep(
        &self,
        inventory: &Inventory,
        request: &GrepRequest<'_>,
        tell: &(dyn Fn(u64, u64) + Sync),
    ) -> Answer {
        let mut logs = self.logs(inventory);
        // The largest first, so that no thread is left alone with it at the end.
        logs.sort_by_key(|log| std::cmp::Reverse(log.bytes()));
        let files = overflow_files(self, logs.iter().map(|log| log.path.as_path()));
        let all =
            logs.iter().map(|log| log.bytes()).chain(files.iter().map(|(_, file)| file.bytes));
        let all = all.sum();
        let done = AtomicU64::new(0);
        let tell = |bytes: u64| tell(done.fetch_add(bytes, Ordering::Relaxed) + bytes, all);
        let overflow = AllOverflowMatches::find(files, request.expression, &tell);
        let found: Vec<_> = each_alone(&logs)
            .filter(|log| log.bytes() > 0)
            .map_init(Buffers::default, |buffers, log| {
                let found = grep_log(log, request, overflow.of_log(&log.path), buffers);
                tell(log.bytes());
                (log, found)
            })
            .collect();
        let mut answer = Answer { skipped: overflow.skipped, ..Answer::default() };
        for (log, found) in found {
            match found {
                Ok(found) => {
                    answer.total += found.total;
                    answer.logs += usize::from(found.total > 0);
                    answer.hits.extend(found.hits);
                }
                Err(error) => answer.skipped.extend(Skipped::unsearched(&log.path, &error)),
            }
        }
        keep_first(&mut answer.hits, request.limit);
        answer
    }
}

#[derive(Default)]
struct Buffers {
    line: Vec<u8>,
    searchable: Searchable,
}

#[derive(Default)]
struct Found {
    hits: Vec<Hit>,
    total: usize,
}

fn grep_log(
    log: &LogFile,
    request: &GrepRequest<'_>,
    overflow: &OverflowMatches,
    buffers: &mut Buffers,
) -> Result<Found, StoreError> {
    let Buffers { line, searchable } = buffers;
    let mut found = Found::default();
    let mut time = None;
    let path: Arc<Path> = log.path.as_path().into();
    let project: Arc<str> = log.project.key.as_str().into();
    let mut tools = Shared::default();
    let mut facts = LogFacts {
        project: (*project).to_owned(),
        is_agent: log.is_agent(),
        session: log.session.map(|session| session.to_string()),
        ..LogFacts::default()
    };
    scan(&log.path, request.expression, overflow, line, &mut |scanned| {
        let document = scanned.document;
        facts.see(document);
        time = document.time.or(time);
        if !scanned.is_match || !request.fits_time(time) {
            return;
        }
        if let Some(query) = request.query {
            searchable.fill(document);
            if !searchable.fits(query) {
                return;
            }
        }
        found.total += 1;
        found.hits.push(Hit {
            path: path.clone(),
            session: None,
            agent: log.agent.clone(),
            project: project.clone(),
            cwd: None,
            line: document.line,
            offset: document.span.offset,
            part: scanned.part,
            role: document.role,
            tool: document.tool.map(|tool| tools.get(tool)),
            is_error: document.is_error,
            time,
            turn: document.turn,
            overflow: scanned.overflow.map(Path::to_owned),
        });
    })?;
    if found.total == 0 || !(request.keep)(&facts) {
        return Ok(Found::default());
    }
    keep_first(&mut found.hits, request.limit);
    let session = log.owner();
    let cwd: Option<Arc<str>> = facts.cwd.map(Into::into);
    for hit in &mut found.hits {
        hit.session = session;
        hit.cwd.clone_from(&cwd);
    }
    Ok(found)
}

/// Names that come again and again, each held once.
#[derive(Default)]
struct Shared(HashSet<Arc<str>>);

impl Shared {
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.0.insert(name.clone());
        name
    }
}

impl GrepRequest<'_> {
    fn fits_time(&self, time: Option<Timestamp>) -> bool {
        let time = time.map_or(0, Timestamp::as_millisecond);
        self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
    }
}

fn keep_first(hits: &mut Vec<Hit>, limit: usize) {
    hits.sort_by(Hit::order);
    if limit > 0 {
        hits.truncate(limit);
    }
}

#[cfg(test)]
mod tests {
    use recto_session::search::ExpressionOptions;
    use recto_session::search::TextRole;
    use recto_testkit::Client;
    use recto_testkit::FakeHome;
    use recto_testkit::SessionBuilder;

    use super::*;

    const FIRST: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
    const SECOND: &str = "4f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    /// A home with two sessions.
    fn home() -> (FakeHome, Home) {
        let fake = FakeHome::new();
        let times =
            ["2026-11-01T10:00:00Z", "2026-11-02T10:00:00Z"].map(|time| time.parse().unwrap());
        let first = SessionBuilder::new(FIRST, Client::V2_1_325)
            .cwd("/home/dev/tide")
            .at(times[0])
            .prompt("Where is the tide table?")
            .tool("Bash", r#"{"command":"ls tables"}"#, "tide_table.csv\nmoon.csv")
            .answer("In tables.")
            .prompt("And the moon?")
            .answer("Beside the tide table.");
        let second = SessionBuilder::new(SECOND, Client::V2_1_325)
            .cwd("/home/dev/moon")
            .at(times[1])
            .prompt("Draw the moon.")
            .answer("A tide of moons.");
        fake.add(&first, times[0]);
        fake.add(&second, times[1]);
        let home = Home::open(fake.path()).unwrap();
        (fake, home)
    }

    fn grep(home: &Home, pattern: &str, query: &str, limit: usize) -> (usize, Vec<String>) {
        let expression = Expression::new(pattern, ExpressionOptions::default()).unwrap();
        let query = (!query.is_empty()).then(|| Query::parse(query).unwrap());
        let request = GrepRequest {
            expression: &expression,
            query: query.as_ref(),
            limit,
            since: None,
            until: None,
            keep: &|facts| facts.cwd.as_deref() != Some("/nowhere"),
        };
        let answer = home.grep(&home.inventory(), &request, &|_, _| {});
        assert!(answer.skipped.is_empty() && answer.logs <= 2);
        let hits = answer.hits.iter().map(|hit| {
            let tool = hit.tool.as_deref().unwrap_or("");
            let session = hit.session.map(|session| session.to_string()).unwrap_or_default();
            let text = hit.read().unwrap().text.replace('\n', "|");
            assert!(hit.cwd.is_some() && hit.time.is_some());
            assert!(hit.role != TextRole::ToolResult || hit.tool.is_some());
            format!("{}:{} {} {tool}: {text}", &session[..1], hit.turn, hit.role.name())
        });
        (answer.total, hits.collect())
    }

    #[test]
    fn matches_come_newest_first_with_their_tools_and_turns() {
        let (_fake, home) = home();
        let (total, hits) = grep(&home, "(?i)tide", "", 0);
        assert_eq!(total, 4);
        assert_eq!(
            hits,
            [
                "4:1 assistant : A tide of moons.",
                "3:2 assistant : Beside the tide table.",
                "3:1 tool-result Bash: tide_table.csv|moon.csv",
                "3:1 user : Where is the tide table?",
            ]
        );
        assert_eq!(grep(&home, "(?i)tide", "", 2), (4, hits[..2].to_vec()));
        assert_eq!(grep(&home, r"^moon\.\w+$", "", 0).1, hits[2..3]);
        assert_eq!(grep(&home, "tide", "tool:Bash", 0).1, hits[2..3]);
        assert_eq!(grep(&home, "tide", "role:user", 0).1, hits[3..]);
        assert_eq!(grep(&home, "no such text", "", 0), (0, vec![]));
    }

    /// A result of which the log has the beginning only, as client 2.1.325 writes it.
    fn persisted(name: &str) -> String {
        format!(
            "<persisted-output>\nOutput too large (77KB). Full output saved to: \
             /elsewhere/tool-results/{name}\n\nPreview (first 2KB):\nspring tide\n"
        )
    }

    #[test]
    fn results_that_were_too_long_for_the_log_are_searched_in_their_files() {
        let fake = FakeHome::new();
        let time = "2026-11-01T10:00:00Z".parse().unwrap();
        let mut session = SessionBuilder::new(FIRST, Client::V2_1_325)
            .cwd("/home/dev/tide")
            .at(time)
            .prompt("All tides, please.");
        for name in ["b1.txt", "b2.txt", "gone.txt", "link.txt", "../../secret.txt", "b3.key"] {
            session = session.tool("Bash", r#"{"command":"tides"}"#, &persisted(name));
        }
        let log = fake.add(&session, time);
        let folder = log.with_extension("").join("tool-results");
        fs_err::create_dir_all(&folder).unwrap();
        let outside = fake.write("secret.txt", "neap tide of others");
        for (name, text) in [
            ("b1.txt", "spring tide\nneap tide\n"),
            ("b2.txt", "spring tide\nslack water\n"),
            ("b3.key", "neap tide of nobody"),
            ("unnamed.txt", "neap tide that no result names"),
        ] {
            fs_err::write(folder.join(name), text).unwrap();
        }
        #[cfg(unix)]
        fs_err::os::unix::fs::symlink(&outside, folder.join("link.txt")).unwrap();
        let home = Home::open(fake.path()).unwrap();

        let first = "3:1 tool-result Bash: spring tide|neap tide|".to_owned();
        assert_eq!(grep(&home, "neap tide", "", 0), (1, vec![first.clone()]));
        assert_eq!(grep(&home, "neap", "tool:Bash", 0), (1, vec![first]));
        assert_eq!(grep(&home, "neap", "tool:Read", 0), (0, vec![]));
        // Across the lines of a file, and the end of a line.
        assert_eq!(grep(&home, r"tide\nslack \w+$", "", 0).0, 1);
        // What the log has is found there, and not once more in the file.
        let (total, hits) = grep(&home, "spring", "", 0);
        assert_eq!(total, 6);
        assert!(hits.iter().all(|hit| hit.contains("<persisted-output>")));
    }

    #[test]
    fn results_of_subagents_are_in_the_folder_of_their_session() {
        let fake = FakeHome::new();
        let time = "2026-11-01T10:00:00Z".parse().unwrap();
        let session =
            SessionBuilder::new(FIRST, Client::V2_1_325).cwd("/home/dev/tide").at(time).prompt("x");
        let log = fake.add(&session, time);
        let of_agent = SessionBuilder::agent(FIRST, "a1b2c3", Client::V2_1_325)
            .cwd("/home/dev/tide")
            .at(time)
            .tool("Bash", r#"{"command":"tides"}"#, &persisted("b1.txt"));
        let folder = log.with_extension("");
        for (name, text) in [
            ("subagents/agent-a1b2c3.jsonl", of_agent.bytes()),
            ("tool-results/b1.txt", b"neap tide"),
        ] {
            let path = folder.join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        }
        let home = Home::open(fake.path()).unwrap();
        assert_eq!(grep(&home, "neap", "", 0).1, ["3:1 tool-result Bash: neap tide"]);
    }
}
