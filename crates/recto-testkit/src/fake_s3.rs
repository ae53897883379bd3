//! An object store on this machine that speaks as much of S3 as recto uses: conditional puts, parts,
//! ranges, listings. It can be told to fail.

use std::collections::BTreeMap;
use std::io;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread;
use std::time::Instant;

/// The bucket.
pub const BUCKET: &str = "team";

/// An object store. It ends with the test.
#[derive(Debug, Clone)]
pub struct FakeS3 {
    address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: BTreeMap<String, Vec<u8>>,
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    /// Requests by method.
    requests: BTreeMap<String, u64>,
    /// So many requests are answered with 503 from now on.
    failing: u64,
    /// So many puts are carried out from now on, and their answers are lost.
    losing: u64,
    is_closed: bool,
    /// So many requests in a second are answered; others are told to slow down.
    throttle: Option<f64>,
    level: f64,
    since: Option<Instant>,
    refused: u64,
    received_bytes: u64,
    /// Whether it overwrites what is to be written once.
    ignores_conditions: bool,
}

struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl FakeS3 {
    /// Starts one.
    #[expect(clippy::expect_used, reason = "a test without a port has failed")]
    pub fn start() -> FakeS3 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let store = FakeS3 { address, inner: Arc::default() };
        let server = store.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (server, Ok(stream)) = (server.clone(), stream) else { break };
                thread::spawn(move || {
                    // Whoever goes away in the middle is gone.
                    let _ = server.serve(stream);
                });
            }
        });
        store
    }

    /// The address of a folder in it, for `--to` and `--from`.
    pub fn url(&self, folder: &str) -> String {
        format!("s3://{BUCKET}/{folder}?endpoint=http://{}", self.address)
    }

    /// The variables that a program needs to use it.
    pub fn variables() -> [(String, String); 2] {
        [
            ("AWS_ACCESS_KEY_ID".to_owned(), "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY".to_owned(), "test".to_owned()),
        ]
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that is in it.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.inner().objects.clone()
    }

    /// The names in it that begin like this.
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let inner = self.inner();
        inner.objects.keys().filter(|key| key.starts_with(prefix)).cloned().collect()
    }

    /// Removes an object.
    pub fn remove(&self, key: &str) {
        self.inner().objects.remove(key);
    }

    /// Changes an object, or adds one.
    pub fn insert(&self, key: &str, bytes: Vec<u8>) {
        self.inner().objects.insert(key.to_owned(), bytes);
    }

    /// How many requests of a method there were.
    pub fn requests(&self, method: &str) -> u64 {
        self.inner().requests.get(method).copied().unwrap_or(0)
    }

    /// Answers the next requests with 503.
    pub fn fail(&self, requests: u64) {
        self.inner().failing = requests;
    }

    /// Carries the next puts out and loses their answers.
    pub fn lose_answers(&self, puts: u64) {
        self.inner().losing = puts;
    }

    /// Answers so many requests in a second, and 503 to all others.
    pub fn throttle(&self, per_second: f64) {
        let mut inner = self.inner();
        inner.throttle = Some(per_second);
        inner.level = per_second;
        inner.since = Some(Instant::now());
    }

    /// How many requests were told to slow down.
    pub fn refused(&self) -> u64 {
        self.inner().refused
    }

    /// How many bytes of bodies came with requests that were carried out.
    pub fn received_bytes(&self) -> u64 {
        self.inner().received_bytes
    }

    /// Hangs up on everybody, or no longer.
    pub fn close(&self, is_closed: bool) {
        self.inner().is_closed = is_closed;
    }

    /// Overwrites what is to be written once, or no longer.
    pub fn ignore_conditions(&self, ignores: bool) {
        self.inner().ignores_conditions = ignores;
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read_request(&mut reader)? {
            let is_put = request.method == "PUT";
            let answer = {
                let mut inner = self.inner();
                if inner.is_closed {
                    return Ok(());
                }
                *inner.requests.entry(request.method.clone()).or_default() += 1;
                if inner.is_too_fast() {
                    inner.refused += 1;
                    Answer { status: 503, headers: Vec::new(), body: b"SlowDown".to_vec() }
                } else if inner.failing > 0 {
                    inner.failing -= 1;
                    Answer { status: 503, headers: Vec::new(), body: b"SlowDown".to_vec() }
                } else {
                    inner.received_bytes += request.body.len() as u64;
                    let answer = inner.answer(&request);
                    if is_put && inner.losing > 0 {
                        inner.losing -= 1;
                        return Ok(());
                    }
                    answer
                }
            };
            let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
            for (name, value) in &answer.headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let has_length = answer.headers.iter().any(|(name, _)| *name == "Content-Length");
            if !has_length {
                head.push_str(&format!("Content-Length: {}\r\n", answer.body.len()));
            }
            head.push_str("\r\n");
            stream.write_all(head.as_bytes())?;
            stream.write_all(&answer.body)?;
        }
        Ok(())
    }
}

