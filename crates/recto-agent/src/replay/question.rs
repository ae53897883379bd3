//! A recorded request to ask again, of another model.

use recto_log::json::Value;
use recto_session::LineSource;
use recto_session::Session;
use recto_session::request::Recording;
use recto_session::request::messages_before;
use recto_session::with_line;

use crate::wire::Block;
use crate::wire::Json;
use crate::wire::Message;
use crate::wire::Request;

/// The most tokens of an answer where the log does not say.
const USUAL_TOKENS: u64 = 8192;

/// A request of a log, and what was answered.
#[derive(Clone, Debug)]
pub struct Question {
    /// The request. Tools are not part of it: nobody would run them.
    pub request: Request,
    /// The line of the request, or of its answer where requests are not noted.
    pub line: u64,
    /// The recorded answer, as JSON.
    pub recorded: Option<Json>,
    /// How many messages the log does not give.
    pub missing: usize,
}

/// The question that the answer at or after a line was given to. `None` if there is none.
pub fn question(
    session: &Session,
    log: &dyn LineSource,
    recording: &Recording,
    lines: std::ops::RangeInclusive<u64>,
) -> Option<Question> {
    let place = recording.answers.iter().position(|answer| lines.contains(&answer.line))?;
    let answer = recording.answers.get(place)?;
    let recorded = Json::parse(answer.message.clone()).ok();
    let noted = recording.requests.iter().find(|request| request.answer == Some(place));
    let model = recorded.as_ref().and_then(|message| message.str("model").map(|m| m.into_owned()));
    let mut request = Request::new(model.unwrap_or_default(), USUAL_TOKENS);
    let (line, messages, missing) = match noted {
        Some(noted) => {
            if let Some(params) = noted.params.as_deref().and_then(|text| Value::parse(text).ok()) {
                add_params(&mut request, params);
            }
            add_system(&mut request, session, log, noted.shape.as_deref());
            let known: Vec<Vec<u8>> = noted.messages.iter().flatten().cloned().collect();
            let missing = noted.messages.len() - known.len();
            (noted.line, known, missing)
        }
        None => (answer.line, messages_before(session, answer.line, log), 0),
    };
    let messages = messages.into_iter().filter_map(|message| Json::parse(message).ok());
    request.messages = messages.map(Message::from).collect();
    request.signed_by = Some("the endpoint of the log".into());
    Some(Question { request, line, recorded, missing })
}

/// What a note says about how the model was asked. Thinking is left to the new model.
fn add_params(request: &mut Request, params: Value<'_>) {
    if let Some(model) = params.str("model") {
        request.model = model.into_owned();
    }
    if let Some(tokens) = params.get("max_tokens").and_then(|tokens| tokens.as_u64()) {
        request.max_tokens = tokens;
    }
    let betas = params.get("betas").into_iter().flat_map(Value::elements);
    let betas = betas.filter_map(|beta| beta.as_str().map(|beta| beta.into_owned()));
    // We are another client than the one that names itself here.
    request.betas = betas.filter(|beta| !beta.starts_with("claude-code-")).collect();
    if let Some(temperature) = params.get("temperature")
        && let Ok(temperature) = Json::parse(temperature.bytes().to_vec())
    {
        request.set_field("temperature", temperature);
    }
}

fn add_system(request: &mut Request, session: &Session, log: &dyn LineSource, hash: Option<&str>) {
    let shape = session.records.shapes.iter().find(|shape| Some(shape.hash.as_str()) == hash);
    let Some(shape) = shape else { return };
    let read = with_line(log, shape.span, shape.line, |entry| {
        let system = entry.get("shape")?.get("system")?;
        Some(match system.as_str() {
            Some(text) => vec![Block::text(&text)],
            None => {
                let blocks = system
                    .elements()
                    .filter_map(|block| Json::parse(block.bytes().to_vec()).ok().map(Block::from));
                blocks.collect()
            }
        })
    });
    request.system = read.ok().flatten().unwrap_or_default();
}
