//! What a tool takes, and whether an input is that.
//!
//! Owns: the small schema of a tool's input, what values count as others (`"3"` is a number),
//! and the JSON Schema that the model is shown. How issues are worded is in `issue`.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::issue::Issue;
use super::issue::Step;

/// The kinds of values that a field takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Any text.
    String,
    /// Text of so many characters at least.
    Text {
        /// At least so many.
        min: usize,
    },
    /// Text of an absolute URL.
    Url,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of the words of one of these lists; issues name each list.
    AnyOf(&'static [&'static [&'static str]]),
    /// A number; `"3"` counts as one.
    Number,
    /// A whole number; `"3"` counts as one.
    Integer,
    /// `"true"` and `"false"` count too.
    Boolean,
    /// So many values of a kind.
    Array {
        /// What each is.
        of: &'static Kind,
        /// At least so many.
        min: usize,
        /// At most so many.
        max: usize,
    },
    /// An object with known fields.
    Object(&'static Schema),
    /// Any object.
    Record,
}

/// A field of an input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// Its name.
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) kind: Kind,
    /// Whether it may not be left out.
    pub(super) is_required: bool,
    /// What the model is told about it.
    pub(super) about: &'static str,
}

impl Field {
    /// A field that must be there.
    #[must_use]
    pub(super) const fn required(name: &'static str, kind: Kind, about: &'static str) -> Field {
        Field { name, kind, is_required: true, about }
    }

    /// A field that may be left out.
    #[must_use]
    pub(super) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Field {
        Field { name, kind, is_required: false, about }
    }
}

/// What an object takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema {
    /// Its fields, in the order in which issues name them.
    pub(super) fields: &'static [Field],
    /// Other names under which models give fields, each with the field's own name.
    pub(super) aliases: &'static [(&'static str, &'static str)],
    /// Whether fields that it does not know are issues.
    pub(super) is_closed: bool,
}

impl Schema {
    /// A schema that rejects unknown fields.
    #[must_use]
    pub(super) const fn closed(fields: &'static [Field]) -> Schema {
        Schema { fields, aliases: &[], is_closed: true }
    }

    /// A schema that drops unknown fields.
    #[must_use]
    pub(super) const fn open(fields: &'static [Field]) -> Schema {
        Schema { fields, aliases: &[], is_closed: false }
    }

    /// The same with other names for fields.
    #[must_use]
    pub(super) const fn with_aliases(
        mut self,
        aliases: &'static [(&'static str, &'static str)],
    ) -> Schema {
        self.aliases = aliases;
        self
    }

    /// The input with values of the kinds that the fields take, in the order of the fields.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub(super) fn check(&self, input: &Value) -> Result<Value, Vec<Issue>> {
        let mut issues = Vec::new();
        let checked = self.check_at(input, &mut Vec::new(), &mut issues);
        if issues.is_empty() { Ok(checked) } else { Err(issues) }
    }

    fn check_at(&self, input: &Value, path: &mut Vec<Step>, issues: &mut Vec<Issue>) -> Value {
        let Some(given) = input.as_object() else {
            issues.push(Issue::wrong_type(path, "object", input));
            return Value::Null;
        };
        let mut checked = Map::new();
        for field in self.fields {
            let Some(value) = self.value_of(given, field.name) else {
                if field.is_required {
                    issues.push(Issue::missing(
                        &with(path, Step::Name(field.name.to_owned())),
                        expected(field.kind),
                    ));
                }
                continue;
            };
            path.push(Step::Name(field.name.to_owned()));
            checked.insert(field.name.to_owned(), check_value(field.kind, value, path, issues));
            path.pop();
        }
        if self.is_closed {
            let is_known = |name: &str| {
                // Another name counts where the field's own is not given.
                let is_alias =
                    |(alias, field): &(&str, &str)| *alias == name && !given.contains_key(*field);
                self.fields.iter().any(|field| field.name == name)
                    || self.aliases.iter().any(is_alias)
            };
            let unknown: Vec<String> =
                given.keys().filter(|name| !is_known(name)).cloned().collect();
            if !unknown.is_empty() {
                issues.push(Issue::unexpected(path, unknown));
            }
        }
        Value::Object(checked)
    }

    fn value_of<'a>(&self, given: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
        given.get(name).or_else(|| {
            let mut others = self.aliases.iter().filter(|(_, field)| *field == name);
            others.find_map(|(alias, _)| given.get(*alias))
        })
    }

    /// JSON Schema, for the declaration of the tool.
    #[must_use]
    pub(super) fn json_schema(&self) -> Value {
        let mut properties = Map::new();
        for field in self.fields {
            let mut property = json_schema(field.kind);
            if let Some(property) = property.as_object_mut().filter(|_| !field.about.is_empty()) {
                property.insert("description".into(), json!(field.about));
            }
            properties.insert(field.name.into(), property);
        }
        let required: Vec<&str> =
            self.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if let Some(schema) = schema.as_object_mut() {
            if !required.is_empty() {
                schema.insert("required".into(), json!(required));
            }
            schema.insert("additionalProperties".into(), json!(!self.is_closed));
        }
        schema
    }
}

