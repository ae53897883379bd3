//! Screens of a terminal as SVG: one, or several that follow each other.

use std::fmt::Write as _;

use super::screen::Picture;
use super::screen::Style;

/// The size of a character, in pixels.
const WIDE: f32 = 8.4;
const HIGH: f32 = 19.0;
const MARGIN: f32 = 16.0;

const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d6d9e0";
const COLOURS: [&str; 16] = [
    "#16181d", "#f07178", "#a5d56b", "#e6c35c", "#6cb0f5", "#d08fe8", "#5ccfd6", "#d6d9e0",
    "#5d6470", "#ff8b92", "#b8e67e", "#f5d76e", "#8ac4ff", "#e0a6f5", "#7ce3ea", "#ffffff",
];

/// A screen, and for how many seconds it is seen.
pub(super) type Frame = (Picture, f32);

/// The screens as one picture, which begins again at its end.
pub(super) fn svg(title: &str, frames: &[Frame]) -> String {
    let columns = frames.iter().flat_map(|(picture, _)| picture).map(Vec::len).max().unwrap_or(0);
    let rows = frames.iter().map(|(picture, _)| picture.len()).max().unwrap_or(0);
    let (width, height) = (columns as f32 * WIDE + 2.0 * MARGIN, rows as f32 * HIGH + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">\n\
         <style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",\
         monospace;fill:{FOREGROUND};white-space:pre}}.b{{font-weight:700}}.d{{opacity:.6}}\
         .u{{text-decoration:underline}}",
        escaped(title)
    );
    out.push_str(&keyframes(frames));
    let _ = write!(
        out,
        "</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for (number, (picture, _)) in frames.iter().enumerate() {
        let _ = writeln!(out, "<g class=\"f{number}\">");
        for (row, line) in picture.iter().enumerate() {
            draw(&mut out, row, line);
        }
        out.push_str("</g>\n");
    }
    out + "</svg>\n"
}

/// When each screen is seen. Where there is only one, it always is.
fn keyframes(frames: &[Frame]) -> String {
    let all: f32 = frames.iter().map(|(_, seconds)| seconds).sum();
    let (mut out, mut from) = (String::new(), 0.0);
    if frames.len() < 2 {
        return out;
    }
    for (number, (_, seconds)) in frames.iter().enumerate() {
        let (start, end) = (100.0 * from / all, 100.0 * (from + seconds) / all);
        let _ = write!(
            out,
            ".f{number}{{animation:k{number} {all:.1}s step-end infinite;visibility:hidden}}\
             @keyframes k{number}{{0%{{visibility:{}}}{start:.2}%{{visibility:visible}}\
             {end:.2}%{{visibility:hidden}}}}",
            if number == 0 { "visible" } else { "hidden" }
        );
        from += seconds;
    }
    out
}

/// Draws a line: what has one look is one piece.
fn draw(out: &mut String, row: usize, line: &[(char, Style)]) {
    let top = MARGIN + row as f32 * HIGH;
    let mut at = 0;
    let mut text = String::new();
    for piece in line.chunk_by(|(_, a), (_, b)| a == b) {
        let style = piece[0].1;
        let x = MARGIN + at as f32 * WIDE;
        at += piece.len();
        let characters: String = piece.iter().map(|(c, _)| c).collect();
        let colour = style.colour.map(colour);
        if style.is_reversed {
            let width = piece.len() as f32 * WIDE;
            let fill = colour.clone().unwrap_or_else(|| FOREGROUND.to_owned());
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{HIGH}\" \
                 fill=\"{fill}\" shape-rendering=\"crispEdges\"/>"
            );
        }
        if characters.trim().is_empty() {
            continue;
        }
        let fill = match style.is_reversed {
            true => Some(BACKGROUND.to_owned()),
            false => colour,
        };
        let fill = fill.map_or(String::new(), |fill| format!(" fill=\"{fill}\""));
        let looks = [(style.is_bold, "b"), (style.is_dim, "d"), (style.is_underlined, "u")];
        let looks: Vec<&str> = looks.iter().filter(|one| one.0).map(|one| one.1).collect();
        let class = match looks.is_empty() {
            true => String::new(),
            false => format!(" class=\"{}\"", looks.join(" ")),
        };
        // The length keeps columns below each other in any font.
        let length = characters.trim_end().chars().count() as f32 * WIDE;
        let _ = write!(
            text,
            "<tspan x=\"{x:.1}\" textLength=\"{length:.1}\"{fill}{class}>{}</tspan>",
            escaped(characters.trim_end())
        );
    }
    if !text.is_empty() {
        let _ = writeln!(out, "<text y=\"{:.1}\">{text}</text>", top + 14.0);
    }
}

/// A colour of the 256.
fn colour(number: u8) -> String {
    match number {
        0..16 => COLOURS[usize::from(number)].to_owned(),
        16..232 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = number - 16;
            let (red, green, blue) = (level(cube / 36), level(cube / 6 % 6), level(cube % 6));
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        232..=255 => {
            let grey = 8 + 10 * (number - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_drawn_in_pieces_of_one_look() {
        let plain = Style::default();
        let chosen = Style { is_reversed: true, colour: Some(6), ..plain };
        let line = vec![('a', plain), ('<', plain), ('b', chosen), (' ', chosen)];
        let drawn = svg("x & y", &[(vec![line.clone()], 1.0)]);
        assert!(drawn.contains("aria-label=\"x &amp; y\"") && drawn.contains(">a&lt;</tspan>"));
        assert!(drawn.contains("width=\"16.8\" height=\"19\" fill=\"#5ccfd6\""), "{drawn}");
        assert!(!drawn.contains("keyframes"), "one screen does not move");
        let moving = svg("x", &[(vec![line.clone()], 1.0), (vec![line], 3.0)]);
        assert!(moving.contains("k1 4.0s") && moving.contains("25.00%"), "{moving}");
    }
}
