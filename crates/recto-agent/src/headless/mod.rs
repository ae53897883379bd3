//! The surface without a person: what `-p` prints, as text, as one JSON object, or as a stream.
//!
//! Owns: the lines of a JSON stream and of a result, as scripts and SDKs know them, and the
//! lines that they write. Prints nothing: lines are values.

mod input;
mod result;
mod stream;

pub use input::Input;
pub use input::read_line;
pub use result::refused;
pub use result::result_line;
pub use result::text_of;
pub use stream::StreamLines;
pub use stream::StreamOptions;
