//! The state of the console: what happened in, what to do out. No input and output.

use std::collections::HashMap;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyEventKind;
use crossterm::event::KeyModifiers;
use recto_agent::turn::ModelTotals;
use recto_agent::turn::State;
use recto_agent::turn::TurnEvent;
use recto_session::usage::Money;
use serde_json::Value;
use serde_json::json;

use super::blocks;
use super::blocks::Lines;
use super::complete::Completion;
use super::editor::Editor;
use super::editor::Typed;
use super::live::Live;
pub(super) use super::message::Effect;
pub(super) use super::message::Extent;
pub(super) use super::message::Facts;
pub(super) use super::message::Input;
pub(super) use super::message::Opened;
pub(super) use super::message::Overlay;
pub(super) use super::message::PastPrompt;
use super::picker::Picker;
use super::picker::Purpose;
use super::question::Answered;
use super::question::Asked;
use super::question::Question;
use super::question::mode_request;
use crate::terminal::output::Look;

/// Ticks of a second.
pub(super) const TICKS: u64 = 10;

/// The hint until an interrupted turn is over.
const INTERRUPTING: &str = "interrupting";

/// The console.
#[derive(Debug)]
pub(super) struct Console {
    pub(super) facts: Facts,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) editor: Editor,
    pub(super) live: Live,
    pub(super) overlay: Option<Overlay>,
    pub(super) completion: Option<Completion>,
    /// Lines for the scrollback that were not printed yet.
    pub(super) out: Lines,
    pub(super) session: String,
    pub(super) model: String,
    pub(super) mode: String,
    pub(super) branch: Option<String>,
    pub(super) cost: Money,
    /// Tokens in the window, and its size.
    pub(super) context: Option<(u64, u64)>,
    pub(super) tick: u64,
    /// The use of each model, in the order of their first answers.
    pub(super) models: Vec<(String, ModelTotals)>,
    /// When a key was pressed last, and until when keys belong to the text though a question
    /// is shown.
    last_key: u64,
    pub(super) typing_until: u64,
    /// A hint in place of the status line, until the next key.
    pub(super) hint: Option<String>,
    /// The key that counts when it is pressed twice.
    pub(super) pressed: Option<KeyCode>,
    /// Commands of the user, skills and prompts of servers, with what they do; none until the
    /// session has listed them.
    pub(super) skills: Option<Vec<(String, String)>>,
    /// Requests that wait for an answer, and what for.
    pub(super) pending: HashMap<String, String>,
    asked: u64,
    pub(super) prompts: Vec<PastPrompt>,
    /// Whether the last thing printed was blank.
    is_spaced: bool,
}

impl Console {
    pub(super) fn new(facts: Facts, (width, height): (u16, u16)) -> Console {
        Console {
            facts,
            width: usize::from(width).max(20),
            height: usize::from(height).max(6),
            editor: Editor::default(),
            live: Live::default(),
            overlay: None,
            completion: None,
            out: Vec::new(),
            session: String::new(),
            model: String::new(),
            mode: "default".to_owned(),
            branch: None,
            cost: Money::default(),
            context: None,
            tick: 0,
            models: Vec::new(),
            last_key: 0,
            typing_until: 0,
            hint: None,
            pressed: None,
            skills: None,
            pending: HashMap::new(),
            asked: 0,
            prompts: Vec::new(),
            is_spaced: false,
        }
    }

    /// Whether something moves on the screen by itself.
    pub(super) fn is_moving(&self) -> bool {
        self.live.is_busy || !self.live.tasks.is_empty()
    }

    /// Lines that shall be printed for good.
    pub(super) fn take_out(&mut self) -> Lines {
        std::mem::take(&mut self.out)
    }

    pub(super) fn say(&mut self, look: Look, text: &str) {
        let lines = blocks::note(look, text, self.width);
        self.print(lines);
    }

