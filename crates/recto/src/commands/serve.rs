//! `recto serve`: sessions in the browser.

use std::io;
use std::io::IsTerminal;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;

use clap::Args;
use recto_log::json::ObjectWriter;
use recto_serve::Listen;
use recto_serve::ServeError;
use recto_serve::ServeOptions;
use recto_serve::Server;
use recto_serve::Token;
use recto_store::Home;
use recto_store::LoginPage;
use recto_view::Library;

use crate::commands::collect::collect_beside;
use crate::commands::lake_tables::team_source;
use crate::commands::prices::PricesOption;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// The port of `--listen` where the address has none.
const USUAL_PORT: u16 = 7700;

/// Show sessions in the browser
///
/// Starts a server for this machine only and prints an address that admits one browser, once,
/// within ten minutes. Enter prints a new address, Ctrl-C stops the server. Every request
/// needs this server's token. The server is read-only unless you pass --allow-edits: then
/// anyone holding the token may rename and restore sessions, and undo edits.
///
/// Other machines can reach it only with --listen, which requires --token-file. The traffic is
/// not encrypted, so use it only in a network you trust.
///
/// With --store, the page Team shows the machines that send to a store, cost by user, project
/// and week, tool failures and waiting time, from the tables of `recto lake build`.
///
/// Examples:
///   recto serve --open
///   recto serve --open --allow-edits
///   recto serve --socket ~/recto.sock
///   recto serve --listen 192.168.1.5 --token-file ~/recto-token
///   recto serve --open --store s3://team-sessions/claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ServeArgs {
    /// The port on 127.0.0.1; 0 for any free port [default: 7700, or any free port]
    #[arg(long, value_name = "PORT", conflicts_with_all = ["listen", "socket"])]
    port: Option<u16>,
    /// Listen on another address, with or without a port
    #[arg(long, value_name = "ADDR", requires = "token_file", conflicts_with = "socket")]
    listen: Option<String>,
    /// Listen on a Unix socket that only you can open
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// A file with a token of 32 characters or more, for programs and --listen
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Allow renaming and restoring sessions, and undoing changes
    #[arg(long)]
    allow_edits: bool,
    /// Archive sessions while the server runs, like `recto collect --watch`
    #[arg(long)]
    collect: bool,
    /// Show a team's store: s3://, gs://, az://, or a directory
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Open the browser
    #[arg(long, conflicts_with = "socket")]
    open: bool,
}

pub(crate) fn cmd_serve(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ServeArgs,
) -> Result<Outcome, CommandError> {
    // A page without an index or a record of operations would fail only when it is asked for.
    environment.cache_directory()?;
    environment.data_directory()?;
    let library = environment.library(home, PricesOption::default().read(environment)?);
    build_index_beside(library.clone())?;
    let mut options = ServeOptions::new(library, read_listen(args)?);
    options.home_to_name = target::home_to_name(home, environment);
    options.allow_edits = args.allow_edits;
    if let Some(address) = &args.store {
        options.team = Some(team_source(environment, address)?);
    }
    if let Some(path) = &args.token_file {
        options.token = Some(Token::given(&recto_store::read_token_file(path)?)?);
    }
    if args.collect {
        collect_beside(home, &environment.data_directory()?)?;
    }
    let server = Arc::new(Server::start(options)?);
    server.end_on_signals()?;
    let url = server.login_url();
    if output.json {
        output.json_line(
            ObjectWriter::new()
                .string("url", &url)
                .string("base", &server.base_url())
                .string_or_null(
                    "socket",
                    args.socket.as_deref().map(|path| path.to_string_lossy()).as_deref(),
                ),
        )?;
    } else if let Some(path) = &args.socket {
        let path = one_line(&path.to_string_lossy());
        output.line(&path)?;
        output.remark(&format!(
            "no browser opens it; curl --unix-socket {path} -L -c cookies -b cookies '{url}' \
             does, once; Ctrl-C stops the server"
        ));
    } else {
        output.line(&url)?;
        output.remark("opens in one browser, once; Ctrl-C stops the server");
    }
    output.flush()?;
    // Only the browser needs it, and only once: it goes when the server ends.
    let _page = args.open.then(|| open_browser(environment, &url)).flatten();
    if io::stdin().is_terminal() {
        give_more_urls(Arc::clone(&server));
    }
    server.wait();
    Ok(Outcome::Done)
}

/// Starts the build of the index if much of it is missing, before anybody searches.
fn build_index_beside(library: Library) -> Result<(), CommandError> {
    let build = move || drop(library.index_state());
    thread::Builder::new().name("index-state".into()).spawn(build)?;
    Ok(())
}

fn read_listen(args: &ServeArgs) -> Result<Listen, CommandError> {
    if let Some(path) = &args.socket {
        return Ok(Listen::Socket(path.clone()));
    }
    let Some(text) = &args.listen else { return Ok(Listen::Loopback { port: args.port }) };
    let with_port = text.parse::<SocketAddr>().ok();
    let alone = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, USUAL_PORT));
    let address = with_port.or_else(alone).ok_or_else(|| {
        CommandError::user("bad-address", format!("invalid address `{text}` for --listen"))
            .with_hint("use an address such as 192.168.1.5, 192.168.1.5:8080 or [fd00::5]:8080")
    })?;
    Ok(Listen::Address(address))
}

/// A person can have a new address at any time: codes work once.
fn give_more_urls(server: Arc<Server>) {
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            if line.is_err() {
                break;
            }
            output::remark(&server.login_url());
        }
    });
}

/// Opens the browser. All users of the machine can see the arguments of a program, and
/// the address lets in who is first: so the browser gets the path of a page that only
/// this user can read, and that leads on to the address.
fn open_browser(environment: &Environment, url: &str) -> Option<LoginPage> {
    let page = match LoginPage::write(&environment.runtime_directories, url) {
        Ok(page) => page,
        Err(error) => {
            let message = format!("cannot open a browser: {error}; open the address yourself");
            output::remark(&one_line(&message));
            return None;
        }
    };
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new(program)
    };
    let started = command
        .arg(page.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => {
            // Nobody else asks how it ended.
            std::thread::spawn(move || child.wait());
        }
        Err(_) => output::remark("cannot open a browser; open the address yourself"),
    }
    Some(page)
}

impl From<ServeError> for CommandError {
    fn from(error: ServeError) -> CommandError {
        match error {
            ServeError::Store(error) => CommandError::Store(error),
            error => {
                let hint = error.hint();
                let told = CommandError::user(error.kind(), error.to_string());
                match hint {
                    Some(hint) => told.with_hint(hint),
                    None => told,
                }
            }
        }
    }
}
