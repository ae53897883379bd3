//! Looks as styles of the screen, and pieces of text as its lines.

use std::ops::Range;

use anstyle::AnsiColor;
use anstyle::Effects;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::style::Modifier;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use crate::terminal::output::Look;
use crate::terminal::text::Span;

/// Draws pieces of text in the colours that are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub(crate) has_colour: bool,
}

impl Theme {
    pub(crate) fn style(self, look: Look) -> Style {
        let known = look.style();
        let mut style = Style::new();
        if let Some(colour) = known.get_fg_color().filter(|_| self.has_colour) {
            style = style.fg(match colour {
                anstyle::Color::Ansi(colour) => colour_of(colour),
                anstyle::Color::Ansi256(colour) => Color::Indexed(colour.0),
                anstyle::Color::Rgb(colour) => Color::Rgb(colour.0, colour.1, colour.2),
            });
        }
        let effects = known.get_effects();
        for (effect, modifier) in
            [(Effects::BOLD, Modifier::BOLD), (Effects::DIMMED, Modifier::DIM)]
        {
            if effects.contains(effect) {
                style = style.add_modifier(modifier);
            }
        }
        style
    }

    /// What marks a match.
    pub(crate) fn found(self, is_current: bool) -> Style {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        match (self.has_colour, is_current) {
            (true, true) => style.fg(Color::Yellow).add_modifier(Modifier::BOLD),
            (true, false) => style.fg(Color::Cyan),
            (false, true) => style.add_modifier(Modifier::BOLD),
            (false, false) => Style::new().add_modifier(Modifier::UNDERLINED),
        }
    }

    /// Puts pieces into a line of an area; gives where they end.
    pub(crate) fn put(self, buffer: &mut Buffer, area: Rect, spans: &[Span]) -> u16 {
        // Nothing is put where there is no screen.
        let area = area.intersection(buffer.area);
        let mut x = area.x;
        if area.height == 0 {
            return x;
        }
        for (text, look) in spans {
            let room = usize::from(area.right().saturating_sub(x));
            x = buffer.set_stringn(x, area.y, text, room, self.style(*look)).0;
        }
        x
    }

    /// Puts pieces at the right end of a line; gives where they begin.
    pub(crate) fn put_right(self, buffer: &mut Buffer, area: Rect, spans: &[Span]) -> u16 {
        let width: usize = spans.iter().map(|(text, _)| text.width()).sum();
        let width = u16::try_from(width).unwrap_or(u16::MAX).min(area.width);
        let x = area.right().saturating_sub(width);
        self.put(buffer, Rect { x, width, ..area }, spans);
        x
    }
}

fn colour_of(colour: AnsiColor) -> Color {
    match colour {
        AnsiColor::Black => Color::Black,
        AnsiColor::Red => Color::Red,
        AnsiColor::Green => Color::Green,
        AnsiColor::Yellow => Color::Yellow,
        AnsiColor::Blue => Color::Blue,
        AnsiColor::Magenta => Color::Magenta,
        AnsiColor::Cyan => Color::Cyan,
        AnsiColor::White => Color::Gray,
        AnsiColor::BrightBlack => Color::DarkGray,
        AnsiColor::BrightRed => Color::LightRed,
        AnsiColor::BrightGreen => Color::LightGreen,
        AnsiColor::BrightYellow => Color::LightYellow,
        AnsiColor::BrightBlue => Color::LightBlue,
        AnsiColor::BrightMagenta => Color::LightMagenta,
        AnsiColor::BrightCyan => Color::LightCyan,
        AnsiColor::BrightWhite => Color::White,
    }
}

/// The columns that a range of bytes takes.
pub(crate) fn columns(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = text[..range.start].width();
    start..start + text[range.clone()].width()
}
