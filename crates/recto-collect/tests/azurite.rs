//! Azure's storage, by the emulator of its makers. `cargo xtask test` installs it where it can; by
//! hand: `RECTO_TEST_AZURITE=…/azurite-blob cargo test -p recto-collect --test runner -- --ignored azurite::`.

use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use object_store::ObjectStore;
use object_store::azure::MicrosoftAzureBuilder;
use recto_collect::Store;
use sha2::Digest as _;
use sha2::Sha256;
use tempfile::TempDir;

use crate::hub::answer;
use crate::stores::assert_relied_on;

const ACCOUNT: &str = "acme";
const CONTAINER: &str = "team";

/// The key that the test gives the account.
fn key() -> String {
    BASE64_STANDARD.encode([7; 64])
}

/// An emulator that ends with the test.
struct Azurite {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Azurite {
    fn start() -> Azurite {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut command = Command::new(recto_testkit::tool("RECTO_TEST_AZURITE"));
        command.args(["--silent", "--disableTelemetry", "--inMemoryPersistence"]);
        command.args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string()]);
        command.current_dir(folder.path()).env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{}", key()));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        let address = format!("127.0.0.1:{port}");
        let azurite = Azurite { process, address, _folder: folder };
        let until = Instant::now() + Duration::from_secs(120);
        while !azurite.make_container() {
            assert!(Instant::now() < until, "the emulator does not come up");
            thread::sleep(Duration::from_millis(200));
        }
        azurite
    }

    /// Makes the container by a request of our own; object_store has none for it.
    fn make_container(&self) -> bool {
        use std::io::Write as _;
        let Ok(mut stream) = TcpStream::connect(&self.address) else { return false };
        let date = Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
        let headers = format!("x-ms-date:{date}\nx-ms-version:2023-11-03");
        let what = format!("/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container");
        let signed = hmac(&[7; 64], format!("PUT{}{headers}\n{what}", "\n".repeat(12)).as_bytes());
        let head = format!(
            "PUT /{ACCOUNT}/{CONTAINER}?restype=container HTTP/1.1\r\nHost: {}\r\n\
             Content-Length: 0\r\nConnection: close\r\n{}\r\n\
             Authorization: SharedKey {ACCOUNT}:{}\r\n\r\n",
            self.address,
            headers.replace('\n', "\r\n"),
            BASE64_STANDARD.encode(signed)
        );
        stream.write_all(head.as_bytes()).is_ok() && matches!(answer(&mut stream).0, 201 | 409)
    }

    fn endpoint(&self) -> String {
        format!("http://{}/{ACCOUNT}", self.address)
    }

    fn store(&self) -> Store {
        let endpoint = self.endpoint();
        let url = format!("az://{CONTAINER}/fleet?account={ACCOUNT}&endpoint={endpoint}");
        Store::open(&url, &[("AZURE_STORAGE_ACCOUNT_KEY".to_owned(), key())]).unwrap()
    }

    fn client(&self) -> Arc<dyn ObjectStore> {
        let builder = MicrosoftAzureBuilder::new().with_endpoint(self.endpoint());
        let builder = builder.with_account(ACCOUNT).with_container_name(CONTAINER);
        Arc::new(builder.with_access_key(key()).with_allow_http(true).build().unwrap())
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// As RFC 2104 has it, for a key of one block.
fn hmac(key: &[u8; 64], text: &[u8]) -> [u8; 32] {
    let inner = Sha256::new().chain_update(key.map(|byte| byte ^ 0x36)).chain_update(text);
    let outer = Sha256::new().chain_update(key.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

#[test]
#[ignore = "needs Azurite"]
fn azure_keeps_what_is_relied_on() {
    let azurite = Azurite::start();
    assert_relied_on(&azurite.client(), &|| azurite.store());
}
