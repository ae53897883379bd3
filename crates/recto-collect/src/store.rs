//! A store by its address: what is written there, listed and read.
//!
//! Everything that matters is written once under a name that must be free. So it does not matter
//! how often a request is repeated, or who else writes.

use std::path::Path as FilePath;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use object_store::GetOptions;
use object_store::GetRange;
use object_store::ObjectStore;
use object_store::ObjectStoreExt as _;
use object_store::PutMode;
use object_store::PutOptions;
use object_store::PutPayload;
use object_store::WriteMultipart;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use recto_store::keep::SegmentHeader;
use recto_store::keep::SegmentKey;
use recto_store::sync_below;
use tokio::io::AsyncReadExt as _;
use tokio::io::AsyncWriteExt as _;
#[cfg(feature = "cloud")]
use url::Url;

use crate::error::CollectError;
#[cfg(feature = "cloud")]
use crate::hub_client::HubClient;
#[cfg(feature = "cloud")]
use crate::hub_token::HubToken;

/// Objects of more bytes are sent in parts: no store takes them at once for sure, and their bytes
/// would all be in memory.
const LARGE: u64 = 16 * 1024 * 1024;
/// Most headers are shorter.
const HEADER: u64 = 16 * 1024;
/// No header is longer.
const LONGEST_HEADER: u64 = 1024 * 1024 + 9;

/// A store, by its address.
#[derive(Debug, Clone)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    /// The directory, if it is one.
    directory: Option<PathBuf>,
    /// The account of Azure that its container is in.
    account: Option<AzureAccount>,
    /// The hub in front of the store, if that is all that is known of it.
    #[cfg(feature = "cloud")]
    hub: Option<Arc<HubClient>>,
}

/// An account of Azure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureAccount {
    /// Its name.
    pub name: String,
    /// Where its containers are.
    pub address: String,
}

/// What the store says of a segment without giving it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// The hash of its content.
    pub(crate) sha256: [u8; 32],
    pub(crate) policy: String,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is there now.
    New,
    /// Its name was taken.
    Taken,
}

/// An object of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its name, below the prefix.
    pub key: String,
    /// How large it is.
    pub bytes: u64,
    /// When it was written, by the clock of the store.
    pub modified: Timestamp,
}

/// Where clouds give credentials to their own machines.
const METADATA: [&str; 3] = ["169.254.169.254", "169.254.170.2", "metadata.google.internal"];

impl Store {
    /// Opens a store. The variables are those of the environment that name credentials, regions
    /// and endpoints: `AWS_…`, `GOOGLE_…`, `AZURE_…`.
    pub fn open(address: &str, variables: &[(String, String)]) -> Result<Store, CollectError> {
        let Some((scheme, rest)) = address.split_once("://") else {
            return Store::of_directory(FilePath::new(address));
        };
        if scheme == "file" {
            return Store::of_directory(FilePath::new(rest));
        }
        Store::of_cloud(scheme, address, variables)
    }

    #[cfg(not(feature = "cloud"))]
    fn of_cloud(
        _scheme: &str,
        address: &str,
        _variables: &[(String, String)],
    ) -> Result<Store, CollectError> {
        let reason = "this build of recto supports only directories".to_owned();
        Err(CollectError::Address { url: shown(address), reason })
    }

