//! How the work on many files is shared between threads.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use rayon::iter::IndexedParallelIterator as _;
use rayon::iter::IntoParallelRefIterator as _;
use rayon::iter::MaxLen;
use rayon::iter::ParallelBridge as _;
use rayon::iter::ParallelIterator as _;
use rayon::slice::Iter;

use crate::place::open::open_known;
use crate::place::platform::fetch;

/// How many bytes the system is asked for before they are read. More than a disk
/// gives while a thread works on a file, and little beside the memory for files.
const AHEAD: u64 = 64 * 1024 * 1024;

/// How many bytes it is asked for at once.
const STEP: u64 = 2 * 1024 * 1024;

/// Files to be read whole, each a task of its own.
///
/// Their sizes differ by thousands. By itself rayon hands a thread a run of
/// neighbours that nobody can take from it any more: with the largest first, one
/// thread had most of the bytes, and the others waited for it.
pub fn each_alone<T: Sync>(files: &[T]) -> MaxLen<Iter<'_, T>> {
    files.par_iter().with_max_len(1)
}

/// Works on files in their order, each by the next free thread, while the system
/// fetches those that come next. `place` says where a file is and how long. The
/// answers are in the order in which the work ended.
pub fn in_order<T: Sync, A: Send>(
    files: &[T],
    place: impl Fn(&T) -> (&Path, u64) + Sync,
    work: impl Fn(&mut Vec<u8>, &T) -> A + Sync,
) -> Vec<A> {
    let (done, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|threads| {
        let ahead = threads.spawn(|| {
            let mut asked = 0;
            for (path, bytes) in files.iter().map(&place) {
                // What is passed by is read all the same, only later.
                let Ok(file) = open_known(path) else { continue };
                for from in (0..bytes).step_by(STEP as usize) {
                    while asked + from > done.load(Ordering::Acquire) + AHEAD {
                        if is_over.load(Ordering::Acquire) {
                            return;
                        }
                        std::thread::park();
                    }
                    fetch(&file, from, STEP.min(bytes - from));
                }
                asked += bytes;
            }
        });
        let answers = files
            .iter()
            .par_bridge()
            .map_init(Vec::new, |buffer, file| {
                let answer = work(buffer, file);
                done.fetch_add(place(file).1, Ordering::AcqRel);
                ahead.thread().unpark();
                answer
            })
            .collect();
        is_over.store(true, Ordering::Release);
        ahead.thread().unpark();
        answers
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::time::Duration;
    use std::time::Instant;

    use super::*;

    #[test]
    fn what_stands_behind_a_long_task_is_taken_by_others() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let items: Vec<usize> = (0..1000).collect();
        let rest_is_done = AtomicBool::new(false);
        let patience = Instant::now() + Duration::from_secs(60);
        let seen = Mutex::new(HashSet::new());
        pool.install(|| {
            each_alone(&items).for_each(|item| {
                // The first ends only when all others have been done.
                while *item == 0 && !rest_is_done.load(Ordering::Acquire) {
                    assert!(Instant::now() < patience, "the rest waits for the first");
                    std::thread::yield_now();
                }
                let mut seen = seen.lock().unwrap();
                seen.insert(*item);
                rest_is_done.store(seen.len() >= items.len() - 1, Ordering::Release);
            });
        });
        assert_eq!(seen.into_inner().unwrap().len(), items.len());
    }

    #[test]
    fn files_are_worked_on_in_their_order_and_none_is_missed() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for number in 0..50 {
            let path = folder.path().join(format!("{number}.jsonl"));
            // Some are not there; one says that it is longer than all that is fetched.
            if number % 7 != 3 {
                fs_err::write(&path, vec![b'x'; number * 1000]).unwrap();
            }
            files.push((path, if number == 9 { 4 * AHEAD } else { number as u64 * 1000 }));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let work = |_: &mut Vec<u8>, (path, _): &(std::path::PathBuf, u64)| {
            fs_err::read(path).map_or(0, |bytes| bytes.len())
        };
        let lengths = pool.install(|| in_order(&files, |(path, bytes)| (path, *bytes), work));
        let expected: Vec<usize> =
            (0..50).map(|number| if number % 7 == 3 { 0 } else { number * 1000 }).collect();
        assert_eq!(lengths, expected);
    }
}
