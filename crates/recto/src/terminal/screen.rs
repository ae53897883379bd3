//! The terminal while the browser or the board has it, and how it is given back.
//!
//! However the program ends (it is left, it fails, it panics, it is told to end), the
//! terminal is as it was before. Only `kill -9` cannot be helped.

use std::io;
use std::io::Stdout;
use std::io::Write as _;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::Show;
use crossterm::event::DisableBracketedPaste;
use crossterm::event::DisableMouseCapture;
use crossterm::event::EnableBracketedPaste;
use crossterm::event::EnableMouseCapture;
use crossterm::execute;
use crossterm::terminal::EnterAlternateScreen;
use crossterm::terminal::LeaveAlternateScreen;
use crossterm::terminal::disable_raw_mode;
use crossterm::terminal::enable_raw_mode;
use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use unicode_width::UnicodeWidthStr;

/// Whether the terminal is ours, and must be given back.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether only the last lines of it are ours, so that the rest stays as it is.
static IS_INLINE: AtomicBool = AtomicBool::new(false);
/// Whether a panic gives the terminal back.
static HAS_HOOK: AtomicBool = AtomicBool::new(false);
/// What a panic of another thread said.
static WORKER_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// The terminal, as long as it is ours.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    has_clusters: bool,
}

impl Screen {
    pub(crate) fn take() -> io::Result<Screen> {
        give_back_on_panic();
        take_terminal()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        let mut screen = match terminal {
            Ok(terminal) => Screen { terminal, has_clusters: false },
            Err(error) => {
                give_back();
                return Err(error);
            }
        };
        screen.redraw()?;
        Ok(screen)
    }

    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let drawn = self.terminal.draw(draw)?;
        self.has_clusters = drawn.buffer.content.iter().any(|cell| is_cluster(cell.symbol()));
        Ok(())
    }

    /// Whether it shows pictures of several characters. Terminals do not agree on how wide
    /// those are, so some of what is drawn over them stays.
    pub(crate) fn has_clusters(&self) -> bool {
        self.has_clusters
    }

    /// Forgets what the terminal shows, so that everything is drawn again.
    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        // To clear it would ask the terminal where its cursor is, and wait for the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Puts a text into the clipboard of the terminal, if it lets us.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Does something with the terminal as it was before.
    pub(crate) fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let result = work();
        take_terminal()?;
        self.redraw()?;
        Ok(result)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// The terminal, where only its last lines are drawn and the scrollback stays its own.
pub(crate) struct Inline(());

impl Inline {
    pub(crate) fn take() -> io::Result<Inline> {
        give_back_on_panic();
        take_lines()?;
        Ok(Inline(()))
    }

    pub(crate) fn size(&self) -> (u16, u16) {
        crossterm::terminal::size().unwrap_or((80, 24))
    }

    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Does something with the terminal as it was before.
    pub(crate) fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let result = work();
        take_lines()?;
        Ok(result)
    }
}

impl Drop for Inline {
    fn drop(&mut self) {
        give_back();
    }
}

fn take_lines() -> io::Result<()> {
    IS_INLINE.store(true, Ordering::SeqCst);
    IS_TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnableBracketedPaste)
}

fn is_cluster(symbol: &str) -> bool {
    symbol.chars().nth(1).is_some() && symbol.width() > 1
}

fn take_terminal() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)
}

/// Gives the terminal back; once is enough, and more does no harm.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    if IS_INLINE.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stdout(), DisableBracketedPaste, Show);
        let _ = disable_raw_mode();
        return;
    }
    // There is nobody left to tell an error.
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

/// A panic of this thread gives the terminal back before it says anything. One of
/// another thread must not write over the screen: it is kept for [`worker_panic`].
fn give_back_on_panic() {
    // The board lends its screen to the browser, which takes it again.
    if HAS_HOOK.swap(true, Ordering::SeqCst) {
        return;
    }
    let screen_thread = thread::current().id();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == screen_thread {
            give_back();
            before(panic);
        } else if let Ok(mut kept) = WORKER_PANIC.lock() {
            kept.get_or_insert_with(|| panic.to_string());
        }
    }));
}