    #[cfg(feature = "cloud")]
    fn of_cloud(
        scheme: &str,
        address: &str,
        variables: &[(String, String)],
    ) -> Result<Store, CollectError> {
        let bad = |reason: String| CollectError::Address { url: shown(address), reason };
        let url = Url::parse(address).map_err(|error| bad(error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("the address contains credentials".to_owned()));
        }
        if matches!(scheme, "http" | "https") {
            return Err(CollectError::WriteOnly { url: bare(&url) });
        }
        let prefix = Path::parse(url.path()).map_err(|error| bad(error.to_string()))?;
        let mut settings = crate::cloud::settings(scheme, variables);
        for (name, value) in url.query_pairs() {
            let known = match (scheme, name.as_ref()) {
                ("s3", "endpoint") => "aws_endpoint",
                ("s3", "region") => "aws_region",
                ("gs", "endpoint") => "google_base_url",
                ("az", "account") => "azure_storage_account_name",
                ("az", "endpoint") => "azure_storage_endpoint",
                _ => return Err(bad(format!("unknown parameter `{name}`"))),
            };
            settings.retain(|(other, _)| other != known);
            settings.push((known.to_owned(), value.into_owned()));
        }
        let place = bare(&url);
        if let Some(reason) = crate::cloud::missing(scheme, &settings) {
            return Err(CollectError::Denied { url: place, reason: reason.to_owned() });
        }
        let objects = crate::cloud::objects(scheme, &place, &settings);
        let objects = objects.map_err(|error| bad(words(&error)))?;
        let objects = objects.ok_or_else(|| bad(format!("unsupported scheme `{scheme}`")))?;
        let account = crate::cloud::account(scheme, &settings);
        Ok(Store { objects, prefix, url: place, directory: None, account, hub: None })
    }

    /// A store behind a hub: it can be written to, and its names can be listed.
    #[cfg(feature = "cloud")]
    pub fn of_hub(token: &HubToken) -> Result<Store, CollectError> {
        let client = HubClient::new(token)?;
        Ok(Store {
            objects: Arc::new(object_store::memory::InMemory::new()),
            prefix: Path::default(),
            url: token.url().to_owned(),
            directory: None,
            account: None,
            hub: Some(Arc::new(client)),
        })
    }

    #[cfg(feature = "cloud")]
    fn hub(&self) -> Option<&Arc<HubClient>> {
        self.hub.as_ref()
    }

    /// A hub gives nothing back.
    fn must_be_read(&self) -> Result<(), CollectError> {
        #[cfg(feature = "cloud")]
        if self.hub.is_some() {
            return Err(CollectError::WriteOnly { url: self.url.clone() });
        }
        Ok(())
    }

    /// A store that is a directory of this machine.
    pub fn of_directory(path: &FilePath) -> Result<Store, CollectError> {
        let path = std::path::absolute(path)?;
        let url = path.to_string_lossy().into_owned();
        recto_store::make_directory(&path)?;
        let objects = LocalFileSystem::new_with_prefix(&path)
            .map_err(|error| CollectError::Address { url: url.clone(), reason: words(&error) })?;
        let objects = Arc::new(objects);
        Ok(Store {
            objects,
            prefix: Path::default(),
            url,
            directory: Some(path),
            account: None,
            #[cfg(feature = "cloud")]
            hub: None,
        })
    }

    /// Its address, without parameters.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The account, if the store is a container of Azure: other programs want it beside the name
    /// of the container.
    pub fn account(&self) -> Option<&AzureAccount> {
        self.account.as_ref()
    }

    fn path(&self, key: &str) -> Path {
        let prefix = self.prefix.parts();
        prefix.chain(Path::from(key).parts()).collect()
    }

