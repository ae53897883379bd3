//! Which life of a file in a store is which life in the archive.
//!
//! Lives that begin with the same line differ by a number, and a machine that lost its archive
//! counts from 0 again. So a number alone means nothing: before a store is relied on, what it has is
//! compared with the archive.

use recto_store::keep::FileKey;
use recto_store::keep::LifeId;
use recto_store::keep::Lives;
use recto_store::keep::Part;
use recto_store::keep::SegmentKey;

use crate::error::CollectError;
use crate::parcel::Packer;
use crate::send::Sender;

impl Sender {
    /// Which life of the store a life of the archive is. It is remembered; if it is not, what the
    /// store has of the lives that begin like this one is compared, byte for byte.
    pub(crate) async fn named(
        &self,
        packer: &Packer<'_>,
        file: FileKey,
        lives: &Lives,
        life: LifeId,
    ) -> Result<LifeId, CollectError> {
        if let Some(named) = self.state().life(file, life)? {
            return Ok(named);
        }
        let wanted = life.sealed(self.secret());
        let known = self.state().of_file(file)?;
        let there = known.iter().filter(|one| one.is_there).map(|one| one.part.clone());
        let remote = Lives::of(there.collect());
        let mut alike: Vec<LifeId> =
            remote.ids().filter(|one| one.generation == wanted.generation).collect();
        alike.sort_by_key(|one| *one != wanted);
        let mut found = None;
        for one in &alike {
            if self.is_same(packer, file, lives, life, &remote, *one).await? {
                found = Some(*one);
                break;
            }
        }
        let named = match (found, wanted.generation) {
            (Some(found), _) => found,
            (None, Some(generation)) if !alike.is_empty() => remote.unused(generation),
            (None, _) => wanted,
        };
        self.state().set_life(file, life, named)?;
        Ok(named)
    }

    /// Whether what a store has of a life is what the archive has, as far as both have it.
    async fn is_same(
        &self,
        packer: &Packer<'_>,
        file: FileKey,
        lives: &Lives,
        life: LifeId,
        remote: &Lives,
        named: LifeId,
    ) -> Result<bool, CollectError> {
        let (_, end) = lives.cover(life);
        for range in remote.cover(named).0 {
            if range.end > end {
                return Ok(false);
            }
            let part = Part::Lines { life: named, range };
            let key = SegmentKey { machine: self.archive().machine(), file, part };
            let there = self.store().said(&key).await?;
            // What another policy made of the bytes cannot be compared: better twice than never.
            if there.policy != self.policy().name()
                || packer.lines(file, lives, life, range)?.header.sha256 != there.sha256
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn unused(&self, file: FileKey, named: LifeId) -> Result<LifeId, CollectError> {
        let known = self.state().of_file(file)?;
        let remote = Lives::of(known.into_iter().map(|one| one.part).collect());
        Ok(match named.generation {
            Some(generation) => remote.unused(generation),
            None => LifeId { number: named.number + 1, ..named },
        })
    }
}
