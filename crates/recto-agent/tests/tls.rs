//! Certificates: one that nobody trusts is refused with a hint, one that is named is trusted.
//!
//! `tls/` has a certificate for this machine and its key, made for these tests alone.

use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;

use recto_agent::api::Client;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::ServerConnection;
use tokio_rustls::rustls::Stream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::support::ask;
use crate::support::endpoint_of;
use crate::support::hello;
use crate::support::mock_of;

pub(crate) const CERTIFICATE: &[u8] = include_bytes!("tls/certificate.pem");
pub(crate) const KEY: &[u8] = include_bytes!("tls/key.pem");

/// Encrypts what goes to and from a mock; gives its port.
fn encrypted(mock: u16) -> u16 {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut session = ServerConnection::new(Arc::clone(&config)).unwrap();
            // A client that does not trust the certificate goes away here.
            let _ = relay(&mut session, &mut client, mock);
        }
    });
    port
}

/// One request, one response.
fn relay(session: &mut ServerConnection, client: &mut TcpStream, mock: u16) -> std::io::Result<()> {
    let mut plain = Stream::new(session, client);
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.ends_with(b"\"stream\":true}") {
        let length = plain.read(&mut buffer)?;
        request.extend_from_slice(&buffer[..length]);
    }
    let text = String::from_utf8_lossy(&request).replacen("\r\n", "\r\nconnection: close\r\n", 1);
    let mut server = TcpStream::connect(("127.0.0.1", mock))?;
    server.write_all(text.as_bytes())?;
    let mut response = Vec::new();
    server.read_to_end(&mut response)?;
    plain.write_all(&response)?;
    plain.flush()
}

#[test]
fn a_certificate_that_nobody_trusts_is_refused_and_one_that_is_named_is_trusted() {
    let mock = mock_of("[[rule]]\ntext = \"encrypted\"\n");
    let port = encrypted(mock.port());
    let mut endpoint = endpoint_of(&format!("https://localhost:{port}"));
    let failure = ask(&Client::new(endpoint.clone()).unwrap(), hello()).unwrap_err();
    assert_eq!(failure.error.name(), "tls");
    assert_eq!(failure.attempts, 1, "it is not trusted the next time either");
    assert_eq!(
        failure.to_string(),
        format!("cannot reach localhost:{port}: its certificate is not trusted")
    );
    assert!(failure.error.hint().unwrap().contains("--ca FILE"));
    endpoint.certificates = Some(CERTIFICATE.to_vec());
    let answer = ask(&Client::new(endpoint.clone()).unwrap(), hello()).unwrap();
    assert_eq!(answer.text_of_blocks(), "encrypted");
    for nonsense in [&b""[..], b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        endpoint.certificates = Some(nonsense.to_vec());
        assert_eq!(Client::new(endpoint.clone()).unwrap_err().name(), "bad-setting");
    }
}
