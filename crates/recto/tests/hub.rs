//! `recto hub`, `recto collect join`, and `recto collect --to` a hub.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::process::Stdio;
use std::time::Duration;

use recto_testkit::FakeS3;

use crate::edition::tree;
use crate::structure::collect_names;
use crate::structure::page;
use crate::support::FIX;
use crate::support::Run;
use crate::support::TestHome;

/// A hub that runs.
struct HubProcess {
    process: Child,
    url: String,
}

impl HubProcess {
    fn start(test: &TestHome, store: &str, more: &[&str]) -> HubProcess {
        let words = [&["hub", "--store", store, "--listen", "127.0.0.1:0"][..], more].concat();
        let mut command = test.command(&words);
        command.envs(FakeS3::variables()).env_remove("RECTO_NOW");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http"), "{url}");
        HubProcess { process, url: url.trim().to_owned() }
    }

    fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }

    /// The most memory that it had, in kilobytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}

impl Drop for HubProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A run by the real clock, which the hub has too.
fn run(test: &TestHome, arguments: &[&str]) -> Run {
    let mut command = test.command(arguments);
    command.envs(FakeS3::variables()).env("USER", "dev").env_remove("RECTO_NOW");
    test.finish(&mut command)
}

fn raw_policy(test: &TestHome) {
    let folder = test.user.path().join(".config/recto");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("collect.toml"), "redact = \"off\"\n").unwrap();
}

fn invite(test: &TestHome, store: &str) -> String {
    let invited = run(test, &["hub", "invite", "--store", store]);
    assert_eq!(invited.code, 0, "{}", invited.shown());
    invited.stdout.trim().to_owned()
}

#[test]
fn a_machine_joins_a_hub_and_its_sessions_arrive() {
    let store = FakeS3::start();
    let (admin, test) = (TestHome::empty(), TestHome::with_sessions());
    raw_policy(&test);
    let url = store.url("claude");
    let hub = HubProcess::start(&admin, &url, &[]);
    let early = run(&test, &["collect", "--to", &hub.url]);
    assert_eq!(early.code, 2);
    assert!(early.stderr.contains("recto collect join"), "{}", early.shown());
    let code = invite(&admin, &url);
    let mut join = test.command(&["collect", "join", &hub.url]);
    join.env_remove("RECTO_NOW").env("USER", "dev");
    join.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = join.spawn().unwrap();
    child.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
    let joined = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&joined.stdout).into_owned();
    assert!(joined.status.success() && said.starts_with("joined http://"), "{said}");
    let sent = run(&test, &["collect", "--to", &hub.url]);
    assert_eq!(sent.code, 0, "{}", sent.shown());
    assert!(sent.stdout.starts_with("sent "), "{}", sent.shown());
    let again = run(&test, &["collect", "--to", &hub.url]);
    assert!(again.stdout.starts_with("nothing new"), "{}", again.shown());
    let status = run(&test, &["collect", "status", "--to", &hub.url]);
    assert_eq!(status.code, 0, "{}", status.shown());
    // The token is in one file that only the user may read, and nowhere else.
    let folder = test.user.path().join(".local/share/recto/collect/hubs");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let token: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let secret = token["secret"].as_str().unwrap();
    for shown in [&said, &sent.shown(), &status.shown()] {
        assert!(!shown.contains(secret));
    }
    for (key, bytes) in store.objects() {
        assert!(!String::from_utf8_lossy(&bytes).contains(secret), "{key}");
    }
    // Nothing comes back through the hub; from the store everything does.
    let machine = token["machine"].as_str().unwrap();
    let other = TestHome::empty();
    let refused = run(&other, &["restore", "--all", "--from", &hub.url, "--machine", machine]);
    assert_eq!(refused.code, 2, "{}", refused.shown());
    assert!(refused.stderr.contains("hubs are write-only"), "{}", refused.shown());
    let restored = run(&other, &["restore", "--all", "--from", &url, "--machine", machine]);
    assert_eq!(restored.code, 0, "{}", restored.shown());
    let mut before = tree(test.home.path());
    before.retain(|_, content| !content.is_empty());
    assert_eq!(tree(other.home.path()), before);
    let listed = run(&admin, &["hub", "machines", "--store", &url]);
    assert!(
        listed.stdout.contains(machine) && listed.stdout.contains("active"),
        "{}",
        listed.shown()
    );
    let revoked = run(&admin, &["hub", "revoke", "--store", &url, machine]);
    assert_eq!(revoked.stdout, "revoked 1 token\n", "{}", revoked.shown());
    assert_eq!(run(&admin, &["hub", "revoke", "--store", &url, machine]).code, 1);
}

