//! A hub: machines join with a code, send through it, and nothing is lost, doubled or given back.

use std::io::Read as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_collect::CollectError;
use recto_collect::Fleet;
use recto_collect::Forget;
use recto_collect::HubToken;
use recto_collect::MachineFacts;
use recto_collect::Store;
use recto_collect::hub::Hub;
use recto_collect::hub::HubLimits;
use recto_collect::hub::HubOptions;
use recto_collect::hub::Invite;
use recto_collect::hub::Roster;
use recto_store::keep::MachineId;
use recto_testkit::FakeS3;
use tempfile::TempDir;

use crate::edge::Edge;
use crate::edge::FOLDER;

pub(crate) const LOG: &str = "projects/-w/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl";

/// A hub in front of a store that is not real.
pub(crate) struct TestHub {
    pub(crate) hub: Hub,
    pub(crate) store: FakeS3,
    opened: Store,
    folder: TempDir,
}

/// Limits under which tests need not wait.
pub(crate) fn limits() -> HubLimits {
    HubLimits {
        believed: Duration::ZERO,
        body_time: Duration::from_millis(600),
        slowest: 1024 * 1024,
        ..HubLimits::default()
    }
}

impl TestHub {
    pub(crate) fn start(limits: HubLimits) -> TestHub {
        TestHub::beside(&FakeS3::start(), limits)
    }

    /// Another hub on a store.
    pub(crate) fn beside(store: &FakeS3, limits: HubLimits) -> TestHub {
        TestHub { store: store.clone(), ..TestHub::in_front_of(open(store), limits) }
    }

    /// A hub in front of any store.
    pub(crate) fn in_front_of(opened: Store, limits: HubLimits) -> TestHub {
        let folder = tempfile::tempdir().unwrap();
        let options = HubOptions {
            store: opened.clone(),
            listen: "127.0.0.1:0".parse().unwrap(),
            identity: None,
            behind_proxy: false,
            metrics_token: None,
            limits,
            clock: Timestamp::now,
        };
        let hub = Hub::start(options, &folder.path().join("hub.sqlite")).unwrap();
        TestHub { hub, store: FakeS3::start(), opened, folder }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.hub.address()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub(crate) fn roster(&self) -> Roster {
        Roster::new(self.opened.clone())
    }

    pub(crate) fn code(&self, machine: Option<MachineId>) -> String {
        let invite = Invite {
            machine,
            code_lasts: SignedDuration::from_hours(1),
            token_lasts: SignedDuration::from_hours(24),
            by: "root".to_owned(),
        };
        self.roster().invite(&invite, Timestamp::now()).unwrap().code
    }

    /// Lets a machine in, which sends through the hub from now on.
    pub(crate) fn join(&self, edge: &mut Edge) -> HubToken {
        let token = try_join(self, edge, &self.code(None)).unwrap();
        edge.opened = Some(Store::of_hub(&token).unwrap());
        token
    }

    /// The names of everything that machines have stored.
    pub(crate) fn raw(&self) -> Vec<String> {
        self.store.keys(&format!("{FOLDER}/raw/"))
    }

    /// Asks by hand. The answer's status, and its text.
    pub(crate) fn ask(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // Whoever is refused early may have hung up.
        let _ = stream.write_all(body);
        answer(&mut stream)
    }
}

pub(crate) fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..read]);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    (status, text)
}

fn open(store: &FakeS3) -> Store {
    Store::open(&store.url(FOLDER), &FakeS3::variables()).unwrap()
}

pub(crate) fn try_join(hub: &TestHub, edge: &Edge, code: &str) -> Result<HubToken, CollectError> {
    let facts = MachineFacts {
        user: Some("dev".to_owned()),
        host: Some("box".to_owned()),
        version: "1.2.3".to_owned(),
    };
    HubToken::join(&edge.data(), &hub.url(), code, edge.machine(), &facts)
}

fn lines(count: usize) -> String {
    (0..count).map(|at| format!("{{\"n\":{at},\"text\":\"{}\"}}\n", "x".repeat(at % 90))).collect()
}

