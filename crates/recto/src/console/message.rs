//! What the console is told, and what it wants done.

use crossterm::event::KeyEvent;
use recto_agent::turn::Reply;
use recto_agent::turn::TurnEvent;
use serde_json::Value;

use super::calls::CallList;
use super::picker::Choice;
use super::picker::Picker;
use super::question::Asked;
use super::question::Question;
use crate::terminal::output::Look;

/// Something that happened.
#[derive(Debug)]
pub(super) enum Input {
    Key(KeyEvent),
    Paste(String),
    /// A line, where keys are not read one by one.
    Line(String),
    Resize(u16, u16),
    Event(Box<TurnEvent>),
    Asked(Box<Asked>),
    /// A tenth of a second went by.
    Tick,
    /// The repository is on this branch.
    Branch(Option<String>),
    /// A command of the user's own ended: its text, output and exit code.
    Shell(String, String, i32),
    /// Sessions to choose from.
    Sessions(Vec<Choice>),
    /// Prompts to go back to.
    Prompts(Vec<PastPrompt>),
    /// Something to say.
    Say(Look, String),
    /// The session is another one now, or was started again.
    Opened(Opened),
}

/// A session that is open now.
#[derive(Debug, Clone, Default)]
pub(super) struct Opened {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) mode: String,
    /// What to type, such as the prompt that was gone back to.
    pub(super) draft: Option<String>,
    pub(super) remark: Option<String>,
    /// Calls of the conversation so far and their results, as blocks of messages.
    pub(super) calls: Vec<Value>,
}

/// A prompt that the conversation can go back to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PastPrompt {
    pub(super) uuid: String,
    /// The line before it; none for the first.
    pub(super) parent: Option<String>,
    pub(super) text: String,
    /// What going back would do to files.
    pub(super) files: Vec<FileBack>,
    /// Files that cannot be set back, and why.
    pub(super) left: Vec<String>,
}

/// What going back would do to a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileBack {
    pub(super) path: String,
    /// How many lines would come and go.
    pub(super) added: usize,
    pub(super) removed: usize,
    /// The first lines of the change.
    pub(super) diff: Vec<String>,
    /// How many lines of the change are not here.
    pub(super) hidden: usize,
}

/// What goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) conversation: bool,
    pub(super) files: bool,
}

/// What shall be done.
#[derive(Debug)]
pub(super) enum Effect {
    /// Gives the session a prompt, with its uuid.
    Prompt(Value, String),
    /// Asks the session something; the answer comes back under the name.
    Request(String, Value),
    Reply(String, Box<Reply>),
    /// Writes rules into a settings file.
    Keep(Value),
    Interrupt,
    /// Runs a command of the user.
    Shell(String),
    /// Adds a line to a memory file.
    Remember(String),
    /// Adds a prompt to the history.
    History(String),
    ListSessions,
    ListPrompts,
    /// Goes back to a prompt.
    Rewind(PastPrompt, Extent),
    /// Takes files back to what they were before the last turn.
    UndoFiles,
    /// Another session.
    Open(String),
    /// A copy of this one.
    Fork,
    /// Writes the conversation to a file.
    Export(String),
    /// Opens the conversation in the browser.
    Transcript,
    /// Another working directory.
    AddDirectory(String),
    /// Rings when the user is not looking.
    Bell,
    Redraw,
    Suspend,
    Quit,
}

/// What is in front of the editor.
#[derive(Debug)]
pub(super) enum Overlay {
    Question(Box<Question>),
    Picker(Picker),
    Calls(CallList),
}

/// What the state is made with.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) directory: String,
    pub(super) version: String,
    /// How commands are confined, in a few words.
    pub(super) sandbox: String,
    pub(super) may_bypass: bool,
    pub(super) is_plain: bool,
    /// Whether the terminal shows by itself what is typed.
    pub(super) shows_typing: bool,
    /// Whether a path is a file with an image.
    pub(super) is_image: Option<fn(&str) -> bool>,
}
