//! Reads a price file, which is TOML. Numbers are taken as they are spelled: a price of `0.3`
//! is not the nearest binary fraction.

use std::fmt;

use jiff::civil::Date;
use toml::Spanned;
use toml::de::DeTable;
use toml::de::DeValue;

use super::Money;
use super::PriceRow;
use super::price::Prices;

/// What is wrong with a price file, and where.
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

/// What a price file contains.
pub(super) struct PriceFile {
    /// Where the prices are from.
    pub(super) about: Option<String>,
    pub(super) rows: Vec<PriceRow>,
}

const PRICES: [&str; 5] = ["input", "output", "cache_read", "cache_write_5m", "cache_write_1h"];
const OTHERS: [&str; 7] = ["model", "from", "above", "web_search", "batch", "fast", "us"];

/// Reads the text of a file; `name` is what to call it.
pub(super) fn parse(text: &str, name: &str) -> Result<PriceFile, PriceFileError> {
    let source = Source { text, name };
    let table = DeTable::parse(text).map_err(|error| {
        source.fail(error.span().map_or(0, |span| span.start), error.message().to_owned())
    })?;
    let mut file = PriceFile { about: None, rows: Vec::new() };
    for (key, value) in table.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("source", DeValue::String(about)) => file.about = Some(about.to_string()),
            ("price", DeValue::Array(rows)) => {
                for row in rows.iter() {
                    file.rows.push(source.row(row)?);
                }
            }
            (key_text, _) => {
                let message = format!("`{key_text}` is not part of a `[[price]]`");
                return Err(source.fail(key.span().start, message));
            }
        }
    }
    Ok(file)
}

/// The text of a price file, to say where something is wrong in it.
#[derive(Clone, Copy)]
struct Source<'s> {
    text: &'s str,
    name: &'s str,
}

impl Source<'_> {
    fn fail(self, at: usize, message: String) -> PriceFileError {
        PriceFileError { line: self.line(at), message }
    }

    fn line(self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    fn row(self, value: &Spanned<DeValue<'_>>) -> Result<PriceRow, PriceFileError> {
        let fail = |message: String| self.fail(value.span().start, message);
        let DeValue::Table(table) = value.get_ref() else {
            return Err(fail("a price is a table".into()));
        };
        let fields = Fields { source: self, table };
        fields.refuse_unknown()?;
        let model =
            fields.text("model")?.ok_or_else(|| fail("this price names no model".into()))?;
        let prices = |before: &str| -> Result<Prices, PriceFileError> {
            let price =
                |place: usize| fields.price(&format!("{before}{}", PRICES[place]), 1_000_000);
            let needed = |place: usize| {
                let missing = || fail(format!("`{model}` has no `{before}{}`", PRICES[place]));
                price(place)?.ok_or_else(missing)
            };
            Ok(Prices {
                input: needed(0)?,
                output: needed(1)?,
                cache_read: needed(2)?,
                write_5m: needed(3)?,
                write_1h: price(4)?,
            })
        };
        let has_long =
            PRICES.iter().any(|name| table.contains_key(format!("above_{name}").as_str()));
        let above = match fields.tokens("above")? {
            Some(tokens) => Some((tokens, prices("above_")?)),
            None if has_long => {
                return Err(fail("prices of a long context without `above`".into()));
            }
            None => None,
        };
        Ok(PriceRow {
            prices: prices("")?,
            from: fields.date("from")?,
            above,
            web_search: fields.price("web_search", 1000)?,
            batch: fields.thousandths("batch")?,
            fast: fields.thousandths("fast")?,
            us_only: fields.thousandths("us")?,
            source: self.name.to_owned(),
            line: self.line(value.span().start),
            model,
        })
    }
}

/// The fields of one `[[price]]`.
struct Fields<'f, 's> {
    source: Source<'s>,
    table: &'f DeTable<'f>,
}

