//! What sessions cost: shared by listings that show it beside other things.

use std::collections::HashMap;

use recto_session::usage::Dimension;
use recto_session::usage::Selection;
use recto_session::usage::Total;
use recto_store::Home;
use recto_view::UsageTotal;
use serde::Serialize;

use crate::commands::prices::PricesOption;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::money;

/// A row with what its session cost.
#[derive(Debug, Serialize)]
pub(crate) struct Costed<'a, T> {
    #[serde(flatten)]
    pub(crate) row: &'a T,
    pub(crate) cost_usd: Option<f64>,
}

/// The sums of sessions, subagents included.
pub(crate) struct Costs(HashMap<String, Total>);

impl Costs {
    /// Those of all sessions, or of one. A message that several logs have counts once, so
    /// all logs are asked either way.
    pub(crate) fn read(
        home: &Home,
        environment: &Environment,
        output: &Output,
        session: Option<String>,
    ) -> Result<Costs, CommandError> {
        let prices = PricesOption::default().read(environment)?;
        let library = environment.library(home, prices);
        let progress = Progress::new("counting", output);
        let by = [Dimension::Session];
        let selection = Selection { session, ..Selection::default() };
        let usage = library.count_usage(&by, selection, &|done, all| progress.tell(done, all));
        progress.done();
        let rows = usage.report(&by).rows.into_iter();
        let sums = rows.filter_map(|row| Some((row.keys.first()?.clone(), row.total)));
        Ok(Costs(sums.collect()))
    }

    /// The cost for people; nothing for a session without messages of its own.
    pub(crate) fn text(&self, session: &str) -> String {
        self.0.get(session).map(cost_text).unwrap_or_default()
    }

    /// The cost for programs.
    pub(crate) fn dollars(&self, session: &str) -> Option<f64> {
        self.0.get(session).and_then(|total| UsageTotal::from(total).cost_usd)
    }
}

/// What a sum cost. Of models without a price nothing is guessed.
pub(crate) fn cost_text(total: &Total) -> String {
    match total.cost() {
        Some(cost) => money(cost),
        None if total.known_cost.pico() > 0 => format!("> {}", money(total.known_cost)),
        None => "unknown".to_owned(),
    }
}
