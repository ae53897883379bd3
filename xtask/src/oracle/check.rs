//! What real clients send, against what is predicted.
//!
//! Owns: prediction, verdicts, the order of work. Does not own: how they are
//! shown; see `report.rs`.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use recto_log::Lines;
use recto_log::ProjectKey;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::Session;
use recto_session::health;
use recto_session::request::Generation;
use recto_session::request::Place;
use recto_session::request::RequestOptions;
use recto_session::request::reach_at;
use recto_session::request::read_by;
use recto_session::request::request;
use recto_testkit::difference;
use serde_json::Value;

use super::answers;
use super::cases::Case;
use super::cases::Preparation;
use super::resume::LIMIT;
use super::resume::Outcome;
use super::resume::PROMPT;
use super::resume::Resume;
use super::resume::find_log;
use super::resume::project_of;
use super::resume::resume;
use super::resume::working_directory;

/// How many clients run at the same time. Each is a large program.
const AT_ONCE: usize = 2;

/// How long to wait for a client that should hang. Others are done in two or
/// three seconds.
const HANGING: Duration = Duration::from_secs(20);

/// A case in one client.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) operation: String,
    /// The version that wrote the log.
    pub(crate) source: String,
    /// The version that resumed it.
    pub(crate) client: String,
    /// What the client did.
    pub(crate) did: &'static str,
    /// How many messages the client sent.
    pub(crate) messages: usize,
    pub(crate) verdict: Verdict,
    /// What the API had against the request.
    pub(crate) refused: Option<String>,
    /// What the client brings back, before and after the edit.
    pub(crate) reach: Option<(String, String)>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// The client did what was predicted.
    Equal,
    /// It did not.
    Differs(String),
    /// It did what was predicted, and that is not what the edit is for.
    NotGood(String),
    /// The edit has nothing to do, or says that it cannot be done.
    Skipped(String),
    /// It was not asked.
    NotAsked,
    /// It could not be asked.
    Failed(String),
}

/// What is used to ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means<'a> {
    /// The program that edits.
    pub(crate) recto: &'a Path,
    /// Where homes are made.
    pub(crate) workspace: &'a Path,
    pub(crate) known: Known,
}

/// What to do with answers that are known from before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Known {
    Use,
    AskAgain,
    /// Ask nothing that is not known.
    AskNothing,
}

