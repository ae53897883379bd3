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
use recto_session::request::Generation;
use recto_session::request::Place;
use recto_session::request::RequestOptions;
use recto_session::request::reach_at;
use recto_session::request::request;
use recto_testkit::difference;
use serde_json::Value;

use super::cases::Case;
use super::cases::Prepared;
use super::resume::LIMIT;
use super::resume::Outcome;
use super::resume::PROMPT;
use super::resume::Resume;
use super::resume::find_log;
use super::resume::project_of;
use super::resume::resume;
use super::resume::working_directory;
use super::strict;

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
    pub(crate) reach: Option<(String, String)>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// The client did what was predicted.
    Equal,
    /// It did not.
    Differs(String),
    /// It could not be asked.
    Failed(String),
}

/// Runs all cases in all clients, and tells of each when it is done.
pub(crate) fn run(
    cases: &[Case],
    clients: &[String],
    recto: &Path,
    tell: impl Fn(&Row) + Sync,
) -> Vec<Row> {
    let jobs: Vec<(&Case, &String)> =
        clients.iter().flat_map(|client| cases.iter().map(move |case| (case, client))).collect();
    let next = Mutex::new(0..jobs.len());
    let rows = Mutex::new(Vec::new());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(number) = take() {
                    let (case, client) = jobs[number];
                    let row = row(case, client, recto);
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

fn row(case: &Case, client: &str, recto: &Path) -> Row {
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
    row.verdict = match ask(case, client, recto, &mut row) {
        Ok(verdict) => verdict,
        Err(error) => Verdict::Failed(format!("{error:#}")),
    };
    row
}

fn ask(case: &Case, client: &str, recto: &Path, row: &mut Row) -> anyhow::Result<Verdict> {
    let prepared = case.prepare(recto)?;
    row.reach.clone_from(&prepared.reach);
    let cwd = match case.cwd() {
        Some(cwd) => cwd.to_owned(),
        None => working_directory(prepared.home.path(), &prepared.session)?,
    };
    let prediction = predict(&prepared, &cwd, client)?;
    let outcome = resume(&Resume {
        version: client,
        home: prepared.home.path(),
        session: &prepared.session,
        cwd: &cwd,
        limit: if prediction.outcome == "hangs" { HANGING } else { LIMIT },
        environment: case.environment(),
    })?;
    row.did = outcome.name();
    row.messages = outcome.messages.as_ref().and_then(Value::as_array).map_or(0, Vec::len);
    row.refused.clone_from(&outcome.refused);
    Ok(verdict(&outcome, &prediction))
}

/// What a client should do.
struct Prediction {
    outcome: &'static str,
    messages: Value,
}

fn predict(prepared: &Prepared, cwd: &str, client: &str) -> anyhow::Result<Prediction> {
    let path = find_log(prepared.home.path(), &prepared.session)?;
    let log = fs::read(&path)?;
    let mut session = Session::new();
    for line in Lines::new(&log) {
        session.push(&decode(line).0);
    }
    let generation = Generation::of_version(client)
        .with_context(|| format!("`{client}` is no version of a client"))?;
    let place = if prepared.session.parse::<SessionId>().is_err() {
        Place::NotNamedByUuid
    } else if ProjectKey::of_path(cwd).to_string() == project_of(&path) {
        Place::Own
    } else {
        Place::OtherProject
    };
    let reach = reach_at(&session, generation, place);
    let options = RequestOptions { prompt: Some(PROMPT.into()), ..RequestOptions::default() };
    let mut fetch = |span: recto_session::Span| {
        let start = usize::try_from(span.offset).ok()?;
        Some(log.get(start..start + usize::try_from(span.length).ok()?)?.to_vec())
    };
    let request = request(&session, &reach, &mut fetch, &options);
    let (messages, _) = strict::read(&request.messages);
    Ok(Prediction { outcome: reach.outcome.name(), messages })
}

fn verdict(outcome: &Outcome, prediction: &Prediction) -> Verdict {
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
        let prediction = |outcome| Prediction { outcome, messages: messages.clone() };
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
