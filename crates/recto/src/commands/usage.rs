//! `recto usage`: tokens and what they cost.

use clap::Args;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_session::usage::Dimension;
use recto_session::usage::Selection;
use recto_store::Home;
use recto_view::UsageCount;

use crate::commands::context_view::show_context;
use crate::commands::prices::PricesOption;
use crate::commands::usage_explain;
use crate::commands::usage_show;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::select::filter::FilterArgs;
use crate::select::target;
use crate::select::target::tell_skipped;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::fit;
use crate::terminal::text::plural;
use crate::terminal::zone::read_zone;

/// Show token usage and cost
///
/// Counts every API message once, however many lines, forks and resumed copies repeat it.
/// Includes subagents, each at the price of its model. A model without a price has no cost,
/// and a note says so.
///
/// `--by` accepts day, week, month, session, project, model, branch, tool, agent, hour or
/// block (a window of five hours), or two of them. `--explain` shows the lines, rule, price
/// and amount of each message.
///
/// Examples:
///   recto usage --since 7d
///   recto usage --by month,model
///   recto usage latest
///   recto usage --explain 2026-11-14
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct UsageArgs {
    /// Only this session, or this day (2026-11-14)
    #[arg(value_name = "SESSION|DAY")]
    target: Option<String>,
    /// Group rows by this, or by two separated by a comma [default: day; for one session, model]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    by: Vec<String>,
    /// The time zone of days, such as Europe/Berlin [default: the system's]
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    #[command(flatten)]
    prices: PricesOption,
    /// Show how every amount was computed
    #[arg(long, conflicts_with_all = ["by", "csv"])]
    explain: bool,
    /// Write the rows as comma-separated values
    #[arg(long)]
    csv: bool,
    /// Show what fills the context of the session, as `recto context` does
    #[arg(long, requires = "target", conflicts_with_all = ["by", "csv", "explain"])]
    context: bool,
    // The last, because its heading holds for all that follow.
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn cmd_usage(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &UsageArgs,
) -> Result<Outcome, CommandError> {
    if let (true, Some(session)) = (args.context, &args.target) {
        let reading = Reading::open(home, environment, session)?;
        return show_context(&reading, None, output);
    }
    let now = environment.now();
    let zone = read_zone(args.tz.as_deref())?;
    let mut selection = args.filter.read_in(now, &zone)?.selection();
    let inventory = home.inventory();
    let mut dimensions = dimensions(&args.by)?;
    if let Some(target) = &args.target {
        let is_session = narrow(home, environment, &inventory, &zone, target, &mut selection)?;
        if dimensions.is_empty() && is_session {
            dimensions.push(Dimension::Model);
        }
    }
    if dimensions.is_empty() {
        dimensions.push(Dimension::Day);
    }
    let prices = args.prices.read(environment)?;
    let library = environment.library_in(home, prices, Some(zone.clone()));
    let progress = Progress::new("counting", output);
    let tell = |done, all| progress.tell(done, all);
    let usage = library.count_usage(&dimensions, selection, &tell);
    progress.done();
    tell_skipped(&inventory, output);
    for skipped in &usage.skipped {
        output.remark(&skipped.to_string());
    }
    let outcome = if args.explain {
        usage_explain::explain(&usage, &zone, output)?
    } else {
        usage_show::show(&usage, &dimensions, args.csv, &inventory, output)?
    };
    tell_doubts(&usage, output);
    Ok(outcome)
}

/// Reads what `--by` was given.
fn dimensions(names: &[String]) -> Result<Vec<Dimension>, CommandError> {
    let mut dimensions = Vec::new();
    for name in names {
        let known = Dimension::ALL.iter().find(|dimension| dimension.name() == name.trim());
        let dimension = *known.ok_or_else(|| {
            let all = Dimension::ALL.map(Dimension::name).join(", ");
            let message = format!("invalid value `{}` for --by", fit(name, 60));
            CommandError::user("bad-grouping", message).with_hint(format!("use one of {all}"))
        })?;
        if dimensions.contains(&dimension) || dimensions.len() == 2 {
            let message = "--by accepts one or two different groupings";
            return Err(CommandError::user("bad-grouping", message));
        }
        dimensions.push(dimension);
    }
    Ok(dimensions)
}

/// Leaves what the user named: a day, or a session. Says whether it is a session.
fn narrow(
    home: &Home,
    environment: &Environment,
    inventory: &recto_store::Inventory,
    zone: &TimeZone,
    target: &str,
    selection: &mut Selection,
) -> Result<bool, CommandError> {
    if let Ok(date) = target.parse::<Date>() {
        let midnight = |date: Date| Some(date.to_zoned(zone.clone()).ok()?.timestamp());
        let (start, end) = (midnight(date), date.tomorrow().ok().and_then(midnight));
        selection.since = selection.since.max(start);
        selection.until = match (selection.until, end) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        return Ok(false);
    }
    let found = target::find(home, inventory, environment, target)?;
    if let Some(agent) = &found.agent {
        selection.agent = Some(agent.to_string());
    } else if let Some(session) = found.session {
        selection.session = Some(session.to_string());
    } else if let Some(log) = home.name_in_ledger(inventory, &found.path) {
        selection.log = Some(log);
    } else {
        let message = format!("`{}` is not a session of this home", fit(target, 60));
        return Err(CommandError::user("no-session", message));
    }
    Ok(true)
}

/// Says what the figures do not: nothing is left out in silence.
fn tell_doubts(usage: &UsageCount, output: &Output) {
    let report = usage.report(&[]);
    let (doubts, ledger) = (&report.doubts, &usage.ledger);
    if !doubts.unknown_models.is_empty() {
        let models = doubts.unknown_models.join(", ");
        output.remark(&format!(
            "note: no price for {models}: {} of unknown cost; `prices.toml` can name one",
            plural(report.total.unpriced, "message")
        ));
    }
    let notes = [
        (doubts.unknown_way, "was sent in a way that has no public price: unknown cost"),
        (doubts.bad_count, "has an impossible count, which recto skips"),
        (doubts.no_id, "has no id: recto counts every line"),
        (
            doubts.tiers_differ,
            "has more cache writes by lifetime than in total: recto counts the former",
        ),
        (doubts.no_time, "has no time: outside every period"),
        (doubts.in_the_future, "is in the future"),
        (report.total.under_reported, "comes from a client that logs too few output tokens"),
    ];
    for (number, what) in notes {
        if number > 0 {
            output.remark(&format!("note: {}", usage_show::oddity(number, what)));
        }
    }
    if ledger.long_lines > 0 {
        let lines = plural(ledger.long_lines, "line");
        output.remark(&format!("note: {lines} longer than 16 MB skipped"));
    }
    if ledger.clock_jumps > 0 {
        let times = plural(ledger.clock_jumps, "time");
        output.remark(&format!("note: the clock went back by more than an hour {times}"));
    }
}
