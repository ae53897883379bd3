//! A real object store: SeaweedFS. `cargo xtask test` installs it where it can; by hand:
//! `RECTO_TEST_WEED=…/weed cargo test -p recto-collect --test runner -- --ignored stores::`.

use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use object_store::ObjectStore as _;
use object_store::ObjectStoreExt as _;
use object_store::PutMode;
use object_store::PutPayload;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use recto_collect::Fleet;
use recto_collect::Forget;
use recto_collect::SendOptions;
use recto_collect::Store;
use recto_collect::StoreVerify;
use recto_testkit::FakeS3;
use tempfile::TempDir;

use crate::edge::Edge;

const LOG: &str = "projects/-w/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl";
const BUCKET: &str = "team";

/// A store that ends with the test.
struct Weed {
    process: Child,
    endpoint: String,
    _folder: TempDir,
}

impl Weed {
    fn start() -> Weed {
        let folder = tempfile::tempdir().unwrap();
        // All at once, so that they differ.
        let free: Vec<TcpListener> =
            (0..8).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = free.iter().map(|one| one.local_addr().unwrap().port()).collect();
        drop(free);
        let names = [
            "master.port",
            "master.port.grpc",
            "volume.port",
            "volume.port.grpc",
            "filer.port",
            "filer.port.grpc",
            "s3.port",
            "s3.port.grpc",
        ];
        let mut command = Command::new(recto_testkit::tool("RECTO_TEST_WEED"));
        command.args(["server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
        command.arg(format!("-dir={}", folder.path().display()));
        command.args(names.iter().zip(&ports).map(|(name, port)| format!("-{name}={port}")));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        let weed =
            Weed { process, endpoint: format!("http://127.0.0.1:{}", ports[6]), _folder: folder };
        let until = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(("127.0.0.1", ports[6])).is_err() || !weed.make_bucket() {
            assert!(Instant::now() < until, "the store does not come up");
            thread::sleep(Duration::from_millis(200));
        }
        weed
    }

    fn client(&self) -> object_store::aws::AmazonS3 {
        AmazonS3Builder::new()
            .with_endpoint(&self.endpoint)
            .with_bucket_name(BUCKET)
            .with_region("us-east-1")
            .with_access_key_id("any")
            .with_secret_access_key("any")
            .with_allow_http(true)
            .build()
            .unwrap()
    }

    /// Makes the bucket by a request of our own; object_store has none for it.
    fn make_bucket(&self) -> bool {
        use std::io::Read as _;
        use std::io::Write as _;
        let address = self.endpoint.strip_prefix("http://").unwrap();
        let Ok(mut stream) = TcpStream::connect(address) else { return false };
        let head = format!(
            "PUT /{BUCKET} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let mut answer = String::new();
        stream.write_all(head.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && (answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 409"))
    }

    fn store(&self) -> Store {
        let address = format!("s3://{BUCKET}/fleet?endpoint={}", self.endpoint);
        Store::open(&address, &FakeS3::variables()).unwrap()
    }
}

impl Drop for Weed {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "needs SeaweedFS"]
fn a_real_store_keeps_what_is_relied_on() {
    let weed = Weed::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = weed.client();
        // Of writers who race for a name, one wins, and its bytes stay.
        for round in 0..3 {
            let path = Path::from(format!("race/{round}"));
            let put = |number: usize| {
                let (client, path) = (client.clone(), path.clone());
                async move {
                    let payload = PutPayload::from(format!("writer {number}"));
                    client.put_opts(&path, payload, PutMode::Create.into()).await.is_ok()
                }
            };
            let won = futures_util::future::join_all((0..8).map(put)).await;
            let winners: Vec<usize> = (0..8).filter(|number| won[*number]).collect();
            assert_eq!(winners.len(), 1, "{won:?}");
            let there = client.get(&path).await.unwrap().bytes().await.unwrap();
            assert_eq!(there, format!("writer {}", winners[0]));
        }
    });
    let mut edge = Edge::new(&FakeS3::start());
    edge.opened = Some(weed.store());
    let secret = "{\"text\":\"GITHUB_TOKEN=ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5\"}\n";
    let lines = |end: usize| (0..end).map(|n| format!("{{\"n\":{n}}}\n")).collect::<String>();
    edge.write(LOG, format!("{secret}{}", lines(10)));
    assert_eq!(edge.send().objects, 1);
    edge.write(LOG, format!("{secret}{}", lines(500)));
    edge.lose_data();
    assert_eq!(edge.send().objects, 1);
    let stored = edge.stored().remove(LOG).unwrap();
    assert!(stored.ends_with(&lines(500)) && !stored.contains("ghp_"), "{stored}");
    let report = StoreVerify::of_sender(&edge.sender(SendOptions::default()), &mut |_, _| {});
    let report = report.unwrap();
    assert!(report.is_sound() && report.filtered == 2, "{report:?}");
    let fleet = Fleet::new(weed.store());
    assert_eq!(fleet.machines().unwrap()[0].objects, 2);
    let now = jiff::Timestamp::now();
    let forgotten = fleet.forget(&Forget::Machine(edge.machine()), true, "root", now).unwrap();
    assert_eq!(forgotten.objects, 2);
    assert_eq!(fleet.machines().unwrap(), []);
}
