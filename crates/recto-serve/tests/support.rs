//! A server on a fake home, and a client that sends exactly what it is told to.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_serve::Listen;
use recto_serve::ServeOptions;
use recto_serve::Server;
use recto_serve::Token;
use recto_session::usage::PriceTable;
use recto_store::CacheDirectory;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::keep::CollectOptions;
use recto_store::keep::Collector;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;
use recto_view::Library;
use recto_view::LibraryOptions;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server, and all that it serves.
pub(crate) struct Test {
    pub(crate) home: FakeHome,
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    /// The index, and what recto records.
    pub(crate) own: tempfile::TempDir,
}

impl Test {
    pub(crate) fn new(home: FakeHome) -> Test {
        Test::with(home, |_| {})
    }

    pub(crate) fn with(home: FakeHome, change: impl FnOnce(&mut ServeOptions)) -> Test {
        let cache = tempfile::tempdir().unwrap();
        let mut options = options(&home, &cache);
        change(&mut options);
        let server = Server::start(options).unwrap();
        let address = server.address().unwrap();
        Test { home, server, address, own: cache }
    }

    /// Sends bytes as they are, and reads all that comes back; nothing if that
    /// is no answer.
    pub(crate) fn try_send(&self, request: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The server may close before it has read all.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    pub(crate) fn send(&self, request: &str) -> Answer {
        self.try_send(request).expect("an answer")
    }

    /// A request whose answer may have no end: the head of it.
    pub(crate) fn head(&self, method: &str, path: &str, headers: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request(method, path, headers).as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            bytes.push(byte[0]);
        }
        Answer::parse(&bytes).expect("a head")
    }

    /// A request with some headers, one to a line, and nothing else.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        self.send(&request(method, path, headers))
    }

    /// A request with some headers and a body.
    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> Answer {
        let headers = format!("{headers}\nContent-Length: {}", body.len());
        self.send(&(request("POST", path, &headers) + body))
    }

    /// A change as a program asks for it that knows the token.
    pub(crate) fn change(&self, path: &str, body: &str) -> Answer {
        let headers = format!(
            "Host: {}\nAuthorization: Bearer {TOKEN}\nContent-Type: application/json",
            self.address
        );
        self.post(path, &headers, body)
    }

    /// A request as a program makes it that knows the token, with an address that
    /// may be none.
    pub(crate) fn try_get(&self, path: &str) -> Option<Answer> {
        let headers = format!("Host: {}\nAuthorization: Bearer {TOKEN}", self.address);
        self.try_send(&request("GET", path, &headers))
    }

    /// A request as a program makes it that knows the token.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let host = self.address;
        self.ask("GET", path, &format!("Host: {host}\nAuthorization: Bearer {TOKEN}"))
    }
}

fn request(method: &str, path: &str, headers: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for header in headers.lines().filter(|line| !line.trim().is_empty()) {
        text.push_str(&format!("{}\r\n", header.trim()));
    }
    format!("{text}\r\n")
}

/// An answer, taken apart.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Option<Answer> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
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
        Some(answer)
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

pub(crate) const SESSION: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
pub(crate) const OTHER: &str = "7c2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

pub(crate) fn hours_ago(hours: i64) -> Timestamp {
    Timestamp::now().checked_sub(SignedDuration::from_hours(hours)).unwrap()
}

/// A home with one session of two turns.
pub(crate) fn working_home() -> FakeHome {
    let home = FakeHome::new();
    home.add(&session(), hours_ago(1));
    home
}