#[test]
fn a_hub_for_others_is_encrypted_or_does_not_start() {
    let store = FakeS3::start();
    let (admin, test) = (TestHome::empty(), TestHome::with_sessions());
    let url = store.url("claude");
    let open = run(&admin, &["hub", "--store", &url, "--listen", "0.0.0.0:0"]);
    assert_eq!(open.code, 2);
    assert!(open.stderr.contains("must be encrypted"), "{}", open.shown());
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recto-agent/tests/tls");
    let (chain, key) = (tls.join("certificate.pem"), admin.work.path().join("key.pem"));
    fs::copy(tls.join("key.pem"), &key).unwrap();
    let words = ["--tls-cert", chain.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    crate::support::set_mode(&key, 0o644);
    let public = run(&admin, &[&["hub", "--store", &url][..], &words].concat());
    assert!(public.stderr.contains("chmod 600"), "{}", public.shown());
    crate::support::set_mode(&key, 0o600);
    let hub = HubProcess::start(&admin, &url, &words);
    assert!(hub.url.starts_with("https://"), "{}", hub.url);
    let code = invite(&admin, &url);
    let join = |trusts: bool| {
        let mut command = test.command(&["collect", "join", &hub.url, &code]);
        command.env_remove("RECTO_NOW");
        if trusts {
            command.env("SSL_CERT_FILE", &chain);
        }
        test.finish(&mut command)
    };
    let refused = join(false);
    assert_eq!(refused.code, 2, "{}", refused.shown());
    assert!(refused.stderr.contains("certificate"), "{}", refused.shown());
    let joined = join(true);
    assert_eq!(joined.code, 0, "{}", joined.shown());
    let mut send = test.command(&["collect", "--to", &hub.url]);
    send.env_remove("RECTO_NOW").env("SSL_CERT_FILE", &chain);
    let sent = test.finish(&mut send);
    assert_eq!(sent.code, 0, "{}", sent.shown());
    let plain = run(&test, &["collect", "join", "http://hub.example.com", &code]);
    assert!(plain.stderr.contains("needs https://"), "{}", plain.shown());
}

#[test]
fn attacks_cost_a_hub_no_memory_and_no_machine_its_turn() {
    let store = FakeS3::start();
    let (admin, test) = (TestHome::empty(), TestHome::with_sessions());
    let url = store.url("claude");
    let hub = HubProcess::start(&admin, &url, &["--connections", "64"]);
    let code = invite(&admin, &url);
    assert_eq!(run(&test, &["collect", "join", &hub.url, &code]).code, 0);
    assert_eq!(run(&test, &["collect", "--to", &hub.url]).code, 0);
    let before = (hub.memory(), store.objects().len());
    let mut open = std::collections::VecDeque::new();
    // Ten thousand are tried beside the hub's own tests; here it is about its memory.
    for at in 0..2_000_u32 {
        let Ok(mut stream) = TcpStream::connect(hub.address()) else { continue };
        let _ = match at % 4 {
            0 => stream.write_all(b"PUT /v1/segments/"),
            1 => stream.write_all(
                b"PUT /v1/segments/x HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\nxxxx",
            ),
            2 => stream
                .write_all(b"POST /v1/join HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n{"),
            _ => Ok(()),
        };
        open.push_back(stream);
        if open.len() > 200 {
            open.pop_front();
        }
    }
    // While all places are taken by strangers, a machine is served.
    test.home.write(&format!("projects/-w/{FIX}.jsonl"), "{\"type\":\"user\"}\n");
    let sent = run(&test, &["collect", "--to", &hub.url]);
    assert_eq!(sent.code, 0, "{}", sent.shown());
    drop(open);
    let grown = hub.memory().saturating_sub(before.0);
    assert!(grown < 64 * 1024, "{grown} kB more");
    let mut stream = TcpStream::connect(hub.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}

#[test]
fn every_field_of_json_output_about_hubs_is_documented() {
    let store = FakeS3::start();
    let (admin, test) = (TestHome::empty(), TestHome::with_sessions());
    let url = store.url("claude");
    let hub = HubProcess::start(&admin, &url, &[]);
    let page = page("json.md");
    let code = invite(&admin, &url);
    for (heading, who, arguments) in [
        ("recto hub invite", &admin, &["hub", "invite", "--store", &url, "--json"][..]),
        ("recto collect join", &test, &["collect", "join", &hub.url, &code, "--json"]),
        ("recto hub machines", &admin, &["hub", "machines", "--store", &url, "--json"]),
        ("recto hub revoke", &admin, &["hub", "revoke", "x", "--store", &url, "--json"]),
    ] {
        let section = page.split_once(&format!("\n## {heading}\n")).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let mut names = Vec::new();
        let ran = run(who, arguments);
        for line in ran.json() {
            collect_names(&line, "", &mut names);
        }
        assert!(!names.is_empty(), "{heading}: {}", ran.shown());
        for name in names {
            assert!(section.contains(&format!("\n| `{name}` |")), "{heading} has no `{name}`");
        }
    }
}
