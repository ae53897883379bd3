//! Names that occur again and again, each kept once.

use std::collections::HashMap;

/// A name in [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(u32);

/// All names of a session: message ids, tool names, tool call ids, models.
#[derive(Debug, Clone, Default)]
pub struct Names {
    ids: HashMap<Box<str>, NameId>,
    texts: Vec<Box<str>>,
}

impl Names {
    /// The id of a name, new or known.
    pub fn add(&mut self, text: &str) -> NameId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = NameId(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.ids.insert(text.into(), id);
        self.texts.push(text.into());
        id
    }

    /// The id of a name, if it occurred.
    pub fn find(&self, text: &str) -> Option<NameId> {
        self.ids.get(text).copied()
    }

    /// The name.
    pub fn text(&self, id: NameId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |text| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_id() {
        let mut names = Names::default();
        let (a, b) = (names.add("Bash"), names.add("Read"));
        assert_eq!(names.add("Bash"), a);
        assert_ne!(a, b);
        assert_eq!((names.text(a), names.text(b)), ("Bash", "Read"));
        assert_eq!(names.find("Edit"), None);
    }
}
