//! Views and named questions: SQL that is written once, for every engine.
//!
//! The subset is what SQLite, DuckDB, Polars, ClickHouse and Spark understand alike: no dates from
//! timestamps, no integer division, no percentile functions, an order with a last tie-break.

use std::collections::BTreeSet;

use recto_store::distance;

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

/// The words of a query outside of quotes and comments, in lower case.
fn words(sql: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut rest = sql.chars().peekable();
    while let Some(next) = rest.next() {
        if next.is_alphanumeric() || next == '_' {
            word.extend(next.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.insert(std::mem::take(&mut word));
        }
        match next {
            '\'' => while rest.next().is_some_and(|one| one != '\'') {},
            '-' if rest.peek() == Some(&'-') => while rest.next().is_some_and(|one| one != '\n') {},
            _ => {}
        }
    }
    words.insert(word);
    words
}

/// What a query needs of the tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// The tables.
    pub tables: BTreeSet<Table>,
    /// Whether it asks for the texts of blocks.
    pub texts: bool,
}

/// Which tables a query needs, those of its views included.
pub fn needs(sql: &str) -> Needs {
    let mut named = words(sql);
    let mut texts = named.contains("text");
    let views = views();
    // A view stands after those that it uses.
    for view in views.iter().rev() {
        if named.contains(view.name) {
            named.extend(words(view.sql));
        }
    }
    let tables: BTreeSet<Table> =
        Table::ALL.into_iter().filter(|table| named.contains(table.name())).collect();
    // A star asks for everything, except where it only counts.
    texts |= tables.contains(&Table::Blocks)
        && sql.replace("COUNT(*)", "").replace("count(*)", "").contains('*');
    Needs { tables, texts }
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
        let of = |sql| needs(sql);
        assert_eq!(of("SELECT 1").tables, BTreeSet::new());
        assert_eq!(of("select COUNT(*) from MESSAGES").tables, [Table::Usage].into());
        assert_eq!(of("SELECT * FROM sessions").tables, [Table::Lines, Table::Usage].into());
        let calls = of("SELECT tool_name FROM tool_calls -- from lines\nWHERE tool_name = 'usage'");
        assert_eq!(calls.tables, [Table::Blocks].into());
        assert!(!calls.texts);
        assert!(of("SELECT COUNT(*) FROM blocks WHERE text LIKE '%x%'").texts);
        assert!(of("SELECT * FROM blocks").texts);
        assert!(!of("SELECT COUNT(*) FROM blocks").texts);
    }

    #[test]
    fn names_that_are_meant_are_found() {
        assert_eq!(nearest("tokens_input", columns_in("SELECT 1 FROM usage"))[0], "input_tokens");
        assert_eq!(nearest("projct", columns_in("SELECT 1 FROM lines"))[0], "project");
        assert_eq!(nearest("session", names())[0], "sessions");
    }
}
