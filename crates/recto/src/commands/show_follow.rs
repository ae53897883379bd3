//! `recto show --follow`: a session while it is written.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::Lines;
use recto_log::RawLine;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::Feed;
use recto_store::Digest;
use recto_store::Home;
use recto_store::LogFile;
use recto_store::StoreError;
use recto_store::follow::Change;
use recto_store::follow::FollowOptions;
use recto_store::follow::FollowScope;
use recto_store::follow::FollowStart;
use recto_store::follow::Follower;
use recto_store::follow::LogChange;
use recto_store::follow::LogFollower;
use recto_store::open_file;
use recto_view::ItemRow;

use crate::commands::export;
use crate::commands::show::Asked;
use crate::commands::show::wanted;
use crate::commands::show::write_head;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::overflow::OverflowFiles;
use crate::terminal::transcript::Transcript;

/// How often it is seen whether anybody still reads the output.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows a log, and then what is written to it, until the user stops.
pub(super) fn follow(
    found: &LogFile,
    asked: Asked<'_>,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut source = Source::of(asked.home, found)?;
    if !output.json {
        let digest = Digest::read(&found.path, found.is_agent())?;
        write_head(found, &digest, asked.environment, output)?;
    }
    let mut view = View::new(found, asked, output);
    while !output.is_closed() {
        for news in source.next(PAUSE)? {
            match news {
                News::Log(change) => view.take(change, output)?,
                News::Moved(to) => view.move_to(asked.home, to),
                News::Replaced(to) => view.go_on_in(asked.home, to, output)?,
            }
        }
        output.flush()?;
    }
    Ok(Outcome::Done)
}

/// What is told about the log.
enum News {
    Log(LogChange),
    /// It is somewhere else now, and goes on there.
    Moved(PathBuf),
    /// Another file has taken its place, and is read from its beginning.
    Replaced(PathBuf),
}

/// Who tells it.
enum Source {
    /// A session of the home, which may move to another project.
    Session(Box<FollowedSession>),
    /// Any other file.
    File(Box<LogFollower>),
}

struct FollowedSession {
    home: Home,
    id: SessionId,
    follower: Follower,
    path: PathBuf,
    /// Other logs of the session, the newest last. A move may leave the session in
    /// another file, and remove the one that was followed.
    others: Vec<PathBuf>,
}

impl Source {
    fn of(home: &Home, found: &LogFile) -> Result<Source, CommandError> {
        let Some(session) = found.main() else {
            return Ok(Source::File(Box::new(LogFollower::new(&found.path)?)));
        };
        Ok(Source::Session(Box::new(FollowedSession {
            home: home.clone(),
            id: session.id,
            follower: follower_of(home, session.id)?,
            path: found.path.clone(),
            others: Vec::new(),
        })))
    }

    fn next(&mut self, timeout: Duration) -> Result<Vec<News>, CommandError> {
        match self {
            Source::File(follower) => {
                Ok(follower.next(timeout).into_iter().map(News::Log).collect())
            }
            Source::Session(session) => session.next(timeout),
        }
    }
}

fn follower_of(home: &Home, session: SessionId) -> Result<Follower, StoreError> {
    let options = FollowOptions {
        scope: FollowScope::Session(session),
        start: FollowStart::Beginning,
        ..FollowOptions::default()
    };
    Follower::new(home, options)
}

impl FollowedSession {
    fn next(&mut self, timeout: Duration) -> Result<Vec<News>, CommandError> {
        let mut news = Vec::new();
        for change in self.follower.next(timeout) {
            let is_left = match &change {
                Change::Appeared(file) if file.agent.is_none() && file.path != self.path => {
                    self.others.push(file.path.clone());
                    open_file(&self.path).is_err()
                }
                Change::Removed(file) => file.path == self.path,
                _ => false,
            };
            self.others.retain(|other| !is_left || open_file(other).is_ok());
            if is_left && let Some(other) = self.others.pop() {
                // What else was told about it is told again, from its first line on.
                self.follower = follower_of(&self.home, self.id)?;
                (self.path, self.others) = (other.clone(), Vec::new());
                news.push(News::Replaced(other));
                break;
            }
            news.extend(news_of(change, &mut self.path));
        }
        Ok(news)
    }
}

/// What a change says about the log at a path, which changes when the log moves.
fn news_of(change: Change, path: &mut PathBuf) -> Option<News> {
    match change {
        Change::Lines { batch, bytes } if batch.file.path == *path => {
            Some(News::Log(LogChange::Lines(batch.range.start, bytes)))
        }
        Change::LongLine { batch, start } if batch.file.path == *path => {
            let (offset, end) = (batch.range.start, batch.range.end);
            Some(News::Log(LogChange::LongLine { offset, start, length: end - offset - 1 }))
        }
        Change::Restarted(file) if file.path == *path => Some(News::Log(LogChange::Restarted)),
        Change::Removed(file) if file.path == *path => Some(News::Log(LogChange::Removed)),
        Change::Moved { from, to } if from.path == *path => {
            path.clone_from(&to.path);
            Some(News::Moved(to.path.clone()))
        }
        // The first time it appears, it is what is shown from the beginning; after it was
        // gone, that was told. Subagents have logs of their own.
        Change::Appeared(_)
        | Change::Lines { .. }
        | Change::LongLine { .. }
        | Change::Restarted(_)
        | Change::Removed(_)
        | Change::Moved { .. }
        | Change::File(_)
        | Change::FileRemoved(_)
        | Change::Announcements => None,
    }
}

