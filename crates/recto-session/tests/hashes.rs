//! Every message hash that a client noted is found again.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_session::request::Search;
use recto_session::request::verify;

use crate::cases::corpora;
use crate::cases::session;

#[test]
fn every_noted_hash_is_found_again() {
    for corpus in corpora() {
        let mut sum = Sum::default();
        let mut logs = Vec::new();
        collect(&corpus.join("2.1.325"), &mut logs);
        logs.push(corpus.join("edit/2.1.325/base.jsonl"));
        for path in logs.iter().filter(|path| path.exists()) {
            sum.add(path, &fs::read(path).unwrap());
        }
        eprintln!(
            "{} requests, {} hashes: {} by blob, {} by rebuilding, {} found",
            sum.requests, sum.of, sum.by_blob, sum.by_rebuild, sum.known
        );
        // Quick and thorough searches find the same: everything.
        assert_eq!(sum.known, sum.quick);
        assert!(sum.unknown.is_empty(), "{}", sum.unknown.join("\n"));
    }
}

#[derive(Default)]
struct Sum {
    requests: usize,
    of: usize,
    known: usize,
    quick: usize,
    by_blob: usize,
    by_rebuild: usize,
    unknown: Vec<String>,
}

impl Sum {
    fn add(&mut self, path: &Path, log: &[u8]) {
        let session = session(log);
        let verified = verify(&session, &log, Search::Thorough);
        assert!(verified.false_blobs.is_empty(), "{}", path.display());
        self.requests += verified.requests.len();
        self.of += verified.of;
        self.known += verified.known;
        self.quick += verify(&session, &log, Search::Quick).known;
        for request in &verified.requests {
            self.by_blob += request.by_blob;
            self.by_rebuild += request.by_rebuild;
            self.unknown.extend(request.unknown.iter().map(|place| {
                format!("{}, line {}, message {place}", path.display(), request.line)
            }));
        }
    }
}

/// The session logs below a folder, those of subagents too.
fn collect(folder: &Path, logs: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, logs);
        } else if path.extension().is_some_and(|extension| extension == "jsonl")
            && path.components().any(|part| part.as_os_str() == "projects")
        {
            logs.push(path);
        }
    }
}
