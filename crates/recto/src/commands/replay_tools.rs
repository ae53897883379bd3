//! `recto replay --tools`: the calls of a session, made again.

use std::path::PathBuf;

use recto_agent::permission::CommandLine;
use recto_agent::permission::Permissions;
use recto_agent::permission::Place;
use recto_agent::permission::split_list;
use recto_agent::replay::CallResult;
use recto_agent::replay::Made;
use recto_agent::replay::RecordedCall;
use recto_agent::replay::Workshop;
use recto_agent::replay::recorded_calls;
use recto_agent::settings::Settings;
use recto_agent::settings::Wanted;
use recto_agent::tool::Host;
use recto_agent::tool::Ids;
use recto_agent::tool::Offer;
use recto_agent::tool::Places;
use recto_agent::tool::Tool;
use recto_log::ProjectKey;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::Loaded;
use recto_store::new_session_id;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// What happens with the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tools {
    /// Repeat them
    Run,
    /// Run nothing and show the recorded results
    Stub,
    /// Repeat them and compare the results
    Diff,
}

/// A call and what became of it; none if it was not to be made.
struct Row {
    turn: u32,
    recorded: RecordedCall,
    made: Option<Made>,
}

impl Row {
    fn state(&self) -> &'static str {
        match (&self.made, &self.recorded.result) {
            (None, Some(_)) => "recorded",
            (_, None) => "no-result",
            (Some(Made::Skipped), _) => "skipped",
            (Some(Made::Refused(_)), _) => "refused",
            (Some(Made::Done(now)), Some(then)) if now == then => "same",
            (Some(Made::Done(_)), Some(_)) => "differs",
        }
    }

    /// What there is to say about it.
    fn about(&self) -> String {
        match (self.state(), &self.made, &self.recorded.result) {
            ("differs", Some(Made::Done(now)), Some(then)) => difference(then, now),
            ("refused", Some(Made::Refused(why)), _) => why.clone(),
            ("recorded", _, Some(result)) => result.text.clone(),
            _ => String::new(),
        }
    }

    fn json(&self) -> ObjectWriter {
        let text = |result: Option<&CallResult>| result.map(|result| result.text.clone());
        let now = match &self.made {
            Some(Made::Done(now)) => Some(now),
            _ => None,
        };
        ObjectWriter::new()
            .number("turn", u64::from(self.turn))
            .number("line", self.recorded.line)
            .string("id", &self.recorded.call.id)
            .string("tool", &self.recorded.call.name)
            .string("state", self.state())
            .string_or_null("recorded", text(self.recorded.result.as_ref()).as_deref())
            .string_or_null("now", text(now).as_deref())
    }
}

/// The first line that is not the same.
fn difference(then: &CallResult, now: &CallResult) -> String {
    if then.is_error != now.is_error {
        let word = if now.is_error { "fails now" } else { "failed then" };
        return format!("{word}: {}", if now.is_error { &now.text } else { &then.text });
    }
    let (mut before, mut after) = (then.text.lines(), now.text.lines());
    let mut number = 1;
    loop {
        match (before.next(), after.next()) {
            (Some(one), Some(other)) if one == other => number += 1,
            (one, other) => {
                let shown = |line: Option<&str>| line.unwrap_or("nothing").to_owned();
                return format!("line {number}: {} became {}", shown(one), shown(other));
            }
        }
    }
}

/// Makes calls again; `turn_of` says which turn a line belongs to.
pub(crate) fn run(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    loaded: &Loaded,
    what: (Tools, &[String]),
    turn_of: &dyn Fn(u64) -> Option<u32>,
) -> Result<Outcome, CommandError> {
    let (tools, allowed) = what;
    let calls = recorded_calls(&loaded.session, loaded);
    let mut rows: Vec<Row> = calls
        .into_iter()
        .filter_map(|recorded| Some(Row { turn: turn_of(recorded.line)?, recorded, made: None }))
        .collect();
    if tools != Tools::Stub {
        make(home, environment, allowed, &mut rows)?;
    }
    report(&rows, tools, output)
}

fn make(
    home: &Home,
    environment: &Environment,
    allowed: &[String],
    rows: &mut [Row],
) -> Result<(), CommandError> {
    let project = environment.working_directory.clone().unwrap_or_else(|| PathBuf::from("/"));
    let settings = Settings::read(home, &project, Wanted::default(), None)
        .map_err(|error| CommandError::user("bad-settings", one_line(&error.to_string())))?;
    let allowed = allowed.iter().flat_map(|rule| split_list(rule)).collect();
    let rules = CommandLine { allowed, ..CommandLine::default() };
    let user_home = environment.user_home.clone().unwrap_or_else(|| PathBuf::from("/"));
    let mut place = Place::new(project.clone(), user_home.clone());
    place.claude = home.root().to_owned();
    // Nothing is put beside the session: files of output go away with this folder.
    let session = new_session_id().to_string();
    let scratch = environment.run.temporary.join(format!("replay-{session}"));
    let places = Places {
        home: user_home,
        config: scratch.clone(),
        project_key: ProjectKey::of_path(&project.to_string_lossy()).as_str().to_owned(),
        project,
        session: session.into(),
        temporary: scratch.clone(),
        shell: environment.run.shell.clone(),
    };
    let mut offer = Offer::headless();
    Tool::ALL.into_iter().filter(|tool| !tool.asks()).for_each(|tool| offer.add(tool));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let workshop = Workshop {
            tools: recto_agent::tool::Session::new(places, offer, Host::default(), Ids::default()),
            permissions: Permissions::new(&settings, &rules),
            place,
            scratch,
        };
        for row in rows.iter_mut() {
            row.made = Some(workshop.make(&row.recorded.call).await);
        }
        workshop.close().await;
    });
    Ok(())
}

fn report(rows: &[Row], tools: Tools, output: &mut Output) -> Result<Outcome, CommandError> {
    let number = |state: &str| rows.iter().filter(|row| row.state() == state).count() as u64;
    if output.json {
        let list =
            rows.iter().fold(ArrayWriter::new(), |list, row| list.json(&row.json().finish()));
        output.json_line(
            ObjectWriter::new()
                .number("calls", rows.len() as u64)
                .number("same", number("same"))
                .number("differing", number("differs"))
                .number("refused", number("refused"))
                .number("skipped", number("skipped"))
                .json("rows", &list.finish()),
        )?;
    } else {
        write_rows(rows, output)?;
        let mut words = vec![plural(rows.len() as u64, "call")];
        for (state, word) in [
            ("same", "same"),
            ("differs", "different"),
            ("refused", "not allowed"),
            ("skipped", "not made"),
            ("no-result", "without a recorded result"),
        ] {
            if number(state) > 0 {
                words.push(format!("{} {word}", count(number(state))));
            }
        }
        let is_same = number("differs") == 0;
        let look = if is_same { Look::Good } else { Look::Bad };
        output.line(&output.paint(look, &words.join(", ")))?;
        if number("refused") > 0 {
            output.remark("add --allowedTools RULE to make calls that no rule allows");
        }
    }
    let differs = tools == Tools::Diff && number("differs") > 0;
    Ok(if differs || rows.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn write_rows(rows: &[Row], output: &mut Output) -> Result<(), CommandError> {
    if rows.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Left, Column::Left, Column::Left, Column::Flexible]);
    for row in rows {
        let turn = format!("turn {}", row.turn);
        let tool = one_line(&row.recorded.call.name);
        table.row([turn, tool, row.state().to_owned(), one_line(&row.about())]);
    }
    for cells in table.aligned(output.width) {
        output.line(cells.join("  ").trim_end())?;
    }
    Ok(())
}