/// The number of the last line with a uuid.
fn line_of(path: &Path, uuid: &EntryUuid) -> Result<Option<u64>, CommandError> {
    let mut lines = LineReader::new(open_file(path)?);
    let mut found = None;
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        if decode(line).0.uuid().as_ref() == Some(uuid) {
            found = Some(number);
        }
    }
    Ok(found)
}

/// What is shown, as text or as JSON.
struct View<'a> {
    asked: Asked<'a>,
    found: &'a LogFile,
    files: OverflowFiles<'a>,
    transcript: Transcript<'a>,
    /// What is said as JSON is made of this, and not of the transcript.
    feed: Feed,
    /// The number of the next line.
    number: u64,
    /// The last line that has a uuid, and its number.
    last: Option<(EntryUuid, u64)>,
    /// Lines up to this number were shown before, from another file.
    shown: u64,
    /// Whether the log was gone when it was last heard of.
    is_gone: bool,
}

impl<'a> View<'a> {
    fn new(found: &'a LogFile, asked: Asked<'a>, output: &Output) -> View<'a> {
        View {
            asked,
            found,
            files: OverflowFiles::new(asked.home, &found.path),
            transcript: asked.transcript(found, output),
            feed: Feed::default(),
            number: 1,
            last: None,
            shown: 0,
            is_gone: false,
        }
    }

    fn take(&mut self, change: LogChange, output: &mut Output) -> Result<(), CommandError> {
        if self.is_gone && !matches!(change, LogChange::Removed) {
            self.begin_anew(output);
        }
        match change {
            LogChange::Lines(offset, bytes) => {
                for line in Lines::new(&bytes).starting_at(offset, self.number) {
                    self.line(line, output)?;
                }
                Ok(())
            }
            LogChange::LongLine { offset, start, length } => {
                let number = self.number;
                let line = RawLine { offset, number, bytes: &start, length, terminated: true };
                self.line(line, output)
            }
            LogChange::Restarted => {
                self.begin_anew(output);
                self.tell("restart", "the log was rewritten; reading it again", output)
            }
            LogChange::Removed => {
                // It may come again in another place, and go on there.
                self.is_gone = true;
                self.tell("removed", "the log no longer exists; recto waits for it", output)
            }
        }
    }

    fn move_to(&mut self, home: &'a Home, path: PathBuf) {
        self.files = OverflowFiles::of_moved(home, path);
        self.transcript.set_files(self.files.clone());
    }

    /// Goes on in another file after the last line that was shown. A move changes what is in
    /// lines, and keeps their uuids; if that line is not there, it is another log.
    fn go_on_in(
        &mut self,
        home: &'a Home,
        path: PathBuf,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        let place = match &self.last {
            Some((uuid, number)) => line_of(&path, uuid)?.map(|found| (found, *number)),
            None => None,
        };
        self.move_to(home, path);
        let before = self.number - 1;
        let Some((found, number)) = place else {
            self.begin_anew(output);
            let text = "another log replaced it; reading it from the start";
            return if before == 0 { Ok(()) } else { self.tell("restart", text, output) };
        };
        // Lines without a uuid may have followed.
        self.shown = if found == number { before } else { found };
        (self.number, self.is_gone) = (1, false);
        Ok(())
    }

    fn line(&mut self, line: RawLine<'_>, output: &mut Output) -> Result<(), CommandError> {
        let number = line.number;
        self.number = number + 1;
        if number <= self.shown {
            return Ok(());
        }
        let (entry, _) = decode(line);
        if let Some(uuid) = entry.uuid() {
            self.last = Some((uuid, number));
        }
        if !output.json {
            return self.transcript.entry(&entry, &mut |line| output.spans(&line));
        }
        for shown in self.feed.next(&entry) {
            export::write_item(shown, &self.files, wanted(self.asked.args), output)?;
        }
        Ok(())
    }

    fn begin_anew(&mut self, output: &Output) {
        self.transcript = self.asked.transcript(self.found, output);
        self.transcript.set_files(self.files.clone());
        (self.feed, self.number, self.last) = (Feed::default(), 1, None);
        (self.shown, self.is_gone) = (0, false);
    }

    /// Says something that is not in the log.
    fn tell(
        &self,
        kind: &'static str,
        text: &str,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        if !output.json {
            output.line("")?;
            return output.line(&output.paint(Look::Warning, &format!("({text})")));
        }
        output.row(&ItemRow::remark(kind, text))
    }
}