/// Runs all cases in all clients, and tells of each when it is done.
pub(crate) fn run(
    cases: &[Case],
    clients: &[String],
    means: Means<'_>,
    tell: impl Fn(&Row) + Sync,
) -> Vec<Row> {
    let asks = |case: &Case, client: &str| case.only_client.is_none_or(|only| only == client);
    let jobs: Vec<(&Case, &String)> = cases
        .iter()
        .flat_map(|case| clients.iter().map(move |client| (case, client)))
        .filter(|(case, client)| asks(case, client))
        .collect();
    let next = Mutex::new(0..jobs.len());
    let rows = Mutex::new(Vec::new());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(number) = take() {
                    let (case, client) = jobs[number];
                    let row = row(case, client, means);
                    tell(&row);
                    rows.lock().unwrap_or_else(PoisonError::into_inner).push((number, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(number, _)| *number);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row(case: &Case, client: &str, means: Means<'_>) -> Row {
    let mut row = Row {
        name: case.name(),
        operation: case.operation(),
        source: case.recording.version.clone(),
        client: client.into(),
        did: "nothing",
        messages: 0,
        verdict: Verdict::Equal,
        refused: None,
        reach: None,
    };
    row.verdict = match ask(case, client, means, &mut row) {
        Ok(verdict) => verdict,
        Err(error) => Verdict::Failed(format!("{error:#}")),
    };
    row
}

fn ask(case: &Case, client: &str, means: Means<'_>, row: &mut Row) -> anyhow::Result<Verdict> {
    let mut prepared = match case.prepare(means.recto, means.workspace)? {
        Preparation::Ready(prepared) => prepared,
        Preparation::Skipped(why) => return Ok(Verdict::Skipped(why)),
    };
    let cwd = case.cwd(working_directory(prepared.home.path(), &prepared.session)?);
    let mut prediction = predict(prepared.home.path(), &prepared.session, &cwd, client)?;
    let question = Resume {
        version: client,
        home: prepared.home.path(),
        session: &prepared.session,
        cwd: &cwd,
        limit: if prediction.outcome == "hangs" { HANGING } else { LIMIT },
        environment: case.environment(),
        workspace: means.workspace,
    };
    let place = answers::place(&question, case)?;
    let known = match means.known {
        Known::AskAgain => None,
        Known::Use | Known::AskNothing => answers::kept(&place, case, means.workspace)?,
    };
    let outcome = match known {
        Some((as_it_was, outcome)) => {
            if let Some(as_it_was) = as_it_was {
                // The answer speaks of the ids that this log has.
                prediction = predict(as_it_was.home.path(), &as_it_was.session, &cwd, client)?;
                prepared = as_it_was;
            }
            outcome
        }
        None if means.known == Known::AskNothing => return Ok(Verdict::NotAsked),
        None => {
            let outcome = resume(&question)?;
            answers::keep(&place, &prepared, &outcome)?;
            outcome
        }
    };
    row.reach = prepared.before.as_ref().map(|before| {
        let before = reach_of(&session_of(before, prediction.generation), prediction.generation);
        (before, prediction.reach.clone())
    });
    row.did = outcome.name();
    row.messages = outcome.messages.as_ref().and_then(Value::as_array).map_or(0, Vec::len);
    row.refused.clone_from(&outcome.refused);
    Ok(match verdict(&outcome, &prediction) {
        Verdict::Equal => goodness(case, row),
        other => other,
    })
}

/// Whether what a client did is what an edit is for. What a client sends of an
/// edited session, the API must take; a repair must bring back everything.
fn goodness(case: &Case, row: &Row) -> Verdict {
    let Some((before, after)) = &row.reach else { return Verdict::Equal };
    // Other people's endpoints take thinking that nobody signed; the API does not.
    let is_own = case.only_client.is_none();
    if let Some(why) = row.refused.as_ref().filter(|_| is_own) {
        return Verdict::NotGood(format!("the API refuses it: {why}"));
    }
    if case.is_repair() && (after != WHOLE || row.did != "resumed") {
        return Verdict::NotGood(format!("{}, reach {before} → {after}", row.did));
    }
    if before == WHOLE && after != WHOLE {
        return Verdict::NotGood(format!("reach {before} → {after}"));
    }
    Verdict::Equal
}

/// Resumes a session with a client that wrote it, and compares that with what is predicted.
pub(crate) fn resumes_as_predicted(question: &Resume<'_>) -> anyhow::Result<Verdict> {
    let Resume { home, session, cwd, version, .. } = *question;
    let prediction = predict(home, session, cwd, version)?;
    Ok(verdict(&resume(question)?, &prediction))
}

/// What a client should do.
pub(crate) struct Prediction {
    generation: Generation,
    outcome: &'static str,
    messages: Value,
    reach: String,
}

/// The reach of a session of which nothing is lost.
const WHOLE: &str = "100 %";

fn session_of(log: &[u8], generation: Generation) -> Session {
    let mut session = Session::new();
    for line in Lines::new(log) {
        session.push(&read_by(decode(line).0, generation));
    }
    session
}

/// How much clients bring back of what they should.
fn reach_of(session: &Session, generation: Generation) -> String {
    let health = health::health(session, &[generation], &|_| None);
    match health.reaches.first() {
        Some(reach) if reach.outcome.name() != "resumed" => reach.outcome.name().into(),
        Some(reach) if reach.is_whole() => WHOLE.into(),
        // Almost all is not all.
        Some(reach) => format!("{:.0} %", reach.percent_kept().0.min(99.0)),
        None => String::new(),
    }
}

/// What a client should do with a session of a home.
pub(crate) fn predict(
    home: &Path,
    session: &str,
    cwd: &str,
    client: &str,
) -> anyhow::Result<Prediction> {
    let path = find_log(home, session)?;
    let log = fs::read(&path)?;
    let generation = Generation::of_version(client)
        .with_context(|| format!("`{client}` is no version of a client"))?;
    let place = if session.parse::<SessionId>().is_err() {
        Place::NotNamedByUuid
    } else if ProjectKey::of_path(cwd).to_string() == project_of(&path) {
        Place::Own
    } else {
        Place::OtherProject
    };
    let session = session_of(&log, generation);
    let reach = reach_at(&session, generation, place);
    let options = RequestOptions { prompt: Some(PROMPT.into()), ..RequestOptions::default() };
    let request = request(&session, &reach, &log, &options);
    let (messages, _) = recto_agent::mock::strict::read(&request.messages);
    Ok(Prediction {
        generation,
        outcome: reach.outcome.name(),
        messages,
        reach: reach_of(&session, generation),
    })
}

pub(crate) fn verdict(outcome: &Outcome, prediction: &Prediction) -> Verdict {
    if outcome.name() != prediction.outcome {
        let stderr: String = outcome.stderr.chars().take(400).collect();
        let (did, should) = (outcome.name(), prediction.outcome);
        return Verdict::Differs(format!("the client: {did}, predicted: {should}\n  {stderr}"));
    }
    if !outcome.prefix_kept {
        return Verdict::Differs("the client changed lines that were there".into());
    }
    let sent = outcome.messages.as_ref();
    match sent.and_then(|sent| difference(sent, &prediction.messages)) {
        Some(difference) => Verdict::Differs(difference),
        None => Verdict::Equal,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_verdict_is_about_what_the_client_did_sent_and_kept() {
        let messages = json!([{"role": "user", "content": "NEXT"}]);
        let good = Outcome {
            rc: Some(0),
            messages: Some(messages.clone()),
            prefix_kept: true,
            ..Outcome::default()
        };
        let prediction = |outcome| Prediction {
            generation: Generation::latest(),
            outcome,
            messages: messages.clone(),
            reach: WHOLE.into(),
        };
        assert_eq!(verdict(&good, &prediction("resumed")), Verdict::Equal);
        let differs = |outcome: &Outcome, predicted| {
            matches!(verdict(outcome, &prediction(predicted)), Verdict::Differs(_))
        };
        assert!(differs(&good, "refused"));
        assert!(differs(&Outcome { prefix_kept: false, ..good.clone() }, "resumed"));
        let other = Some(json!([{"role": "user", "content": "OTHER"}]));
        assert!(differs(&Outcome { messages: other, ..good.clone() }, "resumed"));
        let silent = Outcome { messages: None, ..good };
        assert!(differs(&silent, "hangs"));
        assert_eq!(verdict(&silent, &prediction("refused")), Verdict::Equal);
        let late = Outcome { rc: None, ..silent };
        assert_eq!(verdict(&late, &prediction("hangs")), Verdict::Equal);
    }
}
