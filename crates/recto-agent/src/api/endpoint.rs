//! Where to ask, and with which key.

use std::fmt;
use std::process::Stdio;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderName;
use reqwest::header::HeaderValue;

use super::ApiError;
use super::Capabilities;
use super::EndpointTable;
use super::Retries;

/// How long a command that gives a key may take.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// An endpoint, and how to talk to it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) base: Url,
    pub(crate) credential: Credential,
    pub(crate) headers: HeaderMap,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often to try again.
    pub retries: Retries,
    /// Through which proxy. Never for this machine itself.
    pub proxy: Proxy,
    /// Certificates to trust beside those of the system, as PEM.
    pub certificates: Option<Vec<u8>>,
    /// What it accepts. Requests are changed until it accepts them.
    pub capabilities: Capabilities,
}

/// Which proxy is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proxy {
    /// The one of the system: `HTTPS_PROXY` and its relatives.
    #[default]
    System,
    /// None.
    Direct,
    /// This one.
    Url(String),
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the first byte of an answer.
    pub response: Duration,
    /// For the next byte of an answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(10),
            response: Duration::from_secs(600),
            // Endpoints send a ping every few seconds.
            idle: Duration::from_secs(120),
        }
    }
}

impl Endpoint {
    /// An endpoint at an address such as `https://api.anthropic.com`.
    pub fn new(base: &str, credential: Credential) -> Result<Endpoint, ApiError> {
        let bad = |why: &str| ApiError::BadAddress { why: why.to_owned() };
        let base = Url::parse(base).map_err(|error| bad(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(bad("it must start with http:// or https://"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(bad("it contains a user name or password; use a key"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(bad("it has a query or a fragment"));
        }
        let host = base.host_str().unwrap_or_default();
        let table = EndpointTable::built_in().unwrap_or_default();
        let capabilities = table.of_host(host);
        Ok(Endpoint {
            base,
            credential,
            headers: HeaderMap::new(),
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            proxy: Proxy::default(),
            certificates: None,
            capabilities,
        })
    }

    /// Adds a header to every request.
    pub fn add_header(&mut self, name: &str, value: &str) -> Result<(), ApiError> {
        let bad = || ApiError::BadHeader { name: name.to_owned() };
        let name = HeaderName::try_from(name).map_err(|_| bad())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
        // Nobody knows what is in it.
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }

    /// The address of a part of the API.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let start = url.path().trim_end_matches('/').to_owned();
        // Both `https://host` and `https://host/v1` are common.
        let start = start.strip_suffix("/v1").unwrap_or(&start);
        url.set_path(&format!("{start}{path}"));
        url
    }

    /// The host alone.
    pub fn host_name(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Host and port, for people.
    pub fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Whether this machine itself is asked.
    pub fn is_loopback(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let address = address.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// A key. It appears in no message, and `Debug` hides it.
#[derive(Clone)]
pub enum Credential {
    /// Sent as `x-api-key`.
    ApiKey(HeaderValue),
    /// Sent as `authorization: Bearer`.
    Bearer(HeaderValue),
    /// A command of the user that prints a key, asked again when the key is refused. What it
    /// prints is sent as `x-api-key` and as a bearer token.
    Command(String),
    /// No key: for endpoints on this machine.
    None,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::ApiKey(_) => "ApiKey(…)",
            Credential::Bearer(_) => "Bearer(…)",
            Credential::Command(_) => "Command(…)",
            Credential::None => "None",
        })
    }
}

impl Credential {
    /// A key for `x-api-key`.
    pub fn api_key(key: &str) -> Result<Credential, ApiError> {
        header(key.trim(), "").map(Credential::ApiKey)
    }

    /// A token for `authorization: Bearer`.
    pub fn bearer(token: &str) -> Result<Credential, ApiError> {
        header(token.trim(), "Bearer ").map(Credential::Bearer)
    }

    /// The headers that carry the key.
    pub(crate) async fn headers(&self) -> Result<HeaderMap, ApiError> {
        let mut headers = HeaderMap::new();
        match self {
            Credential::ApiKey(key) => {
                headers.insert("x-api-key", key.clone());
            }
            Credential::Bearer(token) => {
                headers.insert(reqwest::header::AUTHORIZATION, token.clone());
            }
            Credential::Command(command) => {
                let key = printed_by(command).await?;
                headers.insert("x-api-key", header(&key, "")?);
                headers.insert(reqwest::header::AUTHORIZATION, header(&key, "Bearer ")?);
            }
            Credential::None => {}
        }
        Ok(headers)
    }
}

fn header(key: &str, before: &str) -> Result<HeaderValue, ApiError> {
    if key.is_empty() {
        return Err(ApiError::NoKey);
    }
    let value = HeaderValue::try_from(format!("{before}{key}"));
    let mut value = value.map_err(|_| ApiError::BadKey)?;
    value.set_sensitive(true);
    Ok(value)
}

/// What a command prints. Neither the command nor its output gets into an error.
async fn printed_by(command: &str) -> Result<String, ApiError> {
    let failed = |why: String| ApiError::KeyCommand { why };
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let running = tokio::process::Command::new(shell)
        .args([flag, command])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(COMMAND_TIME, running)
        .await
        .map_err(|_| failed(format!("no key after {} s", COMMAND_TIME.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if key.is_empty() { Err(failed("it printed nothing".into())) } else { Ok(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_nowhere() {
        let mut endpoint =
            Endpoint::new("http://h/v1/", Credential::api_key("sk-geheim").unwrap()).unwrap();
        endpoint.add_header("x-other", "sk-geheim").unwrap();
        assert!(!format!("{endpoint:?}").contains("geheim"));
        assert_eq!(endpoint.url("/v1/messages").as_str(), "http://h/v1/messages");
        assert!(!format!("{:?}", Credential::Command("echo sk-geheim".into())).contains("geheim"));
        let bad = Credential::api_key("sk-ge\nheim").unwrap_err();
        assert!(!format!("{bad} {bad:?}").contains("heim"));
    }

    #[test]
    fn addresses_that_cannot_be_asked_are_refused() {
        for address in ["", "h", "ftp://h", "http://u:p@h", "http://h?x=1", "file:///etc"] {
            let refused = Endpoint::new(address, Credential::None);
            assert!(matches!(refused, Err(ApiError::BadAddress { .. })), "{address}");
        }
        let paths = [("http://h", "/v1/messages"), ("http://h/x/", "/x/v1/messages")];
        for (base, path) in paths {
            let endpoint = Endpoint::new(base, Credential::None).unwrap();
            assert_eq!(endpoint.url("/v1/messages").path(), path);
        }
    }
}
