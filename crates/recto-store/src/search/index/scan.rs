//! Answers straight from logs that are not in the index.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use rayon::prelude::*;

use super::compare::Change;
use super::compare::IngestPosition;
use super::facts::LogFacts;
use super::find::Request;
use super::hit::Hit;
use super::ingest::Batch;
use super::ingest::Buffers;
use super::ingest::ingest;
use super::search::Found;
use crate::LogFile;
use crate::Skipped;
use crate::StoreError;
use crate::each_alone;

/// What was found in logs, and which could not be read. When `tell` says so, the logs that
/// are left are not looked at.
pub(super) fn scan(
    logs: &[&LogFile],
    request: &Request<'_>,
    tell: &(dyn Fn(u64, u64) -> ControlFlow<()> + Sync),
) -> (Found, Vec<Skipped>) {
    let all: u64 = logs.iter().map(|log| log.bytes()).sum();
    let done = AtomicU64::new(0);
    let is_stopped = AtomicBool::new(false);
    let scanned: Vec<_> = each_alone(logs)
        .map_init(Buffers::default, |buffers, log| {
            if is_stopped.load(Ordering::Relaxed) {
                return (log, Ok(Vec::new()));
            }
            let hits = scan_log(log, request, buffers);
            let before = done.fetch_add(log.bytes(), Ordering::Relaxed);
            if tell(before + log.bytes(), all).is_break() {
                is_stopped.store(true, Ordering::Relaxed);
            }
            (log, hits)
        })
        .collect();
    let mut found = Found { logs: HashMap::new(), ..Found::default() };
    let mut skipped = Vec::new();
    for (log, hits) in scanned {
        match hits {
            Ok(hits) => {
                found.total += hits.len();
                if !hits.is_empty() {
                    found.logs.insert(log.name_in_home(), hits.len());
                }
                found.hits.extend(hits);
            }
            Err(error) => skipped.extend(Skipped::unsearched(&log.path, &error)),
        }
    }
    found.hits.sort_by(Hit::order);
    (found, skipped)
}

fn scan_log(
    log: &LogFile,
    request: &Request<'_>,
    buffers: &mut Buffers,
) -> Result<Vec<Hit>, StoreError> {
    let mut hits = Vec::new();
    let mut end = IngestPosition::start();
    let mut session = None;
    let path: Arc<Path> = log.path.as_path().into();
    let project: Arc<str> = log.project.key.as_str().into();
    ingest(log, Change::New, IngestPosition::start(), buffers, &mut |batch| {
        let tools: Vec<Arc<str>> = batch.tools.iter().map(|tool| tool.as_str().into()).collect();
        for number in 0..batch.places.len() {
            if !batch.fits(number, request) {
                continue;
            }
            session = session.or_else(|| log.owner());
            let place = &batch.places[number];
            hits.push(Hit {
                path: path.clone(),
                session,
                agent: log.agent.clone(),
                project: project.clone(),
                cwd: None,
                line: place.line,
                offset: place.offset,
                part: place.part,
                role: place.role,
                tool: place.tool.and_then(|tool| tools.get(tool)).cloned(),
                is_error: place.is_error,
                time: Timestamp::from_millisecond(place.time).ok().filter(|_| place.time != 0),
                turn: place.turn,
                overflow: None,
            });
        }
        end = batch.end;
        true
    })?;
    let facts = LogFacts {
        project: (*project).to_owned(),
        cwd: end.cwd,
        model: end.model,
        branch: end.branch,
        is_agent: log.is_agent(),
        session: log.session.map(|session| session.to_string()),
    };
    if !(request.keep)(&facts) {
        return Ok(Vec::new());
    }
    let cwd: Option<Arc<str>> = facts.cwd.map(Into::into);
    for hit in &mut hits {
        hit.cwd.clone_from(&cwd);
    }
    Ok(hits)
}

impl Batch {
    fn fits(&self, number: usize, request: &Request<'_>) -> bool {
        request.fits_time(self.places[number].time) && self.searchable(number).fits(request.query)
    }
}
