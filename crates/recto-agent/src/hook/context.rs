//! Context of hooks that is too long for a message: a file, and the beginning of it.

use std::path::Path;

use crate::hook::answer::Label;
use crate::hook::answer::Ran;
use crate::tool::keep_beside;

/// Longer context goes into a file.
const MOST: usize = 10_000;

/// Puts what hooks want the model to know into files of a folder where it is too long, and the
/// beginning in its place. `run` tells apart the runs of one event.
pub fn keep_long_contexts(label: Label<'_>, ran: &mut [Ran], folder: &Path, run: &str) {
    for (number, hook) in (1..).zip(ran) {
        let Some(context) = &mut hook.effect.output.context else { continue };
        if context.encode_utf16().count() <= MOST {
            continue;
        }
        let (id, event) = (label.id, label.event.name());
        let name = format!("hook-{id}-{event}-{run}-{number}-additionalContext.txt");
        // Where no file can be written, the model gets all of it.
        if let Ok(short) = keep_beside(context, folder, &name) {
            *context = short;
        }
    }
}
