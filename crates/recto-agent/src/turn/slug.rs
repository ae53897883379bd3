//! Three words that name a session: two adjectives and a surname.

const ADJECTIVES: [&str; 48] = [
    "amber", "ample", "brave", "bright", "brisk", "calm", "candid", "civil", "clear", "crisp",
    "daring", "deft", "eager", "early", "even", "fair", "fleet", "fond", "frank", "fresh",
    "gentle", "glad", "grand", "hardy", "honest", "humble", "ideal", "jolly", "keen", "kind",
    "light", "lively", "loyal", "lucid", "mellow", "merry", "modest", "neat", "noble", "patient",
    "plain", "quick", "quiet", "ready", "steady", "sunny", "tidy", "vivid",
];

const SURNAMES: [&str; 40] = [
    "abel",
    "bohr",
    "boole",
    "cantor",
    "carson",
    "cerf",
    "church",
    "curie",
    "darwin",
    "dirac",
    "euler",
    "fermi",
    "franklin",
    "galois",
    "gauss",
    "goodall",
    "hamilton",
    "hamming",
    "hilbert",
    "hooke",
    "hopper",
    "hypatia",
    "kepler",
    "kovalevskaya",
    "leibniz",
    "lovelace",
    "maxwell",
    "meitner",
    "mendel",
    "newton",
    "noether",
    "pascal",
    "payne",
    "planck",
    "ramanujan",
    "shannon",
    "somerville",
    "turing",
    "volta",
    "wu",
];

/// A new name, by chance.
pub(super) fn slug() -> String {
    let [a, b, c, ..] = *uuid::Uuid::new_v4().as_bytes();
    let word = |list: &[&'static str], byte: u8| {
        list.get(usize::from(byte) % list.len().max(1)).copied().unwrap_or_default()
    };
    let (first, second) = (word(&ADJECTIVES, a), word(&ADJECTIVES, b));
    format!("{first}-{second}-{}", word(&SURNAMES, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_adjectives_and_a_surname() {
        let slug = slug();
        let words: Vec<&str> = slug.split('-').collect();
        assert!(matches!(words[..], [a, b, c]
            if ADJECTIVES.contains(&a) && ADJECTIVES.contains(&b) && SURNAMES.contains(&c)));
    }
}
