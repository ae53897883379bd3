//! Reads a file of prices: the few things of TOML that it takes.

use std::fmt;

use jiff::civil::Date;

use super::Money;
use super::PriceRow;
use super::price::Prices;

/// What is wrong with a file of prices, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceFileError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for PriceFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for PriceFileError {}

/// What a file of prices holds.
pub(super) struct PriceFile {
    /// Where the prices are from.
    pub(super) about: Option<String>,
    pub(super) rows: Vec<PriceRow>,
}

/// A `[[price]]` that is being read.
#[derive(Default)]
struct Draft {
    line: usize,
    model: Option<String>,
    from: Option<Date>,
    prices: [Option<Money>; 5],
    above: Option<u64>,
    above_prices: [Option<Money>; 5],
    web_search: Option<Money>,
    batch: Option<u64>,
    fast: Option<u64>,
    us_only: Option<u64>,
}

const PRICES: [&str; 5] = ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"];

/// Reads the text of a file; `name` is what to call it.
pub(super) fn parse(text: &str, name: &str) -> Result<PriceFile, PriceFileError> {
    let mut file = PriceFile { about: None, rows: Vec::new() };
    let mut draft: Option<Draft> = None;
    let mut last = 0;
    for (at, line) in text.lines().enumerate() {
        let fail = |message: String| PriceFileError { line: at + 1, message };
        last = at + 1;
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if line == "[[price]]" {
            if let Some(done) = draft.replace(Draft { line: at + 1, ..Draft::default() }) {
                file.rows.push(done.finish(name, at)?);
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(fail("expected `[[price]]` or `name = value`".into()));
        };
        let (key, value) = (key.trim(), value.trim());
        match &mut draft {
            Some(draft) => draft.set(key, value).map_err(fail)?,
            None if key == "source" => file.about = Some(text_of(value).map_err(fail)?),
            None => return Err(fail(format!("`{key}` before the first `[[price]]`"))),
        }
    }
    if let Some(done) = draft {
        file.rows.push(done.finish(name, last)?);
    }
    Ok(file)
}

impl Draft {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        if let Some(place) = PRICES.iter().position(|name| *name == key) {
            return set_once(&mut self.prices[place], price_of_million(value)?, key);
        }
        let above = key.strip_prefix("above_");
        if let Some(place) = PRICES.iter().position(|name| Some(*name) == above) {
            return set_once(&mut self.above_prices[place], price_of_million(value)?, key);
        }
        match key {
            "model" => set_once(&mut self.model, text_of(value)?, key),
            "from" => {
                let text = text_of(value)?;
                let date = text.parse().map_err(|_| format!("`{text}` is no date"))?;
                set_once(&mut self.from, date, key)
            }
            "above" => {
                let tokens = value.parse().map_err(|_| format!("`{value}` is no number"))?;
                set_once(&mut self.above, tokens, key)
            }
            "web_search" => {
                let thousand = dollars(value)?;
                set_once(&mut self.web_search, divided(thousand, 1000, value)?, key)
            }
            "batch" => set_once(&mut self.batch, thousandths(value)?, key),
            "fast" => set_once(&mut self.fast, thousandths(value)?, key),
            "us" => set_once(&mut self.us_only, thousandths(value)?, key),
            _ => Err(format!("no price is called `{key}`")),
        }
    }

    fn finish(self, source: &str, last: usize) -> Result<PriceRow, PriceFileError> {
        let fail = |message: &str| PriceFileError { line: self.line, message: message.into() };
        let model = self.model.clone().ok_or_else(|| fail("this price names no model"))?;
        let all = |prices: [Option<Money>; 5], before: &str| {
            let needed = |place: usize| {
                let name = PRICES[place];
                prices[place].ok_or_else(|| {
                    fail(&format!("`{model}` has no `{before}{name}` up to line {last}"))
                })
            };
            Ok(Prices {
                input: needed(0)?,
                output: needed(1)?,
                cache_read: needed(2)?,
                write_5m: needed(3)?,
                write_1h: prices[4],
            })
        };
        let above = match (self.above, self.above_prices.iter().any(Option::is_some)) {
            (None, false) => None,
            (None, true) => return Err(fail("prices of a long context without `above`")),
            (Some(tokens), _) => Some((tokens, all(self.above_prices, "above_")?)),
        };
        Ok(PriceRow {
            prices: all(self.prices, "")?,
            model,
            from: self.from,
            above,
            web_search: self.web_search,
            batch: self.batch,
            fast: self.fast,
            us_only: self.us_only,
            source: source.to_owned(),
            line: self.line,
        })
    }
}

