//! A client writes between any two calls of an operation, and the program may be killed
//! at any of them: no line is lost, none appears twice, and every file is the old one
//! or the new one.
//!
//! The files are real. The client is a model: its three calls (open, write, close) come
//! at steps that the test chooses, and it acts in the thread of the operation, so every
//! run can be repeated.

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::path::Path;
use std::path::PathBuf;
use std::rc::Rc;

use fs_err as fs;
use tempfile::TempDir;

use super::*;
use crate::DataDirectory;
use crate::Home;
use crate::StoreError;
use crate::place::folder::steps;
use crate::place::home::TRASH;
use crate::place::platform;
use crate::place::writers::model;

const OLD: &str = "{\"n\":1}\n{\"n\":2}\n";
const NEW: &str = "{\"n\":1}\n";
const LONGER: &str = "{\"n\":1}\n{\"n\":2}\n{\"title\":\"x\"}\n";
const SECOND: &str = "{\"second\":1}\n";

/// What the operation does to the log, and to a second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// It becomes shorter.
    Shorten,
    /// A line is added, as a new title is.
    Lengthen,
    /// Both logs are replaced.
    Both,
    /// It goes, with its directory.
    Remove,
    /// It goes to another directory.
    Move,
    UndoShorten,
    UndoLengthen,
    UndoRemove,
    UndoMove,
}

const CASES: [Case; 9] = [
    Case::Shorten,
    Case::Lengthen,
    Case::Both,
    Case::Remove,
    Case::Move,
    Case::UndoShorten,
    Case::UndoLengthen,
    Case::UndoRemove,
    Case::UndoMove,
];

/// When a client acts, counted in steps.
#[derive(Debug, Clone, Copy)]
struct Times {
    opens: usize,
    writes: usize,
    /// Which of the logs.
    log: usize,
}

/// How a run goes.
#[derive(Debug, Clone)]
struct Run {
    case: Case,
    clients: Vec<Times>,
    killed_at: Option<usize>,
    can_exchange: bool,
}

struct Client {
    times: Times,
    line: String,
    file: Option<File>,
    is_done: bool,
}

impl Client {
    /// Acts if it is time to.
    fn act(&mut self, step: usize, paths: &[PathBuf]) {
        if self.is_done || step < self.times.opens {
            return;
        }
        if self.file.is_none() {
            let path = &paths[self.times.log];
            // It makes the directory of its log, as the real one does.
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            self.file = Some(OpenOptions::new().create(true).append(true).open(path).unwrap());
        }
        if step >= self.times.writes {
            self.file.take().unwrap().write_all(self.line.as_bytes()).unwrap();
            self.is_done = true;
        }
    }
}

/// Stands for the signal that ends the process at once.
struct Killed;

struct World {
    _folder: TempDir,
    home: Home,
    data: DataDirectory,
}

impl World {
    fn new() -> World {
        // Thousands of runs make their files durable: memory is fast at that.
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory).unwrap(),
            false => tempfile::tempdir().unwrap(),
        };
        let root = folder.path().join("home");
        fs::create_dir_all(root.join("projects/a")).unwrap();
        let home = Home::open(&root).unwrap();
        let data = DataDirectory::new(folder.path().join("data"));
        let world = World { _folder: folder, home, data };
        fs::write(world.log(), OLD).unwrap();
        fs::write(world.second(), SECOND).unwrap();
        world
    }

    fn log(&self) -> PathBuf {
        self.home.real_root().join("projects/a/log.jsonl")
    }

    fn second(&self) -> PathBuf {
        self.home.real_root().join("projects/second.jsonl")
    }

    fn moved(&self) -> PathBuf {
        self.home.real_root().join("projects/b/log.jsonl")
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.data, &self.home).unwrap()
    }

    /// Does what the case is about, up to its last call. `before` is called when all is
    /// staged.
    fn perform(&self, case: Case, before: impl FnOnce()) -> Result<(), StoreError> {
        let mut journal = self.journal();
        let undone = match case {
            Case::UndoShorten => Some(Case::Shorten),
            Case::UndoLengthen => Some(Case::Lengthen),
            Case::UndoRemove => Some(Case::Remove),
            Case::UndoMove => Some(Case::Move),
            _ => None,
        };
        if let Some(undone) = undone {
            self.stage(undone, &mut journal)?.commit()?;
            before();
            return journal.undo(&self.home, None, Changed::Refuse).map(|_| ());
        }
        let transaction = self.stage(case, &mut journal)?;
        before();
        transaction.commit().map(|_| ())
    }

    fn stage<'j>(
        &self,
        case: Case,
        journal: &'j mut Journal,
    ) -> Result<Transaction<'j>, StoreError> {
        let mut transaction = journal.begin(Intent {
            home: &self.home,
            name: "test",
            arguments: Vec::new(),
            time: "2026-11-16T12:00:00Z".parse().unwrap(),
            source: None,
            result: None,
        })?;
        let put = |text: &'static str| {
            move |out: &mut dyn std::io::Write| Ok(out.write_all(text.as_bytes())?)
        };
        let log = self.log();
        let identity = FileIdentity::of(&log)?;
        match case {
            Case::Shorten => {
                transaction.replace(&log, &identity, put(NEW))?;
            }
            Case::Lengthen => {
                transaction.replace(&log, &identity, put(LONGER))?;
            }
            Case::Both => {
                transaction.replace(&log, &identity, put(NEW))?;
                let second = self.second();
                transaction.replace(&second, &FileIdentity::of(&second)?, put("{}\n"))?;
            }
            Case::Remove => {
                transaction.remove(&log, &identity)?;
                transaction.remove_directory(log.parent().unwrap())?;
            }
            Case::Move => {
                transaction.create_directory(self.moved().parent().unwrap())?;
                transaction.create(&self.moved(), put(OLD))?;
                transaction.remove(&log, &identity)?;
                transaction.remove_directory(log.parent().unwrap())?;
            }
            _ => unreachable!(),
        }
        Ok(transaction)
    }

    /// All files of the home, with contents.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.home.real_root().to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    found.insert(path.clone(), fs::read_to_string(&path).unwrap());
                }
            }
        }
        found
    }
}

