//! What is known of a log that holds a hit.

use recto_session::search::Document;

/// What is known of a log that holds a hit, to choose among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFacts {
    /// The directory of the project.
    pub project: String,
    /// The working directory at first.
    pub cwd: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The git branch at last.
    pub branch: Option<String>,
    /// Whether it is the log of a subagent.
    pub is_agent: bool,
    /// The session that it belongs to, where that is known.
    pub session: Option<String>,
}

impl LogFacts {
    /// Takes in what the next document says.
    pub(crate) fn see(&mut self, document: &Document<'_>) {
        see_facts(document, &mut self.cwd, &mut self.model, &mut self.branch);
    }
}

/// The first working directory, the last model, the last branch.
pub(super) fn see_facts(
    document: &Document<'_>,
    cwd: &mut Option<String>,
    model: &mut Option<String>,
    branch: &mut Option<String>,
) {
    if cwd.is_none() {
        *cwd = document.cwd().map(|cwd| cwd.into_owned());
    }
    if let Some(new) = document.model.filter(|model| *model != "<synthetic>")
        && model.as_deref() != Some(new)
    {
        *model = Some(new.to_owned());
    }
    if let Some(new) = document.branch()
        && branch.as_deref() != Some(&*new)
    {
        *branch = Some(new.into_owned());
    }
}
