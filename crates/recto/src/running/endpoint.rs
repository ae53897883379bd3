//! Which endpoint is asked, and with which key.

use std::path::Path;

use recto_agent::api::ApiError;
use recto_agent::api::Credential;
use recto_agent::api::Endpoint;
use recto_agent::api::EndpointTable;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::select::file_path;

/// The endpoint if nobody names one.
pub(crate) const USUAL: &str = "https://api.anthropic.com";

/// The endpoint at an address, with the key of the environment; and where that is from.
pub(crate) fn endpoint(
    environment: &Environment,
    url: &str,
    ca: Option<&Path>,
) -> Result<(Endpoint, &'static str), CommandError> {
    let (credential, source) = match (&environment.api_key, &environment.auth_token) {
        (Some(key), _) => (Credential::api_key(key.reveal())?, "ANTHROPIC_API_KEY"),
        (None, Some(token)) => (Credential::bearer(token.reveal())?, "ANTHROPIC_AUTH_TOKEN"),
        (None, None) => return Err(ApiError::NoKey.into()),
    };
    let mut endpoint = Endpoint::new(url, credential)?;
    if let Some(path) = environment.endpoints_file().filter(|path| file_path::exists(path)) {
        let bytes = recto_store::read_small(&path)?;
        let mut table = EndpointTable::built_in().unwrap_or_default();
        table.add_first(&String::from_utf8_lossy(&bytes)).map_err(|error| {
            CommandError::user("bad-endpoints", format!("{}: {error}", path.display()))
                .with_hint("docs/guides/mock.md lists what an endpoint may contain")
        })?;
        endpoint.capabilities = table.of_host(endpoint.host_name());
    }
    if let Some(path) = ca {
        endpoint.certificates = Some(recto_store::read_small(path)?);
    }
    Ok((endpoint, source))
}
