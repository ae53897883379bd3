//! `recto query`: SQL about sessions.

use std::io;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use recto_collect::CollectError;
use recto_lake::LakeError;
use recto_lake::cache::Cache;
use recto_lake::home::load_home;
use recto_lake::library;
use recto_lake::library::Needs;
use recto_lake::library::Question;
use recto_lake::query::Answer;
use recto_lake::query::ask_within;
use recto_lake::schema::Table as LakeTable;
use recto_store::Home;
use recto_store::read_chosen;
use serde::Serialize;

use crate::commands::lake_tables::ask_store;
use crate::commands::prices::PricesOption;
use crate::commands::query_show;
use crate::commands::query_show::Form;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::entry;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// So many megabytes of tables the embedded engine is good for.
pub(crate) const LIMIT_MB: u64 = 2048;

/// Query sessions with SQL
///
/// Runs on your own sessions, archived ones included, without any setup. With --store, runs on
/// the tables of a team. The query is SQL, `@FILE` with SQL in it, or the name of a question;
/// --list shows the tables, their columns and the questions. recto loads the tables that a query
/// needs into its cache, and loads only changes the next time.
///
/// Exit code 1 means that there are no rows, or that something the query needs could not be read.
///
/// Examples:
///   recto query cost-by-week --chart
///   recto query "SELECT tool_name, COUNT(*) AS n FROM tool_calls GROUP BY tool_name ORDER BY n"
///   recto query --list
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct QueryArgs {
    /// SQL, a file with SQL (`@-`: standard input), or the name of a question
    #[arg(value_name = "SQL|@FILE|NAME", required_unless_present = "list")]
    query: Option<String>,
    /// List tables, columns and named questions
    #[arg(long, conflicts_with_all = ["csv", "chart"])]
    list: bool,
    /// Use the tables of a store: s3://, gs://, az://, or a directory
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Show the SQL of a named question instead of running it
    #[arg(long, conflicts_with_all = ["csv", "chart", "list"])]
    sql: bool,
    /// Write the rows as comma-separated values
    #[arg(long, conflicts_with = "chart")]
    csv: bool,
    /// Align the rows in a table [default on a terminal]
    #[arg(long, conflicts_with_all = ["csv", "chart"])]
    table: bool,
    /// Draw the last number of each row as a bar
    #[arg(long)]
    chart: bool,
    /// Limit the number of rows (0 = no limit)
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    /// With --store, load at most this many megabytes of tables
    #[arg(long, value_name = "MB", default_value_t = LIMIT_MB)]
    limit_mb: u64,
    /// Give the query up after this many seconds (0 = never)
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    #[command(flatten)]
    prices: PricesOption,
}

/// What is asked of the tables of a store.
#[derive(Debug)]
// Without the tables of stores nobody reads it.
#[cfg_attr(not(feature = "lake"), expect(dead_code))]
pub(crate) struct StoreQuery<'a> {
    pub(crate) address: &'a str,
    pub(crate) sql: &'a str,
    pub(crate) needs: &'a Needs,
    /// So many rows at most.
    pub(crate) most: usize,
    /// So many megabytes of tables at most.
    pub(crate) limit_mb: u64,
    /// How long the query may take.
    pub(crate) patience: Option<Duration>,
}

/// An answer, and whether something that it is about could not be read.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) answer: Answer,
    pub(crate) is_partial: bool,
}

#[derive(Debug, Serialize)]
struct ListRow {
    kind: &'static str,
    name: String,
    column: Option<&'static str>,
    about: String,
}

impl QueryArgs {
    /// How long the query may take.
    fn patience(&self) -> Option<Duration> {
        (self.timeout > 0).then(|| Duration::from_secs(self.timeout))
    }
}

pub(crate) fn cmd_query(
    home: impl FnOnce() -> Result<Home, CommandError>,
    environment: &Environment,
    output: &mut Output,
    args: &QueryArgs,
) -> Result<Outcome, CommandError> {
    let Some(asked) = args.query.as_deref().filter(|_| !args.list) else {
        return list(output);
    };
    let sql = read_query(asked)?;
    if args.sql {
        output.line(sql.trim())?;
        return Ok(Outcome::Done);
    }
    let needs = library::needs(&sql)?;
    let most = if args.limit == 0 { usize::MAX } else { args.limit };
    let Asked { answer, is_partial } = match &args.store {
        Some(address) => {
            let limit_mb = args.limit_mb;
            let patience = args.patience();
            let query = StoreQuery { address, sql: &sql, needs: &needs, most, limit_mb, patience };
            ask_store(environment, output, &query)?
        }
        None => ask_home(&home()?, environment, output, args, &sql, &needs, most)?,
    };
    let form = match (args.csv, args.chart) {
        (true, _) => Form::Csv,
        (_, true) => Form::Chart,
        _ if args.table => Form::Aligned,
        _ => Form::Table,
    };
    query_show::show(&answer, form, output)?;
    if answer.is_cut {
        let shown = plural(answer.rows.len() as u64, "row");
        output.remark(&format!("note: only the first {shown}; --limit 0 shows all"));
    }
    Ok(if answer.rows.is_empty() || is_partial { Outcome::Found } else { Outcome::Done })
}

