//! Machines that send to a store.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_collect::MachineFacts;
use recto_collect::Policy;
use recto_collect::SendOptions;
use recto_collect::Sender;
use recto_collect::Store;
use recto_lake::Lake;
use recto_lake::cache::Cache;
use recto_lake::home::load_home;
use recto_lake::library::needs;
use recto_lake::library::questions;
use recto_lake::query::Answer;
use recto_lake::query::Value;
use recto_lake::query::ask;
use recto_session::usage::PriceTable;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::keep::CollectOptions;
use recto_store::keep::Collector;
use recto_store::keep::MachineId;
use recto_store::keep::MachineSecret;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use tempfile::TempDir;

pub(crate) struct Machine {
    folder: TempDir,
    user: &'static str,
    policy: &'static str,
}

impl Machine {
    pub(crate) fn new(user: &'static str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/projects")).unwrap();
        Machine { folder, user, policy: "redact = \"off\"" }
    }

    pub(crate) fn with_policy(user: &'static str, policy: &'static str) -> Machine {
        Machine { policy, ..Machine::new(user) }
    }

    pub(crate) fn home(&self) -> Home {
        Home::open(self.folder.path().join("home")).unwrap()
    }

    pub(crate) fn id(&self) -> String {
        MachineId::of(&self.home()).to_string()
    }

    pub(crate) fn log(&self, session: &str) -> PathBuf {
        self.folder.path().join(format!("home/projects/-w/{session}.jsonl"))
    }

    /// Writes a session with so many turns.
    pub(crate) fn write(&self, session: &str, turns: usize) {
        let mut log = SessionBuilder::new(session, Client::V2_1_325).cwd("/w");
        for turn in 0..turns {
            log = log
                .prompt(&format!("{} asks {turn}", self.user))
                .tool("Read", r#"{"file_path":"/w/a.rs"}"#, "fn main() {}")
                .failed_tool("Edit", r#"{"file_path":"/w/a.rs"}"#, "no match")
                .answer(&format!("answer {turn} for {}", self.user));
        }
        fs::create_dir_all(self.log(session).parent().unwrap()).unwrap();
        fs::write(self.log(session), log.bytes()).unwrap();
    }

    /// Archives the home and sends it.
    pub(crate) fn send(&self, store: &Store) {
        let data = DataDirectory::new(self.folder.path().join("data"));
        let archive = self.folder.path().join("data/archive");
        let home = self.home();
        let mut collector =
            Collector::open(&home, &data, &archive, CollectOptions::default()).unwrap();
        assert_eq!(collector.collect(&mut |_| {}).unwrap().troubles, []);
        let secret = MachineSecret::of(&home);
        let policy = Policy::read(self.policy, Path::new("collect.toml"), &secret, None).unwrap();
        let facts =
            MachineFacts { user: Some(self.user.to_owned()), host: None, version: "1".to_owned() };
        let options = SendOptions::default();
        let sender =
            Sender::open(&home, &data, &archive, store.clone(), policy, facts, options).unwrap();
        assert_eq!(sender.send(&mut |_, _| {}).unwrap().troubles, []);
    }

    /// Asks the tables of the home.
    pub(crate) fn ask(&self, sql: &str) -> Answer {
        let mut cache = Cache::open(&self.folder.path().join("query.sqlite")).unwrap();
        let (home, user) = (self.home(), Some(self.user));
        let missing =
            load_home(&mut cache, &home, user, &prices(), &needs(sql).unwrap(), &mut |_, _| {});
        let missing = missing.unwrap();
        assert!(missing.skipped.is_empty() && missing.unread.is_empty());
        ask(&cache.into_reader().unwrap(), sql, usize::MAX).unwrap()
    }
}

pub(crate) fn prices() -> PriceTable {
    PriceTable::built_in().unwrap()
}

/// A store that is a directory, and a cache of its tables.
pub(crate) struct Team {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
}

impl Team {
    pub(crate) fn new() -> Team {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::of_directory(&folder.path().join("store")).unwrap();
        Team { folder, store }
    }

    pub(crate) fn build(&self) -> recto_lake::BuildReport {
        Lake::build(&self.store, &prices(), &mut |_, _| {}).unwrap()
    }

    /// Asks the tables of the store.
    pub(crate) fn ask(&self, sql: &str) -> Answer {
        let mut cache = Cache::open(&self.folder.path().join("query.sqlite")).unwrap();
        let loaded = Lake::load(&self.store, &mut cache, &needs(sql).unwrap(), 100, &mut |_, _| {});
        assert_eq!(loaded.unwrap(), Vec::<String>::new());
        ask(&cache.into_reader().unwrap(), sql, usize::MAX).unwrap()
    }

    /// The only number of an answer.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        match self.ask(sql).rows.as_slice() {
            [row] => match row[0] {
                Value::Integer(number) => number,
                ref other => panic!("{other:?}"),
            },
            rows => panic!("{rows:?}"),
        }
    }

    /// The tables whose lines are not there once.
    pub(crate) fn repeated(&self) -> i64 {
        self.number(
            "SELECT COUNT(*) AS n FROM (SELECT machine, file_id, gen, off, COUNT(*) AS c FROM lines \
             GROUP BY machine, file_id, gen, off HAVING COUNT(*) > 1)",
        )
    }

    /// How many versions the log of a table has.
    pub(crate) fn versions(&self, table: &str) -> usize {
        let log = self.objects(&format!("lake/v1/t1/{table}/_delta_log"));
        log.iter().filter(|path| path.extension().is_some_and(|end| end == "json")).count()
    }

    /// Files below a directory of the store.
    pub(crate) fn objects(&self, below: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.folder.path().join("store").join(below)];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { waiting.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }
}

pub(crate) const ONE: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
pub(crate) const OTHER: &str = "3f2b77aa-51c7-4d02-b8f4-93ad17c2e680";

/// The rows of every question, but for the machine and the file.
pub(crate) fn all_answers(ask: impl Fn(&str) -> Answer) -> Vec<(&'static str, Answer)> {
    questions().iter().map(|question| (question.name, ask(question.sql))).collect()
}