impl Fields<'_, '_> {
    fn refuse_unknown(&self) -> Result<(), PriceFileError> {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            let price = name.strip_prefix("above_").unwrap_or(name);
            if !PRICES.contains(&price) && !OTHERS.contains(&name) {
                let message = format!("no price is called `{name}`");
                return Err(self.source.fail(key.span().start, message));
            }
        }
        Ok(())
    }

    /// A field, if it is there and `read` can make something of it. A value is given as what
    /// was written, quotes aside.
    fn field<T>(
        &self,
        name: &str,
        what: &str,
        read: impl FnOnce(&DeValue<'_>, &str) -> Option<T>,
    ) -> Result<Option<T>, PriceFileError> {
        let Some(value) = self.table.get(name) else { return Ok(None) };
        let written = match value.get_ref() {
            DeValue::String(text) => text,
            _ => &self.source.text[value.span()],
        };
        let fail =
            || self.source.fail(value.span().start, format!("`{written}` is not a valid {what}"));
        read(value.get_ref(), written).map(Some).ok_or_else(fail)
    }

    fn text(&self, name: &str) -> Result<Option<String>, PriceFileError> {
        self.field(name, "text in quotes", |value, _| value.as_str().map(str::to_owned))
    }

    fn date(&self, name: &str) -> Result<Option<Date>, PriceFileError> {
        self.field(name, "date", |_, written| written.parse().ok())
    }

    fn tokens(&self, name: &str) -> Result<Option<u64>, PriceFileError> {
        self.field(name, "number", |value, _| value.as_integer()?.as_str().parse().ok())
    }

    /// The price of one, from that of `many`, in dollars.
    fn price(&self, name: &str, many: u128) -> Result<Option<Money>, PriceFileError> {
        let read = |value: &DeValue<'_>, _: &str| {
            let pico = Money::parse(number(value)?)?.pico();
            pico.is_multiple_of(many).then(|| Money::from_pico(pico / many))
        };
        self.field(name, "price in dollars, or has too many digits", read)
    }

    fn thousandths(&self, name: &str) -> Result<Option<u64>, PriceFileError> {
        let thousandth = Money::PER_DOLLAR / 1000;
        let read = |value: &DeValue<'_>, _: &str| {
            let pico = Money::parse(number(value)?)?.pico();
            let number = u64::try_from(pico / thousandth).ok()?;
            (pico.is_multiple_of(thousandth) && number <= 1_000_000).then_some(number)
        };
        self.field(name, "factor, or has too many digits", read)
    }
}

/// A number as it is spelled.
fn number<'v>(value: &'v DeValue<'_>) -> Option<&'v str> {
    match value {
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
        DeValue::Float(number) => Some(number.as_str()),
        _ => None,
    }
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
        assert_eq!(row.prices.cache_read, Money::from_pico(300_000));
        assert_eq!(row.prices.write_1h, None);
        assert_eq!(row.from, Some(jiff::civil::date(2026, 1, 2)));
        assert_eq!(row.web_search, Some(Money::from_pico(10_000_000_000)));
        assert_eq!((row.batch, row.fast, row.us_only), (Some(500), Some(2000), Some(1100)));
    }

    #[test]
    fn all_spellings_of_toml_are_taken() {
        let row = ROW.replace("\"m#1\"", "'m#1'");
        let file = parse(&format!("{row}from = 2026-01-02\nabove = 200_000\n{}", above()), "test");
        let row = &file.unwrap().rows[0];
        assert_eq!((row.model.as_str(), row.from), ("m#1", Some(jiff::civil::date(2026, 1, 2))));
        assert_eq!(row.above.as_ref().map(|above| above.0), Some(200_000));
        let inline = "price = [{ model = \"m\", input = 1, output = 1, cache_read = 1, \
            cache_write_5m = 1_000.5 }]";
        let row = &parse(inline, "test").unwrap().rows[0];
        assert_eq!(row.prices.write_5m, Money::from_pico(1_000_500_000));
    }

    fn above() -> String {
        ["input", "output", "cache_read", "cache_write_5m"]
            .map(|name| format!("above_{name} = 1\n"))
            .concat()
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let dollars = "is not a valid price in dollars, or has too many digits";
        assert_eq!(error(ROW), "");
        for (text, expected) in [
            ("input = 3\n".to_owned(), "line 1: `input` is not part of a `[[price]]`".to_owned()),
            ("price = 3\n".into(), "line 1: `price` is not part of a `[[price]]`".into()),
            ("price = [3]\n".into(), "line 1: a price is a table".into()),
            (format!("{ROW}inptu = 3\n"), "line 7: no price is called `inptu`".into()),
            (format!("{ROW}input = 3\n"), "line 7: duplicate key".into()),
            (format!("{ROW}above_input = -3\nabove = 1\n"), format!("line 7: `-3` {dollars}")),
            (format!("{ROW}web_search = 'x'\n"), format!("line 7: `x` {dollars}")),
            (
                format!("{ROW}us = 1.0001\n"),
                "line 7: `1.0001` is not a valid factor, or has too many digits".into(),
            ),
            (format!("{ROW}from = \"May\"\n"), "line 7: `May` is not a valid date".into()),
            (format!("{ROW}above = 5.5\n"), "line 7: `5.5` is not a valid number".into()),
            (format!("{ROW}above = 5\n"), "line 1: `m#1` has no `above_input`".into()),
            (
                format!("{ROW}{}", above()),
                "line 1: prices of a long context without `above`".into(),
            ),
            (format!("{ROW}what\n"), "line 7: key with no value, expected `=`".into()),
            ("[[price]]\nmodel = 3\n".into(), "line 2: `3` is not a valid text in quotes".into()),
            ("[[price]]\n[[price]]\n".into(), "line 1: this price names no model".into()),
        ] {
            assert_eq!(error(&text), expected, "{text}");
        }
    }
}
