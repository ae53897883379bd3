//! Colours that the user chose for text, in place of recto's own.

use std::sync::OnceLock;

use anstyle::Ansi256Color;
use anstyle::AnsiColor;
use anstyle::Color;
use anstyle::RgbColor;
use anstyle::Style;

use crate::terminal::output::Look;

/// What has a colour, by the names that `config.toml` uses.
pub(crate) const LOOKS: [(&str, Look); 13] = [
    ("strong", Look::Strong),
    ("faint", Look::Faint),
    ("user", Look::User),
    ("model", Look::Model),
    ("tool", Look::Tool),
    ("good", Look::Good),
    ("bad", Look::Bad),
    ("warning", Look::Warning),
    ("keyword", Look::Keyword),
    ("literal", Look::Literal),
    ("constant", Look::Constant),
    ("name", Look::Name),
    ("match", Look::Match),
];

const COLOURS: [(&str, AnsiColor); 8] = [
    ("black", AnsiColor::Black),
    ("red", AnsiColor::Red),
    ("green", AnsiColor::Green),
    ("yellow", AnsiColor::Yellow),
    ("blue", AnsiColor::Blue),
    ("magenta", AnsiColor::Magenta),
    ("cyan", AnsiColor::Cyan),
    ("white", AnsiColor::White),
];

/// Set once, before anything is printed.
static CHOSEN: OnceLock<Vec<(Look, Style)>> = OnceLock::new();

/// Uses these styles from now on.
pub(crate) fn choose(styles: Vec<(Look, Style)>) {
    let _ = CHOSEN.set(styles);
}

/// The style that the user chose, if there is one.
pub(crate) fn chosen(look: Look) -> Option<Style> {
    let chosen = CHOSEN.get()?.iter().find(|(known, _)| *known == look);
    chosen.map(|(_, style)| *style)
}

/// Reads a style: `cyan`, `bold bright-red`, `208`, `#ff8800`, `dim`, `plain`.
pub(crate) fn parse(text: &str) -> Option<Style> {
    let mut style = Style::new();
    for word in text.split_whitespace() {
        style = match word {
            "plain" => style,
            "bold" => style.bold(),
            "dim" => style.dimmed(),
            "underline" => style.underline(),
            colour => style.fg_color(Some(colour_named(colour)?)),
        };
    }
    (!text.trim().is_empty()).then_some(style)
}

fn colour_named(word: &str) -> Option<Color> {
    if let Some(digits) = word.strip_prefix('#') {
        let is_hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
        let [_, red, green, blue] = number.to_be_bytes();
        return Some(RgbColor(red, green, blue).into());
    }
    if let Ok(number) = word.parse::<u8>() {
        return Some(Ansi256Color(number).into());
    }
    let (name, is_bright) = match word.strip_prefix("bright-") {
        Some(name) => (name, true),
        None => (word, false),
    };
    let (_, colour) = COLOURS.iter().find(|(known, _)| *known == name)?;
    Some(colour.bright(is_bright).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_have_names_numbers_and_digits() {
        let colour = |text: &str| parse(text).and_then(|style| style.get_fg_color());
        assert_eq!(colour("cyan"), Some(AnsiColor::Cyan.into()));
        assert_eq!(colour("bold bright-red"), Some(AnsiColor::BrightRed.into()));
        assert_eq!(colour("208"), Some(Ansi256Color(208).into()));
        assert_eq!(colour("#ff8800"), Some(RgbColor(255, 136, 0).into()));
        assert_eq!(parse("dim"), Some(Style::new().dimmed()));
        assert_eq!(parse("plain"), Some(Style::new()));
        for wrong in ["", "purple", "256", "#ff880", "#ggggggg", "bright-", "#-fffff"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
