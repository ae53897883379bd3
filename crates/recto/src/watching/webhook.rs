//! A POST to an address, written by hand: there is no TLS here, and nothing but the
//! status line of the answer is read.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::net::ToSocketAddrs;
use std::time::Duration;

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest status line that is read.
const MOST: usize = 1024;

/// Where to send events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Webhook {
    /// With the port, if one was given.
    authority: String,
    /// With the port in any case.
    address: String,
    path: String,
}

impl Webhook {
    /// An address such as `http://localhost:9000/hook`.
    pub(super) fn parse(url: &str) -> Result<Webhook, &'static str> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err("only http:// addresses work; for https, use a command such as curl");
        };
        let cut = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        let path = path.split('#').next().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_graphic();
        if authority.is_empty() || authority.contains('@') || !url.chars().all(is_plain) {
            return Err("invalid address");
        }
        let (host, port) = split_port(authority).ok_or("invalid host or port")?;
        let address = format!("{host}:{}", port.unwrap_or(80));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Webhook { authority: authority.to_owned(), address, path })
    }

    pub(super) fn post(&self, json: &[u8]) -> io::Result<()> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in self.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => return self.send(stream, json),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn send(&self, mut stream: TcpStream, json: &[u8]) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nUser-Agent: recto\r\nConnection: close\r\n\r\n",
            self.path,
            self.authority,
            json.len()
        )
        .into_bytes();
        request.extend_from_slice(json);
        stream.write_all(&request)?;
        let mut answer = Vec::new();
        let mut piece = [0; 256];
        while answer.len() < MOST && !answer.contains(&b'\n') {
            match stream.read(&mut piece)? {
                0 => break,
                read => answer.extend_from_slice(&piece[..read]),
            }
        }
        let line = String::from_utf8_lossy(&answer);
        let code = line.lines().next().unwrap_or_default().split(' ').nth(1).unwrap_or_default();
        if code.len() == 3 && code.starts_with('2') {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the answer was `{}`",
            code.chars().take(20).collect::<String>()
        )))
    }
}

/// The host and the port of `host:port`; an address of IPv6 is in brackets.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(host);
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse().ok().filter(|port| *port > 0)?)
        }
        None | Some(_) => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn addresses_are_plain_http() {
        let parsed = |url: &str| Webhook::parse(url).map(|hook| (hook.authority, hook.path));
        let pair = |a: &str, b: &str| Ok((a.to_owned(), b.to_owned()));
        assert_eq!(parsed("http://localhost:9000/a?b#c"), pair("localhost:9000", "/a?b"));
        assert_eq!(parsed("http://[::1]"), pair("[::1]", "/"));
        assert_eq!(parsed("http://h?x"), pair("h", "/?x"));
        for bad in ["https://h/", "h", "http://", "http://u@h/", "http://h/a b", "http://h/\r\nX:y"]
        {
            assert!(parsed(bad).is_err(), "{bad}");
        }
        let address = |url: &str| Webhook::parse(url).map(|hook| hook.address);
        assert_eq!(address("http://[::1]/").unwrap(), "[::1]:80");
        assert_eq!(address("http://[::1]:9/").unwrap(), "[::1]:9");
        assert_eq!(address("http://h:65535/").unwrap(), "h:65535");
        for bad in ["h:99999", "h:0", "h:", "h:x", "h:+1", "::1", "[::1", "[::1]x", ":80"] {
            let refused = address(&format!("http://{bad}/")).unwrap_err();
            assert_eq!(refused, "invalid host or port", "{bad}");
        }
    }

    /// Answers one request, and gives it.
    fn answered(answer: &'static str) -> (io::Result<()>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut piece) = (String::new(), [0; 1024]);
            while !request.ends_with("{\"a\":1}") {
                let read = stream.read(&mut piece).unwrap();
                request.push_str(std::str::from_utf8(&piece[..read]).unwrap());
            }
            stream.write_all(answer.as_bytes()).unwrap();
            request
        });
        let hook = Webhook::parse(&format!("http://{address}/hook")).unwrap();
        let result = hook.post(b"{\"a\":1}");
        (result, server.join().unwrap())
    }

    #[test]
    fn the_event_is_the_body_and_only_a_good_answer_is_one() {
        let (result, request) = answered("HTTP/1.1 204 No Content\r\n\r\n");
        assert!(result.is_ok(), "{result:?}");
        assert!(request.starts_with("POST /hook HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
        assert!(request.contains("\r\nContent-Length: 7\r\n"), "{request}");
        let (result, _) = answered("HTTP/1.1 500 Oh\r\n\r\n");
        assert_eq!(result.unwrap_err().to_string(), "the answer was `500`");
        assert!(answered("").0.is_err());
    }
}
