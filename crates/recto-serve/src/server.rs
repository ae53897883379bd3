//! Starting and ending: where the server listens, and with which token.

use std::net::Ipv4Addr;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use recto_view::Library;
use tokio::runtime::Builder;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::ServeError;
use crate::Token;
use crate::app::App;
use crate::connection;
use crate::connection::Listener;
use crate::context::Context;
use crate::context::Shared;
use crate::events;
use crate::events::FollowThread;
use crate::events::Hub;
use crate::guard::Codes;
use crate::guard::Guard;
use crate::guard::Hosts;
use crate::team::Team;
use crate::team::TeamSource;

/// The port that is taken if it is free and none was asked for.
const USUAL_PORT: u16 = 7700;

/// How many documents are made at once. Each takes one of the threads that read files.
const EXPORTS: usize = 4;

/// How long it takes until memory is given back.
const TIME_TO_GIVE_BACK: Duration = Duration::from_secs(10);

/// How many threads read files.
const READERS: usize = 16;

/// How long a client may usually read nothing.
const STALL_TIME: Duration = Duration::from_secs(30);

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// On 127.0.0.1.
    Loopback {
        /// The port, 0 for any. None: 7700, or any if that is taken.
        port: Option<u16>,
    },
    /// On any address. Needs a token of the user's own.
    Address(SocketAddr),
    /// On a socket that only its user may open.
    Socket(PathBuf),
}

/// What to serve, where, and to whom.
#[derive(Debug)]
pub struct ServeOptions {
    /// Answers questions about the home.
    pub library: Library,
    /// The home, if a client that is started like any other would use another one:
    /// commands that are copied from pages name it then.
    pub home_to_name: Option<PathBuf>,
    /// Whether who has the token may give sessions other titles, and undo. Without it
    /// the server changes nothing.
    pub allow_edits: bool,
    /// Reads the store of a team, for the page about it.
    pub team: Option<TeamSource>,
    /// Where to listen.
    pub listen: Listen,
    /// The token; a random one if there is none.
    pub token: Option<Token>,
    /// How long a client may read nothing while something is sent to it. Then it is
    /// dropped.
    pub stall_time: Duration,
}

impl ServeOptions {
    /// Read-only, with a random token.
    pub fn new(library: Library, listen: Listen) -> ServeOptions {
        ServeOptions {
            library,
            home_to_name: None,
            allow_edits: false,
            team: None,
            listen,
            token: None,
            stall_time: STALL_TIME,
        }
    }
}

/// A server that runs. It ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    app: App,
    context: Context,
    place: Place,
    stop: watch::Sender<bool>,
    follower: FollowThread,
    runtime: Mutex<Option<Runtime>>,
    serving: Mutex<Option<JoinHandle<()>>>,
}

/// Where the server is.
#[derive(Debug, Clone)]
enum Place {
    Address(SocketAddr),
    Socket(PathBuf),
}