/// Runs a case. Gives how many steps it took, and whether the operation said that it
/// was done.
fn run(run: &Run) -> usize {
    let world = World::new();
    let paths = Rc::new([world.log(), world.second()]);
    let clients = run.clients.iter().enumerate().map(|(at, times)| Client {
        times: *times,
        line: format!("{{\"late\":{at}}}\n"),
        file: None,
        is_done: false,
    });
    let clients: Rc<RefCell<Vec<Client>>> = Rc::new(RefCell::new(clients.collect()));
    let count = Rc::new(Cell::new(0));
    let killed_at = Rc::new(Cell::new(run.killed_at));
    steps::forbid_exchange(!run.can_exchange);
    model::reset();
    let hook = {
        let (clients, count, killed_at) = (clients.clone(), count.clone(), killed_at.clone());
        let paths = paths.clone();
        move |_: &str| {
            let step = count.get();
            count.set(step + 1);
            for client in clients.borrow_mut().iter_mut() {
                client.act(step, &*paths);
            }
            let held: HashSet<(u64, u64)> = clients
                .borrow()
                .iter()
                .filter_map(|client| client.file.as_ref())
                .map(|file| platform::file_number(&file.metadata().unwrap()))
                .collect();
            model::set_held(held);
            if killed_at.get() == Some(step) {
                killed_at.set(None);
                std::panic::panic_any(Killed);
            }
        }
    };
    let result =
        catch_unwind(AssertUnwindSafe(|| world.perform(run.case, || steps::set(hook.clone()))));
    if let Err(panic) = &result {
        assert!(panic.is::<Killed>(), "{run:?} panicked");
    }
    // What was interrupted is put right while clients go on.
    steps::set(hook);
    let recover =
        || catch_unwind(AssertUnwindSafe(|| format!("{:?}", world.journal().recovered())));
    let recovered = match recover() {
        Ok(recovered) => recovered,
        // That may be killed as well, and is done again.
        Err(panic) if panic.is::<Killed>() => recover().unwrap(),
        Err(panic) => std::panic::resume_unwind(panic),
    };
    steps::clear();
    steps::forbid_exchange(false);
    // Whoever has not written yet does it now.
    for client in clients.borrow_mut().iter_mut() {
        client.act(usize::MAX, &*paths);
    }
    drop(world.journal());
    let what = format!("{run:?}, {result:?}, {recovered}");
    check(&world, run, matches!(result, Ok(Ok(()))), &what);
    count.get()
}

