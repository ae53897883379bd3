//! Who may send: invitations and tokens, as objects of the store.
//!
//! An invitation has an id and becomes at most one token with the same id: the record of the token
//! is written under a name that must be free, so of two who use a code, one is let in, whichever
//! hubs they ask. A machine belongs to the first token that claims it, or to one whose invitation
//! names the machine.

use futures_util::StreamExt as _;
use jiff::SignedDuration;
use jiff::Timestamp;
use recto_store::keep::MachineId;
use recto_store::keep::SegmentKey;
use serde::Deserialize;
use serde::Serialize;

use crate::error::CollectError;
use crate::hub::secret::Code;
use crate::hub::secret::Kept;
use crate::hub::secret::is_id;
use crate::store::Put;
use crate::store::Store;

const INVITES: &str = "hub/v1/invites";
const TOKENS: &str = "hub/v1/tokens";
const MACHINES: &str = "hub/v1/machines";

/// How a machine is invited.
#[derive(Debug, Clone)]
pub struct Invite {
    /// The machine, if it is known: one that has sent before, or has lost its token.
    pub machine: Option<MachineId>,
    /// How long the code works.
    pub code_lasts: SignedDuration,
    /// How long the token works.
    pub token_lasts: SignedDuration,
    /// Who invites.
    pub by: String,
}

/// An invitation that was made.
#[derive(Clone)]
pub struct Invitation {
    /// Its id, and that of the token.
    pub id: String,
    /// What the machine has to know.
    pub code: String,
    /// Until when it works.
    pub expires: Timestamp,
}

