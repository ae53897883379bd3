//! What is kept, and what comes back, as rows.

use recto_log::SessionId;
use recto_store::StoreError;
use recto_store::keep::Archive;
use recto_store::keep::Catalog;
use recto_store::keep::CollectReport;
use recto_store::keep::CollectStatus;
use recto_store::keep::KeepError;
use recto_store::keep::MachineId;
use recto_store::keep::MergeReport;
use recto_store::keep::Restoration;
use recto_store::keep::RestoreOptions;
use recto_store::keep::RestoredFile;
use recto_store::keep::VerifyReport;
use recto_store::publish::Intent;
use recto_store::publish::Journal;
use serde::Serialize;

use crate::Moment;
use crate::error::ViewError;
use crate::library::Library;
use crate::operations::remarks;

/// What one look at the home added to an archive.
#[derive(Debug, Serialize)]
pub struct CollectRow {
    /// The archive.
    pub archive: String,
    /// Files of the home.
    pub files: u64,
    /// Files with something new.
    pub changed: u64,
    /// Plain bytes that were added.
    pub bytes: u64,
    /// Segments and versions that were added.
    pub segments: u64,
    /// Files that were rewritten and are kept from their beginning again.
    pub rewritten: u64,
    /// Names that something else had in the archive.
    pub conflicts: u64,
    /// Files of a session that another project has as well; each is kept.
    pub copies: u64,
    /// Files that were deleted.
    pub deleted: u64,
    /// Logs that moved to another project.
    pub moved: u64,
    /// Files that could not be kept.
    pub troubles: Vec<TroubleRow>,
}

