//! Names as cells of a table in CSV.

/// A text of one line as a cell. One that a spreadsheet would take for a formula is
/// marked.
pub fn csv_cell(text: String) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = if is_formula { format!("'{text}") } else { text };
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_texts_for_every_reader() {
        let cells = ["main", "a,b", "say \"x\"", "=1+1"].map(|text| csv_cell(text.to_owned()));
        assert_eq!(cells, ["main", "\"a,b\"", "\"say \"\"x\"\"\"", "'=1+1"]);
    }
}
