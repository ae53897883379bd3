//! A question to the user: whether a call may run, what the model wants to know, whether a plan
//! is good. Shows the whole command or change, and the exact rule that "always" would write.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use recto_agent::turn::Reply;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::blocks;
use super::blocks::Lines;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::safe;
use crate::terminal::text::wrap;

/// Lines around a change that are shown, too.
const CONTEXT: usize = 3;
/// How the model is told of a no, and what comes before the user's words.
pub(super) const REFUSED: &str = "The user doesn't want to proceed with this tool use.";
pub(super) const SAID: &str = "They said:";

/// A call that needs an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) text: String,
    pub(super) suggestions: Vec<Value>,
    pub(super) agent: Option<String>,
    /// What the file that would be written holds now.
    pub(super) before: Option<String>,
}

/// What a key came to.
#[derive(Debug)]
pub(super) enum Answered {
    Nothing,
    /// The answer, and the rules to keep in a settings file.
    With(Box<Reply>, Vec<Value>),
}

#[derive(Debug, Clone)]
enum Choice {
    Yes,
    Always(Value),
    No,
    /// A label of an answer, for questions of the model.
    Answer(String),
    Own,
}

/// A question on the screen.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) asked: Asked,
    choices: Vec<(String, Choice)>,
    marked: usize,
    /// What is typed in place of a choice.
    typing: Option<String>,
    /// Which of the model's questions it is, and what was answered to those before.
    number: usize,
    answers: Map<String, Value>,
    ticked: Vec<usize>,
}

impl Question {
    pub(super) fn new(asked: Asked) -> Question {
        let mut question = Question {
            asked,
            choices: Vec::new(),
            marked: 0,
            typing: None,
            number: 0,
            answers: Map::new(),
            ticked: Vec::new(),
        };
        question.choices = question.offers();
        question
    }

    fn offers(&self) -> Vec<(String, Choice)> {
        if let Some(question) = self.models_question() {
            let options = question["options"].as_array().cloned().unwrap_or_default();
            let mut choices: Vec<(String, Choice)> = options
                .iter()
                .map(|option| {
                    let label = option["label"].as_str().unwrap_or_default().to_owned();
                    let about = option["description"].as_str().unwrap_or_default();
                    let shown = match about.is_empty() {
                        true => label.clone(),
                        false => format!("{label}: {about}"),
                    };
                    (shown, Choice::Answer(label))
                })
                .collect();
            choices.push(("Something else".to_owned(), Choice::Own));
            return choices;
        }
        if self.asked.tool == "ExitPlanMode" {
            return vec![
                ("Yes, start with the plan".to_owned(), Choice::Yes),
                ("No, keep planning; say what to change".to_owned(), Choice::No),
            ];
        }
        let mut choices = vec![("Yes".to_owned(), Choice::Yes)];
        for update in &self.asked.suggestions {
            if let Some(label) = described(update) {
                choices.push((label, Choice::Always(update.clone())));
            }
        }
        choices.push(("No, and say what to do instead".to_owned(), Choice::No));
        choices
    }

    fn models_question(&self) -> Option<&Value> {
        let is_asked = self.asked.tool == "AskUserQuestion";
        self.asked.input["questions"].get(self.number).filter(|_| is_asked)
    }

    /// A question is a headline, so that a screen reader and a notification have one.
    pub(super) fn title(&self) -> String {
        let tool = recto_agent::turn::tool_title(&self.asked.tool);
        let who = if self.asked.agent.is_some() { " (a subagent)" } else { "" };
        match self.models_question() {
            Some(question) => one_line(question["question"].as_str().unwrap_or_default()),
            None if self.asked.tool == "ExitPlanMode" => "Start with this plan?".to_owned(),
            None => format!("Allow {}{who}?", one_line(&tool)),
        }
    }

