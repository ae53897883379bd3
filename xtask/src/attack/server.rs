//! Requests that must not be answered: wrong hosts, origins and tokens on every route, and
//! spellings of addresses that lead out of the home.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Child;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use super::arena::Arena;
use super::arena::Random;
use super::report::Figures;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const SESSION: &str = "11111111-2222-4333-8444-555555555555";
/// What must never come out: it is beside the logs, in the home, and outside of it.
const SECRET: &str = "the-secret-of-the-neighbour";
/// What is in the log, and comes out for whoever has the token.
const TEXT: &str = "a-word-of-the-conversation";

const ROUTES: [&str; 16] = [
    "/",
    "/live",
    "/sessions",
    "/sessions/ID",
    "/sessions/ID/turns",
    "/usage",
    "/search?q=x",
    "/tools",
    "/plans",
    "/files",
    "/health",
    "/api/v1/overview",
    "/api/v1/sessions",
    "/api/v1/sessions/ID/turns",
    "/api/v1/events",
    "/assets/app.js",
];

const PLACES: [&str; 8] = [
    "/SPELL",
    "/assets/SPELL",
    "/sessions/SPELL",
    "/api/v1/sessions/SPELL",
    "/api/v1/sessions/SPELL/export",
    "/api/v1/sessions/ID/results/SPELL",
    "/api/v1/sessions/ID/agents/SPELL/turns",
    "/file?path=SPELL",
];

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// So many requests of each kind are worth a page.
const FULL: u64 = 5000;

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let (_served, base) = start(arena)?;
    let good = format!("Host: {base}\r\nAuthorization: Bearer {TOKEN}\r\n");
    let page = ask(&base, "GET", &format!("/api/v1/sessions/{SESSION}/turns"), &good)?;
    anyhow::ensure!(
        page.starts_with("HTTP/1.1 200") && page.contains(TEXT),
        "no answer: {page:.300}"
    );
    let mut round = 0u64;
    loop {
        let (method, route, headers) = stranger(&mut arena.random, &base);
        let answer = ask(&base, method, &route, &headers)?;
        let is_refused = !answer.starts_with("HTTP/1.1 2") && !answer.starts_with("HTTP/1.1 3");
        let outcome = match is_refused && !answer.contains(TEXT) && !answer.contains(TOKEN) {
            true => Ok(()),
            false => Err(format!("{method} {route} {headers:?}: {answer:.100}")),
        };
        figures.tried("requests with a wrong host, origin or token", outcome);
        let path = spelling(&mut arena.random);
        let answer = ask(&base, "GET", &path, &good)?;
        let outcome = match answer.contains(SECRET) || answer.contains("root:x:") {
            false => Ok(()),
            true => Err(format!("GET {path}")),
        };
        figures.tried("spellings of addresses that lead out of the home", outcome);
        round += 1;
        if !arena.goes_on(round, FULL) && round >= 50 {
            return Ok(());
        }
    }
}

fn start(arena: &Arena) -> anyhow::Result<(Served, String)> {
    let folder = arena.home().join("projects/-home-dev-app");
    fs::create_dir_all(&folder)?;
    let log = SessionBuilder::new(SESSION, Client::V2_1_325).prompt(TEXT).answer("Yes");
    fs::write(folder.join(format!("{SESSION}.jsonl")), log.bytes())?;
    fs::write(folder.join("secret.txt"), SECRET)?;
    fs::write(arena.home().join("settings.json"), format!("{{\"x\":\"{SECRET}\"}}"))?;
    fs::write(arena.folder().join("outside.txt"), SECRET)?;
    let token = arena.folder().join("token");
    fs::write(&token, TOKEN)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
    }
    let mut command = arena.command(&["serve", "--port", "0", "--json", "--token-file"]);
    command.arg(token).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = Served(command.spawn().context("cannot start the program")?);
    let output = served.0.stdout.take().context("no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let value: serde_json::Value = serde_json::from_str(&line)?;
    let base = value["base"].as_str().context("no address")?.replace("http://", "");
    Ok((served, base))
}

/// Everything that comes back within a second; a stream of events has no end.
fn ask(base: &str, method: &str, path: &str, headers: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(base)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let request = format!("{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    // A server that refuses may close before it has read all.
    let _ = stream.write_all(request.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A request in which at least one thing is wrong.
fn stranger(random: &mut Random, base: &str) -> (&'static str, String, String) {
    let port = base.rsplit(':').next().unwrap_or_default();
    let route = random.pick(&ROUTES).replace("ID", SESSION);
    let method =
        *random.pick(&["GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"]);
    let hosts = [
        format!("evil.example:{port}"),
        "evil.example".to_owned(),
        format!("127.0.0.1.evil.example:{port}"),
        "127.0.0.1".to_owned(),
        "127.0.0.1:1".to_owned(),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("{base}@evil.example"),
        format!("{base}, evil.example"),
        String::new(),
    ];
    let origins = [
        "http://evil.example",
        "null",
        "https://127.0.0.1",
        "http://127.0.0.1:1",
        "file://",
        "http://localhost",
    ];
    let tokens = [
        "",
        "Authorization: Bearer \r\n",
        "Authorization: Bearer 0123456789abcdef0123456789abcdeg\r\n",
        "Authorization: Basic 0123456789abcdef0123456789abcdef\r\n",
        "Cookie: recto=0123456789abcdef0123456789abcdef\r\n",
        "Authorization: Bearer 0123456789abcdef0123456789abcde\r\n",
        "X-Token: 0123456789abcdef0123456789abcdef\r\n",
    ];
    let right = format!("Authorization: Bearer {TOKEN}\r\n");
    let (mut host, mut origin, mut token) = (base.to_owned(), String::new(), right);
    let wrong = random.below(7) + 1;
    if wrong & 1 != 0 {
        host.clone_from(random.pick(&hosts));
    }
    if wrong & 2 != 0 {
        origin = match random.below(2) {
            0 => format!("Origin: {}\r\n", random.pick(&origins)),
            _ => format!("Sec-Fetch-Site: {}\r\n", random.pick(&["cross-site", "same-site"])),
        };
    }
    if wrong & 4 != 0 {
        token = (*random.pick(&tokens)).to_owned();
    }
    (method, route, format!("Host: {host}\r\n{origin}{token}"))
}

fn spelling(random: &mut Random) -> String {
    let dots = [
        "..",
        "%2e%2e",
        ".%2e",
        "%2e.",
        "%252e%252e",
        "..%00",
        "%c0%ae%c0%ae",
        "%e0%80%ae%e0%80%ae",
        "....",
        "..;",
        "%uff0e%uff0e",
        "%EF%BC%8E%EF%BC%8E",
    ];
    let slashes = ["/", "%2f", "%2F", "\\", "%5c", "%252f", "%c0%af", "%ef%bc%8f", "//", "/./"];
    let targets = [
        "settings.json",
        "projects/-home-dev-app/secret.txt",
        "secret.txt",
        "outside.txt",
        "etc/passwd",
        "proc/self/environ",
    ];
    let (dot, slash) = (*random.pick(&dots), *random.pick(&slashes));
    let up = format!("{dot}{slash}").repeat(random.below(9));
    let target = random.pick(&targets).replace('/', slash);
    random.pick(&PLACES).replace("SPELL", &format!("{up}{target}")).replace("ID", SESSION)
}
