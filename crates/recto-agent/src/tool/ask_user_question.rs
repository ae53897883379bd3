//! `AskUserQuestion`: questions with choices.
//!
//! The host shows the questions when it is asked for permission, and gives the answers back
//! as a field of the input. Without them nobody answered.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::issue;
use super::issue::Issue;
use super::issue::Step;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ABOUT: &str = "Asks the user one to four questions with two to four choices \
each. The user may also answer in their own words.";

const OPTION: Schema = Schema::open(&[
    Field::required("label", Kind::String, "The choice, in a few words"),
    Field::required("description", Kind::String, "What it means"),
    Field::optional("preview", Kind::String, "What it would look like"),
]);

const QUESTION: Schema = Schema::open(&[
    Field::required("question", Kind::String, "The whole question"),
    Field::required("header", Kind::String, "A word or two that name it"),
    Field::required("options", Kind::Array { of: &Kind::Object(&OPTION), min: 2, max: 4 }, ""),
    Field::optional("multiSelect", Kind::Boolean, "Whether several may be chosen"),
]);

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("questions", Kind::Array { of: &Kind::Object(&QUESTION), min: 1, max: 4 }, ""),
    Field::optional("answers", Kind::Record, "Set by the program: do not pass it"),
    Field::optional("annotations", Kind::Record, "Set by the program: do not pass it"),
    Field::optional("metadata", Kind::Record, "Set by the program: do not pass it"),
]);

/// The outcome of an input that is wrong. One choice is no question, and the model is told
/// what to do instead.
pub(super) fn wrong(tool: &str, issues: &[Issue]) -> ToolOutcome {
    let outcome = issue::outcome(tool, issues);
    let is_single = |issue: &&Issue| {
        issue.code() == "too_small"
            && issue.path().last() == Some(&Step::Name("options".to_owned()))
    };
    if issues.iter().find(is_single).is_none() {
        return outcome;
    }
    let list = issue::listed(issues);
    let lines = issue::told(tool, issues).unwrap_or_else(|| list.clone());
    let text = format!(
        "InputValidationError: This call included a question with fewer than 2 options, so it was \
         rejected and the person never saw it. A question with a single option has no decision in \
         it. Do not retry this call and do not invent a filler second option. Instead, state the \
         one path you were going to offer as the approach you are taking, then continue with the \
         task. If this call also contained questions with 2 to 4 options (each with distinct \
         labels), you may re-ask those questions alone in a new call. Ask a question only when \
         the person has at least two genuinely distinct choices.\n\n{lines}"
    );
    ToolOutcome::tagged(&text, format!("InputValidationError: {list}"))
}

/// Answers name a question by its text, and a choice by its label.
pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    let questions: Vec<&Value> =
        call.input.get("questions").and_then(Value::as_array).into_iter().flatten().collect();
    let are_unique = |values: Vec<Option<&Value>>| {
        values
            .iter()
            .enumerate()
            .all(|(at, value)| !values.iter().skip(at + 1).any(|it| it == value))
    };
    let labels = |question: &&Value| {
        let options = question.get("options").and_then(Value::as_array).into_iter().flatten();
        are_unique(options.map(|option| option.get("label")).collect())
    };
    let texts = questions.iter().map(|question| question.get("question")).collect();
    if are_unique(texts) && questions.iter().all(labels) {
        return Ok(());
    }
    let message =
        "Question texts must be unique, option labels must be unique within each question";
    Err(issue::outcome("AskUserQuestion", &[Issue::custom(&[], message)]))
}

pub(super) fn run(call: &Call<'_>) -> ToolOutcome {
    let questions = call.input.get("questions").cloned().unwrap_or_default();
    let answers = call.input.get("answers").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut structured = Map::new();
    structured.insert("questions".into(), questions.clone());
    structured.insert("answers".into(), Value::Object(answers.clone()));
    for name in ["annotations", "metadata"] {
        if let Some(value) = call.input.get(name) {
            structured.insert(name.into(), value.clone());
        }
    }
    let structured = Value::Object(structured);
    let annotations = call.input.get("annotations").cloned().unwrap_or_default();
    let given = given_answers(&questions, &answers, &annotations);
    if given.is_empty() {
        return ToolOutcome::text("The user did not answer the questions.", structured);
    }
    let told: Vec<String> = given.iter().map(Given::told).collect();
    let told = told.join(", ");
    let text = if given.iter().all(|one| one.is_choice(&questions)) {
        format!(
            "Your questions have been answered: {told}. You can now continue with these answers \
             in mind."
        )
    } else {
        format!(
            "The user answered: {told}. Read the answers carefully — they may request \
             clarification, changes, or that you not proceed — and follow what they actually say."
        )
    };
    ToolOutcome::text(text, structured)
}

/// What a user said to a question.
struct Given<'a> {
    question: &'a str,
    answer: Option<&'a Value>,
    /// What the chosen option would look like.
    preview: &'a str,
    notes: &'a str,
}

impl Given<'_> {
    fn told(&self) -> String {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let answer = match self.answer {
            Some(Value::Array(several)) => several.iter().map(text).collect::<Vec<_>>().join(","),
            Some(one) => text(one),
            None => String::new(),
        };
        let mut told = match self.answer {
            Some(_) => format!("\"{}\"=\"{answer}\"", self.question),
            None => format!("\"{}\"=(no option selected)", self.question),
        };
        if !self.preview.is_empty() {
            told += &format!(" selected preview:\n{}", self.preview);
        }
        if !self.notes.is_empty() {
            told += &format!(" notes: {}", self.notes);
        }
        told
    }

    /// Whether it is made of labels of the question, and of nothing else.
    fn is_choice(&self, questions: &Value) -> bool {
        self.notes.is_empty()
            && self.answer.is_some_and(|answer| is_choice(questions, self.question, answer))
    }
}

/// The answers in the order of the questions. What nobody asked is no answer, and neither is
/// nothing, unless there are notes.
fn given_answers<'a>(
    questions: &'a Value,
    answers: &'a Map<String, Value>,
    annotations: &'a Value,
) -> Vec<Given<'a>> {
    let asked = questions.as_array().into_iter().flatten();
    let texts = asked.filter_map(|one| one.get("question")?.as_str());
    let given = texts.map(|question| {
        let note = |name: &str| {
            let note = annotations.get(question).and_then(|about| about.get(name)?.as_str());
            note.unwrap_or_default()
        };
        let answer = answers.get(question).filter(|answer| answer.as_str() != Some(""));
        Given { question, answer, preview: note("preview"), notes: note("notes") }
    });
    given.filter(|one| one.answer.is_some() || !one.notes.is_empty()).collect()
}

/// Whether an answer is made of labels of its question.
fn is_choice(questions: &Value, question: &str, answer: &Value) -> bool {
    let asked = questions.as_array().into_iter().flatten();
    let asked = asked.filter(|one| one.get("question") == Some(&json!(question)));
    let options = asked.filter_map(|one| one.get("options")?.as_array()).flatten();
    let labels: Vec<&str> = options.filter_map(|option| option.get("label")?.as_str()).collect();
    match answer {
        Value::Array(several) if !several.is_empty() => {
            several.iter().all(|one| one.as_str().is_some_and(|one| labels.contains(&one)))
        }
        Value::String(one) => {
            labels.contains(&one.as_str()) || one.split(", ").all(|part| labels.contains(&part))
        }
        _ => false,
    }
}
