//! What a policy would let go, without sending anything; and how far a store is.

use std::collections::BTreeMap;

use recto_session::redact::Outcome;
use recto_store::keep::Archive;
use recto_store::keep::FileKey;
use recto_store::keep::Lives;
use recto_store::keep::Part;

use crate::content::reduced;
use crate::error::CollectError;
use crate::filter::Cut;
use crate::filter::Cutter;
use crate::parcel::header_of;
use crate::policy::Policy;
use crate::policy::Withheld;
use crate::projects::Projects;
use crate::send::Sender;

/// What a policy would let go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Files in the archive.
    pub files: u64,
    /// Files that would be sent.
    pub would_send: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that stay, by the reason.
    pub withheld: BTreeMap<&'static str, u64>,
    /// Files that stay, and why.
    pub kept_back: Vec<(String, Withheld)>,
    /// Files with secrets, and how many would be replaced.
    pub redacted: Vec<(String, u64)>,
}

impl Outlook {
    /// Goes through an archive. Reads everything that would be sent.
    pub fn of(archive: &Archive, policy: &Policy) -> Result<Outlook, CollectError> {
        let projects = Projects::new(archive, policy);
        let mut outlook = Outlook::default();
        for file in archive.files()? {
            let lives = Lives::of(archive.parts(file)?);
            let Some(about) = header_of(archive, file, &lives)? else { continue };
            outlook.files += 1;
            let withheld = policy.withholds(about.kind).or_else(|| {
                (!projects.takes(file, about.kind, &about.path)).then_some(Withheld::Project)
            });
            if let Some(reason) = withheld {
                *outlook.withheld.entry(reason.name()).or_default() += 1;
                outlook.kept_back.push((about.path, reason));
                continue;
            }
            outlook.would_send += 1;
            let found = outlook.look(archive, policy, file, &lives)?;
            if found > 0 {
                outlook.redacted.push((about.path, found));
            }
        }
        Ok(outlook)
    }

    /// Counts bytes and secrets of a file.
    fn look(
        &mut self,
        archive: &Archive,
        policy: &Policy,
        file: FileKey,
        lives: &Lives,
    ) -> Result<u64, CollectError> {
        let redactor = policy.redactor().map_err(|error| CollectError::Policy {
            path: "collect.toml".to_owned(),
            reason: error.to_string(),
        })?;
        let lines = lives.ids().flat_map(|life| {
            lives.cover(life).0.into_iter().map(move |range| Part::Lines { life, range })
        });
        let mut found = 0;
        for part in lines.chain(lives.versions.iter().cloned()) {
            let mut cutter = Cutter::default();
            let mut count = |line: &[u8]| {
                let less = reduced(policy.content, line);
                let line = less.as_deref().unwrap_or(line);
                if let Some(Outcome::Changed(change)) =
                    redactor.as_ref().map(|redactor| redactor.line(line))
                {
                    found += change.findings.len() as u64;
                }
            };
            let header = archive.read_part(file, &part, |piece| {
                cutter.take(piece, |cut| {
                    if let Cut::Line(line) = cut {
                        count(line);
                    }
                    Ok(())
                })
            })?;
            self.bytes += header.content_bytes();
        }
        Ok(found)
    }
}

/// How far a store has this machine, as far as that is known here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// Files in the archive.
    pub files: u64,
    /// Files of which something is not sent.
    pub behind: u64,
    /// Their bytes that are not sent.
    pub behind_bytes: u64,
    /// Files that stay on this machine.
    pub withheld: u64,
    /// When the store was listed.
    pub listed: Option<String>,
    /// When the machine last said that it lives.
    pub seen: Option<String>,
    /// Why the last round failed.
    pub error: Option<String>,
}

impl Sender {
    /// How far the store is. Asks nobody.
    pub fn status(&self) -> Result<StoreStatus, CollectError> {
        let note = |name: &str| self.state().text(name);
        let mut status = StoreStatus {
            listed: note("listed")?,
            seen: note("beat")?,
            error: note("error")?,
            ..StoreStatus::default()
        };
        let projects = Projects::new(self.archive(), self.policy());
        for file in self.archive().files()? {
            status.files += 1;
            let lives = Lives::of(self.archive().parts(file)?);
            let Some(about) = self.about(file, &lives)? else { continue };
            if self.policy().withholds(about.kind).is_some()
                || !projects.takes(file, about.kind, &about.path)
                || self.is_forgotten(file, &about)?
            {
                status.withheld += 1;
                continue;
            }
            let known = self.state().of_file(file)?;
            let there = known.iter().filter(|one| one.is_there).map(|one| one.part.clone());
            let remote = Lives::of(there.collect());
            let mut missing = 0;
            for life in lives.ids() {
                let named = self.state().life(file, life)?;
                let has = named.map_or(0, |named| remote.cover(named).1);
                missing += lives.cover(life).1.saturating_sub(has);
            }
            for part in &lives.versions {
                if !known.iter().any(|one| one.is_there && one.part == part.sealed(self.secret())) {
                    missing += self.archive().part_header(file, part)?.content_bytes();
                }
            }
            status.behind += u64::from(missing > 0);
            status.behind_bytes += missing;
        }
        Ok(status)
    }
}
