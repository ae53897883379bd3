//! Delta tables in a store.
//!
//! | file | owns |
//! |---|---|
//! | `log`, `checkpoint` | the log of a table |
//! | `parquet_file` | rows in a file |
//! | `lake` | which tables are current in a store |
//! | `news` | which segments can be new |
//! | `plan` | what is due, written down before it is done |
//! | `segment_rows` | a segment as rows |
//! | `ends` | ends of logs that no line end follows |
//! | `build` | segments into tables, exactly once |
//! | `optimize`, `erase`, `vacuum` | fewer files; without somebody's rows; without old files |
//! | `serve_query` | the tables in a file of this machine, for `recto query` |
//! | `ddl` | what other engines are told |

mod build;
mod checkpoint;
mod ddl;
mod ends;
mod erase;
mod lake;
mod log;
mod news;
mod optimize;
mod parquet_file;
mod plan;
mod segment_rows;
mod serve_query;
mod vacuum;

pub use build::BuildReport;
pub use ddl::Engine;
pub use erase::EraseOptions;
pub use erase::EraseReport;
pub use lake::Lake;
pub use lake::TableStatus;
pub use optimize::OptimizeReport;
pub use vacuum::VacuumReport;
