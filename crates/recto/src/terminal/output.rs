//! Standard output and error: colour, width, pager, JSON lines.

use std::io;
use std::io::BufWriter;
use std::io::IsTerminal;
use std::io::Write;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use anstyle::AnsiColor;
use anstyle::Style;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use serde::Serialize;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::global::ColorChoice;
use crate::global::Global;
use crate::terminal::palette;
use crate::terminal::shape::Shape;
use crate::terminal::text::Span;
use crate::terminal::text::escape_hidden;
use crate::terminal::text::is_harmless;
use crate::terminal::text::json_for_terminal;
use crate::terminal::text::one_line;

/// What a piece of text is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Faint,
    User,
    Model,
    Tool,
    Good,
    Bad,
    Warning,
    /// Words of a programming language.
    Keyword,
    /// Texts in code.
    Literal,
    /// Numbers and other constants in code.
    Constant,
    /// Names that code gives or calls.
    Name,
    /// What was looked for, in a text.
    Match,
}

impl Look {
    /// How it looks: as the user's settings say, else as follows.
    pub(crate) fn style(self) -> Style {
        palette::chosen(self).unwrap_or_else(|| self.own_style())
    }

    fn own_style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Look::Plain => Style::new(),
            Look::Strong => Style::new().bold(),
            Look::Faint => Style::new().dimmed(),
            Look::User => colour(AnsiColor::Cyan).bold(),
            Look::Model => colour(AnsiColor::Magenta).bold(),
            Look::Tool => colour(AnsiColor::Blue),
            Look::Good => colour(AnsiColor::Green),
            Look::Bad => colour(AnsiColor::Red),
            Look::Warning => colour(AnsiColor::Yellow),
            // Yellow and white are lost on a light background, and black on a dark one.
            Look::Keyword => colour(AnsiColor::Magenta),
            Look::Literal => colour(AnsiColor::Green),
            Look::Constant => colour(AnsiColor::Cyan),
            Look::Name => colour(AnsiColor::Blue),
            Look::Match => colour(AnsiColor::Red).bold(),
        }
    }
}

/// Where a command's output goes.
pub(crate) struct Output {
    out: Box<dyn Write>,
    pager: Option<Child>,
    /// Whether to write rows for programs: JSON, or what a template makes of it.
    pub(crate) json: bool,
    /// Whether errors are JSON, too: a template is for a person.
    has_json_errors: bool,
    shape: Shape,
    /// Whether a row was written.
    has_row: bool,
    /// Fields that were asked for and that no item of a transcript had so far.
    unseen: Vec<String>,
    /// What was given to --format.
    pub(crate) format: Option<String>,
    is_quiet: bool,
    /// Whether a person sees the output as it is.
    pub(crate) is_terminal: bool,
    colour: bool,
    error_colour: bool,
    may_page: bool,
    pager_command: Option<String>,
    /// What stands before each line.
    indent: String,
    /// The width of the terminal; none for a pipe, where nothing is cut.
    pub(crate) width: Option<usize>,
}

/// JSON on its way out, with every character that a terminal could act on as an escape. What
/// is given at once is whole characters, as `serde_json` gives it.
struct SafeJson<'o>(&'o mut dyn Write);

