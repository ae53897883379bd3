//! `recto usage --compare`: why another report says something else.
//!
//! Owns: reading a JSON report of ccusage, and which other way of counting gives
//! its numbers. A difference that none of them gives is said to be open.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::civil::Weekday;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_session::usage::BillingBlock;
use recto_session::usage::Counts;
use recto_session::usage::Dimension;
use recto_session::usage::Record;
use recto_session::usage::RecordFlags;
use recto_session::usage::Sighting;
use recto_session::usage::billing_blocks;
use recto_store::Home;
use recto_store::project_directory;
use recto_store::read_small;

use super::usage::Figures;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Input, output, cache writes, cache reads.
type Tokens = [u64; 4];

/// What a report says about a model in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Said {
    tokens: Tokens,
    cost: f64,
    has_no_price: bool,
}

type ByPeriod = BTreeMap<(String, String), Said>;

/// What stands for all models, where a report does not tell them apart.
const ALL_MODELS: &str = "all models";

/// A report of ccusage.
struct Foreign {
    dimension: Dimension,
    rows: ByPeriod,
}

/// How messages are put into the rows of a report.
struct Periods {
    dimension: Dimension,
    /// The windows of all messages, where rows are windows.
    blocks: Vec<BillingBlock>,
    /// The day with which weeks begin.
    first_day: Weekday,
    /// Whether subagents whose logs lie beside the main logs are sessions.
    agents_apart: bool,
}

pub(super) fn compare(
    home: &Home,
    figures: &Figures,
    file: &Path,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let foreign = read(file)?;
    let periods = Periods::of(&foreign, figures);
    let ours = ours(figures, &periods);
    let keys = figures.ledger.records().iter().map(|record| record.key).collect();
    let lines = home.sightings(&figures.ledger, &keys);
    let others = Variant::ALL.map(|variant| (variant, variant.count(&lines, figures, &periods)));
    let keys: std::collections::BTreeSet<&(String, String)> =
        ours.keys().chain(foreign.rows.keys()).collect();
    let sum = |rows: &ByPeriod, model: &str| {
        let rows = rows.iter().filter(|((_, name), _)| name == model);
        rows.fold([0; 4], |sum: Tokens, (_, said)| add(sum, said.tokens))
    };
    let mut found = Vec::new();
    for key in &keys {
        let (mine, theirs) = (at(&ours, key), at(&foreign.rows, key));
        if mine.tokens == theirs.tokens && is_same_cost(mine.cost, theirs.cost) {
            continue;
        }
        let why = if mine.tokens == theirs.tokens {
            why_cost(figures, &periods, key, theirs)
        } else if let Some((variant, _)) =
            others.iter().find(|(_, rows)| at(rows, key).tokens == theirs.tokens)
        {
            variant.words()
        } else if sum(&ours, &key.1) == sum(&foreign.rows, &key.1) {
            match foreign.dimension {
                Dimension::Session => {
                    "the same sum over all rows: it counts copies for other sessions"
                }
                _ => "the same sum over all rows: it puts messages into other periods (time zone)",
            }
        } else {
            "open: no known rule gives this number"
        };
        found.push((*key, mine, theirs, why));
    }
    if output.json {
        for (key, mine, theirs, why) in &found {
            output.json_line(json(foreign.dimension, key, mine, theirs, why))?;
        }
    } else {
        print(foreign.dimension, &found, keys.len(), output)?;
    }
    Ok(if found.is_empty() { Outcome::Done } else { Outcome::Found })
}

fn at(rows: &ByPeriod, key: &(String, String)) -> Said {
    rows.get(key).copied().unwrap_or_default()
}

fn add(a: Tokens, b: Tokens) -> Tokens {
    std::array::from_fn(|place| a[place] + b[place])
}

/// Amounts of other programs are rounded.
fn is_same_cost(mine: f64, theirs: f64) -> bool {
    (mine - theirs).abs() <= 1e-6 * mine.max(1.0)
}

