//! What reaches a terminal or a pipe: text made safe, tables, transcripts, documents.

pub(crate) mod context_view;
pub(crate) mod document_file;
#[cfg(test)]
pub(crate) mod drawn;
pub(crate) mod output;
pub(crate) mod overflow;
pub(crate) mod text;
pub(crate) mod transcript;
pub(crate) mod zone;
