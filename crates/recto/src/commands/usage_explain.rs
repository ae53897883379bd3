//! `recto usage --explain`: from lines to amounts, message by message.

use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::usage::Amount;
use recto_session::usage::Counts;
use recto_session::usage::Record;
use recto_session::usage::Sighting;
use recto_session::usage::Unpriced;
use recto_store::Home;

use super::prices::money;
use super::usage::Figures;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

pub(super) fn explain(
    home: &Home,
    figures: &Figures,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let ledger = &figures.ledger;
    let meant = |record: &&Record| figures.selection.holds(ledger, record);
    let mut records: Vec<&Record> = ledger.records().iter().filter(meant).collect();
    records.sort_by_key(|record| {
        (record.time(), &ledger.files()[record.counted_file as usize].path, record.line)
    });
    let keys: HashSet<u128> = records.iter().map(|record| record.key).collect();
    let mut lines: HashMap<u128, Vec<Sighting>> = HashMap::new();
    for sighting in home.sightings(ledger, &keys) {
        lines.entry(sighting.key).or_default().push(sighting);
    }
    if !output.json {
        output.page();
    }
    for record in &records {
        let lines = lines.get(&record.key).map_or(&[][..], Vec::as_slice);
        let derived = Derivation { figures, record, lines };
        if output.json {
            output.json_line(derived.json())?;
        } else {
            derived.print(output)?;
        }
    }
    if !output.json {
        let total = figures.report(&[]).total;
        let cost = match total.cost() {
            Some(cost) => format!("${cost}"),
            None => format!("${} and what has no price", total.known_cost),
        };
        let messages = plural(total.messages, "message");
        output.line(&output.paint(Look::Strong, &format!("total of {messages}: {cost}")))?;
    }
    Ok(if records.is_empty() { Outcome::Found } else { Outcome::Done })
}

/// A message with all its lines.
struct Derivation<'a> {
    figures: &'a Figures,
    record: &'a Record,
    lines: &'a [Sighting],
}

impl Derivation<'_> {
    fn model(&self) -> Option<&str> {
        self.record.model.map(|model| self.figures.ledger.name(model))
    }

    fn amount(&self) -> Result<Amount<'_>, Unpriced> {
        self.figures.prices.amount(self.model(), self.record)
    }

    fn place(&self, file: u32, line: u64) -> String {
        format!("{}:{line}", self.figures.ledger.files()[file as usize].path)
    }

    fn print(&self, output: &mut Output) -> Result<(), CommandError> {
        let id = self.lines.first().map_or("", |line| line.id.as_str());
        let id = if id.is_empty() { "message without an id" } else { id };
        let zone = &self.figures.zone;
        let time = self.record.time().map_or_else(
            || "at an unknown time".to_owned(),
            |time| zone.to_datetime(time).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        );
        let model = one_line(self.model().unwrap_or("unknown model"));
        let head = format!("{}  {time}  {model}", one_line(id));
        output.line(&output.paint(Look::Strong, &head))?;
        for line in self.lines {
            let place = one_line(&self.place(line.file, line.line));
            let (mark, why) = match self.record.is_counted_at(line) {
                true => ("+", self.record.rule(self.lines.len())),
                false => (" ", self.record.why_not(line)),
            };
            output.line(&format!("  {mark} {place}  {}  ({why})", numbers(&line.counts)))?;
        }
        self.print_amount(output)?;
        output.line("")
    }

    fn print_amount(&self, output: &mut Output) -> Result<(), CommandError> {
        let amount = match self.amount() {
            Ok(amount) => amount,
            Err(Unpriced::Model) => {
                return output.line("  no row of prices names this model: cost unknown");
            }
            Err(Unpriced::Way) => {
                return output.line("  sent in a way that has no price: cost unknown");
            }
        };
        let row = amount.row;
        let from = row.from.map_or_else(String::new, |from| format!(" from {from}"));
        let long = if amount.is_long { ", long context" } else { "" };
        let source = one_line(&row.source);
        output.line(&format!(
            "  price: {}{from}{long} ({source}, line {})",
            one_line(&row.model),
            row.line
        ))?;
        for part in amount.parts.iter().filter(|part| part.number > 0) {
            let sum = part.price.times(part.number);
            let number = count(part.number);
            output.line(&format!("    {}: {number} × ${} = ${sum}", part.name, part.price))?;
        }
        if amount.factor != 1000 {
            let factor = amount.factor;
            output.line(&format!("    tokens × {}.{:03}", factor / 1000, factor % 1000))?;
        }
        output.line(&format!("  = ${}", amount.total))
    }

    fn json(&self) -> ObjectWriter {
        let ledger = &self.figures.ledger;
        let record = self.record;
        let lines = self.lines.iter().fold(ArrayWriter::new(), |list, line| {
            let counted = self.record.is_counted_at(line);
            let object = ObjectWriter::new()
                .string("file", &ledger.files()[line.file as usize].path)
                .number("line", line.line)
                .boolean("counted", counted)
                .string(
                    "rule",
                    if counted {
                        self.record.rule(self.lines.len())
                    } else {
                        self.record.why_not(line)
                    },
                )
                .number("output_tokens", u64::from(line.counts.output));
            list.json(&object.finish())
        });
        let amount = self.amount().ok();
        let price = amount.as_ref().map(|amount| {
            ObjectWriter::new()
                .string("model", &amount.row.model)
                .string_or_null("from", amount.row.from.map(|from| from.to_string()).as_deref())
                .boolean("long_context", amount.is_long)
                .string("source", &amount.row.source)
                .number("line", amount.row.line as u64)
                .finish()
        });
        let text = |id: Option<recto_session::NameId>| id.map(|id| ledger.name(id));
        let counts = &record.counts;
        ObjectWriter::new()
            .string_or_null("id", self.lines.first().map(|line| line.id.as_str()))
            .string_or_null("time", record.time().map(|time| time.to_string()).as_deref())
            .string_or_null("model", self.model())
            .string_or_null("session", text(ledger.session_of(record)))
            .string_or_null("agent", text(ledger.agent_of(record)))
            .number("input_tokens", u64::from(counts.input))
            .number("output_tokens", u64::from(counts.output))
            .number("cache_creation_input_tokens", counts.writes())
            .number("cache_read_input_tokens", u64::from(counts.cache_read))
            .json("cost_usd", money(amount.map(|amount| amount.total)).as_bytes())
            .json("price", &price.unwrap_or_else(|| b"null".to_vec()))
            .json("lines", &lines.finish())
    }
}

fn numbers(counts: &Counts) -> String {
    let count = |number: u32| count(u64::from(number));
    format!(
        "input {}, output {}, cache write {}, cache read {}",
        count(counts.input),
        count(counts.output),
        crate::terminal::text::count(counts.writes()),
        count(counts.cache_read)
    )
}
