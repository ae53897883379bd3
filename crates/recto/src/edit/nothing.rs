//! What edits tell that find nothing to change.

use recto_log::json::ObjectWriter;

use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// Tells that an edit found nothing to change, in the way of all edits.
pub(crate) fn tell_nothing(
    operation: &str,
    output: &mut Output,
    reason: &str,
) -> Result<Outcome, CommandError> {
    if output.json {
        let object = ObjectWriter::new()
            .string("operation", operation)
            .json("result", b"null")
            .string("reason", reason);
        output.json_line(object)?;
    } else {
        output.line(&one_line(reason))?;
    }
    Ok(Outcome::Done)
}
