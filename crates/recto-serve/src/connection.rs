//! Connections: how many there may be, how long they may take, how they end.
//!
//! A client that sends slowly or reads nothing costs a connection for a while,
//! and nothing else.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::task::Context as TaskContext;
use std::task::Poll;
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
use tokio::io::ReadBuf;
use tokio::sync::Notify;
use tokio::sync::Semaphore;
use tokio::sync::watch;
use tokio::time::Sleep;

use crate::app::App;

/// How many connections are open at once. A further one takes the place of the oldest that
/// has not shown the token yet; if all have, it waits.
const MOST: u32 = 256;

/// How long the head of a request may take, and how long a connection may idle.
const HEAD_TIME: Duration = Duration::from_secs(15);

/// How long answers that have begun may take when the server ends.
const LAST_TIME: Duration = Duration::from_secs(2);

/// Where connections come from.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(tokio::net::TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

enum Connection {
    Tcp(tokio::net::TcpStream, Option<SocketAddr>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Listener {
    async fn accept(&self) -> io::Result<Connection> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Events are small, and must not wait for more of them.
                stream.set_nodelay(true)?;
                let local = stream.local_addr().ok();
                Ok(Connection::Tcp(stream, local))
            }
            #[cfg(unix)]
            Listener::Unix(listener) => Ok(Connection::Unix(listener.accept().await?.0)),
        }
    }
}

/// Answers until `stop` says so; then lets answers end that have begun.
/// A client may read nothing for `stall` while something is sent to it.
pub(crate) async fn serve(
    listener: Listener,
    app: App,
    stall: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(MOST as usize));
    let strangers = Strangers::default();
    loop {
        let accepted = tokio::select! {
            () = ends(&mut stop) => break,
            accepted = async {
                let connection = listener.accept().await;
                if places.available_permits() == 0 {
                    strangers.send_oldest_away();
                }
                (connection, places.clone().acquire_owned().await)
            } => accepted,
        };
        let (Ok(connection), Ok(place)) = accepted else {
            // Too many open files, most likely: it passes.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (app, stop) = (app.clone(), stop.clone());
        let visitor = strangers.welcome();
        tokio::spawn(async move {
            match connection {
                Connection::Tcp(stream, local) => {
                    // With `--listen`, the address that was asked for is ours too.
                    let app = match local {
                        Some(local) if !local.ip().to_canonical().is_loopback() => app.at(local),
                        _ => app,
                    };
                    answer(Impatient::new(stream, stall), app, stop, &visitor).await;
                }
                #[cfg(unix)]
                Connection::Unix(stream) => {
                    answer(Impatient::new(stream, stall), app, stop, &visitor).await;
                }
            }
            visitor.is_gone.store(true, Ordering::Relaxed);
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST_TIME, places.acquire_many(MOST)).await;
}

/// Waits until the server is to end.
pub(crate) async fn ends(stop: &mut watch::Receiver<bool>) {
    // Without a sender there is no server any more.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    app: App,
    mut stop: watch::Receiver<bool>,
    visitor: &Visitor,
) {
    let service = service_fn(|request: Request<Incoming>| {
        if app.guard().knows(&request) {
            visitor.is_known.store(true, Ordering::Relaxed);
        }
        let app = app.clone();
        async move { Ok::<_, Infallible>(app.answer(request.map(Body::new)).await) }
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
        () = visitor.leave.notified() => {}
        () = ends(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(LAST_TIME, connection).await;
        }
    }
}

/// Who is connected.
#[derive(Debug, Default)]
struct Visitor {
    /// Whether it has shown the token.
    is_known: AtomicBool,
    is_gone: AtomicBool,
    /// Told when its place is wanted.
    leave: Notify,
}

/// Those who have not shown the token yet, as far as anybody knows; the oldest first.
#[derive(Debug, Default)]
struct Strangers(Mutex<Vec<Arc<Visitor>>>);

impl Strangers {
    fn welcome(&self) -> Arc<Visitor> {
        let visitor = Arc::new(Visitor::default());
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Not more than there are places: the others are gone, or known.
        if waiting.len() >= MOST as usize {
            waiting.retain(|visitor| visitor.is_stranger());
        }
        waiting.push(visitor.clone());
        visitor
    }

    /// Whoever only waits would keep others waiting: a program without the token can open any
    /// number of connections and say nothing.
    fn send_oldest_away(&self) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|visitor| visitor.is_stranger());
        if !waiting.is_empty() {
            waiting.remove(0).leave.notify_one();
        }
    }
}

impl Visitor {
    fn is_stranger(&self) -> bool {
        !self.is_known.load(Ordering::Relaxed) && !self.is_gone.load(Ordering::Relaxed)
    }
}

/// A stream that fails when the other side takes nothing for too long.
struct Impatient<S> {
    stream: S,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    fn new(stream: S, patience: Duration) -> Impatient<S> {
        Impatient { stream, patience, stalled: None }
    }

    /// Passes on what writing gave, and counts the time in which it gave nothing.
    fn judge<T>(
        &mut self,
        task: &mut TaskContext<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let sleep = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match sleep.as_mut().poll(task) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(task, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(task, bytes);
        self.judge(task, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(task);
        self.judge(task, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(task, buffers);
        self.judge(task, written)
    }
}
