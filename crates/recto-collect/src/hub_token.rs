//! The token of this machine for a hub: how it is got, and where it is.
//!
//! It is in a file of its own in recto's data directory that only the user may read, never in an
//! argument, a variable or a message. The machine makes its secret itself and writes it down
//! before it asks to join, so that an answer that is lost costs nothing: asking again gives the
//! same token.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use recto_store::DataDirectory;
use recto_store::keep::MachineId;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest as _;
use sha2::Sha256;
use url::Url;

use crate::beat::MachineFacts;
use crate::error::CollectError;

/// What a machine needs to send to a hub.
#[derive(Clone, Serialize, Deserialize)]
pub struct HubToken {
    url: String,
    machine: String,
    /// None until the hub has let the machine in.
    id: Option<String>,
    secret: String,
    #[serde(default, with = "crate::moment::option")]
    expires: Option<Timestamp>,
}

impl fmt::Debug for HubToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HubToken").field("url", &self.url).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Welcome {
    token: String,
    #[serde(with = "crate::moment")]
    expires: Timestamp,
}

impl HubToken {
    /// The hub.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The machine, as names in the store spell it.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// The id of the token, which is no secret.
    pub fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    /// Until when it works.
    pub fn expires(&self) -> Option<Timestamp> {
        self.expires
    }

    /// What goes into the header of a request.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer rht_{}_{}", self.id(), self.secret)
    }

    /// The token of a machine for a hub.
    pub fn load(
        data: &DataDirectory,
        address: &str,
        machine: MachineId,
    ) -> Result<HubToken, CollectError> {
        let url = hub_url(address)?;
        let token = read(&file(data, &url, machine)?)?.filter(|token| token.id.is_some());
        token.ok_or(CollectError::NotJoined { url })
    }

    /// Joins a hub with a code, and writes the token down.
    pub fn join(
        data: &DataDirectory,
        address: &str,
        code: &str,
        machine: MachineId,
        facts: &MachineFacts,
    ) -> Result<HubToken, CollectError> {
        let url = hub_url(address)?;
        let path = file(data, &url, machine)?;
        // A token that works stays until there is another; one that was begun is asked for again.
        let pending = path.with_extension("pending");
        let mut token = read(&pending)?.unwrap_or_else(|| HubToken {
            url: url.clone(),
            machine: machine.to_string(),
            id: None,
            secret: random_secret(),
            expires: None,
        });
        write(&pending, &token)?;
        let body = serde_json::json!({
            "code": code.trim(), "machine": token.machine, "secret": token.secret,
            "user": facts.user, "host": facts.host,
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let welcome: Welcome = runtime.block_on(ask(&url, &body))?;
        token.id = Some(welcome.token);
        token.expires = Some(welcome.expires);
        write(&path, &token)?;
        recto_store::remove_database(&pending);
        Ok(token)
    }
}

async fn ask(url: &str, body: &serde_json::Value) -> Result<Welcome, CollectError> {
    let away = |reason: String| CollectError::Unreachable { url: url.to_owned(), reason };
    let client = client(url).map_err(|error| away(error.to_string()))?;
    let request = client
        .post(format!("{url}/v1/join"))
        .header("content-type", "application/json")
        .body(body.to_string());
    let answer = request.send().await.map_err(|error| away(words(&error)))?;
    let status = answer.status();
    let text = answer.text().await.map_err(|error| away(words(&error)))?;
    if status.is_success() {
        return serde_json::from_str(&text).map_err(|_| away("it is not a hub".to_owned()));
    }
    let reason = said(&text).unwrap_or_else(|| format!("it answered {status}"));
    match status.is_server_error() {
        true => Err(away(reason)),
        false => {
            // Only the machine itself knows its name.
            let is_taken = status == reqwest::StatusCode::CONFLICT;
            let machine = body["machine"].as_str().filter(|_| is_taken).map(str::to_owned);
            Err(CollectError::NotWelcome { url: url.to_owned(), reason, machine })
        }
    }
}

/// What a hub says in an answer that refuses.
pub(crate) fn said(body: &str) -> Option<String> {
    let json: serde_json::Value = serde_json::from_str(body).ok()?;
    json["message"].as_str().map(str::to_owned)
}

/// What went wrong with a request, without its address.
pub(crate) fn words(error: &reqwest::Error) -> String {
    let mut words = String::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        words = error.to_string();
        cause = error.source();
    }
    words
}

/// Asks hubs and collectors: follows no redirection, which could take a token elsewhere.
pub(crate) fn client(url: &str) -> reqwest::Result<reqwest::Client> {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(180))
        .user_agent(concat!("recto/", env!("CARGO_PKG_VERSION")));
    match Url::parse(url).is_ok_and(|url| is_loopback(&url)) {
        true => client.no_proxy().build(),
        false => client.build(),
    }
}

/// The address of a hub in its one spelling. It must be encrypted, unless it is this machine.
pub(crate) fn hub_url(address: &str) -> Result<String, CollectError> {
    let bad = |reason: &str| CollectError::Address {
        url: address.rsplit_once('@').map_or(address, |(_, behind)| behind).to_owned(),
        reason: reason.to_owned(),
    };
    let mut url = Url::parse(address).map_err(|error| bad(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(bad("the address of a hub has neither a password nor parameters"));
    }
    url.set_fragment(None);
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => return Err(bad("a hub on another machine needs https://")),
        _ => return Err(bad("the address of a hub begins with https://")),
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn file(data: &DataDirectory, url: &str, machine: MachineId) -> Result<PathBuf, CollectError> {
    let folder = data.make(&["collect", "hubs"])?;
    let digest = Sha256::digest(format!("{url}\n{machine}"));
    let name: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(folder.join(format!("{name}.json")))
}

fn read(path: &std::path::Path) -> Result<Option<HubToken>, CollectError> {
    let bytes = recto_store::read_private(path)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn write(path: &std::path::Path, token: &HubToken) -> Result<(), CollectError> {
    let json = serde_json::to_vec(token).map_err(std::io::Error::other)?;
    Ok(recto_store::write_private(path, &json)?)
}

/// 64 hexadecimal digits.
fn random_secret() -> String {
    let mut hash = Sha256::new();
    for _ in 0..3 {
        hash.update(uuid::Uuid::new_v4().as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_without_encryption() {
        assert_eq!(hub_url("https://hub.acme.dev/").unwrap(), "https://hub.acme.dev");
        assert_eq!(hub_url("http://127.0.0.1:7800").unwrap(), "http://127.0.0.1:7800");
        assert_eq!(hub_url("http://[::1]:7800/a/").unwrap(), "http://[::1]:7800/a");
        for wrong in
            ["http://hub.acme.dev", "http://127.0.0.1.evil.dev", "https://a:b@hub", "ftp://hub"]
        {
            let error = hub_url(wrong).unwrap_err().to_string();
            assert!(!error.contains("a:b"), "{error}");
        }
    }
}
