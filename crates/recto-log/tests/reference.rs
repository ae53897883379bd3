//! What another parser, `serde_json`, makes of a line.
//!
//! The reference keeps the order of members and keys that occur twice, so that
//! nothing of what it read is lost in the comparison.

use std::fmt;

use recto_log::json::Value;
use serde::Deserialize;
use serde::Deserializer;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;

/// A value as `serde_json` read it.
#[derive(Debug)]
pub(crate) enum Tree {
    Null,
    Boolean(bool),
    Positive(u64),
    Negative(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

/// What the reference says of a text.
pub(crate) enum Answer {
    /// It is JSON.
    Is(Tree),
    /// It is not.
    IsNot,
    /// It holds something that recto takes and the reference does not: a lone
    /// surrogate, bytes that are no UTF-8, a number beyond all floats, nesting
    /// deeper than 128.
    NoOpinion,
}

pub(crate) fn ask(text: &[u8]) -> Answer {
    let error = match serde_json::from_slice(text) {
        Ok(tree) => return Answer::Is(tree),
        Err(error) => error.to_string(),
    };
    const BEYOND: [&str; 5] = [
        "lone leading surrogate",
        "unexpected end of hex escape",
        "invalid unicode code point",
        "number out of range",
        "recursion limit exceeded",
    ];
    if BEYOND.iter().any(|reason| error.starts_with(reason)) {
        Answer::NoOpinion
    } else {
        Answer::IsNot
    }
}

/// The text without the white space of JSON around it, which a form feed is not.
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = text {
        text = rest;
    }
    text
}

impl Tree {
    /// Panics unless `value` says the same, in the same order.
    pub(crate) fn assert_same(&self, value: Value<'_>) {
        match self {
            Tree::Null => assert!(value.is_null()),
            Tree::Boolean(truth) => assert_eq!(value.as_bool(), Some(*truth)),
            Tree::Positive(number) => assert_eq!(value.as_u64(), Some(*number)),
            Tree::Negative(number) => {
                assert_eq!(value.as_u64(), None);
                assert_eq!(value.as_f64(), Some(*number as f64));
            }
            Tree::Float(number) => assert_near(value, *number),
            Tree::Text(text) => assert_eq!(value.as_str().as_deref(), Some(text.as_str())),
            Tree::List(list) => {
                assert!(value.is_array());
                let mut elements = value.elements();
                for tree in list {
                    tree.assert_same(elements.next().expect("too few elements"));
                }
                assert_eq!(elements.next(), None);
            }
            Tree::Map(map) => {
                assert!(value.is_object());
                let mut members = value.members();
                for (key, tree) in map {
                    let member = members.next().expect("too few members");
                    assert_eq!(member.key(), key.as_str());
                    assert!(member.is(key));
                    tree.assert_same(member.value);
                }
                assert_eq!(members.next(), None);
            }
        }
    }
}

/// The reference rounds long numbers in the last place, so near is enough.
fn assert_near(value: Value<'_>, number: f64) {
    let ours = value.as_f64().expect("a number");
    assert!((ours - number).abs() <= number.abs() * 1e-15, "{ours} is not {number}");
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Tree, E> {
        Ok(Tree::Boolean(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Positive(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Negative(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree, E> {
        Ok(Tree::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(tree) = access.next_element()? {
            list.push(tree);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(member) = access.next_entry()? {
            map.push(member);
        }
        Ok(Tree::Map(map))
    }
}
