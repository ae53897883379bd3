//! A proxy to the domains that the user allowed, on a socket that only confined commands reach.

use std::io;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;

#[cfg(unix)]
use std::os::unix::net::UnixListener;
#[cfg(unix)]
use std::os::unix::net::UnixStream;

/// The longest head of a request.
const MOST_HEAD: u64 = 16 << 10;

/// How many refused hosts are kept.
const MOST_REFUSED: usize = 20;

/// Which domains may be reached, and the socket.
#[derive(Debug)]
pub struct Proxy {
    folder: PathBuf,
    hosts: Hosts,
    socket: OnceLock<PathBuf>,
}

/// Hosts that commands may reach, and hosts that the proxy refused since the last look.
#[derive(Debug, Clone, Default)]
struct Hosts {
    allowed: Arc<Mutex<Vec<String>>>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Hosts {
    fn may_reach(&self, host: &str) -> bool {
        if is_allowed(host, &self.allowed.lock().unwrap_or_else(PoisonError::into_inner)) {
            return true;
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !refused.iter().any(|known| known == host);
        if is_host(host) && is_new && refused.len() < MOST_REFUSED {
            refused.push(host.to_owned());
        }
        false
    }
}

/// Whether a text can be the name of a host: only such a name is asked about.
fn is_host(text: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    !text.is_empty() && text.len() <= 253 && text.chars().all(is_good)
}

impl Proxy {
    pub(super) fn new(folder: PathBuf, domains: Vec<String>) -> Proxy {
        let hosts = Hosts { allowed: Arc::new(Mutex::new(domains)), ..Hosts::default() };
        Proxy { folder, hosts, socket: OnceLock::new() }
    }

    /// Allows one more host.
    pub(super) fn allow(&self, host: &str) {
        let mut allowed = self.hosts.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        allowed.push(host.to_owned());
    }

    /// Hosts that were refused since the last time.
    pub(super) fn take_refused(&self) -> Vec<String> {
        std::mem::take(&mut self.hosts.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The socket. It listens from the first time on.
    #[cfg(unix)]
    pub(super) fn address(&self) -> io::Result<PathBuf> {
        if let Some(socket) = self.socket.get() {
            return Ok(socket.clone());
        }
        std::fs::create_dir_all(&self.folder)?;
        let name = format!("proxy-{}.sock", uuid::Uuid::new_v4().simple());
        let path = self.folder.join(name);
        let listener = UnixListener::bind(&path)?;
        let hosts = self.hosts.clone();
        std::thread::Builder::new().name("proxy".into()).spawn(move || {
            for client in listener.incoming().flatten() {
                let hosts = hosts.clone();
                let serve = move || {
                    let _ = serve(client, &hosts);
                };
                let _ = std::thread::Builder::new().name("proxied".into()).spawn(serve);
            }
        })?;
        Ok(self.socket.get_or_init(|| path).clone())
    }

    #[cfg(not(unix))]
    pub(super) fn address(&self) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.get() {
            std::fs::remove_file(socket).ok();
        }
    }
}

/// Whether a host is one of the domains: `example.org` is that name, `*.example.org` what is
/// below it.
pub(super) fn is_allowed(host: &str, domains: &[String]) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    domains.iter().any(|domain| {
        let domain = domain.to_ascii_lowercase();
        match domain.strip_prefix("*.") {
            Some(above) => {
                host.strip_suffix(above).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            None => host == domain,
        }
    })
}

/// The host and port that a request is for, and whether it is a tunnel.
fn wanted(line: &str) -> Option<(String, u16, bool)> {
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?, words.next()?);
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':')?;
        return Some((host.to_owned(), port.parse().ok()?, true));
    }
    let url = url::Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?, false))
}

#[cfg(unix)]
fn serve(client: UnixStream, hosts: &Hosts) -> io::Result<()> {
    use std::io::Write as _;
    let mut reader = BufReader::new(client.try_clone()?.take(MOST_HEAD));
    let mut head = String::new();
    while reader.read_line(&mut head)? > 0 && !head.ends_with("\r\n\r\n") {}
    let mut client = client;
    let Some((host, port, is_tunnel)) = wanted(head.lines().next().unwrap_or_default()) else {
        return client.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    };
    if !hosts.may_reach(&host) {
        let text = format!(
            "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\nrecto's sandbox does not allow {host}; start recto with --allow-domain {host}\n"
        );
        return client.write_all(text.as_bytes());
    }
    let mut server = std::net::TcpStream::connect((host.as_str(), port))?;
    match is_tunnel {
        true => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        false => server.write_all(head.as_bytes())?,
    }
    let buffered = reader.buffer().to_vec();
    server.write_all(&buffered)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let up = std::thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    })?;
    let _ = io::copy(&mut server, &mut client);
    let _ = client.shutdown(std::net::Shutdown::Both);
    let _ = server.shutdown(std::net::Shutdown::Both);
    let _ = up.join();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_a_name_or_what_is_below_it() {
        let domains = ["example.org".to_owned(), "*.example.com".to_owned()];
        for host in ["example.org", "EXAMPLE.org.", "registry.example.com"] {
            assert!(is_allowed(host, &domains), "{host}");
        }
        for host in [
            "evilexample.org",
            "x.example.org",
            "example.com",
            "evilexample.com",
            ".example.com",
            "example.org.evil.org",
            "127.0.0.1",
            "",
        ] {
            assert!(!is_allowed(host, &domains), "{host}");
        }
    }

    #[test]
    fn refused_hosts_are_kept_until_they_are_taken_and_can_be_allowed() {
        let proxy = Proxy::new(PathBuf::new(), vec!["example.org".to_owned()]);
        assert!(proxy.hosts.may_reach("example.org"));
        for host in ["a.example", "a.example", "b.example", "\u{1b}[2J", ""] {
            assert!(!proxy.hosts.may_reach(host), "{host:?}");
        }
        assert_eq!(proxy.take_refused(), ["a.example", "b.example"]);
        assert_eq!(proxy.take_refused(), Vec::<String>::new());
        proxy.allow("a.example");
        assert!(proxy.hosts.may_reach("A.EXAMPLE") && !proxy.hosts.may_reach("b.example"));
        for number in 0..1000 {
            proxy.hosts.may_reach(&format!("{number}.example"));
        }
        assert_eq!(proxy.take_refused().len(), MOST_REFUSED);
    }

    #[test]
    fn requests_name_what_they_want() {
        assert_eq!(wanted("CONNECT a.org:443 HTTP/1.1"), Some(("a.org".into(), 443, true)));
        assert_eq!(wanted("GET http://a.org/x HTTP/1.1"), Some(("a.org".into(), 80, false)));
        for wrong in ["GET /x HTTP/1.1", "CONNECT a.org", "", "GET file:///etc/passwd HTTP/1.1"] {
            assert_eq!(wanted(wrong), None, "{wrong}");
        }
    }
}
