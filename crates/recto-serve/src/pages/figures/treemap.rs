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
        svg.treemap role="img" aria-label=(name) {
            @for (at, (tile, area)) in tiles.iter().zip(&areas).enumerate() {
                a href=(tile.address) tabindex="-1" {
                    title { (tile.label) ": " (tile.text) }
                    // A drawing of its own, so that long texts end at its edge.
                    svg x=(percent(area.x)) y=(percent(area.y)) width=(percent(area.width)) height=(percent(area.height)) {
                        rect class=(format!("tile {}", colour(at))) width="100%" height="100%" {}
                        @if area.width > 7.0 && area.height > 16.0 {
                            text.tile-label x="10" y="20" { (tile.label) }
                            @if area.height > 28.0 { text.tile-text x="10" y="37" { (tile.text) } }
                        }
                    }
                }
            }
        }
    }
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
