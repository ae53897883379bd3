//! Keys that the user gave to commands of the browser and the board.
//!
//! A command has a letter, which the parts of the screen know. What is pressed becomes that
//! letter here, and what is shown becomes what to press.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;

/// The commands by the names that `config.toml` uses, with their letters.
pub(crate) const COMMANDS: [(&str, char); 20] = [
    ("agents", 'a'),
    ("back", 'q'),
    ("copy", 'c'),
    ("detail", 'x'),
    ("diff", 'd'),
    ("down", 'j'),
    ("export", 'e'),
    ("fork", 'F'),
    ("mark", 'm'),
    ("next", 'n'),
    ("order", 'o'),
    ("pane", 'p'),
    ("previous", 'N'),
    ("remove", 'D'),
    ("rename", 'R'),
    ("resume", 'r'),
    ("scope", 's'),
    ("tools", 't'),
    ("undo", 'U'),
    ("up", 'k'),
];

/// Keys without a letter, by their names.
const NAMED: [(&str, KeyCode); 6] = [
    ("space", KeyCode::Char(' ')),
    ("insert", KeyCode::Insert),
    ("delete", KeyCode::Delete),
    ("backspace", KeyCode::Backspace),
    ("tab", KeyCode::Tab),
    ("enter", KeyCode::Enter),
];

/// Which keys mean other ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Keymap {
    /// What is pressed, and the letter that it means.
    pairs: Vec<(KeyCode, char)>,
}

impl Keymap {
    /// Reads commands with their keys. Gives the command that is wrong, and why.
    pub(crate) fn read(given: &[(String, String)]) -> Result<Keymap, (String, String)> {
        let mut pairs: Vec<(KeyCode, char)> = Vec::new();
        for (command, key) in given {
            let wrong = |why: &str| (command.clone(), why.to_owned());
            let known = COMMANDS.iter().find(|(name, _)| name == command);
            let names = || COMMANDS.map(|(name, _)| name).join(", ");
            let (_, letter) =
                known.ok_or_else(|| wrong(&format!("the commands are {}", names())))?;
            let code = code_named(key)
                .ok_or_else(|| wrong("write one character, or a name such as f5 or delete"))?;
            pairs.push((code, *letter));
        }
        let keymap = Keymap { pairs };
        for (command, letter) in COMMANDS {
            let Some(code) = keymap.code_of(letter) else { continue };
            let is_taken = COMMANDS.iter().any(|(_, other)| {
                *other != letter && keymap.code_of(*other).unwrap_or(KeyCode::Char(*other)) == code
            });
            if is_taken {
                return Err((
                    command.to_owned(),
                    "another command already uses this key".to_owned(),
                ));
            }
        }
        Ok(keymap)
    }

    /// The key that the user gave to a command.
    fn code_of(&self, letter: char) -> Option<KeyCode> {
        self.pairs.iter().find(|(_, meant)| *meant == letter).map(|(code, _)| *code)
    }

    /// What a key means that was pressed where letters are commands.
    pub(crate) fn meant(&self, key: KeyEvent) -> KeyEvent {
        if let Some((code, letter)) = self.pairs.iter().find(|(code, _)| *code == key.code) {
            // Where letters are typed, a command is a letter with Alt.
            let more = match code {
                KeyCode::Char(_) => KeyModifiers::NONE,
                _ => KeyModifiers::ALT,
            };
            return KeyEvent {
                code: KeyCode::Char(*letter),
                modifiers: key.modifiers | more,
                ..key
            };
        }
        match key.code {
            KeyCode::Char(letter) if self.code_of(letter).is_some() => {
                KeyEvent { code: KeyCode::Null, ..key }
            }
            _ => key,
        }
    }

    /// Whether a key is one of those that mean a command even where letters are typed.
    pub(crate) fn is_command(&self, key: KeyEvent) -> bool {
        let is_letter = matches!(key.code, KeyCode::Char(_));
        !is_letter && self.pairs.iter().any(|(code, _)| *code == key.code)
    }

