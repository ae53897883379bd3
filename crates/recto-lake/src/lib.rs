//! Sessions as tables.
//!
//! One set of tables in two places: in a SQLite file of this machine, for `recto query`; and, with
//! the feature `delta`, as Delta tables in a store, which other engines read without recto.
//!
//! | file | owns |
//! |---|---|
//! | `schema` | the tables and their columns |
//! | `rows`, `block_text`, `price_rows` | lines and prices as rows |
//! | `library` | views and named questions, written once for every engine |
//! | `cache`, `home` | the tables of this machine, in SQLite |
//! | `query` | asking them |
//! | `delta` | the tables of a team, in a store |

#![warn(missing_docs)]

mod block_text;
pub mod cache;
#[cfg(feature = "delta")]
mod delta;
mod error;
pub mod home;
pub mod library;
mod price_rows;
pub mod query;
pub mod rows;
pub mod schema;

#[cfg(feature = "delta")]
pub use delta::BuildReport;
#[cfg(feature = "delta")]
pub use delta::Engine;
#[cfg(feature = "delta")]
pub use delta::EraseOptions;
#[cfg(feature = "delta")]
pub use delta::EraseReport;
#[cfg(feature = "delta")]
pub use delta::Lake;
#[cfg(feature = "delta")]
pub use delta::OptimizeReport;
#[cfg(feature = "delta")]
pub use delta::TableStatus;
#[cfg(feature = "delta")]
pub use delta::VacuumReport;
pub use error::LakeError;
