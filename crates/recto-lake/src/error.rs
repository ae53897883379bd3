//! Why a question has no answer, or a table could not be written.

use recto_collect::CollectError;
use recto_store::StoreError;
use thiserror::Error;

/// Why tables could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LakeError {
    /// The query is wrong.
    #[error("{message}")]
    Query {
        /// What SQLite said.
        message: String,
        /// Names that may have been meant.
        near: Vec<String>,
    },
    /// No question, table or engine has this name.
    #[error("no {what} named `{name}`")]
    NoName {
        /// What was looked for.
        what: &'static str,
        /// The name.
        name: String,
        /// Names that may have been meant.
        near: Vec<String>,
    },
    /// There is more data than the embedded engine is good for.
    #[error("the tables of this query have {mb} MB, more than {limit_mb} MB")]
    TooLarge {
        /// How much.
        mb: u64,
        /// The limit.
        limit_mb: u64,
        /// The store.
        url: String,
    },
    /// The query was given up.
    #[error("the query took longer than {seconds} s")]
    TooLong {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The query takes more memory than the embedded engine may have.
    #[error("the query needs more than {mb} MB of memory")]
    TooMuch {
        /// The limit.
        mb: u64,
    },
    /// The store has no tables yet.
    #[error("{url} has no tables")]
    NoTables {
        /// The store.
        url: String,
    },
    /// The log of a table or one of its files is damaged.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The object.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The object that says which tables count is damaged.
    #[error("{path} is damaged: {reason}")]
    Current {
        /// The object.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer program wrote the table.
    #[error("{path} is from a newer version of recto: {what}")]
    Newer {
        /// The object.
        path: String,
        /// What is not known here.
        what: String,
    },
    /// The store overwrites what must be written once.
    #[error("{url} ignores conditional writes: two builders would overwrite each other")]
    Unconditional {
        /// The store.
        url: String,
    },
    /// Others changed the table all the time.
    #[error("other writers changed {table} {tries} times in a row")]
    Busy {
        /// The table.
        table: String,
        /// How often it was tried.
        tries: u32,
    },
    /// This program was built without tables in stores.
    #[error("this recto was built without lake tables")]
    NotBuilt,
    /// The file with the tables of this machine cannot be used.
    #[error("{path}: {reason}")]
    Cache {
        /// The file.
        path: String,
        /// What SQLite said.
        reason: String,
        /// Whether its content is not what was written.
        is_damaged: bool,
    },
    /// A store could not be used.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The home could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl LakeError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            LakeError::Query { .. } => "bad-query",
            LakeError::NoName { .. } => "unknown-name",
            LakeError::TooLarge { .. } => "tables-too-large",
            LakeError::TooLong { .. } => "query-timeout",
            LakeError::TooMuch { .. } => "query-memory",
            LakeError::NoTables { .. } => "no-tables",
            LakeError::Damaged { .. } | LakeError::Current { .. } => "damaged-table",
            LakeError::Newer { .. } => "newer-table",
            LakeError::Unconditional { .. } => "unconditional-store",
            LakeError::Busy { .. } => "table-busy",
            LakeError::NotBuilt => "not-built",
            LakeError::Cache { .. } => "query-cache",
            LakeError::Collect(error) => error.kind(),
            LakeError::Store(error) => error.kind(),
            LakeError::Io(_) => "io",
        }
    }

    /// What to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            LakeError::Query { near, .. } | LakeError::NoName { near, .. } => match near.is_empty()
            {
                true => Some("list tables and columns with `recto query --list`".to_owned()),
                false => Some(format!("similar names: {}", near.join(", "))),
            },
            LakeError::TooLarge { url, .. } => Some(format!(
                "use an engine that reads the tables where they are, such as DuckDB: `recto lake ddl \
                 --engine duckdb --store '{url}' > lake.sql && duckdb -init lake.sql`; other engines: \
                 spark, clickhouse, trino, polars; `recto query --limit-mb` raises the limit"
            )),
            LakeError::TooLong { .. } => {
                Some("`--timeout` changes the limit, `--timeout 0` removes it".to_owned())
            }
            LakeError::TooMuch { .. } => Some(
                "filter or group rows earlier; `recto lake ddl` prints what an engine without this \
                 limit needs"
                    .to_owned(),
            ),
            LakeError::NoTables { url } => {
                Some(format!("create them with `recto lake build --store {url}`"))
            }
            LakeError::Damaged { .. } => {
                Some("rebuild the tables from the archive with `recto lake rebuild`".to_owned())
            }
            LakeError::Current { .. } => {
                Some("delete this object; then the one before it counts again".to_owned())
            }
            LakeError::Newer { .. } => Some("update recto".to_owned()),
            LakeError::Unconditional { .. } => Some(
                "use a store with conditional writes: AWS S3, GCS, Azure, SeaweedFS, MinIO or a \
                 directory"
                    .to_owned(),
            ),
            LakeError::Busy { .. } => Some("run the command again".to_owned()),
            LakeError::NotBuilt => {
                Some("use a released binary, or build with `--features lake`".to_owned())
            }
            LakeError::Cache { is_damaged: true, .. } => {
                Some("delete the file; recto recreates it".to_owned())
            }
            LakeError::Cache { .. } => Some(
                "recto must be able to write there, and the disk needs space; RECTO_CACHE_DIR names \
                 another directory"
                    .to_owned(),
            ),
            LakeError::Collect(CollectError::Unreachable { .. }) => {
                Some("check the address, and whether the store can be reached from here".to_owned())
            }
            LakeError::Collect(error) => error.hint(),
            LakeError::Store(_) | LakeError::Io(_) => None,
        }
    }
}