/// A token that was given out, or an invitation that nobody has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolled {
    /// The id of the token.
    pub id: String,
    /// The machine; none if nobody has used the code.
    pub machine: Option<String>,
    /// Its user, as it says.
    pub user: Option<String>,
    /// What it is called, as it says.
    pub host: Option<String>,
    /// When it joined, or was invited.
    pub since: String,
    /// Until when the token or the code works.
    pub expires: String,
    /// When it was revoked.
    pub revoked: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct InviteRecord {
    kept: Kept,
    machine: Option<String>,
    #[serde(with = "crate::moment")]
    made: Timestamp,
    #[serde(with = "crate::moment")]
    expires: Timestamp,
    token_seconds: i64,
    by: String,
    #[serde(default, with = "crate::moment::option")]
    revoked: Option<Timestamp>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TokenRecord {
    pub(crate) kept: Kept,
    pub(crate) machine: String,
    pub(crate) user: Option<String>,
    pub(crate) host: Option<String>,
    #[serde(with = "crate::moment")]
    pub(crate) made: Timestamp,
    #[serde(with = "crate::moment")]
    pub(crate) expires: Timestamp,
    #[serde(default, with = "crate::moment::option")]
    pub(crate) revoked: Option<Timestamp>,
}

/// A machine that wants to send.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) code: Code,
    pub(crate) machine: MachineId,
    /// The secret of its token, which it made itself: an answer that is lost costs nothing.
    pub(crate) secret: String,
    pub(crate) user: Option<String>,
    pub(crate) host: Option<String>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Joining {
    /// It may send with a token of this id until then.
    Welcome { id: String, expires: Timestamp },
    /// The code is wrong, too old or revoked.
    BadCode,
    /// Another machine has used the code.
    Used,
    /// The machine belongs to another token, or has sent without a hub.
    Taken,
}

/// Invitations and tokens of a store.
#[derive(Debug, Clone)]
pub struct Roster {
    store: Store,
}

impl Roster {
    /// Of a store.
    pub fn new(store: Store) -> Roster {
        Roster { store }
    }

    /// Makes an invitation.
    pub fn invite(&self, invite: &Invite, now: Timestamp) -> Result<Invitation, CollectError> {
        let code = Code::random();
        let expires = now.checked_add(invite.code_lasts).unwrap_or(Timestamp::MAX);
        let record = InviteRecord {
            kept: Kept::of(&code.secret).ok_or_else(|| self.failed("hashing failed"))?,
            machine: invite.machine.map(|machine| machine.to_string()),
            made: now,
            expires,
            token_seconds: invite.token_lasts.as_secs(),
            by: invite.by.clone(),
            revoked: None,
        };
        let key = format!("{INVITES}/{}.json", code.id);
        runtime()?.block_on(self.store.put_new(&key, json(&record)))?;
        Ok(Invitation { id: code.id.clone(), code: code.text(), expires })
    }

    /// All tokens, and invitations that are open.
    pub fn list(&self) -> Result<Vec<Enrolled>, CollectError> {
        runtime()?.block_on(async {
            let tokens = self.ids(TOKENS).await?;
            let mut all = Vec::new();
            for id in self.ids(INVITES).await? {
                let invite = self.invite_record(&id).await?;
                if let Some(invite) = invite.filter(|_| !tokens.contains(&id)) {
                    all.push(Enrolled {
                        id,
                        machine: invite.machine,
                        user: None,
                        host: None,
                        since: invite.made.to_string(),
                        expires: invite.expires.to_string(),
                        revoked: invite.revoked.map(|time| time.to_string()),
                    });
                }
            }
            for id in tokens {
                let Some(token) = self.token(&id).await? else { continue };
                all.push(Enrolled {
                    id,
                    machine: Some(token.machine),
                    user: token.user,
                    host: token.host,
                    since: token.made.to_string(),
                    expires: token.expires.to_string(),
                    revoked: token.revoked.map(|time| time.to_string()),
                });
            }
            all.sort_by(|one, other| one.since.cmp(&other.since));
            Ok(all)
        })
    }

    /// Revokes tokens and invitations by their id or their machine. How many.
    pub fn revoke(&self, name: &str, now: Timestamp) -> Result<u64, CollectError> {
        let all = self.list()?;
        let is_meant = |one: &&Enrolled| one.id == name || one.machine.as_deref() == Some(name);
        let mut count = 0;
        for one in all.iter().filter(is_meant).filter(|one| one.revoked.is_none()) {
            runtime()?.block_on(self.revoke_one(&one.id, now))?;
            count += 1;
        }
        Ok(count)
    }

    async fn revoke_one(&self, id: &str, now: Timestamp) -> Result<(), CollectError> {
        // The invitation too: a code that nobody has used must not become a token later.
        if let Some(mut invite) = self.invite_record(id).await? {
            invite.revoked = Some(now);
            self.store.put_over(&format!("{INVITES}/{id}.json"), json(&invite)).await?;
        }
        if let Some(mut token) = self.token(id).await? {
            token.revoked = Some(now);
            self.store.put_over(&format!("{TOKENS}/{id}.json"), json(&token)).await?;
        }
        Ok(())
    }

    async fn ids(&self, folder: &str) -> Result<Vec<String>, CollectError> {
        let mut listing = self.store.list(folder);
        let mut ids = Vec::new();
        while let Some(listed) = listing.next().await {
            let key = listed?.key;
            let name = key.rsplit_once('/').and_then(|(_, name)| name.strip_suffix(".json"));
            ids.extend(name.filter(|name| is_id(name)).map(str::to_owned));
        }
        Ok(ids)
    }

    /// The record of a token.
    pub(crate) async fn token(&self, id: &str) -> Result<Option<TokenRecord>, CollectError> {
        let bytes = self.store.get(&format!("{TOKENS}/{id}.json")).await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    async fn invite_record(&self, id: &str) -> Result<Option<InviteRecord>, CollectError> {
        let bytes = self.store.get(&format!("{INVITES}/{id}.json")).await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    fn failed(&self, reason: &str) -> CollectError {
        CollectError::Unreachable { url: self.store.url().to_owned(), reason: reason.to_owned() }
    }

    /// Lets a machine in, if its code is right. Asked again, it gives the same answer.
    pub(crate) async fn join(
        &self,
        candidate: &Candidate,
        now: Timestamp,
    ) -> Result<Joining, CollectError> {
        let id = candidate.code.id.clone();
        let Some(invite) = self.invite_record(&id).await? else { return Ok(Joining::BadCode) };
        let (kept, secret) = (invite.kept.clone(), candidate.code.secret.clone());
        let is_right = blocking(move || kept.is(&secret)).await;
        if !is_right || invite.revoked.is_some() {
            return Ok(Joining::BadCode);
        }
        if let Some(token) = self.token(&id).await? {
            return Ok(self.again(candidate, token).await);
        }
        if invite.expires <= now {
            return Ok(Joining::BadCode);
        }
        if !self.claim(candidate, &invite).await? {
            return Ok(Joining::Taken);
        }
        let secret = candidate.secret.clone();
        let kept = blocking(move || Kept::of(&secret)).await;
        let lasts = SignedDuration::from_secs(invite.token_seconds);
        let record = TokenRecord {
            kept: kept.ok_or_else(|| self.failed("hashing failed"))?,
            machine: candidate.machine.to_string(),
            user: candidate.user.clone(),
            host: candidate.host.clone(),
            made: now,
            expires: now.checked_add(lasts).unwrap_or(Timestamp::MAX),
            revoked: None,
        };
        match self.store.put_new(&format!("{TOKENS}/{id}.json"), json(&record)).await? {
            Put::New => Ok(Joining::Welcome { id, expires: record.expires }),
            // Another was faster, or an answer of the store was lost.
            Put::Taken => match self.token(&id).await? {
                Some(token) => Ok(self.again(candidate, token).await),
                None => Ok(Joining::Used),
            },
        }
    }

    /// A code that was used is good for the machine that has used it.
    async fn again(&self, candidate: &Candidate, token: TokenRecord) -> Joining {
        let is_its_own = token.machine == candidate.machine.to_string();
        let (kept, secret) = (token.kept.clone(), candidate.secret.clone());
        if is_its_own && token.revoked.is_none() && blocking(move || kept.is(&secret)).await {
            return Joining::Welcome { id: candidate.code.id.clone(), expires: token.expires };
        }
        Joining::Used
    }

    /// Whether the machine is this candidate's now.
    async fn claim(
        &self,
        candidate: &Candidate,
        invite: &InviteRecord,
    ) -> Result<bool, CollectError> {
        let machine = candidate.machine.to_string();
        let key = format!("{MACHINES}/machine={machine}.json");
        let claim = serde_json::json!({ "token": candidate.code.id });
        if let Some(named) = &invite.machine {
            if *named == machine {
                self.store.put_over(&key, json(&claim)).await?;
            }
            return Ok(*named == machine);
        }
        if self.store.get(&key).await?.is_none() {
            // What it has sent without a hub: whoever says to be this machine may be another.
            let mut listing = self.store.list(&SegmentKey::prefix(candidate.machine));
            if listing.next().await.transpose()?.is_some() {
                return Ok(false);
            }
        }
        match self.store.put_new(&key, json(&claim)).await? {
            Put::New => Ok(true),
            Put::Taken => {
                let bytes = self.store.get(&key).await?.unwrap_or_default();
                let there: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
                Ok(there["token"] == candidate.code.id.as_str())
            }
        }
    }
}

fn json(record: &impl Serialize) -> bytes::Bytes {
    serde_json::to_vec(record).unwrap_or_default().into()
}

/// Hashing takes long: requests of others go on beside it.
async fn blocking<T: Default + Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

fn runtime() -> Result<tokio::runtime::Runtime, CollectError> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
