//! Publishing: how recto changes files so that nothing is ever lost.
//!
//! An operation is staged first: every new content is written beside its place
//! and made durable, every old content is kept as a backup. Then the record of
//! the operation is made durable with the steps that are left; that is the point
//! of no return. Then the files take their names, each in one step of the
//! system, and the record says that it is done. Whatever happens in between, the
//! next [`Journal::open`] finishes the operation or takes it back, and every
//! file is as it was before or as it should be after.
//!
//! | file | owns |
//! |---|---|
//! | `journal` | the lock, the list of operations, the start of one |
//! | `transaction` | staging and committing |
//! | `notes` | which files were staged, so that a crash leaves none behind |
//! | `late` | what others write meanwhile, and why it is not lost |
//! | `apply` | steps forward |
//! | `take_back`, `sides` | steps back, and how far a step is |
//! | `recovery` | what to do with an operation that was interrupted |
//! | `trash` | where files go that nobody has read |
//! | `undo` | undo and redo |
//! | `prune` | forgetting old operations |
//! | `backup`, `record`, `state`, `operation`, `operation_id`, `bounds` | their parts |

mod apply;
mod backup;
mod bounds;
pub(crate) mod error;
mod journal;
mod late;
mod notes;
mod operation;
mod operation_id;
mod prune;
mod record;
mod recovery;
mod sides;
mod state;
mod take_back;
mod transaction;
mod trash;
mod undo;

#[cfg(test)]
mod journal_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod race_tests;

pub use error::PublishError;
pub use journal::Intent;
pub use journal::Journal;
pub use journal::OperationList;
pub use journal::list_operations;
pub use journal::newest_operations;
pub use operation::Change;
pub use operation::Operation;
pub use operation::Status;
pub use operation_id::OperationId;
pub use prune::Prune;
pub use prune::Pruned;
pub use recovery::Recovered;
pub use recovery::RecoveredAs;
pub use state::FileIdentity;
pub use state::FileVersion;
pub(crate) use state::HashingWriter;
pub use state::State;
pub(crate) use state::hash_file;
pub(crate) use state::hash_reader;
pub use transaction::Staged;
pub use transaction::Transaction;
pub use undo::Changed;
pub use undo::Direction;
pub use undo::Reversal;
