//! A real object store: SeaweedFS. `cargo xtask test` installs it where it can; by hand:
//! `RECTO_TEST_WEED=…/weed cargo test -p recto-collect --test runner -- --ignored stores::`.

use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use object_store::ObjectStore;
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
use crate::hub::TestHub;
use crate::hub::limits;
use crate::hub::secret_of;
use crate::hub_attack::key;
use crate::hub_attack::put;
use crate::hub_attack::segment_at;

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
        // Ports that it would share with another one; and it is to ask nobody else.
        command.args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]);
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

/// Whatever recto relies on, with a store that is not made for it.
pub(crate) fn assert_relied_on(client: &Arc<dyn ObjectStore>, open: &dyn Fn() -> Store) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // Of writers who race for a name, one wins, and its bytes stay.
        for round in 0..3 {
            let path = Path::from(format!("race/{round}"));
            let put = |number: usize| {
                let (client, path) = (Arc::clone(client), path.clone());
                async move {
                    let payload = PutPayload::from(format!("writer {number}"));
                    client.put_opts(&path, payload, PutMode::Create.into()).await
                }
            };
            let won = futures_util::future::join_all((0..8).map(put)).await;
            let winners: Vec<usize> = (0..8).filter(|number| won[*number].is_ok()).collect();
            assert_eq!(winners.len(), 1, "{won:?}");
            let is_taken = |put: &object_store::Result<object_store::PutResult>| {
                matches!(put, Err(object_store::Error::AlreadyExists { .. }))
            };
            assert_eq!(won.iter().filter(|put| is_taken(put)).count(), 7, "{won:?}");
            assert!(is_taken(&put(9).await));
            let there = client.get(&path).await.unwrap().bytes().await.unwrap();
            assert_eq!(there, format!("writer {}", winners[0]));
        }
    });
    let mut edge = Edge::new(&FakeS3::start());
    edge.opened = Some(open());
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
    assert!(report.is_sound() && report.filtered == Some(2), "{report:?}");
    let fleet = Fleet::new(open());
    assert_eq!(fleet.machines().unwrap()[0].objects, 2);
    let now = jiff::Timestamp::now();
    let forgotten = fleet.forget(&Forget::Machine(edge.machine()), true, "root", now).unwrap();
    assert_eq!(forgotten.objects, 2);
    assert_eq!(fleet.machines().unwrap(), []);
    // One so large that it goes in parts.
    let mut edge = Edge::raw(&FakeS3::start());
    edge.opened = Some(open());
    let large = noise(40 * 1024 * 1024);
    edge.write(LOG, &large);
    let report = edge.send();
    assert!(report.objects == 1 && report.sent_bytes > 16 * 1024 * 1024, "{report:?}");
    edge.lose_state();
    assert_eq!(edge.send().objects, 0);
    assert!(edge.stored()[LOG] == large);
}

/// A line of hexadecimal digits, which compress to half.
fn noise(bytes: usize) -> String {
    let mut state = 7_u64;
    let mut text = String::from("{\"text\":\"");
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&format!("{state:016x}"));
    }
    text + "\"}\n"
}

#[test]
#[ignore = "needs SeaweedFS"]
fn a_real_store_keeps_what_is_relied_on() {
    let weed = Weed::start();
    let client: Arc<dyn ObjectStore> = Arc::new(weed.client());
    assert_relied_on(&client, &|| weed.store());
}

#[test]
#[ignore = "needs SeaweedFS"]
fn hubs_in_front_of_a_real_store_keep_everything_once() {
    let weed = Weed::start();
    let hubs = [0, 1].map(|_| TestHub::in_front_of(weed.store(), limits()));
    let mut edge = Edge::raw(&FakeS3::start());
    let text: String = (0..500).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    edge.write(LOG, &text[..text.len() / 2]);
    let token = hubs[0].join(&mut edge);
    assert_eq!(edge.send().objects, 1);
    edge.write(LOG, &text);
    edge.lose_state();
    assert_eq!(edge.send().objects, 1);
    // Many who send one range at once through both hubs: it is stored once, whoever wins.
    let machine = edge.machine().to_string();
    let secret = format!("rht_{}_{}", token.id(), secret_of(&edge));
    let statuses = |bodies: &[Vec<u8>], range: u64| -> Vec<u16> {
        let name = key(&machine, range, range + 8);
        thread::scope(|scope| {
            let ask = |(at, body): (usize, &Vec<u8>)| {
                let (hub, head, body) = (&hubs[at % 2], put(&name, &secret, body), body.clone());
                scope.spawn(move || hub.ask(&head, &body).0)
            };
            let asking: Vec<_> = bodies.iter().enumerate().map(ask).collect();
            let mut given: Vec<u16> = asking.into_iter().map(|one| one.join().unwrap()).collect();
            given.sort_unstable();
            given
        })
    };
    let one = |n: u8| segment_at(format!("{{\"n\":{n}}}\n").as_bytes(), 0);
    assert_eq!(statuses(&vec![one(1); 6], 0), [200, 200, 200, 200, 200, 201]);
    let others: Vec<Vec<u8>> =
        (0..6).map(|n| segment_at(format!("{{\"n\":{n}}}\n").as_bytes(), 8)).collect();
    assert_eq!(statuses(&others, 8), [201, 409, 409, 409, 409, 409]);
    // Nothing comes back through a hub; whoever may read the store reads it.
    let through = edge.opened.replace(weed.store()).unwrap();
    assert!(Fleet::new(through).machines().is_err());
    assert_eq!(edge.stored()[LOG], text);
    let fleet = Fleet::new(weed.store());
    let machines = fleet.machines().unwrap();
    assert_eq!((machines[0].objects, machines[0].gaps), (4, 0));
    assert!(fleet.verify(None, true, &mut |_, _| {}).unwrap().is_sound());
    // A token that is revoked is refused by both.
    hubs[1].roster().revoke(token.id(), jiff::Timestamp::now()).unwrap();
    assert_eq!(statuses(&vec![one(1); 2], 0), [401, 401]);
}

#[test]
fn a_bucket_of_google_is_spoken_to_in_its_own_words() {
    let fake = FakeS3::start();
    let url = fake.url("fleet").replacen("s3://", "gs://", 1);
    // Without a key that can be asked for a token.
    let account = "{\"client_email\":\"\",\"private_key\":\"\",\"private_key_id\":\"\",\"disable_oauth\":true}";
    let variables = [("GOOGLE_SERVICE_ACCOUNT_KEY".to_owned(), account.to_owned())];
    let open = || Store::open(&url, &variables).unwrap();
    let mut edge = Edge::raw(&fake);
    edge.opened = Some(open());
    let lines = |end: usize| (0..end).map(|n| format!("{{\"n\":{n}}}\n")).collect::<String>();
    edge.write(LOG, lines(10));
    assert_eq!(edge.send().objects, 1);
    // The name is taken, which only its generation says: the fake ignores no condition.
    edge.write(LOG, lines(500));
    edge.lose_data();
    assert_eq!(edge.send().objects, 1);
    assert_eq!(edge.stored()[LOG], lines(500));
    let fleet = Fleet::new(open());
    let now = jiff::Timestamp::now();
    let forgotten = fleet.forget(&Forget::Machine(edge.machine()), true, "root", now).unwrap();
    assert_eq!(forgotten.objects, 2);
    assert_eq!(fleet.machines().unwrap(), []);
}
