//! Figures in a row: what it is, how much, and how it changed.

use maud::Markup;
use maud::html;

use crate::pages::figures::Link;
use crate::pages::figures::change;

/// Which way of changing is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    /// A cost: less of it is good.
    Less,
    /// A share that saves something: more of it is good.
    More,
    /// A count, which is neither.
    Neither,
}

/// A figure and how it changed.
#[derive(Debug)]
pub(crate) struct Card {
    label: &'static str,
    value: String,
    note: String,
    change: Option<(String, &'static str)>,
    address: Option<Link>,
}

impl Card {
    pub(crate) fn new(
        label: &'static str,
        value: impl Into<String>,
        note: impl Into<String>,
    ) -> Card {
        Card { label, value: value.into(), note: note.into(), change: None, address: None }
    }

    /// With how it changed, if there is something to compare with.
    pub(crate) fn against(mut self, sense: Sense, values: Option<(u128, u128)>) -> Card {
        self.change = values.map(|(now, before)| {
            let class = match (sense, now.cmp(&before)) {
                (_, std::cmp::Ordering::Equal) | (Sense::Neither, _) => "",
                (Sense::Less, std::cmp::Ordering::Less)
                | (Sense::More, std::cmp::Ordering::Greater) => "good",
                (Sense::Less, std::cmp::Ordering::Greater)
                | (Sense::More, std::cmp::Ordering::Less) => "warn",
            };
            (change(now, before), class)
        });
        self
    }

    /// With where it leads.
    pub(crate) fn leading_to(mut self, address: Option<Link>) -> Card {
        self.address = address;
        self
    }
}

impl maud::Render for Card {
    fn render(&self) -> Markup {
        html! {
            div.card {
                dt { (self.label) }
                dd.value {
                    @match &self.address {
                        Some(address) => a href=(address) { (self.value) },
                        None => (self.value),
                    }
                }
                dd.note {
                    @if let Some((text, class)) = &self.change {
                        span class=(format!("change {class}")) { (text) }
                        @if !self.note.is_empty() { " · " }
                    }
                    @match &self.address {
                        Some(address) => a href=(address) { (self.note) },
                        None => (self.note),
                    }
                }
            }
        }
    }
}

/// A card without changes.
pub(crate) fn card(label: &'static str, value: &str, note: &str) -> Card {
    Card::new(label, value, note)
}

#[cfg(test)]
mod tests {
    use maud::Render as _;

    use super::*;

    #[test]
    fn colours_say_whether_a_change_is_good_and_nothing_of_counts() {
        let drawn = |sense, now, before| {
            Card::new("x", "1", "").against(sense, Some((now, before))).render().into_string()
        };
        assert!(drawn(Sense::Less, 2, 1).contains("change warn"));
        assert!(drawn(Sense::Less, 1, 2).contains("change good"));
        assert!(drawn(Sense::More, 2, 1).contains("change good"));
        assert!(drawn(Sense::More, 1, 2).contains("change warn"));
        assert!(!drawn(Sense::Neither, 2, 1).contains("warn"));
        assert!(!drawn(Sense::Less, 2, 2).contains("good"));
    }
}