fn ask_home(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &QueryArgs,
    sql: &str,
    needs: &Needs,
    most: usize,
) -> Result<Asked, CommandError> {
    let prices = args.prices.read(environment)?;
    let name = query_show::file_name(home.root().as_os_str().as_encoded_bytes());
    let path = environment.table_directory()?.join(name);
    let user = environment.user_name.as_deref();
    let (answer, missing) = Cache::with(&path, |mut cache| {
        let progress = Progress::new("loading tables", output);
        let loaded = load_home(&mut cache, home, user, &prices, needs, &mut |done, all| {
            progress.tell_bytes(done, all);
        });
        progress.done();
        let missing = loaded?;
        let mut reader = cache.into_reader()?;
        Ok((ask_within(&mut reader, sql, most, args.patience())?, missing))
    })?;
    for skipped in missing.skipped.iter().chain(&missing.unread) {
        output.remark(&skipped.to_string());
    }
    Ok(Asked { answer, is_partial: !missing.unread.is_empty() })
}

/// The SQL that is meant: a file, a question, or the text itself.
fn read_query(asked: &str) -> Result<String, CommandError> {
    if let Some(path) = asked.strip_prefix('@') {
        let bytes = match path {
            "-" => {
                let mut bytes = Vec::new();
                io::stdin().read_to_end(&mut bytes)?;
                bytes
            }
            path => read_chosen(Path::new(path))?,
        };
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let questions = library::questions();
    if let Some(found) = questions.iter().find(|question| question.name == asked) {
        return Ok(found.sql.to_owned());
    }
    // No question has these in its name.
    if asked.contains(|one: char| one.is_whitespace() || "()*'\"[];".contains(one)) {
        return Ok(asked.to_owned());
    }
    let near = library::nearest(asked, questions.iter().map(|question| question.name));
    Err(LakeError::NoName { what: "question", name: one_line(asked), near }.into())
}

fn list(output: &mut Output) -> Result<Outcome, CommandError> {
    let (tables, views, questions) = (LakeTable::ALL, library::views(), library::questions());
    let mut rows: Vec<ListRow> = Vec::new();
    let row = |kind, name: &str, column, about: &str| ListRow {
        kind,
        name: name.to_owned(),
        column,
        about: about.to_owned(),
    };
    // Most people look for a question, few for a column.
    rows.extend(
        questions.iter().map(|Question { name, about, .. }| row("question", name, None, about)),
    );
    for table in tables {
        rows.push(row("table", table.name(), None, table.about()));
        for column in table.columns() {
            rows.push(row("table", table.name(), Some(column.name), column.about));
        }
    }
    for view in views {
        rows.push(row("view", view.name, None, view.about));
        for (column, about) in &view.columns {
            rows.push(row("view", view.name, Some(column), about));
        }
    }
    if output.json {
        output.rows(&rows)?;
    } else {
        output.page();
        for row in &rows {
            let column = row.column.unwrap_or_default();
            if output.width.is_none() {
                output.line(&[row.kind, &row.name, column, &row.about].join("\t"))?;
                continue;
            }
            let name = match row.column {
                Some(column) => format!("  {column:<22} "),
                None => format!("{} {}: ", row.kind, row.name),
            };
            let lines = entry(&name, &row.about, output.width);
            lines.iter().try_for_each(|line| output.line(line))?;
        }
    }
    Ok(Outcome::Done)
}

impl From<LakeError> for CommandError {
    fn from(error: LakeError) -> CommandError {
        let hint = error.hint();
        let error = match error {
            LakeError::Store(error) => return error.into(),
            LakeError::Io(error) => return error.into(),
            LakeError::Collect(error @ CollectError::Unreachable { .. }) => {
                CommandError::user(error.kind(), one_line(&error.to_string()))
            }
            LakeError::Collect(error) => return error.into(),
            other => CommandError::user(other.kind(), one_line(&other.to_string())),
        };
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