    pub(super) fn print(&mut self, lines: Lines) {
        for line in lines {
            let is_blank = line.iter().all(|(text, _)| text.trim().is_empty());
            if is_blank && self.is_spaced {
                continue;
            }
            self.is_spaced = is_blank;
            self.out.push(line);
        }
    }

    pub(super) fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Input::Key(key) => self.key(key),
            Input::Paste(text) => {
                let is_image = self.facts.is_image;
                self.editor.paste(&text, |path| is_image.is_some_and(|is_image| is_image(path)));
                Vec::new()
            }
            Input::Line(text) => self.line(&text),
            Input::Resize(width, height) => {
                self.width = usize::from(width).max(20);
                self.height = usize::from(height).max(6);
                Vec::new()
            }
            Input::Event(event) => self.event(&event),
            Input::Asked(asked) => self.ask(*asked),
            Input::Tick => {
                self.tick += 1;
                Vec::new()
            }
            Input::Branch(branch) => {
                self.branch = branch;
                Vec::new()
            }
            Input::Shell(_, output, code) => self.shell_ended(&output, code),
            Input::Sessions(choices) if choices.is_empty() => {
                self.say(Look::Faint, "no other sessions in this directory");
                Vec::new()
            }
            Input::Sessions(choices) => {
                let picker = Picker::new(Purpose::Resume, "Resume a session", choices);
                self.show_picker(picker)
            }
            Input::Prompts(prompts) => self.offer_prompts(prompts),
            Input::Say(look, text) => {
                self.say(look, &text);
                Vec::new()
            }
            Input::Opened(opened) => self.opened(opened),
        }
    }

    fn opened(&mut self, opened: Opened) -> Vec<Effect> {
        let shows_thinking = self.live.shows_thinking;
        self.live = Live::default();
        self.live.shows_thinking = shows_thinking;
        self.live.directory.clone_from(&self.facts.directory);
        self.live.recall(&opened.calls);
        self.overlay = None;
        self.pending.clear();
        self.session = opened.id;
        self.model = opened.model;
        self.mode = opened.mode;
        self.context = None;
        if let Some(remark) = opened.remark {
            self.say(Look::Faint, &remark);
        }
        if let Some(draft) = opened.draft {
            self.editor.set(&draft);
        }
        // Looks for files, so that the first `@` finds some.
        let files = self.request("files", json!({"subtype": "file_suggestions", "query": ""}));
        let context = self.request("context", json!({"subtype": "get_context_usage"}));
        let session = self.request("session", json!({"subtype": "initialize"}));
        files.into_iter().chain(context).chain(session).collect()
    }

    fn event(&mut self, event: &TurnEvent) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            TurnEvent::State(state) => {
                let is_busy = *state != State::Idle;
                if is_busy && !self.live.is_busy {
                    self.live.since = self.tick;
                }
                let was_busy = std::mem::replace(&mut self.live.is_busy, is_busy);
                if was_busy && !is_busy {
                    effects.push(Effect::Bell);
                }
            }
            TurnEvent::Began(began) => {
                self.model.clone_from(&began.model);
                began.mode.clone_into(&mut self.mode);
                self.know_skills(began.skills.iter().chain(&began.prompts));
            }
            TurnEvent::Prompted { content, is_output, is_known: false, .. } => {
                if let Some(text) = content.as_str().filter(|_| *is_output) {
                    let text = text.replace("<local-command-stdout>", "");
                    self.say(Look::Faint, text.replace("</local-command-stdout>", "").trim());
                }
            }
            TurnEvent::System(line) => {
                if let Some(mode) = line["permissionMode"].as_str() {
                    mode.clone_into(&mut self.mode);
                }
            }
            TurnEvent::StartedOver { session } => {
                self.session.clone_from(session);
                self.context = None;
                self.cost = Money::default();
                self.say(Look::Faint, "new conversation; /resume opens the old one");
            }
            TurnEvent::Ended(ended) => {
                self.cost = ended.cost;
                self.models.clone_from(&ended.models);
                self.hint.take_if(|hint| hint == INTERRUPTING);
                if matches!(self.overlay, Some(Overlay::Question(_))) {
                    self.overlay = None;
                }
                effects.extend(self.request("context", json!({"subtype": "get_context_usage"})));
            }
            TurnEvent::Control(line) => return self.control(line),
            _ => {}
        }
        let was_cut_off = self.live.retry.is_some() && self.live.is_unreachable;
        let lines = self.live.take(event, self.tick, self.width);
        self.print(lines);
        if let TurnEvent::Ended(ended) = event {
            self.hint_at_failure(ended, was_cut_off);
            self.print(vec![Vec::new()]);
        }
        effects
    }

    fn control(&mut self, line: &Value) -> Vec<Effect> {
        let response = &line["response"];
        let Some(id) = response["request_id"].as_str() else { return Vec::new() };
        let answer = match response["subtype"] == "success" {
            true => Ok(response["response"].clone()),
            false => Err(response["error"].as_str().unwrap_or_default().to_owned()),
        };
        self.answered(id, answer)
    }

    /// Asks the session something.
    pub(super) fn request(&mut self, purpose: &str, body: Value) -> Option<Effect> {
        self.asked += 1;
        let id = format!("console-{}", self.asked);
        self.pending.insert(id.clone(), purpose.to_owned());
        Some(Effect::Request(id, body))
    }

    fn ask(&mut self, asked: Asked) -> Vec<Effect> {
        let question = Question::new(asked);
        let body = question.body(self.width);
        // A long body stays in the scrollback, where it can be read in full.
        let is_long = body.len() + 12 > self.height;
        if is_long || self.facts.is_plain {
            self.print(vec![Vec::new()]);
            self.print(body);
        }
        if self.facts.is_plain {
            self.print(question.numbered(self.width));
        }
        // A person who is typing sees the question too late: these keys must not answer it.
        let is_typing = !self.editor.is_empty() && self.tick < self.last_key + TICKS;
        self.typing_until = if is_typing { self.tick + TICKS } else { 0 };
        self.overlay = Some(Overlay::Question(Box::new(question)));
        vec![Effect::Bell]
    }

    fn line(&mut self, text: &str) -> Vec<Effect> {
        match &mut self.overlay {
            Some(Overlay::Question(question)) => {
                let answered = question.line(text);
                let effects = self.reply(answered);
                if let Some(Overlay::Question(question)) = &self.overlay {
                    let lines = question.numbered(self.width);
                    self.print(lines);
                }
                return effects;
            }
            Some(Overlay::Picker(picker)) => {
                let picked = picker.line(text);
                return self.picked(picked);
            }
            Some(Overlay::Calls(_)) | None => {}
        }
        self.editor.set(text);
        self.send()
    }

    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.hint = None;
        let pressed = self.pressed.take();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('l') if control => return vec![Effect::Redraw],
            KeyCode::Char('z') if control => return vec![Effect::Suspend],
            KeyCode::Char('o')
                if control && !matches!(self.overlay, Some(Overlay::Question(_))) =>
            {
                return vec![Effect::Transcript];
            }
            _ => {}
        }
        self.last_key = self.tick;
        if matches!(self.overlay, Some(Overlay::Question(_))) && self.is_still_typing(key) {
            return Vec::new();
        }
        match &mut self.overlay {
            Some(Overlay::Question(question)) => {
                let answered = question.key(key);
                return self.reply(answered);
            }
            Some(Overlay::Picker(picker)) => {
                let picked = picker.key(key, self.height.saturating_sub(4));
                return self.picked(picked);
            }
            Some(Overlay::Calls(list)) => {
                let size = (self.width, self.height.saturating_sub(4));
                if list.key(key, &self.live.calls, size) {
                    self.overlay = None;
                }
                return Vec::new();
            }
            None => {}
        }
        if let Some(effects) = self.complete_key(key) {
            return effects;
        }
        let effects = match key.code {
            KeyCode::BackTab => self.next_mode(),
            KeyCode::Esc if self.editor.wants_escape() => {
                self.editor.key(key);
                Vec::new()
            }
            KeyCode::Esc => self.escape(pressed),
            KeyCode::Char('x') if control => self.show_calls(),
            KeyCode::Char('c') if control => self.leave(pressed, 'c'),
            KeyCode::Char('d') if control && self.editor.is_empty() => self.leave(pressed, 'd'),
            KeyCode::Char('r') if control && self.editor.vi_mode() != Some("NORMAL") => {
                self.search_history()
            }
            KeyCode::Char('t') if control => {
                self.live.shows_thinking ^= true;
                let on = if self.live.shows_thinking { "shown" } else { "folded" };
                self.hint = Some(format!("thinking is {on}"));
                Vec::new()
            }
            KeyCode::Up if self.editor.is_empty() && !self.live.queue.is_empty() => self.unqueue(),
            _ => match self.editor.key(key) {
                Typed::Send => self.send(),
                Typed::Done | Typed::Unknown => Vec::new(),
            },
        };
        let mut effects = effects;
        effects.extend(self.look_for_completion());
        effects
    }

    fn escape(&mut self, pressed: Option<KeyCode>) -> Vec<Effect> {
        if self.live.is_busy {
            self.hint = Some(INTERRUPTING.to_owned());
            return vec![Effect::Interrupt];
        }
        if pressed == Some(KeyCode::Esc) {
            if self.editor.is_empty() {
                return vec![Effect::ListPrompts];
            }
            self.editor.set("");
            return Vec::new();
        }
        self.pressed = Some(KeyCode::Esc);
        self.hint = Some(match self.editor.is_empty() {
            true => "Esc again: go back to an earlier prompt".to_owned(),
            false => "Esc again: clear the text".to_owned(),
        });
        Vec::new()
    }

    /// Ctrl-C and Ctrl-D: stop, clear, leave.
    fn leave(&mut self, pressed: Option<KeyCode>, letter: char) -> Vec<Effect> {
        if self.live.is_busy && letter == 'c' {
            self.hint = Some(INTERRUPTING.to_owned());
            return vec![Effect::Interrupt];
        }
        if !self.editor.is_empty() {
            self.editor.set("");
            return Vec::new();
        }
        if pressed == Some(KeyCode::Char(letter)) || letter == 'd' {
            return vec![Effect::Quit];
        }
        self.pressed = Some(KeyCode::Char(letter));
        self.hint = Some("Ctrl-C again: leave".to_owned());
        Vec::new()
    }

    /// Takes the newest prompt that waits back into the editor.
    fn unqueue(&mut self) -> Vec<Effect> {
        let Some(queued) = self.live.queue.pop() else { return Vec::new() };
        self.editor.set(&queued.text);
        let body = json!({"subtype": "cancel_async_message", "message_uuid": queued.uuid});
        self.request("unqueue", body).into_iter().collect()
    }

    /// The modes in the order in which shift-tab goes through them.
    fn next_mode(&mut self) -> Vec<Effect> {
        let mut modes = vec!["default", "acceptEdits", "plan"];
        if self.facts.may_bypass {
            modes.push("bypassPermissions");
        }
        let at = modes.iter().position(|mode| *mode == self.mode).map_or(0, |at| at + 1);
        let mode = modes[at % modes.len()];
        mode.clone_into(&mut self.mode);
        self.request("mode", mode_request(mode)).into_iter().collect()
    }

    fn reply(&mut self, answered: Answered) -> Vec<Effect> {
        let Answered::With(reply, kept) = answered else { return Vec::new() };
        let Some(Overlay::Question(question)) = self.overlay.take() else { return Vec::new() };
        let mut effects = vec![Effect::Reply(question.asked.id.clone(), reply)];
        effects.extend(kept.into_iter().map(Effect::Keep));
        effects
    }
}
