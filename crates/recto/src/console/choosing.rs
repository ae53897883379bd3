//! Lists to choose from: what they offer, and what a choice does.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use serde_json::json;

use super::blocks;
use super::blocks::Lines;
use super::calls::CallList;
use super::message::FileBack;
use super::picker::Choice;
use super::picker::Picked;
use super::picker::Picker;
use super::picker::Purpose;
use super::state::Console;
use super::state::Effect;
use super::state::Extent;
use super::state::Overlay;
use super::state::PastPrompt;
use super::state::TICKS;
use crate::terminal::output::Look;

impl Console {
    pub(super) fn search_history(&mut self) -> Vec<Effect> {
        let history = self.editor.history().iter().rev();
        let choices = history.map(|text| Choice::new(text, text, "")).collect();
        self.show_picker(Picker::new(Purpose::History, "Earlier prompts", choices))
    }

    /// The calls, to open one of them.
    pub(super) fn show_calls(&mut self) -> Vec<Effect> {
        if self.live.calls.is_empty() {
            self.hint = Some("no calls yet".to_owned());
        } else if self.facts.is_plain {
            let lines = self.live.calls.last_in_full(self.width);
            self.print(lines);
        } else {
            self.completion = None;
            self.overlay = Some(Overlay::Calls(CallList::new(&self.live.calls)));
        }
        Vec::new()
    }

    /// Whether a key belongs to a text that was being typed when a question came.
    pub(super) fn is_still_typing(&mut self, key: KeyEvent) -> bool {
        let is_text = matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Enter);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if self.tick >= self.typing_until || !is_text || control {
            return false;
        }
        self.typing_until = self.tick + TICKS;
        if key.code != KeyCode::Enter {
            self.editor.key(key);
        }
        self.hint = Some("stop typing for a second, then keys answer the question".to_owned());
        true
    }

    pub(super) fn show_picker(&mut self, picker: Picker) -> Vec<Effect> {
        if self.facts.is_plain {
            self.print(picker.numbered());
        }
        self.completion = None;
        self.overlay = Some(Overlay::Picker(picker));
        Vec::new()
    }

    pub(super) fn picked(&mut self, picked: Picked) -> Vec<Effect> {
        let choice = match picked {
            Picked::Nothing => return Vec::new(),
            Picked::Left => {
                self.overlay = None;
                return Vec::new();
            }
            Picked::Chosen(choice) => choice,
        };
        let Some(Overlay::Picker(picker)) = self.overlay.take() else { return Vec::new() };
        match picker.purpose {
            Purpose::Model => self.set_model(&choice.value),
            Purpose::Resume => vec![Effect::Open(choice.value)],
            Purpose::History => {
                self.editor.set(&choice.value);
                Vec::new()
            }
            Purpose::Prompt => {
                let at = choice.value.parse().unwrap_or_default();
                self.offer_extents(at)
            }
            Purpose::Extent(at) => {
                let Some(prompt) = self.prompts.get(at).cloned() else { return Vec::new() };
                let extent = match choice.value.as_str() {
                    "both" => Extent { conversation: true, files: true },
                    "files" => Extent { conversation: false, files: true },
                    _ => Extent { conversation: true, files: false },
                };
                vec![Effect::Rewind(prompt, extent)]
            }
        }
    }

    pub(super) fn set_model(&mut self, name: &str) -> Vec<Effect> {
        let body = json!({"subtype": "set_model", "model": name});
        self.request("model", body).into_iter().collect()
    }

    pub(super) fn offer_prompts(&mut self, prompts: Vec<PastPrompt>) -> Vec<Effect> {
        if prompts.is_empty() {
            self.say(Look::Faint, "no earlier prompt to go back to");
            return Vec::new();
        }
        let choices = prompts.iter().enumerate().rev().map(|(at, prompt)| {
            let files = match prompt.files.len() {
                0 => String::new(),
                count => crate::terminal::text::plural(count as u64, "file"),
            };
            Choice::new(at.to_string(), prompt.text.clone(), files)
        });
        let choices = choices.collect();
        self.prompts = prompts;
        self.show_picker(Picker::new(Purpose::Prompt, "Go back to an earlier prompt", choices))
    }

    /// What shall go back, with what would happen to files.
    fn offer_extents(&mut self, at: usize) -> Vec<Effect> {
        let Some(prompt) = self.prompts.get(at) else { return Vec::new() };
        let mut choices = vec![Choice::new("conversation", "Conversation only", "files stay")];
        if !prompt.files.is_empty() {
            choices.insert(0, Choice::new("both", "Conversation and files", ""));
            choices.push(Choice::new("files", "Files only", "the conversation stays"));
        }
        let mut picker = Picker::new(Purpose::Extent(at), "What do you want to restore?", choices);
        for left in prompt.left.iter().take(4) {
            let left = crate::terminal::text::one_line(left);
            picker.preview.push(vec![(format!("  stays: {left}"), Look::Warning)]);
        }
        for file in &prompt.files {
            picker.preview.extend(file_back(file, self.width));
        }
        self.show_picker(picker)
    }
}

/// What going back would do to a file: sums, then the lines.
fn file_back(file: &FileBack, width: usize) -> Lines {
    let path = crate::terminal::text::one_line(&file.path);
    let mut lines = vec![vec![
        (format!("  +{}", file.added), Look::Good),
        (format!(" -{} ", file.removed), Look::Bad),
        (crate::terminal::text::fit(&path, width.saturating_sub(16)), Look::Plain),
    ]];
    lines.extend(blocks::diff_lines(file.diff.iter().map(String::as_str), width, usize::MAX));
    if file.hidden > 0 {
        let more = crate::terminal::text::plural(file.hidden as u64, "more line");
        lines.push(vec![(format!("    … {more}"), Look::Faint)]);
    }
    lines
}