/// Why the same tokens have another price.
fn why_cost(
    figures: &Figures,
    periods: &Periods,
    key: &(String, String),
    theirs: Said,
) -> &'static str {
    let ledger = &figures.ledger;
    let of_period = || {
        let records = ledger.records().iter();
        let records = records.filter(|record| figures.selection.holds(ledger, record));
        records.filter(|record| periods.key(figures, record) == *key)
    };
    let amount = |record: &Record| {
        let model = record.model.map(|model| ledger.name(model));
        let amount = figures.prices.amount(model, record).ok()?;
        Some((amount.total.pico(), amount.is_long))
    };
    if of_period().any(|record| amount(record).is_none()) {
        return "unknown price: recto does not guess one";
    }
    if theirs.has_no_price || theirs.cost == 0.0 {
        return "unknown model: it has no price for this one and counts it as free";
    }
    let at_5m = counted(figures, periods, |record| {
        let mut record = record.clone();
        record.counts.write_5m += std::mem::take(&mut record.counts.write_1h);
        Some(record)
    });
    if is_same_cost(at(&at_5m, key).cost, theirs.cost) {
        return "1-hour cache writes: it takes the price of five minutes";
    }
    let mut models: BTreeMap<_, u128> = BTreeMap::new();
    for record in of_period() {
        *models.entry(record.model).or_default() += amount(record).map_or(0, |(pico, _)| pico);
    }
    let all: u128 = models.values().sum();
    let without = |one: &u128| (all - one) as f64 / 1e12;
    if models.len() > 1 && models.values().any(|one| is_same_cost(without(one), theirs.cost)) {
        return "unknown model: it has no price for one of them and counts it as free";
    }
    let has_long = of_period().any(|record| amount(record).is_some_and(|(_, is_long)| is_long));
    if has_long {
        return "long context: recto takes its prices for the whole message, it does not";
    }
    "another price: compare `recto prices`"
}

/// Other ways to count, which tools are known to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    AgentsApart,
    FirstLine,
    EveryLine,
    CopiesToo,
    NoSubagents,
}

impl Variant {
    const ALL: [Variant; 5] = [
        Variant::AgentsApart,
        Variant::FirstLine,
        Variant::EveryLine,
        Variant::CopiesToo,
        Variant::NoSubagents,
    ];

    fn words(self) -> &'static str {
        match self {
            Variant::AgentsApart => "subagents: it takes logs beside the main logs for sessions",
            Variant::FirstLine => {
                "dedup: it takes the first line of a message, which has placeholders"
            }
            Variant::EveryLine => "dedup: it adds up every line of a message",
            Variant::CopiesToo => "forks: it counts copies in other logs again",
            Variant::NoSubagents => "subagents: it leaves them out",
        }
    }

    fn count(self, lines: &[Sighting], figures: &Figures, periods: &Periods) -> ByPeriod {
        match self {
            Variant::AgentsApart => {
                let blocks = periods.blocks.clone();
                let apart = Periods { agents_apart: true, blocks, ..*periods };
                return counted(figures, &apart, |record| Some(record.clone()));
            }
            Variant::NoSubagents => {
                return counted(figures, periods, |record| {
                    figures.ledger.agent_of(record).is_none().then(|| record.clone())
                });
            }
            Variant::FirstLine | Variant::EveryLine | Variant::CopiesToo => {}
        }
        let records: HashMap<u128, &Record> =
            figures.ledger.records().iter().map(|record| (record.key, record)).collect();
        let mut seen: HashSet<(u128, u32)> = HashSet::new();
        let mut all = ByPeriod::new();
        for line in lines {
            let Some(record) = records.get(&line.key) else { continue };
            let (is_counted, counts) = match self {
                Variant::EveryLine => (true, line.counts),
                Variant::FirstLine => (seen.insert((line.key, 0)), line.counts),
                Variant::CopiesToo | Variant::NoSubagents | Variant::AgentsApart => {
                    (seen.insert((line.key, line.file)), record.counts)
                }
            };
            if is_counted && figures.selection.holds(&figures.ledger, record) {
                let said = all.entry(periods.key(figures, record)).or_default();
                said.tokens = add(said.tokens, tokens(&counts));
            }
        }
        all
    }
}

fn ours(figures: &Figures, periods: &Periods) -> ByPeriod {
    counted(figures, periods, |record| Some(record.clone()))
}

fn tokens(counts: &Counts) -> Tokens {
    [
        u64::from(counts.input),
        u64::from(counts.output),
        counts.writes(),
        u64::from(counts.cache_read),
    ]
}

