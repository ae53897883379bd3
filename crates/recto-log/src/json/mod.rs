//! JSON as text that is never lost.
//!
//! The log must survive byte for byte, so nothing here builds a tree: a
//! [`Value`] is the text of a JSON value that is known to be well formed, and
//! everything is read from it on demand. Reading is strict about structure
//! (RFC 8259) and lenient about what is inside strings: lone surrogate escapes
//! and invalid UTF-8 do occur in logs and are decoded as U+FFFD. Nothing
//! recurses, so nesting can be as deep as the line is long.

mod canonical;
mod number;
mod patch;
mod scan;
mod special;
mod string;
mod value;
mod write;

pub use canonical::canonical;
pub use canonical::compact;
pub use patch::Patch;
pub use patch::PatchError;
pub use patch::Step;
pub use scan::SyntaxError;
pub use string::replace_lone_surrogates;
pub use string::write_string;
pub use value::Elements;
pub use value::Member;
pub use value::Members;
pub use value::Object;
pub use value::Value;
pub use write::ArrayWriter;
pub use write::ObjectWriter;

pub(crate) use scan::skip_space;
pub(crate) use special::byte_kinds;