impl Server {
    /// Listens and answers, on threads of its own.
    pub fn start(options: ServeOptions) -> Result<Server, ServeError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(READERS)
            .thread_keep_alive(Duration::from_secs(30))
            .thread_name("recto-serve")
            .enable_all()
            .build()?;
        let entered = runtime.enter();
        let (listener, place) = listen(&options)?;
        drop(entered);
        let (hosts, cookie) = match &place {
            Place::Address(address) => {
                (Hosts::of_address(*address), format!("recto_{}", address.port()))
            }
            Place::Socket(_) => (Hosts::of_socket(), "recto".to_owned()),
        };
        let guard = Guard {
            token: options.token.unwrap_or_else(Token::random),
            hosts,
            codes: Codes::default(),
            cookie,
        };
        let context = Context::new(Shared {
            library: options.library,
            home_to_name: options.home_to_name,
            allows_edits: options.allow_edits,
            team: options.team.map(Team::new),
            hub: Hub::new(),
            has_worked: AtomicBool::new(false),
            exports: Arc::new(Semaphore::new(EXPORTS)),
        });
        runtime.spawn(give_memory_back(context.clone()));
        let (stop, stopped) = watch::channel(false);
        let follower = events::follow(&context)?;
        let app = App::new(guard, context.clone());
        let serving =
            runtime.spawn(connection::serve(listener, app.clone(), options.stall_time, stopped));
        Ok(Server {
            app,
            context,
            place,
            stop,
            follower,
            runtime: Mutex::new(Some(runtime)),
            serving: Mutex::new(Some(serving)),
        })
    }

    /// The address of the server, unless it is a socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.place {
            Place::Address(address) => Some(*address),
            Place::Socket(_) => None,
        }
    }

    /// Where the server is, in the words of a URL.
    pub fn base_url(&self) -> String {
        match &self.place {
            Place::Address(address) if address.ip().is_unspecified() => {
                format!("http://127.0.0.1:{}", address.port())
            }
            Place::Address(address) => format!("http://{address}"),
            Place::Socket(_) => "http://localhost".to_owned(),
        }
    }

    /// A new address that lets one browser in, once, within ten minutes.
    pub fn login_url(&self) -> String {
        format!("{}/login?code={}", self.base_url(), self.app.guard().codes.issue())
    }

    /// From now on a signal to end (Ctrl-C, or that of the system) ends the server
    /// in order. Called before anybody is told that the server is there.
    pub fn end_on_signals(&self) -> Result<(), ServeError> {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(runtime) = runtime.as_ref() else { return Ok(()) };
        let entered = runtime.enter();
        let signals = Signals::listen()?;
        drop(entered);
        let stop = self.stop.clone();
        runtime.spawn(async move {
            signals.any().await;
            stop.send_replace(true);
        });
        Ok(())
    }

    /// Waits until [`Server::stop`] is called, or a signal came; then ends the server.
    pub fn wait(&self) {
        let mut stopped = self.stop.subscribe();
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = runtime.as_ref() {
            runtime.block_on(connection::ends(&mut stopped));
        }
        drop(runtime);
        self.end();
    }

    /// Ends the server, wherever it is waited for.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    fn end(&self) {
        self.stop();
        self.context.hub.end();
        self.follower.end();
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(runtime), Some(serving)) = (runtime, serving) {
            let _ = runtime.block_on(serving);
            // Reading a log is not interrupted; nobody waits for it either.
            runtime.shutdown_timeout(Duration::from_millis(500));
        }
        if let Place::Socket(path) = &self.place {
            recto_store::remove_socket(path);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Gives memory back some time after something was worked on, so that a server that
/// nobody asks is small, whatever it was asked before.
async fn give_memory_back(context: Context) {
    loop {
        tokio::time::sleep(TIME_TO_GIVE_BACK).await;
        if context.has_worked.swap(false, Ordering::Relaxed) {
            let _ = tokio::task::spawn_blocking(recto_store::give_memory_back).await;
        }
    }
}

fn listen(options: &ServeOptions) -> Result<(Listener, Place), ServeError> {
    let address = match &options.listen {
        Listen::Socket(path) => return listen_on_socket(path),
        Listen::Address(address) => {
            if options.token.is_none() {
                return Err(ServeError::NoToken { address: *address });
            }
            *address
        }
        Listen::Loopback { port } => {
            SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(USUAL_PORT)))
        }
    };
    let is_free_port_fine = options.listen == Listen::Loopback { port: None };
    let listener = match TcpListener::bind(address) {
        Err(_) if is_free_port_fine => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)),
        bound => bound,
    };
    let listener = listener.map_err(|source| ServeError::Listen { address, source })?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((Listener::Tcp(tokio::net::TcpListener::from_std(listener)?), Place::Address(address)))
}

#[cfg(unix)]
fn listen_on_socket(path: &std::path::Path) -> Result<(Listener, Place), ServeError> {
    let listener = recto_store::bind_socket(path)?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(listener)?;
    Ok((Listener::Unix(listener), Place::Socket(path.to_owned())))
}

#[cfg(not(unix))]
fn listen_on_socket(_: &std::path::Path) -> Result<(Listener, Place), ServeError> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into())
}

/// The signals by which a user ends a program.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Signals count from here on.
    fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::SignalKind;
        use tokio::signal::unix::signal;
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { interrupt, terminate })
    }

    async fn any(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The signal by which a user ends a program.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn any(self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