/// What a panic of another thread said, if there was one.
pub(crate) fn worker_panic() -> Option<String> {
    WORKER_PANIC.lock().ok()?.take()
}

/// Signals that tell the program to end.
#[cfg(unix)]
pub(crate) mod signals {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::Duration;

    use crossterm::terminal::window_size;
    use signal_hook::consts::SIGHUP;
    use signal_hook::consts::SIGINT;
    use signal_hook::consts::SIGQUIT;
    use signal_hook::consts::SIGTERM;
    use signal_hook::consts::SIGTSTP;

    use super::IS_TAKEN;
    use super::give_back;

    /// How long the screen has to end by itself.
    const PATIENCE: Duration = Duration::from_millis(700);

    /// The last signal that came.
    #[derive(Clone)]
    pub(crate) struct Signals(Arc<AtomicUsize>);

    impl Signals {
        pub(crate) fn watch() -> io::Result<Signals> {
            let last = Arc::new(AtomicUsize::new(0));
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
                signal_hook::flag::register_usize(signal, last.clone(), signal as usize)?;
            }
            let signals = Signals(last);
            let guard = signals.clone();
            thread::Builder::new().name("browser-guard".into()).spawn(move || guard.guard())?;
            Ok(signals)
        }

        /// Ends the program where the screen cannot: when the terminal is gone,
        /// crossterm reads from it for ever and never comes back.
        fn guard(&self) {
            let mut was_told = false;
            loop {
                thread::sleep(PATIENCE);
                // A client that has the terminal is not to be disturbed.
                if !IS_TAKEN.load(Ordering::SeqCst) {
                    continue;
                }
                if was_told {
                    give_back();
                    let _ = self.obey();
                }
                if window_size().is_err() {
                    let hangup = SIGHUP as usize;
                    let _ = self.0.compare_exchange(0, hangup, Ordering::SeqCst, Ordering::SeqCst);
                }
                was_told = self.came();
            }
        }

        pub(crate) fn came(&self) -> bool {
            self.0.load(Ordering::SeqCst) != 0
        }

        /// What was typed for another program is not for us.
        pub(crate) fn forget_interrupt(&self) {
            for typed in [SIGINT, SIGQUIT] {
                let typed = typed as usize;
                let _ = self.0.compare_exchange(typed, 0, Ordering::SeqCst, Ordering::SeqCst);
            }
        }

        /// Ends as the signal would have ended a program that does not catch it.
        pub(crate) fn obey(&self) -> io::Result<()> {
            match self.0.load(Ordering::SeqCst) {
                0 => Ok(()),
                signal => signal_hook::low_level::emulate_default_handler(signal as i32),
            }
        }
    }

    /// Stops the program until the shell goes on with it.
    pub(crate) fn stop() -> io::Result<()> {
        signal_hook::low_level::raise(SIGTSTP)
    }
}

#[cfg(not(unix))]
pub(crate) mod signals {
    use std::io;

    /// Other systems end programs without asking.
    #[derive(Clone)]
    pub(crate) struct Signals;

    impl Signals {
        pub(crate) fn watch() -> io::Result<Signals> {
            Ok(Signals)
        }

        pub(crate) fn came(&self) -> bool {
            false
        }

        pub(crate) fn forget_interrupt(&self) {}

        pub(crate) fn obey(&self) -> io::Result<()> {
            Ok(())
        }
    }

    pub(crate) fn stop() -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::process::Command;

    use rustix::pty;
    use rustix::termios;

    use super::*;

    /// Set for the process that panics.
    const PANICS: &str = "RECTO_TEST_PANIC";