    /// A key as recto has it, such as `^r` or `n N`, as it is to be pressed.
    pub(crate) fn shown(&self, keys: &str) -> String {
        let shown = |key: &str| {
            let (sign, letter) = match key.strip_prefix('^') {
                Some(letter) if !letter.is_empty() => ("^", letter),
                _ => ("", key),
            };
            let mut letters = letter.chars();
            let only = letters.next().filter(|_| letters.next().is_none());
            match only.and_then(|letter| self.code_of(letter)) {
                Some(KeyCode::Char(' ')) => format!("{sign}space"),
                Some(KeyCode::Char(c)) => format!("{sign}{c}"),
                Some(code) => name_of(code),
                None => key.to_owned(),
            }
        };
        keys.split(' ').map(shown).collect::<Vec<_>>().join(" ")
    }
}

fn code_named(text: &str) -> Option<KeyCode> {
    let mut letters = text.chars();
    if let (Some(c), None) = (letters.next(), letters.next()) {
        return (!c.is_control() && !c.is_whitespace()).then_some(KeyCode::Char(c));
    }
    let name = text.to_lowercase();
    if let Some(number) = name.strip_prefix('f').and_then(|number| number.parse::<u8>().ok()) {
        return (1..=12).contains(&number).then_some(KeyCode::F(number));
    }
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

fn name_of(code: KeyCode) -> String {
    match code {
        KeyCode::F(number) => format!("F{number}"),
        code => {
            let known = NAMED.iter().find(|(_, known)| *known == code);
            known.map_or_else(String::new, |(name, _)| (*name).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keymap(pairs: &[(&str, &str)]) -> Result<Keymap, (String, String)> {
        let pairs = pairs.iter().map(|(name, key)| ((*name).to_owned(), (*key).to_owned()));
        Keymap::read(&pairs.collect::<Vec<_>>())
    }

    fn pressed(code: KeyCode) -> KeyEvent {
        KeyEvent::from(code)
    }

    #[test]
    fn a_command_has_the_key_that_it_was_given_and_no_longer_its_own() {
        let keymap = keymap(&[("resume", "v"), ("remove", "f8")]).unwrap();
        assert_eq!(keymap.meant(pressed(KeyCode::Char('v'))).code, KeyCode::Char('r'));
        assert_eq!(keymap.meant(pressed(KeyCode::Char('r'))).code, KeyCode::Null);
        assert_eq!(keymap.meant(pressed(KeyCode::Char('t'))).code, KeyCode::Char('t'));
        let remove = keymap.meant(pressed(KeyCode::F(8)));
        assert_eq!((remove.code, remove.modifiers), (KeyCode::Char('D'), KeyModifiers::ALT));
        let control = KeyEvent::new(KeyCode::Char('v'), KeyModifiers::CONTROL);
        assert_eq!(keymap.meant(control), KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL));
        assert_eq!(keymap.shown("^r"), "^v");
        assert_eq!(keymap.shown("D"), "F8");
        assert_eq!(keymap.shown("n N"), "n N");
        assert_eq!(keymap.shown("enter"), "enter");
    }

    #[test]
    fn two_commands_may_change_places_but_not_share_a_key() {
        let swapped = keymap(&[("tools", "a"), ("agents", "t")]).unwrap();
        assert_eq!(swapped.meant(pressed(KeyCode::Char('a'))).code, KeyCode::Char('t'));
        assert_eq!(swapped.meant(pressed(KeyCode::Char('t'))).code, KeyCode::Char('a'));
        assert_eq!(keymap(&[("tools", "a")]).unwrap_err().0, "tools");
        assert!(keymap(&[("tols", "v")]).unwrap_err().1.contains("tools"));
        assert!(keymap(&[("tools", "ctrl-v")]).unwrap_err().1.contains("one character"));
        assert!(keymap(&[("tools", " ")]).is_err());
    }
}