/// The messages that are meant, changed or left out, by period and model.
fn counted(
    figures: &Figures,
    periods: &Periods,
    change: impl Fn(&Record) -> Option<Record>,
) -> ByPeriod {
    let ledger = &figures.ledger;
    let mut exact: BTreeMap<(String, String), (Tokens, u128)> = BTreeMap::new();
    for record in ledger.records() {
        if !figures.selection.holds(ledger, record) {
            continue;
        }
        let Some(record) = change(record) else { continue };
        let model = record.model.map(|model| ledger.name(model));
        let cost = figures.prices.amount(model, &record).map_or(0, |amount| amount.total.pico());
        let sum = exact.entry(periods.key(figures, &record)).or_default();
        *sum = (add(sum.0, tokens(&record.counts)), sum.1 + cost);
    }
    let said = |(tokens, pico): (Tokens, u128)| Said {
        tokens,
        cost: pico as f64 / 1e12,
        has_no_price: false,
    };
    exact.into_iter().map(|(key, sum)| (key, said(sum))).collect()
}

impl Periods {
    fn of(foreign: &Foreign, figures: &Figures) -> Periods {
        let blocks = match foreign.dimension {
            Dimension::Block => {
                let times = figures.ledger.records().iter().filter_map(Record::time);
                billing_blocks(times.collect())
            }
            _ => Vec::new(),
        };
        // Weeks begin where the report says: with which day is an option of ccusage.
        let dates = foreign.rows.keys().filter_map(|(period, _)| period.parse::<Date>().ok());
        let first_day = dates.map(Date::weekday).next().unwrap_or(Weekday::Monday);
        Periods { dimension: foreign.dimension, blocks, first_day, agents_apart: false }
    }

    /// The period and the model that a record counts for.
    fn key(&self, figures: &Figures, record: &Record) -> (String, String) {
        let ledger = &figures.ledger;
        let model = record.model.map_or("unknown", |model| ledger.name(model)).to_owned();
        // The same model is told apart by the way in which it was sent.
        let fast = if record.flags.has(RecordFlags::FAST) { "-fast" } else { "" };
        let model = match self.dimension {
            Dimension::Block => ALL_MODELS.to_owned(),
            _ => model + fast,
        };
        let period = match self.dimension {
            Dimension::Session => match self.own_session(figures, record) {
                Some(agent) => Some(agent),
                None => ledger.session_of(record).map(|id| ledger.name(id).to_owned()),
            },
            _ => record.time().and_then(|time| self.at(figures, time)),
        };
        (period.unwrap_or_else(|| "unknown".to_owned()), model)
    }

    /// The name of a subagent's log, where such a log is taken for a session.
    fn own_session(&self, figures: &Figures, record: &Record) -> Option<String> {
        let file = figures.ledger.file_of(record);
        let agent = file.agent.as_deref().filter(|_| self.agents_apart)?;
        let path = Path::new(&file.path);
        (project_directory(path) == path.parent()).then(|| format!("agent-{agent}"))
    }

    fn at(&self, figures: &Figures, time: Timestamp) -> Option<String> {
        let local = figures.zone.to_datetime(time);
        match self.dimension {
            Dimension::Block => {
                let after = self.blocks.partition_point(|block| block.start <= time);
                Some(self.blocks.get(after.checked_sub(1)?)?.start.to_string())
            }
            Dimension::Week => {
                let days = local.weekday().since(self.first_day);
                let back = jiff::Span::new().try_days(days).ok()?;
                Some(local.date().checked_sub(back).ok()?.to_string())
            }
            Dimension::Month => Some(local.strftime("%Y-%m").to_string()),
            _ => Some(local.date().to_string()),
        }
    }
}

/// Reads a report: `daily`, `weekly`, `monthly`, `session` or `blocks`, of any version.
fn read(file: &Path) -> Result<Foreign, CommandError> {
    let bad = |why: &str| {
        CommandError::user(
            "bad-report",
            format!("{} is no report of ccusage: {why}", file.display()),
        )
        .with_hint(
            "`ccusage daily --json`, `weekly`, `monthly`, `session` and `blocks` are understood",
        )
    };
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().take(64 * 1024 * 1024).read_to_end(&mut bytes)?;
        bytes
    } else {
        read_small(file)?
    };
    let value = Value::parse(&bytes).map_err(|error| bad(&error.to_string()))?;
    let lists = [
        ("daily", Dimension::Day),
        ("weekly", Dimension::Week),
        ("monthly", Dimension::Month),
        ("session", Dimension::Session),
        ("sessions", Dimension::Session),
        ("blocks", Dimension::Block),
    ];
    let found = lists.iter().find_map(|(name, dimension)| Some((value.get(name)?, *dimension)));
    let (list, dimension) = found.ok_or_else(|| bad("it has no list of rows"))?;
    let mut rows = ByPeriod::new();
    for row in list.elements() {
        match dimension {
            Dimension::Block => read_block(row, &mut rows),
            _ => read_row(row, &mut rows),
        }
        .map_err(bad)?;
    }
    Ok(Foreign { dimension, rows })
}