    /// What the call would do, in full, and why it is asked about.
    pub(super) fn body(&self, width: usize) -> Lines {
        let tool = self.asked.tool.as_str();
        if tool == "AskUserQuestion" {
            return Vec::new();
        }
        let before = self.asked.before.as_deref().unwrap_or_default();
        let mut lines = whole_call(tool, &self.asked.input, before, width);
        if !matches!(tool, "ExitPlanMode" | "Edit" | "Write") {
            lines.extend(plain(Look::Faint, &self.asked.text, width));
        }
        lines
    }

    /// The question and its choices.
    pub(super) fn lines(&self, width: usize) -> Lines {
        let mut lines = vec![vec![(self.title(), Look::Warning)]];
        let is_multiple =
            self.models_question().is_some_and(|question| question["multiSelect"] == true);
        for (at, (label, _)) in self.choices.iter().enumerate() {
            let (mark, look) =
                if at == self.marked { ("❯ ", Look::User) } else { ("  ", Look::Plain) };
            let tick = match (is_multiple, self.ticked.contains(&at)) {
                (false, _) => "",
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
            };
            // A rule is shown to its last character.
            for (row, part) in wrap(&one_line(label), width.saturating_sub(10)).iter().enumerate() {
                let lead = match row {
                    0 => format!("{mark}{}. {tick}", at + 1),
                    _ => "     ".to_owned(),
                };
                lines.push(vec![(format!("{lead}{part}"), look)]);
            }
        }
        match &self.typing {
            Some(typed) => {
                lines.push(vec![
                    ("  ❯ ".to_owned(), Look::User),
                    (fit(&one_line(typed), width.saturating_sub(6)), Look::Plain),
                    ("▏".to_owned(), Look::User),
                ]);
                lines.push(vec![(fit("Enter to send · Esc to go back", width), Look::Faint)]);
            }
            None if is_multiple => {
                lines.push(vec![(
                    fit("Space to tick · Enter to answer · Esc to stop", width),
                    Look::Faint,
                )]);
            }
            None => lines.push(vec![(
                fit("type a number, or Enter · Esc rejects and stops", width),
                Look::Faint,
            )]),
        }
        lines
    }

    /// The same where keys are not read one by one: a line answers.
    pub(super) fn numbered(&self, width: usize) -> Lines {
        let mut lines = self.lines(width);
        lines.pop();
        let help = match (&self.typing, self.models_question()) {
            (Some(_), _) => "type what to do instead",
            (None, Some(_)) => "type a number, or your own answer",
            (None, None) => {
                "type a number, y or n; anything else means no and tells the model what to do"
            }
        };
        lines.push(vec![(help.to_owned(), Look::Faint)]);
        lines
    }

