//! A terminal that a program draws on: tmux holds it, so that what is seen is what a person
//! would see.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::Result;
use anyhow::bail;

/// How long a screen may take to show what is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many screens were started.
static STARTED: AtomicUsize = AtomicUsize::new(0);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(60);

/// How a character looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    /// The number of the colour, of 256; none for that of the terminal.
    pub(crate) colour: Option<u8>,
    pub(crate) is_bold: bool,
    pub(crate) is_dim: bool,
    pub(crate) is_reversed: bool,
    pub(crate) is_underlined: bool,
}

/// The lines of a screen: characters with their looks.
pub(crate) type Picture = Vec<Vec<(char, Style)>>;

/// A terminal with a program in it.
pub(crate) struct Screen {
    tmux: PathBuf,
    socket: String,
}

impl Screen {
    /// Starts a program in an empty terminal.
    pub(crate) fn start(
        tmux: &Path,
        (width, height): (u16, u16),
        directory: &Path,
        program: &[&str],
    ) -> Result<Screen> {
        // The server of the screen before may still be ending.
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let socket = format!("recto-pictures-{}-{number}", std::process::id());
        let screen = Screen { tmux: tmux.to_owned(), socket };
        let (width, height) = (width.to_string(), height.to_string());
        let directory = directory.to_str().context("a directory whose name is text")?;
        let mut words = vec!["new-session", "-d", "-x", &width, "-y", &height, "-c", directory];
        words.extend(program);
        // The line at the bottom would take one of the program's.
        words.extend([";", "set", "-g", "status", "off"]);
        words.extend([";", "set", "-g", "default-terminal", "tmux-256color"]);
        words.extend([";", "resize-window", "-x", &width, "-y", &height]);
        screen.tmux(&words)?;
        Ok(screen)
    }

    fn tmux(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.tmux);
        command.args(["-u", "-f", "/dev/null", "-L", &self.socket]).args(words);
        let output = command.env_remove("TMUX").output().context("tmux could not be started")?;
        if !output.status.success() {
            bail!("tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Presses keys, by the names of tmux.
    pub(crate) fn press(&self, keys: &[&str]) -> Result<()> {
        let mut words = vec!["send-keys"];
        words.extend(keys);
        self.tmux(&words).map(drop)
    }

    /// Types text.
    pub(crate) fn type_text(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", text]).map(drop)
    }

    /// What is on the screen once it shows a text and stays as it is.
    pub(crate) fn wait_for(&self, text: &str) -> Result<Picture> {
        let begun = Instant::now();
        let mut before = String::new();
        loop {
            let plain = self.tmux(&["capture-pane", "-p"])?;
            if plain.contains(text) && plain == before {
                return Ok(read(&self.tmux(&["capture-pane", "-p", "-e"])?));
            }
            if begun.elapsed() > PATIENCE {
                bail!("{text:?} does not appear:\n{plain}");
            }
            before = plain;
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// Reads what tmux gives: lines with sequences that set colours.
fn read(text: &str) -> Picture {
    let mut style = Style::default();
    let line = |line: &str| {
        let mut cells = Vec::new();
        let mut rest = line.chars();
        while let Some(c) = rest.next() {
            if c != '\u{1b}' {
                cells.push((c, style));
                continue;
            }
            let sequence: String = rest.by_ref().take_while(|c| !c.is_ascii_alphabetic()).collect();
            let numbers = sequence.trim_start_matches('[').split([';', ':']);
            style =
                changed(style, &numbers.map(|one| one.parse().unwrap_or(0)).collect::<Vec<_>>());
        }
        cells
    };
    text.lines().map(line).collect()
}

/// A style after a sequence that sets colours.
fn changed(mut style: Style, numbers: &[u8]) -> Style {
    let mut numbers = numbers.iter().copied();
    while let Some(number) = numbers.next() {
        match number {
            0 => style = Style::default(),
            1 => style.is_bold = true,
            2 => style.is_dim = true,
            4 => style.is_underlined = true,
            7 => style.is_reversed = true,
            22 => (style.is_bold, style.is_dim) = (false, false),
            24 => style.is_underlined = false,
            27 => style.is_reversed = false,
            30..=37 => style.colour = Some(number - 30),
            38 => style.colour = numbers.next().and_then(|_| numbers.next()),
            39 => style.colour = None,
            90..=97 => style.colour = Some(number - 90 + 8),
            _ => {}
        }
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_and_go_on_to_the_next_line() {
        let picture = read("a\u{1b}[1;36mb\n\u{1b}[0m\u{1b}[38;5;208mc\u{1b}[39;7md");
        let bold = Style { colour: Some(6), is_bold: true, ..Style::default() };
        let orange = Style { colour: Some(208), ..Style::default() };
        let reversed = Style { is_reversed: true, ..Style::default() };
        assert_eq!(picture[0], [('a', Style::default()), ('b', bold)]);
        assert_eq!(picture[1], [('c', orange), ('d', reversed)]);
    }
}
