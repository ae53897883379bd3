//! Views and named questions: SQL that is written once, for every engine.
//!
//! The subset is what SQLite, DuckDB, Polars, ClickHouse and Spark understand alike: no dates from
//! timestamps, no integer division, no percentile functions, an order with a last tie-break.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use recto_store::distance;
use rusqlite::hooks::AuthAction;
use rusqlite::hooks::AuthContext;

use crate::cache;
use crate::error::LakeError;
use crate::query::explained;
use crate::query::prepare;
use crate::schema::Table;

const VIEWS: &str = include_str!("../sql/views.sql");
const QUESTIONS: &str = include_str!("../sql/questions.sql");

/// A view.
#[derive(Debug, Clone)]
pub struct View {
    /// Its name.
    pub name: &'static str,
    /// What its rows are.
    pub about: &'static str,
    /// Its columns, and what they say.
    pub columns: Vec<(&'static str, &'static str)>,
    /// The query.
    pub sql: &'static str,
}

/// A question with a name.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// What it asks.
    pub about: &'static str,
    /// The query.
    pub sql: &'static str,
}

/// All views, each after those that it uses.
pub fn views() -> Vec<View> {
    entries(VIEWS, "-- view: ")
        .map(|(name, about, columns, sql)| View { name, about, columns, sql })
        .collect()
}

/// All questions.
pub fn questions() -> Vec<Question> {
    entries(QUESTIONS, "-- question: ")
        .map(|(name, about, _, sql)| Question { name, about, sql })
        .collect()
}

type Entry = (&'static str, &'static str, Vec<(&'static str, &'static str)>, &'static str);

fn entries(text: &'static str, mark: &'static str) -> impl Iterator<Item = Entry> {
    text.split(mark).filter(|entry| !entry.trim().is_empty()).map(|entry| {
        let (name, mut rest) = entry.split_once('\n').unwrap_or((entry, ""));
        let (mut about, mut columns) = ("", Vec::new());
        while let Some(comment) = rest.strip_prefix("-- ") {
            let (line, behind) = comment.split_once('\n').unwrap_or((comment, ""));
            if let Some(text) = line.strip_prefix("about: ") {
                about = text;
            } else if let Some(column) = line.strip_prefix("column: ") {
                columns.extend(column.split_once(" | "));
            }
            rest = behind;
        }
        (name.trim(), about, columns, rest.trim())
    })
}

/// The words of a query, in lower case, to find names that may have been meant.
fn words(sql: &str) -> BTreeSet<String> {
    let words = sql.split(|one: char| !one.is_alphanumeric() && one != '_');
    words.map(str::to_lowercase).collect()
}

/// What a query needs of the tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// The tables.
    pub tables: BTreeSet<Table>,
    /// Whether it asks for the texts of blocks.
    pub texts: bool,
}

impl Needs {
    /// What another query needs, too.
    pub fn add(&mut self, other: Needs) {
        self.tables.extend(other.tables);
        self.texts |= other.texts;
    }
}

/// What a query needs of the tables, those of its views included. SQLite says what it would read;
/// a query that it does not take, or that does more than read, is an error.
pub fn needs(sql: &str) -> Result<Needs, LakeError> {
    let failed = |error: rusqlite::Error| explained(sql, &error);
    let mut connection = cache::empty_tables().map_err(failed)?;
    cache::strictly(&connection).map_err(failed)?;
    let needs = Arc::new(Mutex::new(Needs::default()));
    let told = Arc::clone(&needs);
    let hook = move |context: AuthContext<'_>| {
        if let AuthAction::Read { table_name, column_name } = context.action
            && let Some(table) = Table::of_name(&table_name.to_ascii_lowercase())
        {
            let mut needs = told.lock().unwrap_or_else(PoisonError::into_inner);
            needs.tables.insert(table);
            needs.texts |= table == Table::Blocks && column_name == "text";
        }
        cache::reading(&context.action)
    };
    connection.authorizer(Some(hook)).map_err(failed)?;
    prepare(&connection, sql)?;
    let needs = needs.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(needs.clone())
}

