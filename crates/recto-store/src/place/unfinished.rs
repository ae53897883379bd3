//! A file that has no name of its own yet.

use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// Where a file is written until it is whole. It goes unless it gets another name.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// A place in a folder whose name begins with `stem`, and that nobody else uses: no other
    /// thread, and no process of another machine that happens to have the same number.
    pub(crate) fn new(folder: &Path, stem: &str) -> Unfinished {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanoseconds = since.unwrap_or_default().as_nanos();
        let pid = std::process::id();
        Unfinished(folder.join(format!("{stem}{pid}-{nanoseconds:x}-{number}")))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_have_the_same_name_and_none_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) =
            (Unfinished::new(directory.path(), "a."), Unfinished::new(directory.path(), "a."));
        assert_ne!(one.path(), two.path());
        std::fs::write(one.path(), "x").unwrap();
        std::fs::write(two.path(), "y").unwrap();
        std::fs::rename(two.path(), directory.path().join("b")).unwrap();
        drop((one, two));
        let left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["b"]);
    }
}