impl Inner {
    fn is_too_fast(&mut self) -> bool {
        let (Some(rate), Some(since)) = (self.throttle, self.since) else { return false };
        let now = Instant::now();
        self.level = (self.level + now.duration_since(since).as_secs_f64() * rate).min(rate);
        self.since = Some(now);
        if self.level < 1.0 {
            return true;
        }
        self.level -= 1.0;
        false
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let Request { method, path, query, headers, body } = request;
        let plain = |status: u16| Answer { status, headers: Vec::new(), body: Vec::new() };
        let Some(rest) = path.strip_prefix(&format!("/{BUCKET}")) else { return plain(404) };
        let key = rest.trim_start_matches('/').to_owned();
        match (method.as_str(), key.is_empty()) {
            ("GET", true) => self.list(query),
            ("POST", true) => self.delete_many(body),
            ("POST", false) if query.contains_key("uploads") => {
                self.uploads.insert(key.clone(), BTreeMap::new());
                xml(format!(
                    "<InitiateMultipartUploadResult><UploadId>{}</UploadId></InitiateMultipartUploadResult>",
                    escaped(&key)
                ))
            }
            ("POST", false) => {
                let parts = self.uploads.remove(&key).unwrap_or_default();
                self.objects.insert(key, parts.into_values().flatten().collect());
                xml("<CompleteMultipartUploadResult><ETag>\"1\"</ETag></CompleteMultipartUploadResult>".to_owned())
            }
            ("PUT", false) if query.contains_key("partNumber") => {
                let number = query["partNumber"].parse().unwrap_or(0);
                if let Some(parts) = self.uploads.get_mut(&key) {
                    parts.insert(number, body.clone());
                }
                Answer { headers: vec![("ETag", format!("\"{number}\""))], ..plain(200) }
            }
            ("PUT", false) => {
                // S3 asks by the tag of an object, Google by its generation.
                let says = |name: &str, wanted: &str| {
                    headers.get(name).is_some_and(|value| value == wanted)
                };
                let is_new = says("if-none-match", "*") || says("x-goog-if-generation-match", "0");
                if is_new && !self.ignores_conditions && self.objects.contains_key(&key) {
                    return plain(412);
                }
                self.objects.insert(key, body.clone());
                Answer { headers: vec![("ETag", "\"1\"".to_owned())], ..plain(200) }
            }
            ("DELETE", false) => {
                self.objects.remove(&key);
                plain(204)
            }
            ("GET" | "HEAD", false) => self.get(&key, method == "HEAD", headers),
            _ => plain(405),
        }
    }

    fn get(&self, key: &str, is_head: bool, headers: &BTreeMap<String, String>) -> Answer {
        let Some(object) = self.objects.get(key) else {
            return Answer { status: 404, headers: Vec::new(), body: Vec::new() };
        };
        let mut answer = Answer {
            status: 200,
            headers: vec![
                ("ETag", "\"1\"".to_owned()),
                ("Last-Modified", "Tue, 17 Nov 2026 12:00:00 GMT".to_owned()),
            ],
            body: object.clone(),
        };
        let range = headers.get("range").and_then(|range| range.strip_prefix("bytes="));
        if let Some((start, end)) = range.and_then(|range| range.split_once('-')) {
            let start = start.parse::<usize>().unwrap_or(0).min(object.len());
            let end = end.parse::<usize>().map_or(object.len(), |end| end + 1).min(object.len());
            answer.status = 206;
            let last = end.saturating_sub(1);
            let place = format!("bytes {start}-{last}/{}", object.len());
            answer.headers.push(("Content-Range", place));
            answer.body = object[start..end].to_vec();
        }
        if is_head {
            answer.headers.push(("Content-Length", answer.body.len().to_string()));
            answer.body = Vec::new();
        }
        answer
    }

    fn list(&self, query: &BTreeMap<String, String>) -> Answer {
        /// Few, so that listings have several pages.
        const PAGE: usize = 50;
        let prefix = query.get("prefix").map_or("", String::as_str);
        let after = query.get("continuation-token").or(query.get("start-after"));
        let has_delimiter = query.contains_key("delimiter");
        let mut found = String::new();
        let mut folders: Vec<&str> = Vec::new();
        let (mut count, mut last) = (0, None);
        for (key, object) in &self.objects {
            let Some(rest) = key.strip_prefix(prefix) else { continue };
            if after.is_some_and(|after| key <= after) {
                continue;
            }
            if count == PAGE {
                break;
            }
            last = Some(key);
            if has_delimiter && let Some(end) = rest.find('/') {
                let folder = &key[..prefix.len() + end + 1];
                if folders.last() != Some(&folder) {
                    folders.push(folder);
                }
                continue;
            }
            count += 1;
            found.push_str(&format!(
                "<Contents><Key>{}</Key><LastModified>2026-11-17T12:00:00.000Z</LastModified>\
                 <ETag>\"1\"</ETag><Size>{}</Size></Contents>",
                escaped(key),
                object.len()
            ));
        }
        for folder in folders {
            let folder = escaped(folder);
            found.push_str(&format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"));
        }
        let next = match last.filter(|_| count == PAGE) {
            Some(last) => format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>",
                escaped(last)
            ),
            None => "<IsTruncated>false</IsTruncated>".to_owned(),
        };
        xml(format!("<ListBucketResult>{next}{found}</ListBucketResult>"))
    }

    fn delete_many(&mut self, body: &[u8]) -> Answer {
        let body = String::from_utf8_lossy(body).into_owned();
        let mut deleted = String::new();
        for piece in body.split("<Key>").skip(1) {
            let key = piece.split("</Key>").next().unwrap_or_default();
            self.objects.remove(key);
            deleted.push_str(&format!("<Deleted><Key>{key}</Key></Deleted>"));
        }
        xml(format!("<DeleteResult>{deleted}</DeleteResult>"))
    }
}

fn xml(body: String) -> Answer {
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{body}").into_bytes();
    Answer { status: 200, headers: vec![("Content-Type", "application/xml".to_owned())], body }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query = pairs.map(|(name, value)| (decoded(name), decoded(value))).collect();
    let path = decoded(path);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, query, headers, body }))
}

/// A text without percent signs.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%'
            && let Some(digits) = after.get(..2)
            && let Ok(digits) = std::str::from_utf8(digits)
            && let Ok(byte) = u8::from_str_radix(digits, 16)
        {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(if *first == b'+' { b' ' } else { *first });
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