fn check(world: &World, run: &Run, is_done: bool, what: &str) {
    let files = world.files();
    let what = format!("{what}: {files:#?}");
    let root = world.home.real_root();
    let (trash, files): (BTreeMap<_, _>, BTreeMap<_, _>) =
        files.into_iter().partition(|(path, _)| path.starts_with(root.join(TRASH)));
    for (at, times) in run.clients.iter().enumerate() {
        let line = format!("{{\"late\":{at}}}\n");
        let found: usize = files.values().map(|text| text.matches(&line).count()).sum();
        let in_trash = trash.values().any(|text| text.contains(&line));
        assert!(found > 0 || in_trash, "{what}: line {at} of {times:?} is lost");
        assert!(found <= 1, "{what}: line {at} is there {found} times");
    }
    // Only what somebody kept open over a crash, or while all was taken back, may be there.
    let is_disturbed = run.clients.len() > 1 || run.killed_at.is_some();
    assert!(trash.is_empty() || is_disturbed, "{what}: trash");
    for path in files.keys() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(!name.starts_with(".recto"), "{what}: {name} is left over");
    }
    // Without late lines, everything is the old one or the new one.
    let own = |path: PathBuf| {
        let text = files.get(&path)?;
        let lines = text.split_inclusive('\n').filter(|line| !line.contains("late"));
        Some(lines.collect::<String>()).filter(|text| !text.is_empty())
    };
    let log = own(world.log());
    let (log, moved) = (log.as_deref(), own(world.moved()));
    let states: &[(Option<&str>, bool)] = match run.case {
        Case::Shorten | Case::Both => &[(Some(OLD), false), (Some(NEW), true)],
        Case::UndoShorten => &[(Some(NEW), false), (Some(OLD), true)],
        Case::Lengthen => &[(Some(OLD), false), (Some(LONGER), true)],
        Case::UndoLengthen => &[(Some(LONGER), false), (Some(OLD), true)],
        Case::Remove | Case::Move => &[(Some(OLD), false), (None, true)],
        Case::UndoRemove | Case::UndoMove => &[(None, false), (Some(OLD), true)],
    };
    let state = states.iter().find(|(text, _)| *text == log);
    let is_new = state.unwrap_or_else(|| panic!("{what}: the log is {log:?}")).1;
    assert!(is_new || !is_done, "{what}: said to be done and is not");
    let is_moved = match run.case {
        Case::Move => Some(is_new),
        Case::UndoMove => Some(!is_new),
        _ => None,
    };
    if let Some(is_moved) = is_moved {
        assert_eq!(moved.as_deref(), is_moved.then_some(OLD), "{what}");
    }
}

/// A kill is no failure of the test.
fn keep_quiet_about_kills() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload().is::<Killed>() {
            usual(panic);
        }
    }));
}

fn quiet(case: Case, can_exchange: bool) -> usize {
    run(&Run { case, clients: Vec::new(), killed_at: None, can_exchange })
}

/// All steps at which a client can open the log. It writes at once, some steps later, or
/// when all is over.
fn every_client(cases: &[Case], can_exchange: bool) -> usize {
    let mut runs = 0;
    for case in cases.iter().copied() {
        let count = quiet(case, can_exchange);
        assert!(count > 10, "{case:?} takes {count} steps");
        for opens in 0..=count {
            let later = [0, 1, 2, 3, 5, 8, 13, 21].map(|steps| opens + steps);
            let later = later.into_iter().filter(|writes| *writes <= count);
            for writes in later.chain([usize::MAX]) {
                let clients = vec![Times { opens, writes, log: 0 }];
                run(&Run { case, clients, killed_at: None, can_exchange });
                runs += 1;
            }
        }
    }
    runs
}

#[test]
fn a_client_that_writes_at_any_two_steps_loses_no_line() {
    let runs = every_client(&CASES, true);
    assert!(runs > 1000, "only {runs} runs");
}

#[test]
fn a_client_that_writes_at_any_two_steps_loses_no_line_where_names_cannot_be_exchanged() {
    let runs = every_client(&[Case::Both, Case::Move], false);
    assert!(runs > 300, "only {runs} runs");
}

#[test]
fn a_kill_at_any_step_loses_no_line_that_a_client_writes_before_or_after() {
    keep_quiet_about_kills();
    for case in [Case::Shorten, Case::Remove, Case::Move, Case::UndoLengthen] {
        let count = quiet(case, true);
        for killed in 0..count {
            let opening = [0, killed / 2, killed.saturating_sub(2), killed];
            for opens in opening {
                // Just before the end, just after it, and while that is put right.
                let ends = [killed, killed + 12, killed + 25, usize::MAX];
                for writes in ends.into_iter().filter(|writes| *writes >= opens) {
                    let clients = vec![Times { opens, writes, log: 0 }];
                    run(&Run { case, clients, killed_at: Some(killed), can_exchange: true });
                }
            }
        }
    }
}

/// The removal was over before the kill; while it is finished, the client makes the log
/// again. Both must be kept.
#[test]
fn a_log_that_is_made_again_while_its_removal_is_finished_is_not_taken_for_the_old_one() {
    keep_quiet_about_kills();
    let count = quiet(Case::Move, true);
    for killed in count.saturating_sub(14)..count {
        for opens in killed + 1..killed + 45 {
            let clients = vec![Times { opens, writes: opens + 20, log: 0 }];
            run(&Run { case: Case::Move, clients, killed_at: Some(killed), can_exchange: true });
        }
    }
}

#[test]
fn clients_of_two_logs_and_kills_at_random_lose_no_line() {
    keep_quiet_about_kills();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for at in 0..1000 {
        let case = CASES[at % CASES.len()];
        let clients = (0..1 + random(3)).map(|_| {
            let opens = random(60);
            let writes = if random(8) == 0 { usize::MAX } else { opens + random(40) };
            Times { opens, writes, log: random(2) }
        });
        let clients = clients.collect();
        let killed_at = (random(2) == 0).then(|| random(60));
        let can_exchange = random(3) > 0;
        run(&Run { case, clients, killed_at, can_exchange });
    }
}
