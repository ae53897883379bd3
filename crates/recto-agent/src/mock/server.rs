//! Starting and ending the mock.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use tokio::runtime::Builder;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::Fault;
use super::Personality;
use super::Script;
use super::answer::Asked;
use super::answer::Listener;
use super::answer::Shared;
use super::connection;
use crate::replay::Replay;

/// How a mock behaves.
#[derive(Default)]
pub struct MockOptions {
    /// The port on 127.0.0.1; 0 for any.
    pub port: u16,
    /// Answers what no rule matches.
    pub personality: Personality,
    /// Rules.
    pub script: Option<Script>,
    /// Answers of a recorded session instead of rules.
    pub replay: Option<Replay>,
    /// Whether a request that differs from the recorded one is refused.
    pub exact: bool,
    /// What goes wrong with the first requests, in order.
    pub faults: Vec<Fault>,
    /// Decides what is made up: ids, and which tool is called.
    pub seed: u64,
    /// Where each exchange is written, one JSON object a line.
    pub record: Option<Box<dyn io::Write + Send>>,
    /// Told of every request.
    pub listener: Option<Listener>,
    /// How many requests are kept for [`Mock::asked`].
    pub keep: usize,
}

impl fmt::Debug for MockOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("MockOptions");
        shown.field("port", &self.port).field("personality", &self.personality);
        shown.finish_non_exhaustive()
    }
}

/// Why there is no mock.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// The port is taken.
    #[error("port {port} is in use")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// The system has something against it.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Io(#[from] io::Error),
}

impl MockError {
    /// A stable name.
    pub fn name(&self) -> &'static str {
        match self {
            MockError::PortTaken { .. } => "port-in-use",
            MockError::Io(_) => "cannot-listen",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            MockError::PortTaken { .. } => Some("use another port, or --port 0 for any free one"),
            MockError::Io(_) => None,
        }
    }
}

/// A mock that runs on threads of its own. It ends when it is dropped.
#[derive(Debug)]
pub struct Mock {
    port: u16,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    runtime: Mutex<Option<Runtime>>,
}

impl Mock {
    /// Listens on loopback.
    pub fn start(options: MockOptions) -> Result<Mock, MockError> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(|error| match error
                .kind()
            {
                io::ErrorKind::AddrInUse => MockError::PortTaken { port: options.port },
                _ => MockError::Io(error),
            })?;
        let port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("recto-mock")
            .enable_all()
            .build()?;
        let shared = Arc::new(Shared::new(options));
        let (stop, stopped) = watch::channel(false);
        let entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        runtime.spawn(connection::serve(listener, Arc::clone(&shared), stopped));
        drop(entered);
        Ok(Mock { port, shared, stop, runtime: Mutex::new(Some(runtime)) })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address that clients are given.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests to `/v1/messages` so far, as many as are kept.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked()
    }

    /// How many requests differed from the recorded ones.
    pub fn differences(&self) -> u64 {
        self.shared.differences()
    }

    /// Waits until Ctrl-C or a signal to end.
    pub fn wait(&self) -> io::Result<()> {
        let kept = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(runtime) = &*kept else { return Ok(()) };
        runtime.block_on(async {
            #[cfg(unix)]
            {
                use tokio::signal::unix::SignalKind;
                use tokio::signal::unix::signal;
                let mut ends = signal(SignalKind::terminate())?;
                tokio::select! {
                    ended = tokio::signal::ctrl_c() => ended,
                    _ = ends.recv() => Ok(()),
                }
            }
            #[cfg(not(unix))]
            tokio::signal::ctrl_c().await
        })
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        let kept = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = kept.take() {
            // Not a wait: a mock may be dropped inside another runtime.
            runtime.shutdown_background();
        }
    }
}
