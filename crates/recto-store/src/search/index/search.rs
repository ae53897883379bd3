//! Answers from the tables.

use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::params;

use super::Index;
use super::IndexError;
use super::apply::read_kind;
use super::expression::expression;
use super::facts::LogFacts;
use super::find::Request;
use super::find::Sorting;
use super::hit::Hit;
use crate::Home;
use crate::StoreError;

/// Hits among which the best ones are looked for: the newest.
const RANKED: usize = 5000;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The first ones, in order.
    pub(super) hits: Vec<Hit>,
    /// How many fit.
    pub(super) total: usize,
    /// How many fit in each log, by its name.
    pub(super) logs: HashMap<String, usize>,
}

/// A log of the index.
struct Log {
    name: String,
    session: Option<String>,
    agent: Option<String>,
    facts: LogFacts,
}

/// Documents that fit, in one chunk.
struct Fitting<'i> {
    file: i64,
    newest: i64,
    numbers: &'i [i64],
    /// Whether some may be outside of the time that is asked for.
    is_doubtful: bool,
}

impl Index {
    /// Finds what fits, but for logs that are not to be looked at.
    pub(super) fn search(
        &self,
        home: &Home,
        request: &Request<'_>,
        without: &HashSet<i64>,
    ) -> Result<Found, StoreError> {
        // One state of the file for all questions, whoever writes meanwhile.
        let reading = self.connection.unchecked_transaction()?;
        let expression = expression(request.query);
        let numbers: Vec<i64> = {
            let mut look = reading.prepare("SELECT rowid FROM texts WHERE texts MATCH ?1")?;
            let rows = look.query_map([&expression], |row| row.get(0))?;
            rows.collect::<Result<_, _>>()?
        };
        if numbers.is_empty() {
            return Ok(Found::default());
        }
        let logs = self.logs()?;
        let mut fitting = self.fitting(&numbers, request, &logs, without)?;
        let mut found = Found::default();
        let mut seeing = Seeing { index: self, home, request, logs: &logs, tools: self.tools()? };
        // Outside of the time asked for, only the documents themselves can tell.
        let mut known: HashMap<i64, Vec<(i64, Hit)>> = HashMap::new();
        for chunk in &fitting {
            let count = if chunk.is_doubtful {
                let hits = seeing.hits(chunk.file, chunk.numbers)?;
                let count = hits.len();
                known.insert(chunk.numbers[0], hits);
                count
            } else {
                chunk.numbers.len()
            };
            found.total += count;
            if count > 0
                && let Some(log) = logs.get(&chunk.file)
            {
                *found.logs.entry(log.name.clone()).or_default() += count;
            }
        }
        fitting.sort_by_key(|chunk| std::cmp::Reverse(chunk.newest));
        if request.sorting == Sorting::Rank {
            found.hits = seeing.ranked(&expression, &fitting, &known)?;
            return Ok(found);
        }
        let limit = request.limit_or_all();
        let mut last_needed = i64::MIN;
        for chunk in fitting {
            if found.hits.len() >= limit && chunk.newest < last_needed {
                break;
            }
            let hits = match known.remove(&chunk.numbers[0]) {
                Some(hits) => hits,
                None => seeing.hits(chunk.file, chunk.numbers)?,
            };
            found.hits.extend(hits.into_iter().map(|(_, hit)| hit));
            if found.hits.len() >= limit {
                found.hits.sort_by(Hit::order);
                found.hits.truncate(limit);
                let last = found.hits.last().and_then(|hit| hit.time);
                last_needed = last.map_or(0, Timestamp::as_millisecond);
            }
        }
        found.hits.sort_by(Hit::order);
        Ok(found)
    }

    fn logs(&self) -> Result<HashMap<i64, Log>, StoreError> {
        let mut look = self
            .connection
            .prepare("SELECT id, path, session, agent, cwd, model, branch FROM files")?;
        let rows = look.query_map([], |row| {
            let name: String = row.get(1)?;
            let agent: Option<String> = row.get(3)?;
            let facts = LogFacts {
                project: project_in(&name).to_owned(),
                cwd: row.get(4)?,
                model: row.get(5)?,
                branch: row.get(6)?,
                is_agent: agent.is_some(),
                session: row.get(2)?,
            };
            Ok((row.get(0)?, Log { name, session: row.get(2)?, agent, facts }))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn tools(&self) -> Result<HashMap<i64, Arc<str>>, StoreError> {
        let mut look = self.connection.prepare("SELECT id, name FROM names")?;
        let rows = look.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?.into())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Sorts numbers of documents, which are in order, into chunks; those that
    /// cannot fit by log or time are left out.
    fn fitting<'i>(
        &self,
        numbers: &'i [i64],
        request: &Request<'_>,
        logs: &HashMap<i64, Log>,
        without: &HashSet<i64>,
    ) -> Result<Vec<Fitting<'i>>, StoreError> {
        let mut wanted: HashMap<i64, bool> = HashMap::new();
        let mut fitting = Vec::new();
        let mut rest = numbers;
        let mut look = self.connection.prepare(
            "SELECT last, file, oldest, newest FROM chunks WHERE last >= ?1 ORDER BY first",
        )?;
        let mut rows = look.query([numbers.first().copied().unwrap_or(0)])?;
        while let (Some(row), false) = (rows.next()?, rest.is_empty()) {
            let (last, file, oldest, newest): (i64, i64, i64, i64) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let count = rest.partition_point(|number| *number <= last);
            let (numbers, others) = rest.split_at(count);
            rest = others;
            if numbers.is_empty() || without.contains(&file) {
                continue;
            }
            let is_wanted = *wanted
                .entry(file)
                .or_insert_with(|| logs.get(&file).is_some_and(|log| (request.keep)(&log.facts)));
            let is_outside = request.since.is_some_and(|since| newest < since)
                || request.until.is_some_and(|until| oldest >= until);
            if !is_wanted || is_outside {
                continue;
            }
            let is_doubtful = request.since.is_some_and(|since| oldest < since)
                || request.until.is_some_and(|until| newest >= until);
            fitting.push(Fitting { file, newest, numbers, is_doubtful });
        }
        Ok(fitting)
    }
}

/// Makes hits of numbers.
struct Seeing<'a> {
    index: &'a Index,
    home: &'a Home,
    request: &'a Request<'a>,
    logs: &'a HashMap<i64, Log>,
    tools: HashMap<i64, Arc<str>>,
}