/// The session of most tests.
pub(crate) fn session() -> SessionBuilder {
    SessionBuilder::new(SESSION, Client::V2_1_325)
        .prompt("Fix the parser")
        .thinking("Where is it?")
        .answer("I look for it.")
        .tool("Bash", r#"{"command":"ls src"}"#, "src/main.rs")
        .failed_tool("Bash", r#"{"command":"false"}"#, "exit code 1")
        .answer("The parser is mended.")
        .prompt("Thank you")
        .answer("You are welcome.")
}

/// A home in which there is something of everything.
pub(crate) fn full_home() -> FakeHome {
    let home = FakeHome::new();
    let edited = r#"{"filePath":"/home/dev/app/src/main.rs","oldString":"a","newString":"b","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}"#;
    let session = session()
        .prompt("Plan it")
        .tool("ExitPlanMode", r##"{"plan":"# The plan\n\nDo it."}"##, "agreed")
        .tool_with_detail(
            "Edit",
            r#"{"file_path":"/home/dev/app/src/main.rs","old_string":"a","new_string":"b"}"#,
            "done",
            edited,
        )
        .compaction("They mended the parser.")
        .prompt("Go on")
        .answer("It goes on.");
    home.add(&session, hours_ago(1));
    let agent = SessionBuilder::agent(SESSION, "a1b2c3d4", Client::V2_1_325)
        .prompt("Look for the grammar")
        .answer("It is in src/grammar.rs");
    home.add(&agent, hours_ago(1));
    let other = SessionBuilder::new(OTHER, Client::V2_1_325)
        .cwd("/home/dev/docs")
        .prompt("Write the docs")
        .answer("They are written.");
    home.add(&other, hours_ago(10));
    home.announce(SESSION, "busy");
    home
}

/// What a server of a test is started with.
pub(crate) fn options(home: &FakeHome, cache: &tempfile::TempDir) -> ServeOptions {
    let (archive, copies) = (cache.path().join("data/archive"), cache.path().join("cache"));
    let opened = Home::open(home.path()).unwrap();
    let opened = opened.with_archive(&archive, &CacheDirectory::new(copies));
    let library = library(opened, cache);
    let mut options = ServeOptions::new(library, Listen::Loopback { port: Some(0) });
    options.token = Some(Token::given(TOKEN).unwrap());
    options
}

/// Answers questions about a home.
pub(crate) fn library(home: Home, cache: &tempfile::TempDir) -> Library {
    Library::new(LibraryOptions {
        home,
        cache: Some(CacheDirectory::new(cache.path().join("cache"))),
        data: Some(DataDirectory::new(cache.path().join("data"))),
        prices: PriceTable::built_in().unwrap(),
        zone: None,
        now: None,
    })
}

/// A server that listens somewhere else.
pub(crate) fn serve_on(listen: Listen) -> (Server, FakeHome, tempfile::TempDir) {
    let (home, cache) = (working_home(), tempfile::tempdir().unwrap());
    let mut options = options(&home, &cache);
    options.listen = listen;
    (Server::start(options).unwrap(), home, cache)
}

impl Test {
    /// Puts everything into the archive.
    pub(crate) fn collect(&self) {
        let data = DataDirectory::new(self.own.path().join("data"));
        let home = Home::open(self.home.path()).unwrap();
        let (archive, options) = (data.root().join("archive"), CollectOptions::default());
        let mut collector = Collector::open(&home, &data, &archive, options).unwrap();
        assert_eq!(collector.collect(&mut |_| {}).unwrap().troubles, []);
    }

    /// The log of the session.
    fn log(&self) -> PathBuf {
        self.home.path().join(format!("projects/-home-dev-app/{SESSION}.jsonl"))
    }

    /// How many lines the log has.
    pub(crate) fn lines(&self) -> usize {
        std::fs::read(self.log()).unwrap().iter().filter(|byte| **byte == b'\n').count()
    }

    /// Adds lines to the log in one write, as the client does.
    pub(crate) fn append(&self, more: &SessionBuilder) {
        self.write(more.bytes());
    }

    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut log = std::fs::File::options().append(true).open(self.log()).unwrap();
        log.write_all(bytes).unwrap();
    }

    /// Makes so many events at least, each for a line of its own.
    pub(crate) fn flood(&self, events: u64) {
        let mut watcher = self.events(None);
        let mut sequence = watcher.until("ready").sequence();
        let end = sequence + events;
        while sequence < end {
            self.write(b"{\"type\":\"mode\"}\n");
            sequence = watcher.any().sequence();
        }
    }

    /// Listens to events, from where a client was before.
    pub(crate) fn events(&self, seen: Option<&str>) -> Events {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let seen = seen.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n{seen}\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        Events::of(stream)
    }
}

/// A stream of events.
pub(crate) struct Events {
    lines: BufReader<Box<dyn Read>>,
    has_head: bool,
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: serde_json::Value,
}

impl Event {
    /// Its number.
    pub(crate) fn sequence(&self) -> u64 {
        self.id.as_deref().unwrap().split_once('-').unwrap().1.parse().unwrap()
    }
}

impl Events {
    /// What comes on a connection on which they were asked for.
    pub(crate) fn of(stream: impl Read + 'static) -> Events {
        Events { lines: BufReader::new(Box::new(stream)), has_head: false }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The next event; none if the stream ends. Sizes of chunks are passed over:
    /// they are lines that no event has.
    pub(crate) fn next(&mut self) -> Option<Event> {
        if !self.has_head {
            let status = self.line()?;
            assert_eq!(status, "HTTP/1.1 200 OK");
            while !self.line()?.is_empty() {}
            self.has_head = true;
        }
        let mut event = Event { id: None, name: String::new(), data: serde_json::Value::Null };
        loop {
            let line = self.line()?;
            if let Some(id) = line.strip_prefix("id: ") {
                event.id = Some(id.to_owned());
            } else if let Some(name) = line.strip_prefix("event: ") {
                event.name = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                event.data = serde_json::from_str(data).unwrap();
                return Some(event);
            }
        }
    }

    /// The next event, whatever it is.
    pub(crate) fn any(&mut self) -> Event {
        self.next().expect("an event")
    }

    /// The next event of a name.
    pub(crate) fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.any();
            if event.name == name {
                return event;
            }
        }
    }
}
