//! Which sessions are listed, and in which order.

use std::path::PathBuf;
use std::sync::Arc;

use super::message::Entry;

/// Where the browser was started.
#[derive(Debug, Clone, Default)]
pub(super) struct Here {
    pub(super) directory: PathBuf,
    /// The repository around it, else the same.
    pub(super) project: PathBuf,
}

/// Which sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Scope {
    #[default]
    All,
    /// Those of the directory.
    Here,
    /// Those of the repository, with all directories in it.
    Project,
}

impl Scope {
    pub(super) fn next(self) -> Scope {
        match self {
            Scope::All => Scope::Here,
            Scope::Here => Scope::Project,
            Scope::Project => Scope::All,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Scope::All => "all sessions",
            Scope::Here => "this directory",
            Scope::Project => "this project",
        }
    }

    pub(super) fn has(self, entry: &Entry, here: &Here) -> bool {
        let directory = entry.directory.as_deref();
        match self {
            Scope::All => true,
            Scope::Here => directory.is_some_and(|directory| directory == here.directory),
            Scope::Project => {
                directory.is_some_and(|directory| directory.starts_with(&here.project))
            }
        }
    }
}

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    /// Below their projects, the newest first.
    #[default]
    Projects,
    Newest,
    Largest,
    Title,
}

impl Order {
    pub(super) fn next(self) -> Order {
        match self {
            Order::Projects => Order::Newest,
            Order::Newest => Order::Largest,
            Order::Largest => Order::Title,
            Order::Title => Order::Projects,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Order::Projects => "by project",
            Order::Newest => "newest first",
            Order::Largest => "largest first",
            Order::Title => "by title",
        }
    }

    /// Sorts sessions that come newest first.
    pub(super) fn sort(self, entries: &mut [Arc<Entry>]) {
        match self {
            Order::Projects | Order::Newest => {}
            Order::Largest => entries.sort_by_key(|entry| std::cmp::Reverse(entry.bytes)),
            Order::Title => entries.sort_by_cached_key(|entry| entry.title.to_lowercase()),
        }
    }
}