impl Seeing<'_> {
    /// The documents of one log that are in the time asked for.
    fn hits(&mut self, file: i64, numbers: &[i64]) -> Result<Vec<(i64, Hit)>, StoreError> {
        let Some(log) = self.logs.get(&file) else { return Ok(Vec::new()) };
        let path: Arc<Path> = self.home.locate(&log.name).into();
        let project: Arc<str> = log.facts.project.as_str().into();
        let cwd: Option<Arc<str>> = log.facts.cwd.as_deref().map(Into::into);
        let session = log.session.as_deref().and_then(|session| session.parse().ok());
        let agent = log.agent.as_deref().and_then(|agent| agent.parse().ok());
        let mut look = self.index.connection.prepare_cached(
            "SELECT offset, line, time, turn, kind, tool FROM documents WHERE id = ?1",
        )?;
        let mut hits = Vec::with_capacity(numbers.len());
        for number in numbers {
            let mut rows = look.query(params![number])?;
            let Some(row) = rows.next()? else {
                let why = "it has a text without a place".into();
                return Err(IndexError::Damaged { why }.into());
            };
            let time: i64 = row.get(2)?;
            if !self.request.fits_time(time) {
                continue;
            }
            let (role, is_error, part) = read_kind(row.get(4)?);
            let hit = Hit {
                path: path.clone(),
                session,
                agent: agent.clone(),
                project: project.clone(),
                cwd: cwd.clone(),
                offset: row.get::<_, i64>(0)?.cast_unsigned(),
                line: row.get::<_, i64>(1)?.cast_unsigned(),
                part,
                role,
                tool: self.tools.get(&row.get(5)?).cloned(),
                is_error,
                time: Timestamp::from_millisecond(time).ok().filter(|_| time != 0),
                turn: row.get(3)?,
                overflow: None,
            };
            hits.push((*number, hit));
        }
        Ok(hits)
    }

    /// The best ones among the newest. Chunks come newest first; of those that are in
    /// `known`, only these documents fit.
    fn ranked(
        &mut self,
        expression: &str,
        fitting: &[Fitting<'_>],
        known: &HashMap<i64, Vec<(i64, Hit)>>,
    ) -> Result<Vec<Hit>, StoreError> {
        let mut file_of: HashMap<i64, i64> = HashMap::new();
        for chunk in fitting {
            let left = RANKED - file_of.len();
            match known.get(&chunk.numbers[0]) {
                Some(hits) => {
                    let numbers = hits.iter().rev().take(left);
                    file_of.extend(numbers.map(|(number, _)| (*number, chunk.file)));
                }
                None => {
                    let numbers = chunk.numbers.iter().rev().take(left);
                    file_of.extend(numbers.map(|number| (*number, chunk.file)));
                }
            }
        }
        let numbers: Vec<String> = file_of.keys().map(i64::to_string).collect();
        // A word in a name counts more than one in a text, what a line is about little.
        // The plus keeps SQLite from looking for each number by itself.
        let mut look = self.index.connection.prepare(
            "SELECT rowid FROM texts WHERE texts MATCH ?1
             AND +rowid IN (SELECT value FROM json_each(?2))
             ORDER BY bm25(texts, 1.0, 1.5, 2.0, 0.1), rowid DESC",
        )?;
        let mut rows = look.query(params![expression, format!("[{}]", numbers.join(","))])?;
        let limit = self.request.limit_or_all();
        let mut hits = Vec::new();
        while let (Some(row), true) = (rows.next()?, hits.len() < limit) {
            let number: i64 = row.get(0)?;
            if let Some(file) = file_of.get(&number) {
                hits.extend(self.hits(*file, &[number])?.into_iter().map(|(_, hit)| hit));
            }
        }
        Ok(hits)
    }
}

/// The project's directory in the name of a log.
fn project_in(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}
