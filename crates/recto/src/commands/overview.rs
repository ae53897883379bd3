//! Bare `recto`: what is here, what runs, what to type next.

use recto_session::usage::PriceTable;
use recto_session::usage::Selection;
use recto_store::Home;
use recto_view::Listing;

use crate::commands::ls;
use crate::commands::prices::PricesOption;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target::tell_skipped;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::bytes;
use crate::terminal::text::money;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;

/// How many sessions the overview names.
const NEWEST: usize = 8;

pub(crate) fn cmd_overview(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let now = environment.now();
    let inventory = home.inventory();
    let library = environment.library(home, PriceTable::default());
    let seen = library.overview(&inventory);
    tell_skipped(&inventory, output);
    if output.json {
        output.row(&seen)?;
        return Ok(Outcome::Done);
    }
    let root = path_from_home(&seen.home, environment.user_home.as_deref());
    let summary = format!(
        "{} in {}, {}",
        plural(seen.sessions as u64, "session log"),
        plural(seen.projects as u64, "project"),
        bytes(seen.bytes)
    );
    output.line(&format!("{}  {summary}", output.paint(Look::Strong, &one_line(&root))))?;
    if let Some(today) = today(home, environment) {
        output.line(&today)?;
    }
    if seen.sessions == 0 {
        output.line("")?;
        output.line("No session yet. `recto demo` shows recto on a sample.")?;
        return Ok(Outcome::Done);
    }
    if seen.live > 0 {
        let listing = Listing { only_live: true, ..Listing::default() };
        output.line("")?;
        output.line(&output.paint(Look::Strong, "Running now"))?;
        ls::table(&library.listed(&listing, &inventory), None, environment, output, now)?;
    }
    output.line("")?;
    output.line(&output.paint(Look::Strong, "Newest"))?;
    let listing = Listing { limit: Some(NEWEST), ..Listing::default() };
    let rows = library.listed(&listing, &inventory);
    ls::table(&rows, None, environment, output, now)?;
    output.line("")?;
    let example = rows.first().map_or_else(|| "latest".into(), ls::short_id);
    for (command, about) in [
        (format!("recto show {example}"), "read a session"),
        ("recto ls".into(), "all sessions; --since 7d, --project NAME"),
        ("recto home".into(), "disk usage and upcoming deletions"),
        ("recto check --all".into(), "check for damage"),
    ] {
        let line = format!("{command:<26}  {}", output.paint(Look::Faint, about));
        output.line(&format!("  {line}"))?;
    }
    Ok(Outcome::Done)
}

/// What was used today, from the files that were written today. Nothing is said
/// where a log or the prices cannot be read: `recto usage` will say why.
fn today(home: &Home, environment: &Environment) -> Option<String> {
    let library = environment.library(home, PricesOption::default().read(environment).ok()?);
    let zone = library.zone();
    let today = library.now().to_zoned(zone.clone()).date();
    let midnight = today.to_zoned(zone.clone()).ok()?.timestamp();
    let selection = Selection { since: Some(midnight), ..Selection::default() };
    let usage = library.count_usage(&[], selection, &|_, _| {});
    let total = usage.report(&[]).total;
    if total.messages == 0 || !usage.skipped.is_empty() {
        return None;
    }
    let cost = match total.cost() {
        Some(cost) => money(cost),
        None => format!("more than {}", money(total.known_cost)),
    };
    let (messages, tokens) =
        (plural(total.messages, "message"), plural(total.tokens.all(), "token"));
    Some(format!("today: {messages}, {tokens}, {cost}"))
}
