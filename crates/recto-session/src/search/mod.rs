//! What can be searched of a log, and what a query means.
//!
//! [`Extractor`] gives the searchable texts of a log line by line, as
//! [`Document`]s. [`tokens()`] cuts a text into the tokens that are compared, and
//! [`Query`] is what a user typed. An index and a plain scan use the same three,
//! so that both give the same answers. [`Expression`] is a regular expression instead. `docs/concepts/search.md` tells users what
//! is cut where.

mod document;
mod expression;
mod matching;
mod parse;
mod query;
mod state;
mod strings;
mod tokens;

pub use document::Document;
pub use document::Extractor;
pub use document::TextRole;
pub use expression::Expression;
pub use expression::ExpressionError;
pub use expression::ExpressionOptions;
pub use expression::RawFilter;
pub use expression::Seen;
pub use matching::Searchable;
pub use matching::highlights;
pub use query::Column;
pub use query::Limit;
pub use query::Node;
pub use query::Phrase;
pub use query::Query;
pub use query::QueryError;
pub use query::Term;
pub use state::PendingLine;
pub use state::State;
pub use tokens::TokenKind;
pub use tokens::tokens;
