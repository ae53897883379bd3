//! The price list as rows.

use recto_session::usage::Money;
use recto_session::usage::PriceTable;

use crate::rows::Cell;
use crate::rows::days_of;

/// Gives the row of each price.
pub(crate) fn price_rows<E>(
    prices: &PriceTable,
    take: &mut dyn FnMut(&[Cell<'_>]) -> Result<(), E>,
) -> Result<(), E> {
    for row in prices.rows() {
        let micros = |price: Option<Money>| {
            let micros = price.and_then(|price| i64::try_from(price.pico() / 1_000_000).ok());
            micros.map_or(Cell::Null, Cell::Long)
        };
        let [input, output, read, write_5m, write_1h] = row.per_million().map(|(_, price)| price);
        take(&[
            Cell::Text(&row.model),
            row.from.map_or(Cell::Null, |from| Cell::Day(days_of(from))),
            micros(input),
            micros(output),
            micros(read),
            micros(write_5m),
            micros(write_1h),
            Cell::Text(&row.source),
        ])?;
    }
    Ok(())
}
