//! Starting and ending a hub.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use jiff::Timestamp;
use tokio::runtime::Builder;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use crate::error::CollectError;
use crate::hub::book::Book;
use crate::hub::connection;
use crate::hub::gate::Gate;
use crate::hub::limits::Buckets;
use crate::hub::limits::HubLimits;
use crate::hub::metrics::Metrics;
use crate::hub::roster::Roster;
use crate::hub::routes::Desk;
use crate::store::Store;

/// How often audit rows are looked at.
const TURN: Duration = Duration::from_secs(60);
/// How many requests a machine may make at once, beyond its rate.
const BURST: f64 = 10.0;

/// The certificate of a hub and its key, as PEM.
pub struct Identity {
    /// The certificates, the hub's first.
    pub certificates: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Identity(…)")
    }
}

/// What a hub needs.
#[derive(Debug)]
pub struct HubOptions {
    /// The store that it writes to.
    pub store: Store,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its certificate; without one it speaks plainly, for a proxy or this machine.
    pub identity: Option<Identity>,
    /// Whether a proxy in front of it names who sends.
    pub behind_proxy: bool,
    /// Who has it may read the counters.
    pub metrics_token: Option<String>,
    /// How often and how much.
    pub limits: HubLimits,
    /// The clock.
    pub clock: fn() -> Timestamp,
}

/// A hub that runs. It ends when it is dropped.
#[derive(Debug)]
pub struct Hub {
    address: SocketAddr,
    desk: Arc<Desk>,
    stop: watch::Sender<bool>,
    serving: Mutex<Option<JoinHandle<()>>>,
    runtime: Mutex<Option<Runtime>>,
}

impl Hub {
    /// Listens and answers, on threads of its own. `file` is its SQLite file.
    pub fn start(options: HubOptions, file: &Path) -> Result<Hub, CollectError> {
        let tls = options.identity.as_ref().map(acceptor).transpose()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(16)
            .thread_name("recto-hub")
            .enable_all()
            .build()?;
        let listener = std::net::TcpListener::bind(options.listen).map_err(|error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", options.listen))
        })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let HubOptions { store, limits, metrics_token, behind_proxy, clock, .. } = options;
        let roster = Roster::new(store.clone());
        let rate = f64::from(limits.requests_per_second.max(1));
        let desk = Arc::new(Desk {
            gate: Gate::new(roster.clone(), limits.believed),
            book: Book::open(file)?,
            metrics: Metrics::default(),
            requests: Buckets::new(rate, rate * BURST),
            uploads: Semaphore::new(limits.uploads.max(1)),
            store,
            roster,
            limits,
            metrics_token,
            behind_proxy,
            clock,
        });
        let (stop, stopped) = watch::channel(false);
        let serving = runtime.spawn(connection::serve(listener, tls, Arc::clone(&desk), stopped));
        let turning = Arc::clone(&desk);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(TURN).await;
                // What cannot be written now is written later: the rows stay.
                let _ = turn(&turning, false).await;
            }
        });
        let (serving, runtime) = (Mutex::new(Some(serving)), Mutex::new(Some(runtime)));
        Ok(Hub { address, desk, stop, serving, runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends on SIGINT and SIGTERM.
    pub fn end_on_signals(&self) -> Result<(), CollectError> {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(runtime) = runtime.as_ref() else { return Ok(()) };
        let stop = self.stop.clone();
        let _entered = runtime.enter();
        #[cfg(unix)]
        {
            use tokio::signal::unix::SignalKind;
            use tokio::signal::unix::signal;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            runtime.spawn(async move {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                let _ = stop.send(true);
            });
        }
        #[cfg(not(unix))]
        runtime.spawn(async move {
            let _ = tokio::signal::ctrl_c().await;
            let _ = stop.send(true);
        });
        Ok(())
    }

    /// Tells it to end: no connection is accepted any more.
    pub fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// Waits until it has ended, and writes what is left of the audit log into the store.
    pub fn wait(&self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(runtime), Some(serving)) = (runtime.as_ref(), serving) {
            let _ = runtime.block_on(serving);
            let last = turn(&self.desk, true);
            let _ = runtime.block_on(async { tokio::time::timeout(TURN, last).await });
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.stop();
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }
}

/// Moves audit rows into the store.
async fn turn(desk: &Desk, all: bool) -> Result<(), CollectError> {
    while let Some(page) = desk.book.page((desk.clock)(), all)? {
        // The name says which rows: if it is taken, they are there.
        desk.store.put_new(&page.key, page.lines.clone().into()).await?;
        desk.book.turn(&page, (desk.clock)())?;
    }
    Ok(())
}

fn acceptor(identity: &Identity) -> Result<TlsAcceptor, CollectError> {
    let bad = |reason: String| CollectError::Certificate { reason };
    let chain = CertificateDer::pem_slice_iter(&identity.certificates)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| bad(format!("the certificate is not PEM: {error}")))?;
    let key = PrivateKeyDer::from_pem_slice(&identity.key)
        .map_err(|error| bad(format!("the key is not PEM: {error}")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| bad(error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
