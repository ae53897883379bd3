//! Output without what differs from run to run.
//!
//! Times need no filter: files of a [`FakeHome`](crate::FakeHome) have the time
//! that the test gives them, and the command takes its clock from `RECTO_NOW`.

use std::path::Path;

/// Replaces paths by names, the longest path first.
///
/// ```
/// use recto_testkit::SnapshotFilter;
///
/// let filter = SnapshotFilter::default().path("/tmp/x", "[tmp]").path("/tmp/x/home", "[home]");
/// assert_eq!(filter.apply("no /tmp/x/home/a or /tmp/x/b"), "no [home]/a or [tmp]/b");
/// ```
#[derive(Debug, Clone, Default)]
pub struct SnapshotFilter {
    replaced: Vec<(String, &'static str)>,
}

impl SnapshotFilter {
    /// Replaces a path.
    #[must_use]
    pub fn path(mut self, path: impl AsRef<Path>, name: &'static str) -> SnapshotFilter {
        self.replaced.push((path.as_ref().to_string_lossy().into_owned(), name));
        self.replaced.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        self
    }

    /// The text with the names.
    pub fn apply(&self, text: &str) -> String {
        self.replaced.iter().fold(text.to_owned(), |text, (path, name)| text.replace(path, name))
    }
}
