//! Whose token a request has.
//!
//! A token is `rht_ID_SECRET`. The record of its id says which machine it is for; the secret is
//! compared by Argon2 the first time, and then by a hash in memory until the record is read again.
//! Who sends wrong tokens is refused without any work soon.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use axum::http::HeaderMap;
use axum::http::header;
use jiff::Timestamp;
use recto_store::keep::MachineId;
use sha2::Digest as _;
use sha2::Sha256;
use tokio::sync::Semaphore;

use crate::error::CollectError;
use crate::hub::answer::Refusal;
use crate::hub::limits::Buckets;
use crate::hub::metrics::Metrics;
use crate::hub::roster::Roster;
use crate::hub::roster::TokenRecord;
use crate::hub::secret::is_equal;
use crate::hub::secret::is_id;

/// How many hashes are computed at the same time: each takes 7 MiB.
const HASHES: usize = 2;
/// How many tokens are remembered.
const MOST: usize = 20_000;
/// Wrong tokens and codes of one address: so many at once, and one more every so often.
const WRONG: f64 = 20.0;
const WRONG_AGAIN: f64 = 0.2;

/// Who sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub(crate) token: String,
    pub(crate) machine: MachineId,
}

#[derive(Debug, Clone)]
struct Believed {
    /// None: no such token.
    record: Option<TokenRecord>,
    /// The hash of the secret that was compared.
    proven: Option<[u8; 32]>,
    read: Instant,
}

#[derive(Debug)]
pub(crate) struct Gate {
    roster: Roster,
    believed: Mutex<HashMap<String, Believed>>,
    lasts: Duration,
    hashing: Semaphore,
    wrong: Buckets<IpAddr>,
}

impl Gate {
    pub(crate) fn new(roster: Roster, lasts: Duration) -> Gate {
        Gate {
            roster,
            believed: Mutex::default(),
            lasts,
            hashing: Semaphore::new(HASHES),
            wrong: Buckets::new(WRONG_AGAIN, WRONG),
        }
    }

    /// Who sends a request.
    pub(crate) async fn check(
        &self,
        headers: &HeaderMap,
        peer: IpAddr,
        now: Timestamp,
        metrics: &Metrics,
    ) -> Result<Visitor, Refusal> {
        let (id, secret) = token(headers).ok_or(Refusal::Token)?;
        let proof: [u8; 32] = Sha256::digest(secret).into();
        if let Some(known) = self.believed(id)
            && known.proven.is_some_and(|proven| is_equal(&proven, &proof))
        {
            return known.record.and_then(|record| valid(id, &record, now)).ok_or(Refusal::Token);
        }
        self.wrong.has(&peer).map_err(Refusal::Often)?;
        let visitor = self.prove(id, secret, proof, now, metrics).await;
        if visitor == Err(Refusal::Token) {
            let _ = self.wrong.take(&peer);
        }
        visitor
    }

    async fn prove(
        &self,
        id: &str,
        secret: &str,
        proof: [u8; 32],
        now: Timestamp,
        metrics: &Metrics,
    ) -> Result<Visitor, Refusal> {
        let record = match self.believed(id) {
            Some(known) => known.record,
            None => {
                let record = self.roster.token(id).await.map_err(|_| Refusal::Store)?;
                self.believe(
                    id,
                    Believed { record: record.clone(), proven: None, read: Instant::now() },
                );
                record
            }
        };
        let record = record.ok_or(Refusal::Token)?;
        let visitor = valid(id, &record, now).ok_or(Refusal::Token)?;
        let _place = self.hashing.acquire().await.map_err(|_| Refusal::Store)?;
        metrics.hashes.fetch_add(1, Ordering::Relaxed);
        let (kept, given) = (record.kept.clone(), secret.to_owned());
        let is_right = tokio::task::spawn_blocking(move || kept.is(&given)).await;
        if !is_right.unwrap_or(false) {
            return Err(Refusal::Token);
        }
        let mut all = self.all();
        if let Some(known) = all.get_mut(id) {
            known.proven = Some(proof);
        }
        Ok(visitor)
    }

    /// Whether codes of an address may be tried.
    pub(crate) fn may_try(&self, peer: IpAddr) -> Result<(), Refusal> {
        self.wrong.has(&peer).map_err(Refusal::Often)
    }

    /// The same, and a place to hash in.
    pub(crate) async fn trying(
        &self,
        peer: IpAddr,
    ) -> Result<tokio::sync::SemaphorePermit<'_>, Refusal> {
        self.may_try(peer)?;
        self.hashing.acquire().await.map_err(|_| Refusal::Store)
    }

    /// A code of this address was wrong.
    pub(crate) fn failed(&self, peer: IpAddr) {
        let _ = self.wrong.take(&peer);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Believed>> {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn believed(&self, id: &str) -> Option<Believed> {
        let all = self.all();
        all.get(id).filter(|known| known.read.elapsed() < self.lasts).cloned()
    }

    fn believe(&self, id: &str, known: Believed) {
        let mut all = self.all();
        if all.len() >= MOST && !all.contains_key(id) {
            all.retain(|_, known| known.read.elapsed() < self.lasts && known.record.is_some());
            if all.len() >= MOST {
                all.clear();
            }
        }
        all.insert(id.to_owned(), known);
    }

    /// Whether the store answers.
    pub(crate) async fn is_well(&self) -> Result<(), CollectError> {
        self.roster.token("00000000").await.map(drop)
    }
}

/// The id and the secret of the token that a request has.
fn token(headers: &HeaderMap) -> Option<(&str, &str)> {
    let mut given = headers.get_all(header::AUTHORIZATION).into_iter();
    let text = given.next()?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let (id, secret) = token.trim().strip_prefix("rht_")?.split_once('_')?;
    let is_one = given.next().is_none() && scheme.eq_ignore_ascii_case("Bearer");
    (is_one && is_id(id) && is_secret(secret)).then_some((id, secret))
}

/// Whether a token may have this secret: 64 hexadecimal digits.
pub(crate) fn is_secret(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn valid(id: &str, record: &TokenRecord, now: Timestamp) -> Option<Visitor> {
    let is_valid = record.revoked.is_none() && record.expires > now;
    let machine = record.machine.parse().ok().filter(|_| is_valid)?;
    Some(Visitor { token: id.to_owned(), machine })
}
