//! Stores of clouds: which settings each kind knows, and how it is opened.

use std::sync::Arc;
use std::time::Duration;

use object_store::ClientOptions;
use object_store::ObjectStore;
use object_store::RetryConfig;
use object_store::aws::AmazonS3Builder;
use object_store::azure::AzureConfigKey;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use url::Url;

use crate::store::AzureAccount;

/// How long a request is repeated before the store counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(45);

/// The variables that one kind of store knows, as its builder spells them.
pub(crate) fn settings(scheme: &str, variables: &[(String, String)]) -> Vec<(String, String)> {
    let prefix = match scheme {
        "s3" => "aws_",
        "gs" => "google_",
        _ => "azure_",
    };
    let lower = |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone());
    let known = |(name, _): &(String, String)| name.starts_with(prefix);
    variables.iter().map(lower).filter(known).collect()
}

/// The store itself; none for a scheme that is not known.
pub(crate) fn objects(
    scheme: &str,
    url: &str,
    settings: &[(String, String)],
) -> object_store::Result<Option<Arc<dyn ObjectStore>>> {
    let retry = RetryConfig { retry_timeout: PATIENCE, max_retries: 6, ..RetryConfig::default() };
    let client = ClientOptions::new()
        .with_timeout(Duration::from_secs(120))
        .with_connect_timeout(Duration::from_secs(10))
        .with_allow_http(may_be_plain(settings));
    Ok(Some(match scheme {
        "s3" => {
            let builder = AmazonS3Builder::new().with_url(url).with_region("us-east-1");
            let builder = builder.with_retry(retry).with_client_options(client);
            let set =
                |builder: AmazonS3Builder, (name, value): &(String, String)| match name.parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                };
            Arc::new(settings.iter().fold(builder, set).build()?)
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::new().with_url(url);
            let builder = builder.with_retry(retry).with_client_options(client);
            let set =
                |builder: GoogleCloudStorageBuilder, (name, value): &(String, String)| match name
                    .parse()
                {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                };
            Arc::new(settings.iter().fold(builder, set).build()?)
        }
        "az" => {
            let builder = MicrosoftAzureBuilder::new().with_url(url);
            let builder = builder.with_retry(retry).with_client_options(client);
            let set = |builder: MicrosoftAzureBuilder, (name, value): &(String, String)| match name
                .parse()
            {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            };
            Arc::new(settings.iter().fold(builder, set).build()?)
        }
        _ => return Ok(None),
    }))
}

/// What is missing to ask a store at all, in words.
pub(crate) fn missing(scheme: &str, settings: &[(String, String)]) -> Option<&'static str> {
    let says_account = |(name, _): &(String, String)| {
        matches!(name.parse(), Ok(AzureConfigKey::AccountName | AzureConfigKey::UseEmulator))
    };
    let is_missing = scheme == "az" && !settings.iter().any(says_account);
    is_missing.then_some("set AZURE_STORAGE_ACCOUNT_NAME, or add `?account=NAME` to the address")
}

/// The account of a container of Azure; none for other stores.
pub(crate) fn account(scheme: &str, settings: &[(String, String)]) -> Option<AzureAccount> {
    let last = |wanted: AzureConfigKey| {
        let is_wanted = |(name, _): &&(String, String)| matches!(name.parse::<AzureConfigKey>(), Ok(key) if key == wanted);
        settings.iter().rev().find(is_wanted).map(|(_, value)| value.clone())
    };
    if scheme != "az" {
        return None;
    }
    let name = last(AzureConfigKey::AccountName)?;
    let address = match last(AzureConfigKey::Endpoint) {
        Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
        None => format!("https://{name}.blob.core.windows.net"),
    };
    Some(AzureAccount { name, address })
}

/// Whether a store may be asked without encryption: on this machine, or if the user says so.
fn may_be_plain(settings: &[(String, String)]) -> bool {
    let is_here = |value: &str| {
        let host = Url::parse(value).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| matches!(host.as_str(), "127.0.0.1" | "localhost" | "[::1]"))
    };
    settings.iter().any(|(name, value)| match name.as_str() {
        name if name.ends_with("_allow_http") => value == "true" || value == "1",
        name if name.contains("endpoint") || name == "google_base_url" => is_here(value),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_of_azure_has_an_address() {
        let address = |scheme: &str, settings: &[(&str, &str)]| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let settings: Vec<(String, String)> = settings.iter().map(owned).collect();
            account(scheme, &settings).map(|account| account.address)
        };
        let named = ("azure_storage_account_name", "team");
        let here = ("azure_storage_endpoint", "http://127.0.0.1:10000/team/");
        assert_eq!(address("az", &[named]).unwrap(), "https://team.blob.core.windows.net");
        assert_eq!(address("az", &[named, here]).unwrap(), "http://127.0.0.1:10000/team");
        assert_eq!(address("az", &[]), None);
        assert_eq!(address("s3", &[named]), None);
    }

    #[test]
    fn plain_http_is_for_this_machine_or_for_who_asks() {
        let one = |name: &str, value: &str| may_be_plain(&[(name.to_owned(), value.to_owned())]);
        assert!(one("aws_endpoint", "http://127.0.0.1:8333"));
        assert!(one("aws_endpoint_url", "http://localhost:8333"));
        assert!(!one("aws_endpoint", "http://store.example:8333"));
        assert!(one("google_base_url", "http://127.0.0.1:4443"));
        assert!(!one("google_base_url", "http://store.example:4443"));
        assert!(one("aws_allow_http", "true"));
        assert!(!one("aws_region", "http://127.0.0.1"));
    }
}