    /// Takes a line, where keys are not read one by one.
    pub(super) fn line(&mut self, text: &str) -> Answered {
        let text = text.trim();
        if self.typing.is_some() {
            self.typing = Some(text.to_owned());
            return self.enter();
        }
        let number = text.parse::<usize>().ok().filter(|n| (1..=self.choices.len()).contains(n));
        let named = match (number, text.to_lowercase().as_str()) {
            (Some(number), _) => Some(number - 1),
            (None, "y" | "yes") if self.models_question().is_none() => Some(0),
            (None, "n" | "no") if self.models_question().is_none() => {
                return self.refused(REFUSED);
            }
            _ => None,
        };
        match named {
            Some(at) => {
                self.marked = at;
                self.enter()
            }
            None if text.is_empty() => Answered::Nothing,
            None => {
                self.marked = self.choices.len() - 1;
                self.typing = Some(text.to_owned());
                self.enter()
            }
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Answered {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if let Some(typed) = &mut self.typing {
            match key.code {
                KeyCode::Esc => self.typing = None,
                KeyCode::Backspace => {
                    typed.pop();
                }
                KeyCode::Enter => return self.enter(),
                KeyCode::Char(c) if !control => typed.push(c),
                _ => {}
            }
            return Answered::Nothing;
        }
        let last = self.choices.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => return stopped(),
            KeyCode::Char('c') if control => return stopped(),
            KeyCode::Up => self.marked = self.marked.saturating_sub(1),
            KeyCode::Down | KeyCode::Tab => self.marked = (self.marked + 1).min(last),
            KeyCode::Char(' ') => self.tick(),
            KeyCode::Char(c @ '1'..='9') => {
                let at = (c as usize) - ('1' as usize);
                if at <= last {
                    self.marked = at;
                    return self.enter();
                }
            }
            KeyCode::Enter => return self.enter(),
            _ => {}
        }
        Answered::Nothing
    }

    fn tick(&mut self) {
        match self.ticked.iter().position(|at| *at == self.marked) {
            Some(place) => {
                self.ticked.remove(place);
            }
            None => self.ticked.push(self.marked),
        }
    }

    fn enter(&mut self) -> Answered {
        let Some((_, choice)) = self.choices.get(self.marked).cloned() else {
            return Answered::Nothing;
        };
        match choice {
            Choice::Yes => allowed(None, Vec::new()),
            Choice::Always(update) => {
                let kept = match update["destination"].as_str() {
                    Some("session") | None => Vec::new(),
                    Some(_) => vec![update.clone()],
                };
                let reply = Reply::Allow { updated_input: None, updated_permissions: vec![update] };
                Answered::With(Box::new(reply), kept)
            }
            Choice::No => match self.typing.take() {
                None => {
                    self.typing = Some(String::new());
                    Answered::Nothing
                }
                Some(text) if text.trim().is_empty() => self.refused(REFUSED),
                Some(text) => self.refused(&format!("{REFUSED} {SAID} {}", text.trim())),
            },
            Choice::Own => match self.typing.take().filter(|text| !text.trim().is_empty()) {
                None => {
                    self.typing = Some(String::new());
                    Answered::Nothing
                }
                Some(text) => self.next(text.trim().to_owned()),
            },
            Choice::Answer(label) => {
                let is_multiple = self.models_question().is_some_and(|q| q["multiSelect"] == true);
                let label = match is_multiple && !self.ticked.is_empty() {
                    true => self.ticked_labels(),
                    false => label,
                };
                self.next(label)
            }
        }
    }

    fn ticked_labels(&self) -> String {
        let mut ticked = self.ticked.clone();
        ticked.sort_unstable();
        let labels = ticked.iter().filter_map(|at| match self.choices.get(*at) {
            Some((_, Choice::Answer(label))) => Some(label.as_str()),
            _ => None,
        });
        labels.collect::<Vec<_>>().join(", ")
    }

    /// Notes an answer, and goes to the model's next question.
    fn next(&mut self, answer: String) -> Answered {
        if let Some(question) = self.models_question() {
            let text = question["question"].as_str().unwrap_or_default().to_owned();
            self.answers.insert(text, answer.into());
        }
        self.number += 1;
        self.marked = 0;
        self.ticked.clear();
        if self.models_question().is_some() {
            self.choices = self.offers();
            return Answered::Nothing;
        }
        let mut input = self.asked.input.clone();
        input["answers"] = Value::Object(std::mem::take(&mut self.answers));
        allowed(Some(input), Vec::new())
    }

    fn refused(&self, message: &str) -> Answered {
        let reply = Reply::Deny { message: message.to_owned(), interrupt: false };
        Answered::With(Box::new(reply), Vec::new())
    }
}

fn allowed(updated_input: Option<Value>, kept: Vec<Value>) -> Answered {
    Answered::With(Box::new(Reply::Allow { updated_input, updated_permissions: Vec::new() }), kept)
}

fn stopped() -> Answered {
    let reply = Reply::Deny { message: String::new(), interrupt: true };
    Answered::With(Box::new(reply), Vec::new())
}

/// The rules of an update, as settings files spell them.
pub(super) fn rules_of(update: &Value) -> Vec<String> {
    let rules = update["rules"].as_array().cloned().unwrap_or_default();
    let spelled = rules.iter().filter_map(|rule| {
        let tool = rule["toolName"].as_str()?;
        Some(match rule["ruleContent"].as_str() {
            Some(content) => format!("{tool}({content})"),
            None => tool.to_owned(),
        })
    });
    spelled.collect()
}

/// The settings file of an update.
pub(super) fn file_of(update: &Value) -> Option<&'static str> {
    Some(match update["destination"].as_str()? {
        "localSettings" => ".claude/settings.local.json",
        "projectSettings" => ".claude/settings.json",
        "userSettings" => "settings.json",
        _ => return None,
    })
}