fn set_once<T>(slot: &mut Option<T>, value: T, key: &str) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("`{key}` is there twice")),
    }
}

/// The line up to a `#` that stands in no text.
fn without_comment(line: &str) -> &str {
    let mut is_text = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => is_text = !is_text,
            '#' if !is_text => return &line[..at],
            _ => {}
        }
    }
    line
}

fn text_of(value: &str) -> Result<String, String> {
    let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let plain = inside.filter(|text| !text.contains(['"', '\\']));
    plain.map(str::to_owned).ok_or_else(|| format!("`{value}` is no text in quotes"))
}

fn dollars(value: &str) -> Result<Money, String> {
    Money::parse(value).ok_or_else(|| format!("`{value}` is no price in dollars"))
}

fn divided(money: Money, by: u128, value: &str) -> Result<Money, String> {
    if !money.pico().is_multiple_of(by) {
        return Err(format!("`{value}` has too many digits"));
    }
    Ok(Money::from_pico(money.pico() / by))
}

/// The price of one, from that of a million.
fn price_of_million(value: &str) -> Result<Money, String> {
    divided(dollars(value)?, 1_000_000, value)
}

fn thousandths(value: &str) -> Result<u64, String> {
    let pico = dollars(value)?.pico();
    let number = divided(Money::from_pico(pico), Money::PER_DOLLAR / 1000, value)?.pico();
    u64::try_from(number)
        .ok()
        .filter(|number| *number <= 1_000_000)
        .ok_or_else(|| format!("`{value}` is no factor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "[[price]] # a comment\nmodel = \"m#1\"\ninput = 3\noutput = 15.5\ncache_read = 0.3\ncache_write_5m = 3.75\n";

    fn error(text: &str) -> String {
        parse(text, "test").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn prices_of_a_million_become_prices_of_one() {
        let more = "from = \"2026-01-02\"\nweb_search = 10\nbatch = 0.5\nfast = 2\nus = 1.1\n";
        let file = parse(&format!("source = \"list\"\n\n{ROW}{more}"), "test").unwrap();
        assert_eq!(file.about.as_deref(), Some("list"));
        let row = &file.rows[0];
        assert_eq!((row.model.as_str(), row.line), ("m#1", 3));
        assert_eq!(row.prices.output, Money::from_pico(15_500_000));
        assert_eq!(row.prices.write_1h, None);
        assert_eq!(row.web_search, Some(Money::from_pico(10_000_000_000)));
        assert_eq!((row.batch, row.fast, row.us_only), (Some(500), Some(2000), Some(1100)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert_eq!(error(ROW), "");
        assert_eq!(error("input = 3\n"), "line 1: `input` before the first `[[price]]`");
        assert_eq!(error(&format!("{ROW}inptu = 3\n")), "line 7: no price is called `inptu`");
        assert_eq!(error(&format!("{ROW}input = 3\n")), "line 7: `input` is there twice");
        assert_eq!(error(&format!("{ROW}batch = half\n")), "line 7: `half` is no price in dollars");
        assert_eq!(
            error(&format!("{ROW}above_input = -3\n")),
            "line 7: `-3` is no price in dollars"
        );
        assert_eq!(error(&format!("{ROW}us = 1.0001\n")), "line 7: `1.0001` has too many digits");
        assert_eq!(error(&format!("{ROW}from = \"May\"\n")), "line 7: `May` is no date");
        assert_eq!(
            error(&format!("{ROW}what\n")),
            "line 7: expected `[[price]]` or `name = value`"
        );
        assert_eq!(
            error(&format!("{ROW}above = 5\n")),
            "line 1: `m#1` has no `above_input` up to line 7"
        );
        assert_eq!(error("[[price]]\nmodel = m\n"), "line 2: `m` is no text in quotes");
        assert_eq!(error("[[price]]\n[[price]]\n"), "line 1: this price names no model");
    }
}
