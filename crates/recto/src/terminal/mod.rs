//! What reaches a terminal or a pipe: text made safe, tables, transcripts, documents;
//! and the whole screen, as long as recto has it.

pub(crate) mod document_file;
#[cfg(test)]
pub(crate) mod drawn;
pub(crate) mod keymap;
pub(crate) mod output;
pub(crate) mod overflow;
pub(crate) mod palette;
pub(crate) mod screen;
pub(crate) mod shape;
pub(crate) mod text;
pub(crate) mod theme;
pub(crate) mod tmux;
pub(crate) mod transcript;
pub(crate) mod zone;