    #[test]
    fn pictures_of_several_characters_are_told_from_others() {
        assert!(is_cluster("👩\u{200d}💻") && is_cluster("👍🏽") && is_cluster("❤\u{fe0f}"));
        assert!(!is_cluster("👍") && !is_cluster("e\u{301}") && !is_cluster(" "));
    }

    /// A worker panics, then the thread that has the screen.
    fn panic_on_the_screen() {
        let screen = Screen::take().unwrap();
        let worker = thread::spawn(|| panic!("a worker has a bug"));
        assert!(worker.join().is_err());
        let told = worker_panic();
        assert!(told.is_some_and(|told| told.contains("a worker has a bug")));
        let size = screen.size().unwrap();
        panic!("the screen of {} columns has a bug", size.0);
    }

    /// The same where only the last lines are taken.
    fn panic_below_the_scrollback() {
        let mut lines = Inline::take().unwrap();
        lines.write("\u{1b}[?25lan answer that grows").unwrap();
        let worker = thread::spawn(|| panic!("a worker has a bug"));
        assert!(worker.join().is_err());
        assert!(worker_panic().is_some_and(|told| told.contains("a worker has a bug")));
        panic!("the lines of {} columns have a bug", lines.size().0);
    }

    #[test]
    fn a_panic_leaves_the_terminal_as_it_was() {
        match std::env::var(PANICS).as_deref() {
            Ok("screen") => return panic_on_the_screen(),
            Ok(_) => return panic_below_the_scrollback(),
            Err(_) => {}
        }
        let shown = shown_in_a_panic("screen");
        let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?}: {shown:?}"));
        assert!(place("\u{1b}[?1049h") < place("\u{1b}[?1000h"), "{shown:?}");
        let said = place("the screen of 77 columns has a bug");
        for given_back in ["\u{1b}[?1049l", "\u{1b}[?25h", "\u{1b}[?1000l", "\u{1b}[?2004l"] {
            assert!(place(given_back) < said, "{given_back:?}: {shown:?}");
        }
        assert!(!shown.contains("a worker has a bug"), "{shown:?}");
        let shown = shown_in_a_panic("lines");
        let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?}: {shown:?}"));
        let said = place("the lines of 77 columns have a bug");
        for given_back in ["\u{1b}[?25h", "\u{1b}[?2004l"] {
            assert!(place(given_back) < said, "{given_back:?}: {shown:?}");
        }
        assert!(!shown.contains("\u{1b}[?1049"), "{shown:?}");
    }

    /// What a terminal shows of a program that panics on it. Its modes are as they were.
    fn shown_in_a_panic(kind: &str) -> String {
        let ours = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).unwrap();
        pty::grantpt(&ours).unwrap();
        pty::unlockpt(&ours).unwrap();
        let name = pty::ptsname(&ours, Vec::new()).unwrap();
        let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let size = termios::Winsize { ws_row: 24, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 };
        termios::tcsetwinsize(&theirs, size).unwrap();
        let before = format!("{:?}", termios::tcgetattr(&theirs).unwrap());
        let (_, module) = module_path!().split_once("::").unwrap();
        let test = format!("{module}::a_panic_leaves_the_terminal_as_it_was");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test, "--nocapture"])
            .env(PANICS, kind)
            .env("RUST_BACKTRACE", "0")
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .stderr(theirs.try_clone().unwrap())
            .spawn()
            .unwrap();
        let reader = thread::spawn(move || {
            let (mut ours, mut text, mut piece) = (File::from(ours), Vec::new(), [0; 4096]);
            while let Ok(read @ 1..) = ours.read(&mut piece) {
                text.extend_from_slice(&piece[..read]);
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        assert!(!child.wait().unwrap().success());
        let after = format!("{:?}", termios::tcgetattr(&theirs).unwrap());
        drop(theirs);
        let shown = reader.join().unwrap();
        assert_eq!(before, after, "{shown:?}");
        shown
    }
}
