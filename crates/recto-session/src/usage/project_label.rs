//! What to call a project: its directory's name cannot be turned back into a path.

use std::collections::BTreeMap;
use std::collections::HashMap;

use recto_log::ProjectKey;

use super::Ledger;
use crate::NameId;

/// The working directory of each project, where a line names it.
#[derive(Debug, Default)]
pub(super) struct ProjectLabels(HashMap<NameId, NameId>);

impl ProjectLabels {
    pub(super) fn of(ledger: &Ledger) -> ProjectLabels {
        let mut labels = HashMap::new();
        let mut tried = std::collections::HashSet::new();
        for record in ledger.records() {
            let (project, Some(cwd)) = (ledger.project_of(record), record.cwd) else { continue };
            if tried.insert((project, cwd))
                && ProjectKey::of_path(ledger.name(cwd)).as_str() == ledger.name(project)
            {
                // Two paths can have one key; the smaller, so that it is always the same.
                let known = labels.entry(project).or_insert(cwd);
                if ledger.name(cwd) < ledger.name(*known) {
                    *known = cwd;
                }
            }
        }
        ProjectLabels(labels)
    }

    pub(super) fn label(&self, project: NameId, ledger: &Ledger) -> String {
        ledger.name(self.0.get(&project).copied().unwrap_or(project)).to_owned()
    }
}

impl Ledger {
    /// What to call each project, by the name of its directory.
    pub fn project_labels(&self) -> BTreeMap<String, String> {
        let labels = ProjectLabels::of(self);
        let projects = self.file_names.iter().map(|names| names.project);
        let label = |project| (self.name(project).to_owned(), labels.label(project, self));
        projects.map(label).collect()
    }
}
