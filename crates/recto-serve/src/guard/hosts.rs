//! The hosts that the server is. A page can make its own name mean 127.0.0.1;
//! it cannot make the browser send another `Host`.

use std::net::IpAddr;
use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::http::Uri;
use axum::http::header;

/// The hosts that the server is, with their ports, in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Of a server that listens on an address.
    pub(crate) fn of_address(address: SocketAddr) -> Hosts {
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        // Who comes by IPv4 to a server for all addresses has one that is both.
        let own = match address.ip().to_canonical() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        // An address that means all has no name of its own.
        if !names.contains(&own) && !address.ip().is_unspecified() {
            names.push(own);
        }
        let port = address.port();
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names);
        }
        Hosts(hosts)
    }

    /// Of a server behind a socket, which no browser reaches: programs send
    /// what they like, and this is what they like.
    pub(crate) fn of_socket() -> Hosts {
        Hosts(vec!["localhost".to_owned()])
    }

    /// Adds the address of this machine that a connection came to.
    pub(crate) fn with_local(&self, address: SocketAddr) -> Hosts {
        let mut hosts = self.clone();
        let more = Hosts::of_address(address).0;
        hosts.0.extend(more.into_iter().filter(|host| !self.0.contains(host)));
        hosts
    }

    /// The host that a request is for, if it is one of ours. There must be one
    /// `Host`, and an address in the first line must agree with it.
    pub(crate) fn check<'a>(&self, uri: &Uri, headers: &'a HeaderMap) -> Option<&'a str> {
        let mut all = headers.get_all(header::HOST).into_iter();
        let host = all.next()?.to_str().ok()?;
        if all.next().is_some() {
            return None;
        }
        let lower = host.to_ascii_lowercase();
        if !self.0.contains(&lower) {
            return None;
        }
        let agrees = match (uri.scheme_str(), uri.authority()) {
            (None, None) => true,
            (Some("http"), Some(authority)) => authority.as_str().eq_ignore_ascii_case(host),
            _ => false,
        };
        agrees.then_some(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(hosts: &Hosts, host: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        hosts.check(&Uri::from_static("/"), &headers).is_some()
    }

    #[test]
    fn a_server_for_all_addresses_is_the_one_that_was_reached() {
        let hosts = Hosts::of_address("0.0.0.0:7700".parse().unwrap());
        assert!(!knows(&hosts, "0.0.0.0:7700") && !knows(&hosts, "192.168.1.5:7700"));
        let hosts = hosts.with_local("192.168.1.5:7700".parse().unwrap());
        assert!(knows(&hosts, "192.168.1.5:7700") && knows(&hosts, "localhost:7700"));
        assert!(!knows(&hosts, "192.168.1.6:7700") && !knows(&hosts, "evil.example:7700"));
        let hosts = Hosts::of_address("[::]:7700".parse().unwrap());
        let hosts = hosts.with_local("[::ffff:192.168.1.5]:7700".parse().unwrap());
        assert!(knows(&hosts, "192.168.1.5:7700") && !knows(&hosts, "[::]:7700"));
        let hosts = Hosts::of_address("[fd00::5]:7700".parse().unwrap());
        assert!(knows(&hosts, "[fd00::5]:7700"));
    }

    #[test]
    fn the_usual_port_of_the_web_may_be_left_out() {
        let hosts = Hosts::of_address("127.0.0.1:80".parse().unwrap());
        assert!(knows(&hosts, "127.0.0.1") && knows(&hosts, "localhost:80"));
        assert!(!knows(&Hosts::of_address("127.0.0.1:8080".parse().unwrap()), "127.0.0.1"));
    }
}
