//! Connections: how many there may be, how long they may take, how they end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::sync::Semaphore;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::hub::routes::Desk;
use crate::hub::routes::Peer;

/// How long the head of a request may take, how long a connection may idle, and how long a
/// handshake may take.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long answers that have begun may take when the hub ends.
const LAST_TIME: Duration = Duration::from_secs(10);

/// Who is connected.
#[derive(Debug, Default)]
struct Guest {
    /// Whether it has shown a token.
    is_known: AtomicBool,
    is_gone: AtomicBool,
    /// Told when its place is wanted.
    leave: Notify,
}

impl Guest {
    fn is_stranger(&self) -> bool {
        !self.is_known.load(Ordering::Relaxed) && !self.is_gone.load(Ordering::Relaxed)
    }
}

/// Those who have not shown a token yet, the oldest first.
#[derive(Debug, Default)]
struct Strangers(Mutex<std::collections::VecDeque<Arc<Guest>>>);

impl Strangers {
    fn welcome(&self, most: usize) -> Arc<Guest> {
        let guest = Arc::new(Guest::default());
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= most * 2 {
            waiting.retain(|guest| guest.is_stranger());
        }
        waiting.push_back(guest.clone());
        guest
    }

    /// Makes room: whoever only waits would keep others waiting. Whether somebody was sent away.
    fn send_oldest_away(&self) -> bool {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(guest) = waiting.pop_front() {
            if guest.is_stranger() {
                guest.leave.notify_one();
                return true;
            }
        }
        false
    }
}

/// Answers until `stop` says so; then lets answers end that have begun.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    desk: Arc<Desk>,
    mut stop: watch::Receiver<bool>,
) {
    let most = desk.limits.connections;
    let places = Arc::new(Semaphore::new(most));
    let strangers = Strangers::default();
    loop {
        let accepted = tokio::select! {
            () = ends(&mut stop) => break,
            accepted = async {
                let connection = listener.accept().await;
                if places.available_permits() == 0 && strangers.send_oldest_away() {
                    desk.metrics.sent_away.fetch_add(1, Ordering::Relaxed);
                }
                (connection, places.clone().acquire_owned().await)
            } => accepted,
        };
        let (Ok((stream, peer)), Ok(place)) = accepted else {
            // Too many open files, most likely: it passes.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let guest = strangers.welcome(most);
        let (desk, tls, mut stop) = (Arc::clone(&desk), tls.clone(), stop.clone());
        tokio::spawn(async move {
            desk.metrics.connections.fetch_add(1, Ordering::Relaxed);
            tokio::select! {
                () = talk(stream, peer, tls, &desk, &guest, &mut stop) => {}
                () = guest.leave.notified() => {}
            }
            desk.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            guest.is_gone.store(true, Ordering::Relaxed);
            drop(place);
        });
    }
    drop(listener);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(LAST_TIME, places.acquire_many(all)).await;
}

/// Waits until the hub is to end.
async fn ends(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn talk(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    desk: &Arc<Desk>,
    guest: &Guest,
    stop: &mut watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => answer(stream, peer, desk, guest, stop).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await {
                answer(stream, peer, desk, guest, stop).await;
            }
        }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: SocketAddr,
    desk: &Arc<Desk>,
    guest: &Guest,
    stop: &mut watch::Receiver<bool>,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let desk = Arc::clone(desk);
        let knows = || guest.is_known.store(true, Ordering::Relaxed);
        async move {
            let answer = desk.answer(request.map(Body::new), Peer(peer.ip()), knows).await;
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(64)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // An error is the client's: it went away, or did not speak HTTP.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = ends(stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(LAST_TIME, connection).await;
        }
    }
}