fn described(update: &Value) -> Option<String> {
    let place = match file_of(update) {
        Some(file) => format!("to {file}"),
        None => "for this session".to_owned(),
    };
    match update["type"].as_str()? {
        "addRules" => {
            let rules = rules_of(update).join(", ");
            Some(match file_of(update) {
                Some(_) => format!("Yes, and always: adds {rules} {place}"),
                None => format!("Yes, and allow {rules} {place}"),
            })
        }
        "setMode" => Some(match update["mode"].as_str().unwrap_or_default() {
            "acceptEdits" => "Yes, and accept edits for the rest of this session".to_owned(),
            "plan" => "Yes, and only plan for the rest of this session".to_owned(),
            mode => format!("Yes, and switch to {mode} for this session"),
        }),
        "addDirectories" => {
            let directories = update["directories"].as_array()?;
            let names: Vec<&str> = directories.iter().filter_map(Value::as_str).collect();
            Some(format!("Yes, and work in {} {place}", names.join(", ")))
        }
        _ => None,
    }
}

fn plain(look: Look, text: &str, width: usize) -> Lines {
    let lines = wrap(&safe(text.trim_end()).replace('\t', "    "), width.saturating_sub(4));
    let spans = |line: String| -> Vec<Span> { vec![("  ".to_owned(), Look::Plain), (line, look)] };
    lines.into_iter().map(spans).collect()
}

/// What changes between two texts, with a few lines around it.
pub(super) fn change(before: &str, after: &str, width: usize) -> Lines {
    let lines = changed_lines(before, after);
    blocks::diff_lines(lines.iter().map(String::as_str), width, usize::MAX)
}

/// The same as lines that begin with `+`, `-` or a space.
pub(super) fn changed_lines(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let steps = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let mut lines = Vec::new();
    for group in similar::group_diff_ops(steps, CONTEXT) {
        if !lines.is_empty() {
            lines.push(" …".to_owned());
        }
        for step in group {
            let (tag, from, to) = step.as_tag_tuple();
            if tag == similar::DiffTag::Equal {
                lines.extend(old[from].iter().map(|line| format!(" {line}")));
                continue;
            }
            lines.extend(old[from].iter().map(|line| format!("-{line}")));
            lines.extend(new[to].iter().map(|line| format!("+{line}")));
        }
    }
    lines
}

/// What a call does, in full; `before` is the content of a file that it writes.
pub(super) fn whole_call(tool: &str, input: &Value, before: &str, width: usize) -> Lines {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    match tool {
        "ExitPlanMode" => blocks::answer(text("plan"), width),
        "Bash" => {
            let mut lines = plain(Look::Tool, text("command"), width);
            if !text("description").is_empty() {
                lines.extend(plain(Look::Faint, text("description"), width));
            }
            lines
        }
        "Edit" => {
            let mut lines = plain(Look::Strong, text("file_path"), width);
            lines.extend(change(text("old_string"), text("new_string"), width));
            lines
        }
        "Write" => {
            let mut lines = plain(Look::Strong, text("file_path"), width);
            lines.extend(change(before, text("content"), width));
            lines
        }
        _ => {
            let shown = serde_json::to_string_pretty(input).unwrap_or_default();
            plain(Look::Plain, &shown, width)
        }
    }
}

/// The object that asks for a change of the permission mode.
pub(super) fn mode_request(mode: &str) -> Value {
    json!({"subtype": "set_permission_mode", "mode": mode})
}
