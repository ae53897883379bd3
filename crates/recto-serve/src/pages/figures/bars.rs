//! Bars, as SVG with sizes in percent.

use maud::Markup;
use maud::html;

/// How many colours there are; the last one is that of all others.
pub(crate) const COLOURS: usize = 8;

/// How wide a column is at most, in percent of the chart.
const WIDEST: f64 = 6.0;

/// The class of a part's colour.
pub(crate) fn colour(at: usize) -> String {
    format!("series-{}", at.min(COLOURS - 1) + 1)
}

/// A bar that stands, in parts from the bottom.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// What a reader sees when pointing at it.
    pub(crate) title: String,
    /// What stands below it, if there is room.
    pub(crate) label: String,
    /// Where it leads.
    pub(crate) address: Option<String>,
    /// Each with the number of its colour.
    pub(crate) parts: Vec<(usize, u128)>,
}

/// A share of the height or width, with two digits.
fn share(value: u128, of: u128) -> f64 {
    if of == 0 { 0.0 } else { (value as f64 * 10_000.0 / of as f64).round() / 100.0 }
}

/// Columns side by side, with lines for the scale. `scale` names a value.
///
/// Every label stands in the drawing, below the middle of its own column: beside the
/// drawing, labels of a few columns among many cannot be put where they belong.
pub(crate) fn columns(
    name: &str,
    columns: &[Column],
    most_labels: usize,
    scale: &dyn Fn(u128) -> String,
) -> Markup {
    let sum = |column: &Column| column.parts.iter().map(|(_, value)| value).sum::<u128>();
    let ticks = ticks(columns.iter().map(sum).max().unwrap_or(0));
    let top = ticks.last().copied().unwrap_or(1);
    let width = 100.0 / columns.len().max(1) as f64;
    let every = columns.len().div_ceil(most_labels.max(1)).max(1);
    html! {
        div.chart {
            div.scale aria-hidden="true" {
                @for tick in ticks.iter().rev() { span { (if *tick == 0 { "0".to_owned() } else { scale(*tick) }) } }
            }
            svg.plot role="group" aria-label=(name) {
                @for tick in &ticks {
                    @let y = percent(100.0 - share(*tick, top));
                    line.grid x1="0" x2="100%" y1=(y) y2=(y) {}
                }
                @for (at, column) in columns.iter().enumerate() {
                    @let x = at as f64 * width;
                    @if let Some(address) = &column.address {
                        a href=(address) tabindex="-1" aria-label=(column.title) { (one_column(column, x, width, top)) }
                    } @else {
                        (one_column(column, x, width, top))
                    }
                }
                @for (at, column) in columns.iter().enumerate().step_by(every) {
                    // Where there is little room, every second one is seen.
                    text.below .minor[at / every % 2 == 1] x=(percent((at as f64 + 0.5) * width)) y="100%" dy="1.6em"
                        text-anchor="middle" aria-hidden="true" { (column.label) }
                }
            }
        }
    }
}