impl Write for SafeJson<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const PIECE: usize = 1 << 16;
        let Ok(mut text) = std::str::from_utf8(bytes) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        while !text.is_empty() {
            let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE));
            match is_harmless(piece) {
                true => self.0.write_all(piece.as_bytes())?,
                false => self.0.write_all(escape_hidden(piece).as_bytes())?,
            }
            text = rest;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output {
    pub(crate) fn new(global: &Global, environment: &Environment) -> Output {
        let is_terminal = io::stdout().is_terminal();
        let wants_colour = |is_terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !environment.no_color && !environment.dumb_terminal,
        };
        Output {
            out: Box::new(BufWriter::with_capacity(64 * 1024, io::stdout())),
            pager: None,
            json: global.json.is_some() || global.format.is_some(),
            has_json_errors: global.json.is_some(),
            shape: Shape::read(global.json.as_deref(), global.format.as_deref()),
            has_row: false,
            unseen: Vec::new(),
            format: global.format.clone(),
            is_quiet: global.quiet,
            is_terminal,
            colour: wants_colour(is_terminal),
            error_colour: wants_colour(io::stderr().is_terminal()),
            may_page: is_terminal && !global.no_pager && !environment.dumb_terminal,
            pager_command: environment.pager.clone(),
            indent: String::new(),
            width: environment.columns.or_else(|| is_terminal.then(terminal_width)),
        }
    }

    /// Sends what follows through the pager, if a person is reading.
    pub(crate) fn page(&mut self) {
        if !self.may_page || self.pager.is_some() {
            return;
        }
        let command = self.pager_command.clone().unwrap_or_else(|| "less -FRX".into());
        let mut words = command.split_whitespace();
        let Some(program) = words.next() else { return };
        let started = Command::new(program)
            .args(words)
            .env("LESSCHARSET", "utf-8")
            .stdin(Stdio::piped())
            .spawn();
        // Without a pager the text goes to the terminal as it is.
        let Ok(mut child) = started else { return };
        if let Some(input) = child.stdin.take() {
            self.out = Box::new(BufWriter::new(input));
            self.pager = Some(child);
        }
    }

    /// Does something without starting a pager.
    pub(crate) fn without_pager<T>(&mut self, work: impl FnOnce(&mut Output) -> T) -> T {
        let may_page = std::mem::replace(&mut self.may_page, false);
        let result = work(self);
        self.may_page = may_page;
        result
    }

    /// Text in a colour, where there are colours.
    pub(crate) fn paint(&self, look: Look, text: &str) -> String {
        if !self.colour || look == Look::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = look.style();
        format!("{}{text}{}", style.render(), style.render_reset())
    }

    /// What separates the cells of a listing: a tab for programs.
    pub(crate) fn gap(&self) -> &'static str {
        if self.width.is_some() { "  " } else { "\t" }
    }

    /// Whether there are colours.
    pub(crate) fn has_colour(&self) -> bool {
        self.colour
    }

    /// One line. Its text must have been made safe.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), CommandError> {
        if !line.is_empty() {
            self.out.write_all(self.indent.as_bytes())?;
        }
        self.out.write_all(line.as_bytes())?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// One line of spans, without the space at its end. Their texts must have been made safe.
    pub(crate) fn spans(&mut self, line: &[Span]) -> Result<(), CommandError> {
        // Spans are written as they are: a line may be as long as a log has one.
        let painted = |(text, _): &Span| !text.trim_end().is_empty();
        let Some(last) = line.iter().rposition(painted) else { return self.line("") };
        self.out.write_all(self.indent.as_bytes())?;
        for (at, (text, look)) in line.iter().take(last + 1).enumerate() {
            let text = if at == last { text.trim_end() } else { text };
            if self.colour && *look != Look::Plain && !text.is_empty() {
                let style = look.style();
                write!(self.out, "{}{text}{}", style.render(), style.render_reset())?;
            } else {
                self.out.write_all(text.as_bytes())?;
            }
        }
        Ok(self.out.write_all(b"\n")?)
    }

    /// Does something with all lines set in.
    pub(crate) fn set_in<T>(&mut self, indent: &str, work: impl FnOnce(&mut Output) -> T) -> T {
        let before = self.indent.len();
        let width = self.width;
        self.indent.push_str(indent);
        self.width = width.map(|width| width.saturating_sub(indent.len()));
        let result = work(self);
        self.indent.truncate(before);
        self.width = width;
        result
    }

    /// Lets a person see what was written so far.
    pub(crate) fn flush(&mut self) -> Result<(), CommandError> {
        Ok(self.out.flush()?)
    }

    /// Whether nobody reads any more what is written, as far as the system tells.
    pub(crate) fn is_closed(&self) -> bool {
        #[cfg(unix)]
        {
            use rustix::event::PollFd;
            use rustix::event::PollFlags;
            let stdout = io::stdout();
            let mut descriptors = [PollFd::new(&stdout, PollFlags::empty())];
            let now = rustix::event::Timespec::default();
            let polled = rustix::event::poll(&mut descriptors, Some(&now));
            let gone = PollFlags::ERR | PollFlags::HUP;
            polled.is_ok() && descriptors[0].revents().intersects(gone)
        }
        #[cfg(not(unix))]
        false
    }

    /// One JSON value on a line.
    pub(crate) fn json_line(&mut self, object: ObjectWriter) -> Result<(), CommandError> {
        self.json(object.finish())
    }

    /// One row of an answer as JSON, on a line.
    pub(crate) fn row(&mut self, row: &impl Serialize) -> Result<(), CommandError> {
        self.out.write_all(self.indent.as_bytes())?;
        if self.shape != Shape::Whole {
            return self.shaped(serde_json::to_value(row).map_err(io::Error::from)?);
        }
        // A row may hold a text of many megabytes, which is not written into memory first.
        serde_json::to_writer(SafeJson(&mut *self.out), row).map_err(io::Error::from)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes the fields of a row that were asked for, as they were asked for.
    fn shaped(&mut self, row: serde_json::Value) -> Result<(), CommandError> {
        let is_first = !std::mem::replace(&mut self.has_row, true);
        self.shape.note_unseen(&row, is_first, &mut self.unseen);
        let line = self.shape.apply(row, is_first)?;
        // Fields in a template are safe by now, and its tabs are the user's own.
        let line = match self.shape {
            Shape::Template(_) => line,
            Shape::Whole | Shape::Fields(_) => escape_hidden(&line),
        };
        self.out.write_all(line.as_bytes())?;
        Ok(self.out.write_all(b"\n")?)
    }

    fn json(&mut self, json: Vec<u8>) -> Result<(), CommandError> {
        if self.shape != Shape::Whole {
            let text = json_for_terminal(&json);
            return self.shaped(serde_json::from_str(&text).map_err(io::Error::from)?);
        }
        match String::from_utf8(json) {
            // Most is plain, and is not copied.
            Ok(json) if is_harmless(&json) => self.line(&json),
            Ok(json) => self.line(&json_for_terminal(json.as_bytes())),
            Err(error) => self.line(&json_for_terminal(error.as_bytes())),
        }
    }

    /// All rows as JSON, one to a line.
    pub(crate) fn rows<T: Serialize>(&mut self, rows: &[T]) -> Result<(), CommandError> {
        rows.iter().try_for_each(|row| self.row(row))
    }

    /// Rows in tables of so many that a person does not see where one ends, and that memory
    /// does not grow with the log.
    pub(crate) fn blocks<T>(
        &mut self,
        mut rows: impl Iterator<Item = T>,
        mut write: impl FnMut(&[T], &mut Output) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        const BLOCK: usize = 10_000;
        loop {
            let block: Vec<T> = rows.by_ref().take(BLOCK).collect();
            if block.is_empty() {
                return Ok(());
            }
            write(&block, self)?;
        }
    }

    /// Bytes as they are; on a terminal they are made safe by the caller.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        Ok(self.out.write_all(bytes)?)
    }

    /// Flushes, and waits for the pager.
    pub(crate) fn finish(&mut self) -> Result<(), CommandError> {
        self.out.flush()?;
        for name in std::mem::take(&mut self.unseen) {
            self.remark(&format!("no item has the field `{name}`"));
        }
        if let Some(mut pager) = self.pager.take() {
            self.out = Box::new(io::sink());
            pager.wait()?;
        }
        Ok(())
    }

    /// Rings the bell of the terminal, if a person is at one.
    pub(crate) fn bell() {
        let mut err = io::stderr().lock();
        if err.is_terminal() {
            let _ = err.write_all(b"\x07").and_then(|()| err.flush());
        }
    }

    /// A remark for people, which is not part of the output.
    pub(crate) fn remark(&self, text: &str) {
        if !self.is_quiet {
            remark(text);
        }
    }

    /// Says what went wrong, and what to do.
    pub(crate) fn report(&mut self, error: &CommandError) {
        // The pager must be gone before the error is written below it.
        let _ = self.finish();
        let mut err = io::stderr().lock();
        if self.has_json_errors {
            let mut hints = ArrayWriter::new();
            for hint in error.candidates().iter().cloned().chain(error.hints()) {
                hints = hints.string(&hint);
            }
            let object = ObjectWriter::new()
                .string("error", &error.to_string())
                .string("kind", error.kind())
                .json("hints", &hints.finish());
            let _ = writeln!(err, "{}", json_for_terminal(&object.finish()));
            return;
        }
        let label = |look: Look, text: &str| {
            let style = look.style();
            if self.error_colour {
                format!("{}{text}{}", style.render(), style.render_reset())
            } else {
                text.to_owned()
            }
        };
        let _ = writeln!(err, "{} {}", label(Look::Bad, "error:"), one_line(&error.to_string()));
        for candidate in error.candidates() {
            let _ = writeln!(err, "  {}", one_line(candidate));
        }
        for hint in error.hints() {
            let _ = writeln!(err, "{} {}", label(Look::Good, "hint:"), one_line(&hint));
        }
    }
}

