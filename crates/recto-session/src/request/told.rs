//! What a client that is running sends along a way: for counting, not for sending.

use recto_log::Entry;

use super::Generation;
use super::attachment;
use super::history_in;
use super::lines;
use super::render::Rules;
use super::view::View;
use crate::NodeId;
use crate::Session;

/// The lines that lead to a line and that a client of the newest generation
/// sends, in parts that hang together, as [`super::history_to`] gives them.
pub(crate) fn sent_to(session: &Session, leaf: NodeId) -> Vec<Vec<NodeId>> {
    let latest = Generation::latest();
    let view = View::new(session, latest);
    let mut parts = history_in(&view, leaf);
    for part in &mut parts {
        lines::keep_sent(&view, part);
    }
    parts
}

/// Says what is told for attachments.
pub(crate) struct Teller {
    rules: Rules,
}

impl Teller {
    /// The newest generation, and the model that answered last.
    pub(crate) fn new(session: &Session) -> Teller {
        let models = session.facts().messages.iter().rev();
        let model = models.filter(|message| !message.is_synthetic).find_map(|one| one.model);
        let model = model.map(|model| session.name(model));
        Teller { rules: Rules::new(session, Generation::latest(), &[], model) }
    }

    /// How many bytes of text the model is told for an attachment.
    pub(crate) fn attachment_bytes(&self, entry: &Entry<'_>) -> u64 {
        attachment::texts(entry, &self.rules).iter().map(|told| told.text.len() as u64).sum()
    }
}
