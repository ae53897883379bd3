//! Directories and files as such: which one is the home, what settings and space say, how
//! a file is opened, locked and named safely.

pub(crate) mod archived_copy;
pub(crate) mod cache_directory;
pub(crate) mod data_directory;
pub(crate) mod directory_calls;
pub(crate) mod durable;
pub(crate) mod error;
pub(crate) mod folder;
pub(crate) mod git;
pub(crate) mod home;
pub(crate) mod locking;
pub(crate) mod open;
pub(crate) mod platform;
pub(crate) mod private;
pub(crate) mod record;
pub(crate) mod retention;
pub(crate) mod scratch;
pub(crate) mod secret_name;
pub(crate) mod serving;
pub(crate) mod settings;
pub(crate) mod space;
pub(crate) mod unfinished;
pub(crate) mod writers;