/// A file that could not be kept.
#[derive(Debug, Serialize)]
pub struct TroubleRow {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl CollectRow {
    /// The row of a report.
    pub fn new(archive: &std::path::Path, report: &CollectReport) -> CollectRow {
        let CollectReport { files, changed, captured, gone, moved, troubles } = report;
        CollectRow {
            archive: archive.to_string_lossy().into_owned(),
            files: *files,
            changed: *changed,
            bytes: captured.bytes,
            segments: captured.segments,
            rewritten: captured.lives,
            conflicts: captured.conflicts,
            copies: captured.copies,
            deleted: *gone,
            moved: *moved,
            troubles: troubles
                .iter()
                .map(|trouble| TroubleRow {
                    path: trouble.path.to_string_lossy().into_owned(),
                    reason: trouble.reason.clone(),
                })
                .collect(),
        }
    }
}

/// How far an archive has a home.
#[derive(Debug, Serialize)]
pub struct CollectStatusRow {
    /// The archive.
    pub archive: String,
    /// Its bytes on the disk.
    pub archive_bytes: u64,
    /// Files of the home.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that changed since they were kept, or never were.
    pub behind: u64,
    /// The bytes of those files.
    pub behind_bytes: u64,
    /// Files that only the archive has.
    pub only_archived: u64,
    /// When the whole home was looked at last.
    pub collected: Option<Moment>,
    /// Sessions that will be deleted soon and are not kept.
    pub at_risk: Vec<String>,
}

impl CollectStatusRow {
    /// The row of a status, with the sessions that will be deleted soon and are not kept.
    pub fn new(
        archive: &std::path::Path,
        status: &CollectStatus,
        at_risk: Vec<String>,
    ) -> CollectStatusRow {
        CollectStatusRow {
            archive: archive.to_string_lossy().into_owned(),
            archive_bytes: status.stored,
            files: status.files,
            bytes: status.bytes,
            behind: status.behind.len() as u64,
            behind_bytes: status.behind_bytes,
            only_archived: status.only_archived,
            collected: status.collected.map(Moment),
            at_risk,
        }
    }
}

/// What verifying an archive found.
#[derive(Debug, Serialize)]
pub struct VerifyRow {
    /// Segments and versions that were read.
    pub segments: u64,
    /// Their plain bytes.
    pub bytes: u64,
    /// Their bytes on the disk.
    pub archive_bytes: u64,
    /// Files of the home that were compared.
    pub files: u64,
    /// What is damaged or missing.
    pub problems: Vec<String>,
    /// Files whose end is not kept yet.
    pub behind: Vec<BehindRow>,
    /// Files that the archive does not have as they are.
    pub differing: Vec<String>,
}

/// A file whose end is not kept yet.
#[derive(Debug, Serialize)]
pub struct BehindRow {
    /// The file.
    pub path: String,
    /// How many bytes are not kept.
    pub bytes: u64,
}

impl From<&VerifyReport> for VerifyRow {
    fn from(report: &VerifyReport) -> VerifyRow {
        let text = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        VerifyRow {
            segments: report.segments,
            bytes: report.bytes,
            archive_bytes: report.stored,
            files: report.sources,
            problems: report.problems.iter().map(ToString::to_string).collect(),
            behind: report
                .behind
                .iter()
                .map(|(path, bytes)| BehindRow { path: text(path), bytes: *bytes })
                .collect(),
            differing: report.differing.iter().map(text).collect(),
        }
    }
}

/// What pruning dropped, or would drop, and what merging did.
#[derive(Debug, Default, Serialize)]
pub struct PruneRow {
    /// Files that are dropped.
    pub files: u64,
    /// Their bytes on the disk.
    pub bytes: u64,
    /// Those of them that the home does not have.
    pub only_copies: u64,
    /// Segments that were merged.
    pub merged: u64,
    /// Segments that they became.
    pub merged_into: u64,
    /// Segments that were compressed harder.
    pub tightened: u64,
    /// Bytes that merging and compressing saved.
    pub saved: u64,
    /// Whether anything was changed.
    pub done: bool,
}

impl PruneRow {
    /// Adds what merging did.
    pub fn add_merge(&mut self, report: &MergeReport) {
        self.merged = report.merged;
        self.merged_into = report.into;
        self.tightened = report.tightened;
        self.saved = report.before.saturating_sub(report.after);
    }
}

/// A file that comes back from an archive, or does not.
#[derive(Debug, Serialize)]
pub struct RestoredRow {
    /// The file.
    pub path: String,
    /// What it is.
    pub kind: &'static str,
    /// How large it is in the archive.
    pub bytes: u64,
    /// What becomes of it.
    pub verdict: &'static str,
    /// What is damaged or missing of it.
    pub problems: Vec<String>,
}

impl From<&RestoredFile> for RestoredRow {
    fn from(file: &RestoredFile) -> RestoredRow {
        RestoredRow {
            path: file.path.to_string_lossy().into_owned(),
            kind: file.kind.name(),
            bytes: file.bytes,
            verdict: file.verdict.name(),
            problems: file.problems.clone(),
        }
    }
}

/// What a restore did, or would do.
#[derive(Debug, Serialize)]
pub struct RestoreRow {
    /// The number to undo it with; none if nothing was changed.
    pub operation: Option<u64>,
    /// The files.
    pub files: Vec<RestoredRow>,
}

/// A session that came back from the archive.
#[derive(Debug, Serialize)]
pub struct RestoredView {
    /// The session.
    pub session: String,
    /// What was done.
    #[serde(flatten)]
    pub restored: RestoreRow,
    /// What had been interrupted before, and was put right first.
    pub remarks: Vec<String>,
}

impl Library {
    /// Brings a session back from the archive, with everything that belongs to it.
    pub fn restore(&self, session: SessionId) -> Result<RestoredView, ViewError> {
        let home = self.home();
        let missing = || ViewError::NotFound("the archive does not have the session");
        let opened = Archive::open(home.archive().ok_or_else(missing)?, MachineId::of(home));
        let archive = match opened {
            Err(KeepError::NoArchive { .. }) => return Err(missing()),
            archive => archive.map_err(StoreError::from)?,
        };
        let catalog = Catalog::read(&archive).map_err(StoreError::from)?;
        let kept = catalog.sessions().into_iter().find(|kept| kept.id == session);
        let kept = kept.ok_or_else(missing)?;
        let files = std::iter::once(kept.log).chain(kept.files);
        let mut journal = Journal::open(self.data()?, home)?;
        let plan = Restoration::plan(&archive, home, files, RestoreOptions::default())?;
        let operation = match plan.is_change() {
            true => {
                let mut transaction = journal.begin(Intent {
                    home,
                    name: "restore",
                    arguments: vec![session.to_string()],
                    time: self.now(),
                    source: None,
                    result: Some(session),
                })?;
                plan.stage(&mut transaction)?;
                Some(transaction.commit()?.id.number())
            }
            false => None,
        };
        self.readings().forget_list();
        Ok(RestoredView {
            session: session.to_string(),
            restored: RestoreRow {
                operation,
                files: plan.files.iter().map(RestoredRow::from).collect(),
            },
            remarks: remarks(&journal),
        })
    }
}