/// Writes to standard error before it is known how output looks. The text is safe, and ends its
/// lines itself.
pub(crate) fn complain(text: &str) {
    let _ = write!(io::stderr(), "{text}");
}

/// The version that programs which start the client ask for, and who answers.
pub(crate) fn tell_version(compatible: &str) {
    let _ = writeln!(io::stdout(), "{compatible} (recto {})", env!("CARGO_PKG_VERSION"));
}

/// A remark for people, from any thread.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{}", one_line(text));
}

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0).max(20))
}

/// Progress of long work, on standard error, for people only.
pub(crate) struct Progress {
    is_shown: bool,
    what: &'static str,
    start: std::time::Instant,
    last: std::sync::Mutex<std::time::Instant>,
}

impl Progress {
    pub(crate) fn new(what: &'static str, output: &Output) -> Progress {
        // The first sign of life comes after a second: short work stays quiet.
        Progress {
            is_shown: io::stderr().is_terminal() && !output.json,
            what,
            start: std::time::Instant::now(),
            last: std::sync::Mutex::new(std::time::Instant::now()),
        }
    }

    /// Says how far the work is; from any thread, as often as one likes.
    pub(crate) fn tell(&self, done: u64, all: u64) {
        if !self.is_shown {
            return;
        }
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.elapsed().as_millis() < 500 {
            return;
        }
        *last = std::time::Instant::now();
        let percent = (done * 100).checked_div(all).unwrap_or(100).min(100);
        let _ = write!(io::stderr(), "\r\u{1b}[K{} {percent} %", self.what);
    }

    /// The same for bytes, with how fast it goes and how long it will take.
    pub(crate) fn tell_bytes(&self, done: u64, all: u64) {
        if !self.is_shown {
            return;
        }
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.elapsed().as_millis() < 500 || done == 0 {
            return;
        }
        *last = std::time::Instant::now();
        let taken = self.start.elapsed().as_secs_f64().max(0.001);
        let rate = done as f64 / taken;
        let left = (all.saturating_sub(done) as f64 / rate * 1000.0) as u64;
        let percent = (done * 100).checked_div(all).unwrap_or(100).min(100);
        let filled = (percent / 5) as usize;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(20 - filled));
        // At the end, what was read is put in order.
        let rest = if done < all {
            format!(
                "{}/s, {} left",
                crate::terminal::text::bytes(rate as u64),
                crate::terminal::text::duration(left)
            )
        } else {
            "finishing".to_owned()
        };
        let all = crate::terminal::text::bytes(all);
        let _ = write!(io::stderr(), "\r\u{1b}[K{} {bar} {percent} % of {all}, {rest}", self.what);
    }

    /// Removes the line.
    pub(crate) fn done(self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