fn with(path: &[Step], step: Step) -> Vec<Step> {
    let mut path = path.to_vec();
    path.push(step);
    path
}

/// What an issue says that a kind expects.
fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::String | Kind::Text { .. } | Kind::Url | Kind::OneOf(_) | Kind::AnyOf(_) => "string",
        Kind::Number | Kind::Integer => "number",
        Kind::Boolean => "boolean",
        Kind::Array { .. } => "array",
        Kind::Object(_) => "object",
        Kind::Record => "record",
    }
}

/// The value as its kind, or null and an issue.
fn check_value(kind: Kind, value: &Value, path: &mut Vec<Step>, issues: &mut Vec<Issue>) -> Value {
    match kind {
        Kind::Text { min } => match value.as_str() {
            Some(text) if text.encode_utf16().count() < min => {
                issues.push(Issue::too_short(path, min));
                Value::Null
            }
            Some(_) => value.clone(),
            None => wrong(path, "string", value, issues),
        },
        Kind::String | Kind::Url => match value.as_str() {
            Some(text) if matches!(kind, Kind::Url) && reqwest::Url::parse(text).is_err() => {
                issues.push(Issue::not_a_url(path));
                Value::Null
            }
            Some(_) => value.clone(),
            None => wrong(path, "string", value, issues),
        },
        Kind::OneOf(words) => match value.as_str().filter(|word| words.contains(word)) {
            Some(_) => value.clone(),
            None => {
                issues.push(Issue::not_an_option(path, words));
                Value::Null
            }
        },
        Kind::AnyOf(lists) => {
            let is_one = |word: &str| lists.iter().any(|words| words.contains(&word));
            match value.as_str().filter(|word| is_one(word)) {
                Some(_) => value.clone(),
                None => {
                    issues.push(Issue::no_list_has(path, lists));
                    Value::Null
                }
            }
        }
        Kind::Number | Kind::Integer => {
            // A number in a list of its own is taken for what it is.
            let value = match value.as_array().map(Vec::as_slice) {
                Some([only]) if matches!(kind, Kind::Integer) => only,
                _ => value,
            };
            let Some(number) = number(value) else { return wrong(path, "number", value, issues) };
            let is_exact = number.as_f64().is_none_or(|it| it <= Issue::LARGEST_WHOLE as f64);
            if matches!(kind, Kind::Integer) && !is_exact {
                issues.push(Issue::too_large(path));
                return Value::Null;
            }
            let is_whole = number.as_f64().is_some_and(|number| number.fract() == 0.0);
            if matches!(kind, Kind::Integer) && !is_whole {
                issues.push(Issue::not_whole(path));
                return Value::Null;
            }
            number
        }
        Kind::Boolean => match value {
            Value::Bool(_) => value.clone(),
            Value::String(text) if text == "true" => json!(true),
            Value::String(text) if text == "false" => json!(false),
            _ => wrong(path, "boolean", value, issues),
        },
        Kind::Array { of, min, max } => {
            let Some(values) = value.as_array() else {
                return wrong(path, "array", value, issues);
            };
            if values.len() < min {
                issues.push(Issue::too_few(path, min));
            } else if values.len() > max {
                issues.push(Issue::too_many(path, max));
            }
            let mut checked = Vec::with_capacity(values.len());
            for (at, value) in values.iter().enumerate() {
                path.push(Step::Index(at));
                checked.push(check_value(*of, value, path, issues));
                path.pop();
            }
            Value::Array(checked)
        }
        Kind::Object(schema) => schema.check_at(value, path, issues),
        Kind::Record if value.is_object() => value.clone(),
        Kind::Record => wrong(path, "record", value, issues),
    }
}

