//! `recto collect --otlp`: usage, turns and tool calls to a collector of telemetry.

use recto_collect::Otlp;
use recto_collect::OtlpReport;
use recto_store::Home;
use serde::Serialize;

use crate::commands::collect_policy::policy;
use crate::commands::collect_store::facts;
use crate::commands::prices::PricesOption;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

#[derive(Debug, Serialize)]
struct OtlpRow<'a> {
    collector: &'a str,
    sessions: u64,
    turns: u64,
    tool_calls: u64,
    models: u64,
    messages: u64,
    waiting_turns: u64,
    withheld: u64,
    troubles: Vec<TroubleRow<'a>>,
}

#[derive(Debug, Serialize)]
struct TroubleRow<'a> {
    path: &'a str,
    reason: &'a str,
}

pub(crate) fn cmd_otlp(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    address: &str,
) -> Result<Outcome, CommandError> {
    let data = environment.data_directory()?;
    let (policy, _) = policy(home, environment)?;
    let headers = headers(environment)?;
    let clock = jiff::Timestamp::now;
    let otlp = Otlp::open(home, &data, address, headers, policy, facts(environment), clock)?;
    let library = environment.library(home, PricesOption::default().read(environment)?);
    let report = otlp.send(&library)?;
    tell(output, otlp.url(), &report)?;
    Ok(if report.troubles.is_empty() { Outcome::Done } else { Outcome::Found })
}

/// `name=value,name=value`, as all programs that speak OTLP read it.
fn headers(environment: &Environment) -> Result<Vec<(String, String)>, CommandError> {
    let Some(text) = &environment.otlp_headers else { return Ok(Vec::new()) };
    let pairs = text.reveal().split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => {
                let message = "OTEL_EXPORTER_OTLP_HEADERS is not a list of NAME=VALUE";
                Err(CommandError::user("usage", message))
            }
        })
        .collect()
}

fn tell(output: &mut Output, url: &str, report: &OtlpReport) -> Result<(), CommandError> {
    if output.json {
        return output.row(&OtlpRow {
            collector: url,
            sessions: report.sessions,
            turns: report.turns,
            tool_calls: report.tool_calls,
            models: report.models,
            messages: report.messages,
            waiting_turns: report.waiting,
            withheld: report.withheld,
            troubles: report
                .troubles
                .iter()
                .map(|(path, reason)| TroubleRow { path, reason })
                .collect(),
        });
    }
    for (session, reason) in &report.troubles {
        output.remark(&format!("not sent: {}: {}", one_line(session), one_line(reason)));
    }
    let mut line = format!(
        "sent {}, {} and the usage of {} to {}",
        plural(report.turns, "turn"),
        plural(report.tool_calls, "tool call"),
        plural(report.models, "model"),
        one_line(url)
    );
    if report.waiting > 0 {
        line.push_str(&format!("; {} still running", count(report.waiting)));
    }
    if report.withheld > 0 {
        line.push_str(&format!("; {} withheld", plural(report.withheld, "session")));
    }
    output.line(&line)
}
