//! Rows of usage as comma-separated values.

use recto_session::usage::Dimension;
use recto_session::usage::Row;

/// The lines of a table: the names of its columns, then the rows. `one_line` makes a text
/// harmless where it is shown, and has it on one line.
pub fn csv_lines(
    by: &[Dimension],
    rows: &[Row],
    one_line: impl Fn(&str) -> String,
) -> impl Iterator<Item = String> {
    const NUMBERS: [&str; 6] = [
        "messages",
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cost_usd",
    ];
    let names: Vec<&str> = by.iter().map(|dimension| dimension.name()).chain(NUMBERS).collect();
    let rows = rows.iter().map(move |row| {
        let total = &row.total;
        let numbers = [
            total.messages,
            total.tokens.input,
            total.tokens.output,
            total.tokens.cache_creation,
            total.tokens.cache_read,
        ];
        let cost = total.cost().map_or_else(String::new, |cost| cost.to_string());
        let keys = row.keys.iter().map(|key| cell(one_line(key)));
        let cells = keys.chain(numbers.iter().map(u64::to_string)).chain([cost]);
        cells.collect::<Vec<_>>().join(",")
    });
    std::iter::once(names.join(",")).chain(rows)
}

/// A text of one line as a cell. One that a spreadsheet would take for a formula is marked.
fn cell(text: String) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = if is_formula { format!("'{text}") } else { text };
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use recto_session::usage::Total;

    use super::*;

    #[test]
    fn cells_are_texts_for_every_reader() {
        let row = |key: &str| Row {
            keys: vec![key.to_owned()],
            total: Total { messages: 2, ..Total::default() },
            block: None,
            projection: None,
        };
        let rows = ["main", "a,b", "say \"x\"", "=1+1", "a\u{1b}b"].map(row);
        let safe = |text: &str| text.replace('\u{1b}', " ");
        let lines: Vec<String> = csv_lines(&[Dimension::Branch], &rows, safe).collect();
        let (names, rows) = lines.split_first().unwrap();
        assert!(names.starts_with("branch,messages,input_tokens,"), "{names}");
        let key = |row: &String| row.split(",2,0,0,0,0,").next().unwrap().to_owned();
        let keys: Vec<String> = rows.iter().map(key).collect();
        assert_eq!(keys, ["main", "\"a,b\"", "\"say \"\"x\"\"\"", "'=1+1", "a b"]);
    }
}
