//! Adding to the client's files, as a client does.
//!
//! [`LogWriter`] appends lines to a log; nothing that is there is ever changed.
//! [`Announcement`] tells others that this process works on a session. What
//! changes or replaces files is in [`publish`](crate::publish), which can undo it.
//!
//! Both stay inside the home: a link that leads out of it is refused.

mod announcement;
mod error;
#[cfg(test)]
#[cfg(unix)]
mod kill_tests;
mod log_writer;
#[cfg(test)]
mod log_writer_tests;
mod place;

pub use announcement::Activity;
pub use announcement::Announcement;
pub use announcement::ClientState;
pub use error::AppendError;
pub use log_writer::LogWriter;
pub use log_writer::SyncPolicy;