    fn failed(&self, error: &object_store::Error) -> CollectError {
        let (url, reason) = (self.url.clone(), words(error));
        match error {
            object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. } => CollectError::Denied { url, reason },
            object_store::Error::NotFound { .. } => CollectError::Absent { url, reason },
            // Without any credentials the machine's own are asked for, where a cloud has them.
            _ if METADATA.iter().any(|host| reason.contains(host)) => {
                CollectError::Denied { url, reason: "no credentials were found".to_owned() }
            }
            _ => CollectError::Unreachable { url, reason },
        }
    }

    /// Writes an object whose name must be free.
    pub(crate) async fn put_new(&self, key: &str, bytes: Bytes) -> Result<Put, CollectError> {
        #[cfg(feature = "cloud")]
        if let Some(hub) = self.hub() {
            return hub.put(key, bytes).await;
        }
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let path = self.path(key);
        match self.objects.put_opts(&path, PutPayload::from_bytes(bytes), options).await {
            Ok(_) => {
                self.sync(&path)?;
                Ok(Put::New)
            }
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(Put::Taken),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// The same with the content of a file. A large one is sent in parts, which no store does
    /// under the condition that the name is free: the name is looked at first. It says what is in
    /// the object, so who comes between writes the same.
    pub(crate) async fn put_file(
        &self,
        key: &str,
        file: std::fs::File,
        bytes: u64,
    ) -> Result<Put, CollectError> {
        let mut file = tokio::fs::File::from_std(file);
        if bytes <= LARGE {
            let mut content = Vec::with_capacity(bytes as usize);
            file.read_to_end(&mut content).await?;
            return self.put_new(key, content.into()).await;
        }
        #[cfg(feature = "cloud")]
        if let Some(hub) = self.hub() {
            return hub.put_large(key, file.into_std().await, bytes).await;
        }
        let path = self.path(key);
        match self.objects.head(&path).await {
            Ok(_) => return Ok(Put::Taken),
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(self.failed(&error)),
        }
        let upload = self.objects.put_multipart(&path).await;
        let mut upload = WriteMultipart::new(upload.map_err(|error| self.failed(&error))?);
        let mut buffer = vec![0; 1024 * 1024];
        loop {
            let read = file.read(&mut buffer).await?;
            if read == 0 {
                break;
            }
            upload.wait_for_capacity(2).await.map_err(|error| self.failed(&error))?;
            upload.write(&buffer[..read]);
        }
        upload.finish().await.map_err(|error| self.failed(&error))?;
        self.sync(&path)?;
        Ok(Put::New)
    }

    /// Writes an object over what was there before.
    pub(crate) async fn put_over(&self, key: &str, bytes: Bytes) -> Result<(), CollectError> {
        #[cfg(feature = "cloud")]
        if let Some(hub) = self.hub() {
            return hub.put(key, bytes).await.map(drop);
        }
        let path = self.path(key);
        let put = self.objects.put(&path, PutPayload::from_bytes(bytes)).await;
        put.map_err(|error| self.failed(&error))?;
        self.sync(&path)
    }

    /// Makes what was written into a directory durable; all other stores say nothing before it is.
    fn sync(&self, path: &Path) -> Result<(), CollectError> {
        match &self.directory {
            Some(root) => Ok(sync_below(root, path.as_ref())?),
            None => Ok(()),
        }
    }

    /// Everything whose name begins with a prefix, which ends where a part of a name ends.
    pub(crate) fn list(&self, prefix: &str) -> BoxStream<'static, Result<Listed, CollectError>> {
        #[cfg(feature = "cloud")]
        if let Some(hub) = self.hub() {
            return HubClient::list(Arc::clone(hub), prefix.to_owned());
        }
        self.list_after(prefix, None)
    }

    /// The same, only names that come after one.
    pub(crate) fn list_after(
        &self,
        prefix: &str,
        after: Option<&str>,
    ) -> BoxStream<'static, Result<Listed, CollectError>> {
        let store = self.clone();
        let start = self.prefix.as_ref().len();
        let path = self.path(prefix);
        let listed = match after {
            Some(after) => self.objects.list_with_offset(Some(&path), &self.path(after)),
            None => self.objects.list(Some(&path)),
        };
        let listed = listed.map(move |object| {
            let object = object.map_err(|error| store.failed(&error))?;
            let key = object.location.as_ref()[start..].trim_start_matches('/').to_owned();
            let modified = Timestamp::from_millisecond(object.last_modified.timestamp_millis());
            let modified = modified.unwrap_or(Timestamp::UNIX_EPOCH);
            Ok(Listed { key, bytes: object.size, modified })
        });
        listed.boxed()
    }

    /// The names of the folders in a folder.
    pub(crate) async fn folders(&self, prefix: &str) -> Result<Vec<String>, CollectError> {
        self.must_be_read()?;
        let path = self.path(prefix);
        let listed = self.objects.list_with_delimiter(Some(&path)).await;
        let listed = listed.map_err(|error| self.failed(&error))?;
        let name = |path: &Path| path.filename().map(str::to_owned);
        Ok(listed.common_prefixes.iter().filter_map(name).collect())
    }

    /// What the store says of a segment.
    pub(crate) async fn said(&self, key: &SegmentKey) -> Result<Said, CollectError> {
        #[cfg(feature = "cloud")]
        if let Some(hub) = self.hub() {
            return hub.said(key).await;
        }
        let header = self.header(key).await?;
        Ok(Said { sha256: header.sha256, policy: header.policy })
    }

    /// The header of a segment.
    pub(crate) async fn header(&self, key: &SegmentKey) -> Result<SegmentHeader, CollectError> {
        let name = key.to_string();
        let beginning = self.beginning(&name, HEADER).await?;
        match SegmentHeader::read(&beginning, &name) {
            Err(_) if beginning.len() as u64 >= HEADER => {
                let beginning = self.beginning(&name, LONGEST_HEADER).await?;
                Ok(SegmentHeader::read(&beginning, &name)?)
            }
            header => Ok(header?),
        }
    }

    async fn beginning(&self, key: &str, bytes: u64) -> Result<Bytes, CollectError> {
        self.must_be_read()?;
        let range = Some(GetRange::Bounded(0..bytes));
        let options = GetOptions { range, ..GetOptions::default() };
        let got = self.objects.get_opts(&self.path(key), options).await;
        let got = got.map_err(|error| self.failed(&error))?;
        got.bytes().await.map_err(|error| self.failed(&error))
    }

    /// A small object, if it is there.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<Bytes>, CollectError> {
        self.must_be_read()?;
        match self.objects.get(&self.path(key)).await {
            Ok(got) => Ok(Some(got.bytes().await.map_err(|error| self.failed(&error))?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// An object into a file without a name, which is at its beginning then.
    pub(crate) async fn fetch(&self, key: &str) -> Result<std::fs::File, CollectError> {
        self.must_be_read()?;
        let got = self.objects.get(&self.path(key)).await;
        let mut stream = got.map_err(|error| self.failed(&error))?.into_stream();
        let mut file = tokio::fs::File::from_std(tempfile::tempfile()?);
        while let Some(bytes) = stream.next().await {
            file.write_all(&bytes.map_err(|error| self.failed(&error))?).await?;
        }
        file.flush().await?;
        let mut file = file.into_std().await;
        std::io::Seek::rewind(&mut file)?;
        Ok(file)
    }

    /// Removes an object. One that is not there is removed.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), CollectError> {
        self.must_be_read()?;
        match self.objects.delete(&self.path(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }
}

/// An address without its parameters.
#[cfg(feature = "cloud")]
fn bare(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// An address as it may be shown: a mistaken one can have a password in it.
fn shown(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, behind))) => format!("{scheme}://…@{behind}"),
        _ => address.to_owned(),
    }
}

