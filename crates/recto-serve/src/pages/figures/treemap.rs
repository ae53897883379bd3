//! Areas as large as their values: rows and columns in turn, as square as they get.

use maud::Markup;
use maud::html;

use super::bars::colour;

/// A thing with an area.
#[derive(Debug, Clone)]
pub(crate) struct Tile {
    pub(crate) label: String,
    pub(crate) value: u128,
    /// What is written below the label.
    pub(crate) text: String,
    pub(crate) address: String,
}

/// A place in percent of the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// How much wider than high the drawing is, about.
const ASPECT: f64 = 3.2;

/// What is a smaller part of all than this has less room than its border; a table
/// beside the drawing has it.
const SMALLEST: u128 = 400;

/// Draws tiles; the largest come first.
pub(crate) fn treemap(name: &str, tiles: &[Tile]) -> Markup {
    let all: u128 = tiles.iter().map(|tile| tile.value).sum();
    let is_seen = |tile: &&Tile| tile.value > all / SMALLEST;
    let mut tiles: Vec<&Tile> = tiles.iter().filter(is_seen).collect();
    tiles.sort_by_key(|tile| std::cmp::Reverse(tile.value));
    let areas = areas(&tiles.iter().map(|tile| tile.value as f64).collect::<Vec<f64>>());
    html! {
        svg.treemap role="group" aria-label=(name) {
            @for (at, (tile, area)) in tiles.iter().zip(&areas).enumerate() {
                a href=(tile.address) tabindex="-1" {
                    title { (tile.label) ": " (tile.text) }
                    svg x=(percent(area.x)) y=(percent(area.y)) width=(percent(area.width)) height=(percent(area.height)) {
                        rect class=(format!("tile {}", colour(at))) width="100%" height="100%" {}
                        @for (class, width) in WIDTHS { (words(tile, area, class, width)) }
                    }
                }
            }
        }
    }
}

/// How wide the drawing is at least where a style sheet shows the texts of a class, in
/// pixels: text of SVG does not know how much room it has, so each is cut for its width.
const WIDTHS: [(&str, f64); 3] =
    [("tile-small", 300.0), ("tile-middle", 620.0), ("tile-large", 980.0)];

/// How high the drawing is, and how wide a letter is at most on average, in pixels.
const HEIGHT: f64 = 224.0;
const LETTER: f64 = 7.2;

/// The texts of a tile that have room in a drawing of a width.
fn words(tile: &Tile, area: &Area, class: &str, width: f64) -> Markup {
    let letters = ((area.width / 100.0 * width - 18.0) / LETTER).max(0.0) as usize;
    let height = area.height / 100.0 * HEIGHT;
    let label = cut(&tile.label, letters);
    // A figure that is cut is another figure.
    let has_text = height > 46.0 && tile.text.chars().count() <= letters;
    html! {
        @if height > 28.0 && letters >= 4 {
            g class=(class) {
                text.tile-label x="10" y="20" { (label) }
                @if has_text { text x="10" y="37" { (tile.text) } }
            }
        }
    }
}

/// The beginning of a text, if it has more letters than this.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

/// The places of values, which come from large to small.
fn areas(values: &[f64]) -> Vec<Area> {
    let all: f64 = values.iter().sum();
    let mut places = Vec::with_capacity(values.len());
    let mut left = Area { x: 0.0, y: 0.0, width: 100.0 * ASPECT, height: 100.0 };
    let mut rest = all;
    let mut from = 0;
    while from < values.len() && rest > 0.0 {
        let scale = left.width * left.height / rest;
        let side = left.width.min(left.height);
        // As many as make the worst of them more square, not less.
        let mut to = from + 1;
        while to < values.len()
            && worst(&values[from..=to], side, scale) <= worst(&values[from..to], side, scale)
        {
            to += 1;
        }
        let sum: f64 = values[from..to].iter().sum();
        let depth = sum * scale / side;
        let mut at = 0.0;
        for value in &values[from..to] {
            let length = value * scale / depth;
            places.push(if left.width >= left.height {
                Area { x: left.x, y: left.y + at, width: depth, height: length }
            } else {
                Area { x: left.x + at, y: left.y, width: length, height: depth }
            });
            at += length;
        }
        if left.width >= left.height {
            left = Area { x: left.x + depth, width: left.width - depth, ..left };
        } else {
            left = Area { y: left.y + depth, height: left.height - depth, ..left };
        }
        rest -= sum;
        from = to;
    }
    for place in &mut places {
        place.x /= ASPECT;
        place.width /= ASPECT;
    }
    places
}

/// How far from square the worst of a row is.
fn worst(row: &[f64], side: f64, scale: f64) -> f64 {
    let sum: f64 = row.iter().sum::<f64>() * scale;
    let ratio = |value: &f64| {
        let area = value * scale;
        let (a, b) = (side * side * area / (sum * sum), sum * sum / (side * side * area));
        a.max(b)
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_as_large_as_values_and_fill_the_whole() {
        for values in [vec![5.0], vec![6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], vec![1000.0, 1.0, 1.0]] {
            let all: f64 = values.iter().sum();
            let areas = areas(&values);
            assert_eq!(areas.len(), values.len());
            let mut covered = 0.0;
            for (area, value) in areas.iter().zip(&values) {
                let size = area.width * area.height;
                assert!((size - value / all * 10_000.0).abs() < 0.01, "{area:?}");
                let ends = (area.x + area.width, area.y + area.height);
                assert!(area.x >= -0.001 && ends.0 < 100.001 && ends.1 < 100.001, "{area:?}");
                covered += size;
            }
            assert!((covered - 10_000.0).abs() < 0.1);
        }
        assert!(areas(&[]).is_empty());
    }

    #[test]
    fn a_label_without_room_ends_with_a_mark_and_a_figure_is_never_cut() {
        let tile = Tile {
            label: "a-project-with-a-long-name".into(),
            value: 3,
            text: "$1,234.56 · 12.3 %".into(),
            address: String::new(),
        };
        let area = |width| Area { x: 0.0, y: 0.0, width, height: 100.0 };
        let drawn = |width| words(&tile, &area(width), "x", 300.0).into_string();
        assert!(drawn(100.0).contains("long-name<") && drawn(100.0).contains("12.3 %<"));
        assert!(drawn(40.0).contains("a-project-wit…"), "{}", drawn(40.0));
        assert!(!drawn(40.0).contains('$'), "{}", drawn(40.0));
        assert_eq!(drawn(8.0), "");
    }

    #[test]
    fn names_of_tiles_stay_text() {
        let tile = Tile {
            label: "</text><script>alert(1)</script>".into(),
            value: 3,
            text: "$1".into(),
            address: "/usage?project=%3C".into(),
        };
        let drawn = treemap("x", &[tile]).into_string();
        assert!(!drawn.contains("<script") && drawn.contains("&lt;script"), "{drawn}");
        assert!(!drawn.contains("style="), "{drawn}");
    }
}
