//! A change touches one value and nothing else.

use proptest::prelude::*;
use proptest::sample::Index;
use recto_log::Patch;
use recto_log::json::PatchError;
use recto_log::json::Step;
use recto_log::json::Value;

/// A step that owns its key.
#[derive(Debug, Clone, PartialEq)]
enum Way {
    Key(String),
    Index(usize),
}

fn steps(path: &[Way]) -> Vec<Step<'_>> {
    path.iter()
        .map(|way| match way {
            Way::Key(key) => Step::Key(key),
            Way::Index(index) => Step::Index(*index),
        })
        .collect()
}

/// White space as it may stand between any two pieces of JSON.
fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just(""), 1 => Just(" "), 1 => Just("\t"), 1 => Just(" \r ")]
}

/// Few names, so that some occur twice, and some in two spellings.
fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "\\u0061", "", "c\\\"", "\\ud83d", "日", "type", "message"])
}

fn leaf() -> impl Strategy<Value = String> {
    let numbers = ["0", "-0", "1e5", "1E+400", "123456789012345678901234567890", "-1.50"];
    prop_oneof![
        prop::sample::select(numbers.to_vec()).prop_map(str::to_owned),
        prop::sample::select(vec!["true", "false", "null", "{ }", "[]"]).prop_map(str::to_owned),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        Just(r#""\ud83d \u0041\/""#.to_owned()),
    ]
}

fn wrap(open: char, items: Vec<(&'static str, String, &'static str)>, close: char) -> String {
    let items: Vec<String> =
        items.iter().map(|(before, item, after)| format!("{before}{item}{after}")).collect();
    format!("{open}{}{close}", items.join(","))
}

fn object_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (key(), space(), space(), value)
        .prop_map(|(key, before, after, value)| format!("\"{key}\"{before}:{after}{value}"));
    prop::collection::vec((space(), member, space()), 0..5)
        .prop_map(|members| wrap('{', members, '}'))
}

/// The text of a random object.
fn object() -> impl Strategy<Value = String> {
    let value = leaf().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            object_of(inner.clone()),
            prop::collection::vec((space(), inner, space()), 0..4)
                .prop_map(|items| wrap('[', items, ']')),
        ]
    });
    (space(), object_of(value), space())
        .prop_map(|(before, object, after)| format!("{before}{object}{after}"))
}

/// Walks down as far as the choices lead. Of a key that occurs twice the last
/// one counts, as it does for a reader.
fn walk<'a>(root: Value<'a>, choices: &[Index]) -> (Vec<Way>, Value<'a>) {
    let mut path = Vec::new();
    let mut value = root;
    for choice in choices {
        let keys: Vec<String> = value.members().map(|member| member.key().into_owned()).collect();
        let elements: Vec<Value<'_>> = value.elements().collect();
        if !keys.is_empty() {
            let key = choice.get(&keys);
            value = value.get(key).unwrap();
            path.push(Way::Key(key.clone()));
        } else if !elements.is_empty() {
            let index = choice.index(elements.len());
            value = elements[index];
            path.push(Way::Index(index));
        } else {
            break;
        }
    }
    (path, value)
}

fn at<'a>(root: Value<'a>, path: &[Way]) -> Option<Value<'a>> {
    path.iter().try_fold(root, |value, way| match way {
        Way::Key(key) => value.get(key),
        Way::Index(index) => value.elements().nth(*index),
    })
}

fn offset_in(whole: &str, part: Value<'_>) -> usize {
    part.bytes().as_ptr() as usize - whole.as_ptr() as usize
}

/// The members and elements of a container as they are spelled.
fn items(container: Value<'_>) -> Vec<(Option<String>, Vec<u8>)> {
    let members = container.members().map(|member| {
        (Some(member.key().into_owned()), [member.raw_key, b":", member.value.bytes()].concat())
    });
    let elements = container.elements().map(|element| (None, element.bytes().to_vec()));
    members.chain(elements).collect()
}