/// What a store said, in one line and without the names of types.
fn words(error: &object_store::Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let text = cause.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        source = cause.source();
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut words = words.join(" ");
    if let Some((end, _)) = words.char_indices().nth(400) {
        words.truncate(end);
        words.push('…');
    }
    words
}

#[cfg(test)]
#[cfg(feature = "cloud")]
mod tests {
    use super::*;

    fn refused(address: &str) -> String {
        Store::open(address, &[]).unwrap_err().to_string()
    }

    #[test]
    fn addresses_are_read_and_mistakes_are_named() {
        let store = Store::open("s3://bucket/team/logs?region=eu-central-1", &[]).unwrap();
        assert_eq!(store.url(), "s3://bucket/team/logs");
        assert_eq!(store.path("raw/v1/machine=m").as_ref(), "team/logs/raw/v1/machine=m");
        assert_eq!(Store::open("s3://bucket", &[]).unwrap().path("a/b").as_ref(), "a/b");
        assert_eq!(refused("ftp://x/y"), "ftp://x/y: unsupported scheme `ftp`");
        let account = "set AZURE_STORAGE_ACCOUNT_NAME, or add `?account=NAME` to the address";
        assert!(refused("az://container/prefix").ends_with(account));
        assert!(refused("s3://bucket?colour=red").ends_with("unknown parameter `colour`"));
        let secret = refused("s3://me:hunter2@bucket/x");
        assert!(!secret.contains("hunter2"), "{secret}");
    }
}
