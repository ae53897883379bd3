//! A server on a fake home, and a client that sends exactly what it is told to.

use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::time::Duration;

use recto_serve::Listen;
use recto_serve::ServeOptions;
use recto_serve::Server;
use recto_serve::Token;
use recto_store::CacheDirectory;
use recto_store::Home;
use recto_testkit::FakeHome;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server, and all that it serves.
pub(crate) struct Test {
    pub(crate) home: FakeHome,
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    _cache: tempfile::TempDir,
}

impl Test {
    pub(crate) fn new(home: FakeHome) -> Test {
        Test::with(home, |_| {})
    }

    pub(crate) fn with(home: FakeHome, change: impl FnOnce(&mut ServeOptions)) -> Test {
        let cache = tempfile::tempdir().unwrap();
        let mut options = ServeOptions::new(
            Home::open(home.path()).unwrap(),
            CacheDirectory::new(cache.path().join("cache")),
            Listen::Loopback { port: Some(0) },
        );
        options.token = Some(Token::given(TOKEN).unwrap());
        change(&mut options);
        let server = Server::start(options).unwrap();
        let address = server.address().unwrap();
        Test { home, server, address, _cache: cache }
    }

    /// Sends bytes as they are, and reads all that comes back.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::parse(&bytes)
    }

    /// A request with some headers, one to a line, and nothing else.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers.lines().filter(|line| !line.trim().is_empty()) {
            text.push_str(&format!("{}\r\n", header.trim()));
        }
        self.send(&format!("{text}\r\n"))
    }

    /// A request as a program makes it that knows the token.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let host = self.address;
        self.ask("GET", path, &format!("Host: {host}\nAuthorization: Bearer {TOKEN}"))
    }
}

/// An answer, taken apart.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Answer { status, headers, body: bytes[end + 4..].to_vec() };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunk(&answer.body);
        }
        answer
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&bytes[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        body.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 2 + length + 2..];
    }
    body
}