fn choices() -> impl Strategy<Value = Vec<Index>> {
    prop::collection::vec(any::<Index>(), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn setting_a_value_replaces_its_bytes_only(line in object(), new in leaf(), choices in choices()) {
        let root = Value::parse(line.as_bytes()).unwrap();
        let (path, old) = walk(root, &choices);
        let start = offset_in(&line, old);
        let end = start + old.bytes().len();
        let mut patch = Patch::new(line.as_bytes()).unwrap();
        patch.set(&steps(&path), new.as_bytes()).unwrap();
        let patched = String::from_utf8(patch.finish()).unwrap();
        prop_assert_eq!(&patched, &[&line[..start], &new, &line[end..]].concat());
        let patched = Value::parse(patched.as_bytes()).unwrap();
        prop_assert_eq!(at(patched, &path).unwrap().bytes(), new.as_bytes());
    }

    #[test]
    fn adding_a_key_puts_it_last_and_taking_it_away_restores_the_line(
        line in object(), new in leaf(), choices in choices(), key in "[x-z\"\\\\\u{1}é]{1,4}",
    ) {
        let root = Value::parse(line.as_bytes()).unwrap();
        let (mut path, container) = walk(root, &choices);
        path.push(Way::Key(key.clone()));
        let mut patch = Patch::new(line.as_bytes()).unwrap();
        let outcome = patch.set(&steps(&path), new.as_bytes());
        let patched = patch.clone().finish();
        let root = Value::parse(&patched).unwrap();
        if !container.is_object() {
            prop_assert_eq!(outcome, Err(PatchError::NoSuchPath));
            prop_assert_eq!(patched, line.as_bytes());
            return Ok(());
        }
        prop_assert_eq!(outcome, Ok(()));
        path.pop();
        let after = items(at(root, &path).unwrap());
        let (added, rest) = after.split_last().unwrap();
        prop_assert_eq!(rest, items(container));
        prop_assert_eq!(added.0.as_deref(), Some(&*key));
        prop_assert!(added.1.ends_with(new.as_bytes()));
        path.push(Way::Key(key));
        patch.remove(&steps(&path)).unwrap();
        prop_assert_eq!(String::from_utf8(patch.finish()).unwrap(), line);
    }

    #[test]
    fn removing_an_item_leaves_its_siblings_as_they_are(line in object(), choices in choices()) {
        let root = Value::parse(line.as_bytes()).unwrap();
        let (mut path, _) = walk(root, &choices);
        let mut patch = Patch::new(line.as_bytes()).unwrap();
        let outcome = patch.remove(&steps(&path));
        let patched = patch.finish();
        let Some(last) = path.pop() else {
            prop_assert_eq!(outcome, Err(PatchError::NoSuchPath));
            return Ok(());
        };
        prop_assert_eq!(outcome, Ok(()));
        let container = at(root, &path).unwrap();
        let mut expected = items(container);
        match &last {
            Way::Key(key) => expected.retain(|(name, _)| name.as_ref() != Some(key)),
            Way::Index(index) => drop(expected.remove(*index)),
        }
        let patched = String::from_utf8(patched).unwrap();
        let root = Value::parse(patched.as_bytes()).unwrap();
        let after = at(root, &path).unwrap();
        prop_assert_eq!(items(after), expected);
        // Around the container nothing has moved.
        let (start, end) = (offset_in(&line, container), offset_in(&patched, after));
        prop_assert_eq!(&line[..start], &patched[..end]);
        let behind = &line[start + container.bytes().len()..];
        prop_assert!(patched.ends_with(behind));
        prop_assert_eq!(patched.len() - end, after.bytes().len() + behind.len());
    }

    #[test]
    fn a_refused_change_leaves_the_line_as_it_was(line in object(), bad in "[{\\[\"x]{1,3}") {
        let mut patch = Patch::new(line.as_bytes()).unwrap();
        prop_assume!(Value::parse(bad.as_bytes()).is_err());
        prop_assert!(matches!(patch.set(&["a".into()], bad.as_bytes()), Err(PatchError::NotJson(_))));
        prop_assert_eq!(patch.set(&[0.into()], b"1"), Err(PatchError::NoSuchPath));
        prop_assert_eq!(patch.remove(&[]), Err(PatchError::NoSuchPath));
        prop_assert_eq!(patch.finish(), line.as_bytes());
    }
}
