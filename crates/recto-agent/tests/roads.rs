//! Ways to an endpoint: a proxy with and without TLS, and HTTP/2.
//!
//! Nothing here leaves the machine: `endpoint.test` is a name that only the proxy of these
//! tests knows, and it leads to a server on loopback.

use std::convert::Infallible;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::Full;
use hyper::Request;
use hyper::Response;
use hyper::Version;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::TokioExecutor;
use hyper_util::rt::TokioIo;
use recto_agent::api::Client;
use recto_agent::api::Proxy;
use serde_json::Value;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::support::ask;
use crate::support::endpoint_of;
use crate::support::hello;
use crate::support::mock_of;
use crate::tls::CERTIFICATE;
use crate::tls::KEY;

/// A name that no resolver knows; RFC 6761 keeps it for tests.
const HOST: &str = "endpoint.test";

/// A proxy that leads every host to one port of this machine. It tells the head of each
/// request; passwords other than `user:secret` are refused.
fn proxy(to: u16) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, heads) = mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let told = told.clone();
            // A client that goes away ends its own connection only.
            std::thread::spawn(move || serve_proxy(client, to, &told));
        }
    });
    (port, heads)
}

fn serve_proxy(client: TcpStream, to: u16, told: &mpsc::Sender<String>) -> std::io::Result<()> {
    let mut from_client = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if from_client.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let _ = told.send(head.clone());
    let mut to_client = client;
    // `user:secret` in base64.
    if !head.to_lowercase().contains("proxy-authorization: basic dxnlcjpzzwnyzxq=") {
        return to_client
            .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
    }
    let mut server = TcpStream::connect(("127.0.0.1", to))?;
    if head.starts_with("CONNECT ") {
        to_client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    } else {
        server.write_all(head.as_bytes())?;
    }
    let mut to_server = server.try_clone()?;
    std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
    std::io::copy(&mut server, &mut to_client).map(drop)
}

#[test]
fn a_proxy_is_used_for_other_hosts_with_its_password() {
    let mock = mock_of("[[rule]]\ntext = \"through a proxy\"\n");
    let (port, heads) = proxy(mock.port());
    let mut endpoint = endpoint_of(&format!("http://{HOST}"));
    endpoint.proxy = Proxy::Url(format!("http://user:secret@127.0.0.1:{port}"));
    let answer = ask(&Client::new(endpoint.clone()).unwrap(), hello()).unwrap();
    assert_eq!(answer.text_of_blocks(), "through a proxy");
    let head = heads.recv().unwrap();
    assert!(head.starts_with(&format!("POST http://{HOST}/v1/messages")), "{head}");

    endpoint.proxy = Proxy::Url(format!("http://user:wrong@127.0.0.1:{port}"));
    let failure = ask(&Client::new(endpoint).unwrap(), hello()).unwrap_err();
    assert!(failure.error.hint().unwrap().contains("proxy's user name and password"), "{failure}");
    assert!(!format!("{failure:?}").contains("wrong"), "a password is in: {failure:?}");
    assert_eq!(mock.asked().len(), 1, "the proxy refused the second");
}

#[test]
fn this_machine_is_never_asked_through_a_proxy() {
    let mock = mock_of("[[rule]]\ntext = \"directly\"\n");
    let (port, heads) = proxy(mock.port());
    let mut endpoint = endpoint_of(&mock.base_url());
    endpoint.proxy = Proxy::Url(format!("http://user:secret@127.0.0.1:{port}"));
    let answer = ask(&Client::new(endpoint).unwrap(), hello()).unwrap();
    assert_eq!(answer.text_of_blocks(), "directly");
    assert!(heads.try_recv().is_err(), "the proxy was asked");
}

/// The stream of one short answer.
const ANSWER: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",",
    "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],",
    "\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
    "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"by HTTP/2\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":",
    "\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

/// What a server of HTTP/2 was asked.
struct Asked {
    version: Version,
    path: String,
    agent: String,
    body: Value,
}

/// A server that speaks HTTP/2 over TLS and nothing else.
fn http2_server() -> (u16, mpsc::Receiver<Asked>) {
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()],
            PrivateKeyDer::from_pem_slice(KEY).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, asked) = mpsc::channel();
    std::thread::spawn(move || {
        crate::support::wait(async {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, told) = (acceptor.clone(), told.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| answer(request, told.clone()));
                    let builder = http2::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
    });
    (port, asked)
}

async fn answer(
    request: Request<Incoming>,
    told: mpsc::Sender<Asked>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let agent = head.headers["user-agent"].to_str().unwrap().to_owned();
    let _ = told.send(Asked {
        version: head.version,
        path: head.uri.path().to_owned(),
        agent,
        body: serde_json::from_slice(&body).unwrap(),
    });
    let response = Response::builder().header("content-type", "text/event-stream");
    Ok(response.body(Full::new(Bytes::from_static(ANSWER.as_bytes()))).unwrap())
}

fn check_http2(asked: &mpsc::Receiver<Asked>) {
    let asked = asked.recv().unwrap();
    assert_eq!(asked.version, Version::HTTP_2);
    assert_eq!(asked.path, "/v1/messages");
    assert!(asked.agent.starts_with("recto/"));
    assert_eq!(asked.body["messages"][0]["content"][0]["text"], "hello");
}

#[test]
fn a_server_that_speaks_http_2_is_asked_in_it() {
    let (port, asked) = http2_server();
    let mut endpoint = endpoint_of(&format!("https://localhost:{port}"));
    endpoint.certificates = Some(CERTIFICATE.to_vec());
    let answer = ask(&Client::new(endpoint).unwrap(), hello()).unwrap();
    assert_eq!(answer.text_of_blocks(), "by HTTP/2");
    check_http2(&asked);
}

#[test]
fn a_proxy_carries_tls_without_seeing_the_key() {
    let (server, asked) = http2_server();
    let (port, heads) = proxy(server);
    let mut endpoint = endpoint_of(&format!("https://{HOST}"));
    endpoint.certificates = Some(CERTIFICATE.to_vec());
    endpoint.proxy = Proxy::Url(format!("http://user:secret@127.0.0.1:{port}"));
    let answer = ask(&Client::new(endpoint).unwrap(), hello()).unwrap();
    assert_eq!(answer.text_of_blocks(), "by HTTP/2");
    check_http2(&asked);
    let head = heads.recv().unwrap();
    assert!(head.starts_with(&format!("CONNECT {HOST}:443 ")), "{head}");
    assert!(!head.contains("sk-test"), "{head}");
}

#[test]
fn a_proxy_that_is_not_there_is_named_as_the_cause() {
    // Bound and dropped, so that nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut endpoint = endpoint_of(&format!("http://{HOST}"));
    endpoint.retries.most = 0;
    endpoint.proxy = Proxy::Url(format!("http://127.0.0.1:{port}"));
    let failure = ask(&Client::new(endpoint).unwrap(), hello()).unwrap_err();
    assert_eq!(failure.error.name(), "unreachable");
    let mut text = failure.to_string();
    text += &failure.error.hint().unwrap_or_default();
    assert!(text.contains("proxy"), "{text}");
}