/// Names of columns of the tables and views that a query uses, or of all if it uses none.
pub fn columns_in(sql: &str) -> Vec<&'static str> {
    let named = words(sql);
    let uses_any = names().iter().any(|name| named.contains(*name));
    let is_in = |name: &str| !uses_any || named.contains(name);
    let tables = Table::ALL.into_iter().filter(|table| is_in(table.name()));
    let mut columns: Vec<&'static str> =
        tables.flat_map(|table| table.columns()).map(|column| column.name).collect();
    let views = views();
    let views = views.iter().filter(|view| is_in(view.name));
    columns.extend(views.flat_map(|view| view.columns.iter().map(|(name, _)| *name)));
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The names of all tables and views.
pub fn names() -> Vec<&'static str> {
    let tables = Table::ALL.into_iter().map(Table::name);
    tables.chain(views().iter().map(|view| view.name)).collect()
}

/// The words of a name in another order are the same name.
fn sorted(name: &str) -> Vec<&str> {
    let mut words: Vec<&str> = name.split(['_', '-']).collect();
    words.sort_unstable();
    words
}

/// Those of some names that are most like one, best first.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let name = name.to_lowercase();
    let within = name.chars().count() / 2 + 1;
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|one| {
            let is_part = one.contains(name.as_str()) || name.contains(one);
            let far = match (sorted(&name) == sorted(one), is_part) {
                (true, _) => 0,
                (_, true) => 1,
                _ => distance(&name, one),
            };
            (far, one)
        })
        .filter(|(far, _)| *far <= within)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(5).map(|(_, one)| one.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_views_and_questions_and_each_says_what_it_is() {
        assert_eq!(
            views().iter().map(|view| view.name).collect::<Vec<_>>(),
            ["messages", "tool_calls", "turns", "sessions"]
        );
        assert!(questions().len() >= 20, "{}", questions().len());
        for question in questions() {
            assert!(!question.about.is_empty() && !question.sql.is_empty(), "{}", question.name);
        }
        for view in views() {
            assert!(!view.about.is_empty() && view.columns.len() > 5, "{}", view.name);
        }
    }

    #[test]
    fn a_query_needs_the_tables_of_its_views_and_texts_only_where_it_names_them() {
        let of = |sql| needs(sql).unwrap();
        assert_eq!(of("SELECT 1").tables, BTreeSet::new());
        assert_eq!(of("select COUNT(*) from MESSAGES").tables, [Table::Usage].into());
        assert_eq!(of("SELECT * FROM sessions").tables, [Table::Lines, Table::Usage].into());
        let calls = of("SELECT tool_name FROM tool_calls -- from lines\nWHERE tool_name = 'usage'");
        assert_eq!(calls.tables, [Table::Blocks].into());
        assert!(!calls.texts);
        assert!(of("SELECT COUNT(*) FROM blocks WHERE text LIKE '%x%'").texts);
        assert!(of("SELECT * FROM blocks").texts);
        assert!(!of("SELECT COUNT(*) FROM blocks").texts);
        assert!(!of("SELECT 2 * 3 AS n, tool_name FROM blocks").texts);
    }

    #[test]
    fn quotes_and_comments_hide_no_table() {
        for sql in [
            "SELECT COUNT(*) AS \"it's\" FROM lines",
            "SELECT /* don't */ COUNT(*) FROM lines",
            "SELECT COUNT(*) AS [it's] FROM lines",
            "SELECT COUNT(*) AS `it's` FROM lines",
            "SELECT COUNT(*) FROM \"LINES\"",
            "SELECT COUNT(*) FROM main.Lines AS x",
            "-- what's in it?\nWITH x AS (SELECT off FROM lines) SELECT COUNT(*) FROM x;\n",
            "SELECT(SELECT COUNT(*)FROM lines)",
        ] {
            assert_eq!(needs(sql).unwrap().tables, [Table::Lines].into(), "{sql}");
        }
    }

    #[test]
    fn a_query_that_cannot_be_asked_is_an_error_before_anything_is_loaded() {
        for sql in ["DELETE FROM lines", "SELECT 1 FROM lines_rows", "SELECT x FROM lines", "--"] {
            assert_eq!(needs(sql).unwrap_err().kind(), "bad-query", "{sql}");
        }
    }

    #[test]
    fn names_that_are_meant_are_found() {
        assert_eq!(nearest("tokens_input", columns_in("SELECT 1 FROM usage"))[0], "input_tokens");
        assert_eq!(nearest("projct", columns_in("SELECT 1 FROM lines"))[0], "project");
        assert_eq!(nearest("session", names())[0], "sessions");
    }
}
