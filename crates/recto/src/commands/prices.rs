//! `recto prices`: what tokens cost, and who says so.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use recto_session::usage::Money;
use recto_session::usage::PriceRow;
use recto_session::usage::PriceTable;
use recto_store::read_chosen;
use recto_view::model_prices;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::one_line;

/// List the model prices used by `recto usage`
///
/// In US dollars per million tokens, and per thousand web searches. Prices in your own file,
/// `prices.toml` in recto's settings directory, replace the built-in prices of a model.
///
/// Examples:
///   recto prices
///   recto prices --prices mine.toml --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PricesArgs {
    #[command(flatten)]
    prices: PricesOption,
}

/// Where prices are from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PricesOption {
    /// A price file [default: $RECTO_PRICES, else recto/prices.toml in the settings]
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl PricesOption {
    /// The prices that come with recto, and those of the user.
    pub(crate) fn read(&self, environment: &Environment) -> Result<PriceTable, CommandError> {
        let broken = |path: &Path, error: &dyn std::fmt::Display| {
            CommandError::user("bad-prices", format!("{}: {error}", path.display()))
                .with_hint("docs/guides/usage.md describes price files")
        };
        let own = Path::new("data/prices.toml");
        let mut table = PriceTable::built_in().map_err(|error| broken(own, &error))?;
        let named = self.prices.clone().or_else(|| environment.prices.clone());
        let settings =
            || environment.settings_file("prices.toml").filter(|path| file_path::exists(path));
        if let Some(path) = named.or_else(settings) {
            let bytes = read_chosen(&path)?;
            let text = String::from_utf8_lossy(&bytes);
            let name = path.display().to_string();
            table.add_file(&text, &name).map_err(|error| broken(&path, &error))?;
        }
        Ok(table)
    }
}

pub(crate) fn cmd_prices(
    environment: &Environment,
    output: &mut Output,
    args: &PricesArgs,
) -> Result<Outcome, CommandError> {
    let table = args.prices.read(environment)?;
    if output.json {
        output.rows(&model_prices(&table))?;
        return Ok(Outcome::Done);
    }
    output.page();
    let mut lines = Table::new(&[
        Column::Left,
        Column::Left,
        Column::Right,
        Column::Right,
        Column::Right,
        Column::Right,
        Column::Right,
        Column::Left,
    ]);
    let heads = ["model", "from", "input", "output", "read", "write 5m", "write 1h", ""];
    lines.row(heads.map(str::to_owned));
    // What follows the prices of a row is below it where there is no room beside it.
    let is_narrow = output.width.is_some_and(|width| width < WIDTH);
    let mut below = vec![String::new()];
    for row in table.rows() {
        let from = row.from.map_or_else(String::new, |from| from.to_string());
        let mut cells = vec![one_line(&row.model), from];
        cells.extend(row.per_million().map(|(_, price)| dollars(price)));
        let (beside, under) = match remarks(row) {
            remarks if is_narrow => (String::new(), remarks),
            remarks => (remarks, String::new()),
        };
        cells.push(beside);
        lines.cells(cells);
        below.push(under);
        if let Some((tokens, prices)) = row.above() {
            let mut cells = vec![format!("  above {} tokens", count(tokens)), String::new()];
            cells.extend(prices.map(|(_, price)| dollars(price)));
            cells.push(String::new());
            lines.cells(cells);
            below.push(String::new());
        }
    }
    for (cells, below) in lines.layout(output.width).into_iter().zip(below) {
        output.line(cells.join(output.gap()).trim_end())?;
        if !below.is_empty() {
            output.line(&output.paint(Look::Faint, &format!("  {below}")))?;
        }
    }
    output.line("")?;
    for source in &table.sources {
        output.line(&one_line(source))?;
    }
    Ok(Outcome::Done)
}

/// A terminal that has room for what follows the prices.
const WIDTH: usize = 136;

fn dollars(price: Option<Money>) -> String {
    price.map_or_else(|| "-".to_owned(), |price| price.to_string())
}

fn remarks(row: &PriceRow) -> String {
    let searches = row.thousand_web_searches().map(|price| format!("1,000 searches {price}"));
    let factors = row.factors();
    let factors = factors.iter().filter_map(|(name, factor)| {
        let factor = (*factor)?;
        Some(format!("{name} ×{}.{}", factor / 1000, factor % 1000 / 100))
    });
    searches.into_iter().chain(factors).collect::<Vec<_>>().join(", ")
}
