//! Output styles: how the model shall speak, as `outputStyle` of the settings names it.

use std::fs;
use std::path::PathBuf;

use crate::tool::front_matter;

/// The style of sessions that name none.
const USUAL: &str = "default";

/// Styles that need no file.
const BUILT_IN: [(&str, &str); 4] = [
    ("Proactive", "Do what is obviously meant next without asking, and say what you did."),
    ("Concise", "Answer in as few words as the matter allows. Omit what the user did not ask for."),
    (
        "Explanatory",
        "Explain as you work: why the code is as it is, and why you chose this way and not \
         another. Keep each remark short and about this project.",
    ),
    (
        "Learning",
        "The user wants to learn. Where a small part is worth writing by hand, mark its place \
         with TODO(human), say what it must do, and leave it to the user.",
    ),
];

/// How the model shall speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputStyle {
    /// Its name, as the settings have it.
    pub name: String,
    /// What is added to the system prompt.
    pub instructions: Option<String>,
}

impl Default for OutputStyle {
    fn default() -> OutputStyle {
        OutputStyle { name: USUAL.to_owned(), instructions: None }
    }
}

impl OutputStyle {
    /// The style of a name: of a file `output-styles/NAME.md` below folders such as
    /// `~/.claude`, or one that is built in. An unknown name adds nothing.
    #[must_use]
    pub fn named(name: &str, folders: &[PathBuf]) -> OutputStyle {
        let own = styles_in(folders).into_iter().find(|(known, _)| known == name);
        let built_in = || {
            let known = BUILT_IN.iter().find(|(known, _)| *known == name);
            known.map(|(_, text)| (*text).to_owned())
        };
        let instructions = own.map(|(_, text)| text).or_else(built_in);
        OutputStyle {
            name: name.to_owned(),
            instructions: instructions.filter(|text| !text.is_empty()),
        }
    }

    /// The names that there are.
    #[must_use]
    pub fn names(folders: &[PathBuf]) -> Vec<String> {
        let built_in = BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
        let own = styles_in(folders).into_iter().map(|(name, _)| name);
        std::iter::once(USUAL.to_owned()).chain(built_in).chain(own).collect()
    }
}

fn styles_in(folders: &[PathBuf]) -> Vec<(String, String)> {
    let mut styles = Vec::new();
    for folder in folders {
        for file in crate::tool::markdown_in(&folder.join("output-styles")) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let (fields, body) = front_matter(&text);
            let name = fields.iter().find(|(field, _)| field == "name");
            let stem = || file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let name = name.map_or_else(stem, |(_, name)| name.clone());
            styles.push((name, body.trim().to_owned()));
        }
    }
    styles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_of_a_file_counts_before_one_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let styles = folder.path().join("output-styles");
        fs::create_dir(&styles).unwrap();
        fs::write(styles.join("pirate.md"), "---\nname: Pirate\n---\nSpeak so.\n").unwrap();
        fs::write(styles.join("Concise.md"), "Own words.\n").unwrap();
        let folders = [folder.path().to_owned()];
        let said = |name: &str| OutputStyle::named(name, &folders).instructions;
        assert_eq!(said("Pirate").as_deref(), Some("Speak so."));
        assert_eq!(said("Concise").as_deref(), Some("Own words."));
        assert!(said("Learning").is_some_and(|text| text.contains("TODO(human)")));
        assert_eq!((said("default"), said("nobody")), (None, None));
        assert!(OutputStyle::names(&folders).contains(&"Pirate".to_owned()));
    }
}