fn one_column(column: &Column, x: f64, width: f64, top: u128) -> Markup {
    let gap = ((width - WIDEST) / 2.0).max(width * 0.14);
    let mut drawn = Vec::new();
    let mut height = 0.0;
    for (colour_at, value) in &column.parts {
        let part = share(*value, top);
        if part > 0.0 {
            height += part;
            drawn.push((colour(*colour_at), 100.0 - height, part));
        }
    }
    html! {
        g.column {
            title { (column.title) }
            rect.reach x=(percent(x)) y="0" width=(percent(width)) height="100%" {}
            @for (class, y, part) in drawn {
                rect class=(class) x=(percent(x + gap)) y=(percent(y))
                    width=(percent(width - 2.0 * gap)) height=(percent(part)) {}
            }
        }
    }
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

/// Values for the lines of a scale, from 0 to the first one that nothing is above:
/// round steps, and few enough of them that little room is empty.
fn ticks(largest: u128) -> Vec<u128> {
    let least = largest.div_ceil(5).max(1);
    let mut unit = 1u128;
    while unit.saturating_mul(10) <= least {
        unit = unit.saturating_mul(10);
    }
    let quarters = [4u128, 8, 10, 20, 40];
    let steps = quarters.into_iter().map(|quarter| quarter.saturating_mul(unit));
    // A quarter of a unit is whole only where the unit is not 1.
    let mut steps = steps.filter(|step| step % 4 == 0).map(|step| step / 4);
    let step = steps.find(|step| *step >= least).unwrap_or(least);
    let count = largest.div_ceil(step).max(1);
    (0..=count).map(|at| step.saturating_mul(at)).collect()
}

/// A bar that lies, for a cell of a table.
pub(crate) fn cell_bar(value: u128, largest: u128, colour_at: usize) -> Markup {
    // What is there is seen, however small it is.
    let length = if value > 0 { share(value, largest).max(0.5) } else { 0.0 };
    html! {
        svg.cell-bar aria-hidden="true" {
            rect.track width="100%" height="100%" rx="2" {}
            rect class=(colour(colour_at)) width=(percent(length)) height="100%" rx="2" {}
        }
    }
}

/// One bar in parts from the left, each with a number of its colour.
pub(crate) fn shares(name: &str, parts: &[(usize, u128)]) -> Markup {
    let all: u128 = parts.iter().map(|(_, value)| value).sum();
    let mut at = 0.0;
    let mut drawn = Vec::new();
    for (colour_at, value) in parts {
        let width = share(*value, all);
        drawn.push((colour(*colour_at), at, width));
        at += width;
    }
    html! {
        svg.shares role="img" aria-label=(name) {
            @for (class, x, width) in drawn {
                rect class=(class) x=(percent(x)) y="0" width=(percent(width)) height="100%" {}
            }
        }
    }
}

/// What colours mean.
pub(crate) fn legend(names: &[String]) -> Markup {
    html! {
        ul.legend {
            @for (at, name) in names.iter().enumerate() {
                li { span class=(format!("swatch {}", colour(at))) aria-hidden="true" {} bdi { (name) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_on_each_other_and_are_as_high_as_their_values() {
        let column = Column {
            title: "<b>day</b>".into(),
            label: "1".into(),
            address: Some("/x?a=1&b=\"2\"".into()),
            parts: vec![(0, 30), (1, 10), (2, 0)],
        };
        let drawn = columns("cost", &[column], 4, &|value| value.to_string()).into_string();
        assert!(
            drawn.contains(
                r#"class="series-1" x="47.00%" y="25.00%" width="6.00%" height="75.00%""#
            ),
            "{drawn}"
        );
        assert!(
            drawn
                .contains(r#"class="series-2" x="47.00%" y="0.00%" width="6.00%" height="25.00%""#),
            "{drawn}"
        );
        assert!(!drawn.contains("series-3") && !drawn.contains("<b>"), "{drawn}");
        assert!(
            drawn.contains("&lt;b&gt;day") && drawn.contains("&amp;b=&quot;2&quot;"),
            "{drawn}"
        );
        assert!(!drawn.contains("style="), "{drawn}");
    }

    #[test]
    fn the_scale_has_round_steps_and_wastes_little_room() {
        assert_eq!(ticks(0), [0, 1]);
        assert_eq!(ticks(3), [0, 1, 2, 3]);
        assert_eq!(ticks(17), [0, 5, 10, 15, 20]);
        assert_eq!(ticks(101), [0, 25, 50, 75, 100, 125]);
        assert_eq!(ticks(4_500), [0, 1000, 2000, 3000, 4000, 5000]);
        for largest in (1..5_000).chain([10u128.pow(15) + 7, u128::from(u64::MAX)]) {
            let ticks = ticks(largest);
            let top = *ticks.last().unwrap();
            assert!((2..=6).contains(&ticks.len()), "{largest}: {ticks:?}");
            assert!(top >= largest && top - largest < ticks[1], "{largest}: {ticks:?}");
        }
    }

    #[test]
    fn a_label_stands_below_the_middle_of_its_column() {
        let column = |label: String| Column {
            title: String::new(),
            label,
            address: None,
            parts: vec![(0, 1)],
        };
        let all: Vec<Column> = (0..10).map(|at| column(format!("day {at}"))).collect();
        let drawn = columns("cost", &all, 4, &|value| value.to_string()).into_string();
        for (at, x) in [(0, "5.00%"), (3, "35.00%"), (6, "65.00%"), (9, "95.00%")] {
            let label = drawn.split("<text").find(|text| text.contains(&format!("day {at}<")));
            assert!(
                label.is_some_and(|text| text.contains(&format!("x=\"{x}\""))),
                "{at}: {drawn}"
            );
        }
        assert_eq!(drawn.matches("<text").count(), 4);
    }
}