#[test]
fn what_a_machine_sends_through_a_hub_is_in_the_store_once() {
    let hub = TestHub::start(limits());
    let mut edge = Edge::raw(&hub.store);
    let text = lines(50);
    edge.write(LOG, &text);
    hub.join(&mut edge);
    assert!(edge.send().objects >= 1);
    assert_eq!(edge.send().objects, 0);
    // Whatever it forgets, and however much is added.
    edge.lose_state();
    edge.write(LOG, text.clone() + "{\"n\":50}\n");
    edge.send();
    edge.lose_state();
    edge.send();
    let segments = edge.segments();
    assert_eq!(segments.len(), 2, "{segments:?}");
    let through = edge.opened.take();
    assert_eq!(edge.stored()[LOG], text + "{\"n\":50}\n");
    let machines = Fleet::new(edge.open()).machines().unwrap();
    assert_eq!(machines[0].beat.as_ref().unwrap().user.as_deref(), Some("dev"));
    assert!(!hub.store.keys(&format!("{FOLDER}/ledger/v1/")).is_empty());
    // Nothing comes back through the hub.
    let fleet = Fleet::new(through.clone().unwrap());
    assert!(matches!(fleet.machines().unwrap_err(), CollectError::WriteOnly { .. }));
    // What was forgotten is not sent again.
    let session = Forget::Session("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse().unwrap());
    Fleet::new(edge.open()).forget(&session, true, "root", Timestamp::now()).unwrap();
    edge.opened = through;
    edge.lose_state();
    edge.write(LOG, lines(60));
    edge.send();
    assert_eq!(edge.segments(), Vec::<String>::new());
}

#[test]
fn a_code_lets_one_machine_in_and_a_lost_answer_costs_nothing() {
    let hub = TestHub::start(limits());
    let (one, other) = (Edge::raw(&hub.store), Edge::raw(&hub.store));
    let code = hub.code(None);
    let token = try_join(&hub, &one, &code).unwrap();
    assert_eq!(token.machine(), one.machine().to_string());
    let used = try_join(&hub, &other, &code).unwrap_err().to_string();
    assert!(used.contains("already used"), "{used}");
    // A machine is one token's: who says to be it needs an invitation for it.
    let taken = try_join(&hub, &one, &hub.code(None)).unwrap_err().hint().unwrap();
    assert!(taken.contains(&format!("--machine {}`", one.machine())), "{taken}");
    try_join(&hub, &one, &hub.code(Some(one.machine()))).unwrap();
    let not_mine = try_join(&hub, &other, &hub.code(Some(one.machine())));
    assert!(not_mine.is_err());
    for wrong in ["AAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAA", "nonsense"] {
        let error = try_join(&hub, &other, wrong).unwrap_err();
        assert!(matches!(error, CollectError::NotWelcome { .. }), "{error}");
    }
    // Whoever asks again with the secret that it has written down gets the same token.
    let code = hub.code(None);
    let body = format!(
        "{{\"code\":\"{code}\",\"machine\":\"{}\",\"secret\":\"{}\"}}",
        other.machine(),
        "5".repeat(64)
    );
    let ask = |body: &str| {
        let head = format!(
            "POST /v1/join HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        hub.ask(&head, body.as_bytes()).0
    };
    assert_eq!((ask(&body), ask(&body)), (201, 201));
    let unknown = "AAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAA";
    assert_eq!(ask(&body.replace(&code, unknown)), 403);
    assert_eq!(ask(&body.replace(&"5".repeat(64), &"6".repeat(64))), 410);
    let code = hub.code(Some(other.machine()));
    try_join(&hub, &other, &code).unwrap();
    let file = other.data().root().join("collect/hubs");
    for entry in std::fs::read_dir(file).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    // Nothing in the store would let anybody in.
    let secret = secret_of(&other);
    for (key, object) in hub.store.objects() {
        let text = String::from_utf8_lossy(&object).into_owned();
        assert!(!text.contains(&secret) && !text.contains(&code), "{key}");
    }
}

/// The secret of a machine's token.
pub(crate) fn secret_of(edge: &Edge) -> String {
    let folder = edge.data().root().join("collect/hubs");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    json["secret"].as_str().unwrap().to_owned()
}

#[test]
fn a_machine_that_sent_without_a_hub_is_not_taken_over() {
    let hub = TestHub::start(limits());
    let mut edge = Edge::raw(&hub.store);
    edge.write(LOG, lines(3));
    edge.send();
    assert!(try_join(&hub, &edge, &hub.code(None)).is_err());
    let token = try_join(&hub, &edge, &hub.code(Some(edge.machine()))).unwrap();
    edge.opened = Some(Store::of_hub(&token).unwrap());
    edge.write(LOG, lines(5));
    edge.lose_data();
    edge.collect();
    let token = try_join(&hub, &edge, &hub.code(Some(edge.machine()))).unwrap();
    edge.opened = Some(Store::of_hub(&token).unwrap());
    edge.send();
    assert_eq!(edge.segments().len(), 2);
}

#[test]
fn several_hubs_serve_one_store_and_an_outage_costs_nothing() {
    let one = TestHub::start(limits());
    let other = TestHub::beside(&one.store, limits());
    let mut edge = Edge::raw(&one.store);
    edge.write(LOG, lines(3));
    let code = one.code(None);
    let token = try_join(&other, &edge, &code).unwrap();
    edge.opened = Some(Store::of_hub(&token).unwrap());
    one.store.fail(2);
    edge.send();
    one.store.lose_answers(1);
    edge.write(LOG, lines(6));
    edge.send();
    assert_eq!(edge.segments().len(), 2);
    // A token that is revoked is refused by every hub.
    assert_eq!(one.roster().revoke(&edge.machine().to_string(), Timestamp::now()).unwrap(), 1);
    edge.write(LOG, lines(9));
    edge.collect();
    assert!(matches!(edge.try_send().unwrap_err(), CollectError::Denied { .. }));
    assert_eq!(edge.segments().len(), 2);
    let all = one.roster().list().unwrap();
    assert_eq!((all.len(), all[0].revoked.is_some()), (1, true));
}

#[test]
fn the_audit_log_says_who_sent_what() {
    let hub = TestHub::start(limits());
    let mut edge = Edge::raw(&hub.store);
    edge.write(LOG, lines(3));
    let token = hub.join(&mut edge);
    edge.send();
    hub.hub.stop();
    hub.hub.wait();
    let prefix = format!("{FOLDER}/audit/v1/hub=");
    let objects = hub.store.objects();
    let rows: Vec<serde_json::Value> = objects
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix))
        .flat_map(|(_, bytes)| {
            String::from_utf8(bytes.clone())
                .unwrap()
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect::<Vec<_>>()
        })
        .collect();
    let stored: Vec<&str> = rows
        .iter()
        .filter(|row| row["action"] == "stored" && row["token"] == token.id())
        .map(|row| row["key"].as_str().unwrap())
        .collect();
    let raw: Vec<String> =
        hub.raw().iter().map(|key| key.strip_prefix("fleet/").unwrap().to_owned()).collect();
    assert_eq!(stored.len(), raw.len());
    assert!(stored.iter().all(|key| raw.iter().any(|one| one == key)));
    assert_eq!(rows.iter().filter(|row| row["action"] == "joined").count(), 1);
    assert!(hub.folder.path().join("hub.sqlite").exists());
}

#[test]
fn the_counters_are_there_and_the_store_is_asked_for_its_health() {
    let hub = TestHub::start(limits());
    let mut edge = Edge::raw(&hub.store);
    edge.write(LOG, lines(3));
    hub.join(&mut edge);
    edge.send();
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let (status, text) = hub.ask(&get("/metrics"), b"");
    assert_eq!(status, 200);
    assert!(text.contains("recto_hub_segments_stored_total 1\n"), "{text}");
    assert!(!text.contains(&edge.machine().to_string()));
    assert_eq!(hub.ask(&get("/health"), b"").0, 200);
    hub.store.close(true);
    assert_eq!(hub.ask(&get("/health"), b"").0, 503);
}