/// Reads a row with a part for each model.
fn read_row(row: Value<'_>, rows: &mut ByPeriod) -> Result<(), &'static str> {
    let names = ["period", "date", "week", "month", "sessionId"];
    let period = names.iter().find_map(|name| row.str(name)).ok_or("a row has no period")?;
    let models = row.get("modelBreakdowns").ok_or("a row has no models")?;
    for model in models.elements() {
        let name = model.str("modelName").ok_or("a model has no name")?;
        let said = rows.entry((period.to_string(), name.into_owned())).or_default();
        let names = ["inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens"];
        said.tokens = add(said.tokens, names.map(|name| number(model, name)));
        said.cost += model.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
        said.has_no_price |= model.get("missingPricing").and_then(Value::as_bool) == Some(true);
    }
    Ok(())
}

/// Reads a window. Those in which nothing happened are rows too.
fn read_block(row: Value<'_>, rows: &mut ByPeriod) -> Result<(), &'static str> {
    if row.get("isGap").and_then(Value::as_bool) == Some(true) {
        return Ok(());
    }
    let start = row.str("startTime").and_then(|start| start.parse::<Timestamp>().ok());
    let start = start.ok_or("a window has no start")?;
    let counts = row.get("tokenCounts").ok_or("a window has no counts")?;
    let said = rows.entry((start.to_string(), ALL_MODELS.to_owned())).or_default();
    let names = ["inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens"];
    said.tokens = add(said.tokens, names.map(|name| number(counts, name)));
    said.cost += row.get("costUSD").and_then(Value::as_f64).unwrap_or(0.0);
    Ok(())
}

fn number(value: Value<'_>, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

type Difference<'a> = (&'a (String, String), Said, Said, &'static str);

fn print(
    dimension: Dimension,
    found: &[Difference<'_>],
    all: usize,
    output: &mut Output,
) -> Result<(), CommandError> {
    if found.is_empty() {
        return output.line(&format!("{} agree.", plural(all as u64, "row")));
    }
    if found.len() > 30 {
        output.page();
    }
    const NAMES: [&str; 4] = ["input", "output", "cache write", "cache read"];
    let mut table = Table::new(&[
        Column::Left,
        Column::Left,
        Column::Left,
        Column::Right,
        Column::Right,
        Column::Flexible,
    ]);
    let heads = [dimension.name(), "model", "", "recto", "ccusage", "why"];
    table.row(heads.map(str::to_owned));
    for (key, mine, theirs, why) in found {
        let mut rows: Vec<(&str, String, String)> = (0..4)
            .filter(|place| mine.tokens[*place] != theirs.tokens[*place])
            .map(|place| (NAMES[place], count(mine.tokens[place]), count(theirs.tokens[place])))
            .collect();
        rows.push(("cost", format!("${:.4}", mine.cost), format!("${:.4}", theirs.cost)));
        for (at, (name, mine, theirs)) in rows.into_iter().enumerate() {
            let (period, model, why) = match at {
                0 => (one_line(&key.0), one_line(&key.1), (*why).to_owned()),
                _ => Default::default(),
            };
            table.row([period, model, name.to_owned(), mine, theirs, why]);
        }
    }
    for cells in table.layout(output.width) {
        output.line(cells.join("  ").trim_end())?;
    }
    let same = all - found.len();
    output.line("")?;
    output.line(&format!("{} of {} agree.", count(same as u64), plural(all as u64, "row")))
}

fn json(
    dimension: Dimension,
    key: &(String, String),
    mine: &Said,
    theirs: &Said,
    why: &str,
) -> ObjectWriter {
    let side = |said: &Said| {
        let list = said
            .tokens
            .iter()
            .fold(ArrayWriter::new(), |list, number| list.json(number.to_string().as_bytes()));
        let cost = format!("{:.9}", said.cost);
        ObjectWriter::new()
            .json("tokens", &list.finish())
            .json("cost_usd", cost.as_bytes())
            .finish()
    };
    ObjectWriter::new()
        .string(dimension.name(), &key.0)
        .string("model", &key.1)
        .json("recto", &side(mine))
        .json("ccusage", &side(theirs))
        .string("why", why)
}