fn wrong(path: &[Step], expected: &'static str, value: &Value, issues: &mut Vec<Issue>) -> Value {
    issues.push(Issue::wrong_type(path, expected, value));
    Value::Null
}

/// The number that a value is, or that its text spells.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => {
            let text = text.trim();
            let text = text.strip_prefix('+').unwrap_or(text);
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_plain = digits.starts_with(|c: char| c.is_ascii_digit())
                && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            if !is_plain {
                return None;
            }
            let whole = text.parse::<i64>().ok().map(Value::from);
            whole.or_else(|| text.parse::<f64>().ok().map(Value::from))
        }
        _ => None,
    }
}

fn json_schema(kind: Kind) -> Value {
    match kind {
        Kind::String => json!({"type": "string"}),
        Kind::Text { min } => json!({"type": "string", "minLength": min}),
        Kind::Url => json!({"type": "string", "format": "uri"}),
        Kind::OneOf(words) => json!({"type": "string", "enum": words}),
        Kind::AnyOf(lists) => json!({"type": "string", "enum": lists.concat()}),
        Kind::Number => json!({"type": "number"}),
        Kind::Integer => json!({"type": "integer"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Array { of, min, max } => {
            let mut schema = json!({"type": "array", "items": json_schema(*of)});
            if let Some(schema) = schema.as_object_mut() {
                if min > 0 {
                    schema.insert("minItems".into(), json!(min));
                }
                if max < usize::MAX {
                    schema.insert("maxItems".into(), json!(max));
                }
            }
            schema
        }
        Kind::Object(schema) => schema.json_schema(),
        Kind::Record => json!({"type": "object"}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: Schema = Schema::closed(&[
        Field::required("path", Kind::String, ""),
        Field::optional("limit", Kind::Integer, ""),
        Field::optional("all", Kind::Boolean, ""),
    ])
    .with_aliases(&[("file", "path")]);

    #[test]
    fn numbers_and_truth_in_quotes_are_taken_and_other_words_are_not() {
        let taken = TEST.check(&json!({"all": "true", "limit": "3", "path": "a"})).unwrap();
        assert_eq!(taken, json!({"path": "a", "limit": 3, "all": true}));
        for wrong in [json!("two"), json!(null), json!(1.5), json!("1e3"), json!("")] {
            assert_eq!(TEST.check(&json!({"path": "a", "limit": wrong})).unwrap_err().len(), 1);
        }
        assert_eq!(TEST.check(&json!({"path": "a", "all": "yes"})).unwrap_err().len(), 1);
    }

    #[test]
    fn a_number_alone_in_a_list_is_that_number() {
        let limit = |value: Value| TEST.check(&json!({"path": "a", "limit": value}));
        assert_eq!(limit(json!(["2"])).unwrap()["limit"], 2);
        for wrong in [json!([]), json!([1, 2]), json!([[1]]), json!(["x"]), json!([null])] {
            assert_eq!(limit(wrong).unwrap_err().len(), 1);
        }
        assert_eq!(limit(json!(1_u64 << 53)).unwrap_err()[0].code(), "too_big");
    }

    #[test]
    fn other_names_of_a_field_are_that_field() {
        assert_eq!(TEST.check(&json!({"file": "a"})).unwrap(), json!({"path": "a"}));
        assert_eq!(TEST.check(&json!({"files": "a"})).unwrap_err().len(), 2);
    }

    #[test]
    fn what_is_not_an_object_is_an_issue() {
        for wrong in [json!([]), json!("x"), json!(null), json!(7)] {
            assert_eq!(TEST.check(&wrong).unwrap_err().len(), 1);
        }
    }
}
