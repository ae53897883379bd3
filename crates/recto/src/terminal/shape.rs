//! Which fields of a row are written, and how: `--json FIELDS` and `--format TEMPLATE`.

use serde_json::Map;
use serde_json::Value;

use crate::error::CommandError;
use crate::terminal::text::one_line;

/// How a row is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Shape {
    /// All of it, as JSON.
    #[default]
    Whole,
    /// These fields, as JSON.
    Fields(Vec<String>),
    /// A line of text with fields in it.
    Template(Vec<Piece>),
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Field(String),
}

impl Shape {
    /// Reads what the options say. A template wins, because it is the last step.
    pub(crate) fn read(fields: Option<&str>, template: Option<&str>) -> Shape {
        match (fields.map(names), template) {
            (_, Some(template)) => Shape::Template(pieces(template)),
            (Some(names), None) if !names.is_empty() => Shape::Fields(names),
            _ => Shape::Whole,
        }
    }

    /// Notes which of the fields no item of a transcript had so far.
    pub(crate) fn note_unseen(&self, row: &Value, is_first: bool, unseen: &mut Vec<String>) {
        if row.get("item").is_none() {
            return;
        }
        if is_first {
            *unseen = self.wanted().into_iter().cloned().collect();
        }
        unseen.retain(|name| get(row, name).is_none());
    }

    /// The fields that were asked for.
    fn wanted(&self) -> Vec<&String> {
        match self {
            Shape::Whole => Vec::new(),
            Shape::Fields(names) => names.iter().collect(),
            Shape::Template(pieces) => pieces.iter().filter_map(Piece::field).collect(),
        }
    }

    /// A row as it is written, without the end of the line. The first row must have every
    /// field; others may be of another kind, and lack some.
    pub(crate) fn apply(&self, row: Value, is_first: bool) -> Result<String, CommandError> {
        // The items of a transcript differ in their fields.
        if is_first && row.get("item").is_none() {
            for name in self.wanted() {
                require(&row, name)?;
            }
        }
        Ok(match self {
            Shape::Whole => row.to_string(),
            Shape::Fields(names) => {
                let value = |name: &String| get(&row, name).cloned().unwrap_or(Value::Null);
                let fields = names.iter().map(|name| (name.clone(), value(name)));
                Value::Object(fields.collect::<Map<String, Value>>()).to_string()
            }
            Shape::Template(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Field(name) => get(&row, name).map(shown).unwrap_or_default(),
                })
                .collect(),
        })
    }
}

impl Piece {
    fn field(&self) -> Option<&String> {
        match self {
            Piece::Field(name) => Some(name),
            Piece::Text(_) => None,
        }
    }
}

fn names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// `{field}` is a field; `{{` and `}}` are braces, `\t` and `\n` what they are in most
/// languages. A brace that is not closed is text.
fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        let escape = [("{{", "{"), ("}}", "}"), ("\\t", "\t"), ("\\n", "\n")];
        if let Some((written, meant)) = escape.iter().find(|(written, _)| rest.starts_with(written))
        {
            text.push_str(meant);
            rest = &rest[written.len()..];
        } else if let (true, Some(end)) = (c == '{', rest.find('}')) {
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Field(rest[1..end].trim().to_owned()));
            rest = &rest[end + 1..];
        } else {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// A field by its name, or inside of another one: `tokens.output`.
fn get<'r>(row: &'r Value, name: &str) -> Option<&'r Value> {
    row.get(name).or_else(|| name.split('.').try_fold(row, |value, part| value.get(part)))
}

fn require(row: &Value, name: &str) -> Result<(), CommandError> {
    if get(row, name).is_some() {
        return Ok(());
    }
    let fields: Vec<&str> = row
        .as_object()
        .map(|fields| fields.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let message = format!("unknown field `{}`", one_line(name));
    let error = CommandError::user("bad-field", message);
    let near = fields.iter().min_by_key(|field| recto_store::distance(field, name));
    let near = near.filter(|field| recto_store::distance(field, name) <= name.len().div_ceil(3));
    let error = match near {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error,
    };
    Err(error.with_hint(format!("the fields are {}", fields.join(", "))))
}

/// A value as text: what a person would write.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => one_line(text),
        other => one_line(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row() -> Value {
        json!({"id": "3f2a", "title": "Two\nlines", "bytes": 12, "live": null, "tokens": {"output": 4}})
    }

    fn shaped(fields: Option<&str>, template: Option<&str>) -> Result<String, String> {
        let shape = Shape::read(fields, template);
        shape.apply(row(), true).map_err(|error| format!("{error}; {}", error.hints().join("; ")))
    }

    #[test]
    fn fields_are_chosen_in_the_order_that_was_asked_for() {
        assert_eq!(
            shaped(Some("title, id,tokens.output"), None).unwrap(),
            r#"{"title":"Two\nlines","id":"3f2a","tokens.output":4}"#
        );
        assert!(shaped(Some(""), None).unwrap().starts_with(r#"{"id""#));
    }

    #[test]
    fn a_template_has_fields_in_braces() {
        let shaped = |template: &str| shaped(None, Some(template)).unwrap();
        assert_eq!(shaped("{id}\\t{bytes} {live}|{tokens.output}"), "3f2a\t12 |4");
        assert_eq!(shaped("{{{id}}} {title} {"), "{3f2a} Two lines {");
        assert_eq!(shaped(r#"{tokens}"#), r#"{"output":4}"#);
    }

    #[test]
    fn a_mistyped_field_is_an_error_with_a_suggestion() {
        let error = shaped(Some("titel"), None).unwrap_err();
        assert!(error.starts_with("unknown field `titel`; did you mean `title`?; "), "{error}");
        let error = shaped(None, Some("{nothing_like_it}")).unwrap_err();
        assert_eq!(
            error,
            "unknown field `nothing_like_it`; the fields are id, title, bytes, live, tokens"
        );
        // Rows after the first may be of another kind.
        let shape = Shape::read(Some("other"), None);
        assert_eq!(shape.apply(row(), false).unwrap(), r#"{"other":null}"#);
    }
}
