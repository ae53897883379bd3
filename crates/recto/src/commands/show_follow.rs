//! `recto show --follow`: a session while it is written.

use std::path::PathBuf;
use std::time::Duration;

use recto_log::Lines;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::ObjectWriter;
use recto_session::Feed;
use recto_store::Digest;
use recto_store::Home;
use recto_store::follow::Change;
use recto_store::follow::FollowOptions;
use recto_store::follow::FollowScope;
use recto_store::follow::FollowStart;
use recto_store::follow::Follower;
use recto_store::follow::LogChange;
use recto_store::follow::LogFollower;

use crate::commands::export;
use crate::commands::show::Asked;
use crate::commands::show::wanted;
use crate::commands::show::write_head;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::output::Look;
use crate::output::Output;
use crate::overflow::OverflowFiles;
use crate::target::Target;
use crate::transcript::Transcript;

/// How often it is seen whether anybody still reads the output.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows a log, and then what is written to it, until the user stops.
pub(super) fn follow(
    found: &Target,
    asked: Asked<'_>,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut source = Source::of(asked.home, found)?;
    if !output.json {
        let digest = Digest::read(&found.path, found.is_agent)?;
        write_head(found, &digest, asked.environment, output)?;
    }
    let mut view = View::new(found, asked, output);
    while !output.is_closed() {
        for news in source.next(PAUSE) {
            match news {
                News::Log(change) => view.take(change, output)?,
                News::Moved(to) => view.move_to(asked.home, to),
            }
        }
        output.flush()?;
    }
    Ok(Outcome::Done)
}

/// What is told about the log.
enum News {
    Log(LogChange),
    /// It is somewhere else now.
    Moved(PathBuf),
}

/// Who tells it.
enum Source {
    /// A session of the home, which may move to another project.
    Session { follower: Box<Follower>, path: PathBuf },
    /// Any other file.
    File(Box<LogFollower>),
}

impl Source {
    fn of(home: &Home, found: &Target) -> Result<Source, CommandError> {
        let Some(session) = &found.session else {
            return Ok(Source::File(Box::new(LogFollower::new(&found.path)?)));
        };
        let options = FollowOptions {
            scope: FollowScope::Session(session.id),
            start: FollowStart::Beginning,
            ..FollowOptions::default()
        };
        let follower = Box::new(Follower::new(home, options)?);
        Ok(Source::Session { follower, path: found.path.clone() })
    }

    fn next(&mut self, timeout: Duration) -> Vec<News> {
        match self {
            Source::File(follower) => follower.next(timeout).into_iter().map(News::Log).collect(),
            Source::Session { follower, path } => {
                let changes = follower.next(timeout).into_iter();
                changes.filter_map(|change| news_of(change, path)).collect()
            }
        }
    }
}

/// What a change says about the log at a path, which changes when the log moves.
fn news_of(change: Change, path: &mut PathBuf) -> Option<News> {
    match change {
        Change::Lines { file, offset, bytes, .. } if file.path == *path => {
            Some(News::Log(LogChange::Lines(offset, bytes)))
        }
        Change::LongLine { file, offset, start, length, .. } if file.path == *path => {
            Some(News::Log(LogChange::LongLine { offset, start, length }))
        }
        Change::Restarted { file, .. } if file.path == *path => {
            Some(News::Log(LogChange::Restarted))
        }
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
        | Change::Restarted { .. }
        | Change::Removed(_)
        | Change::Moved { .. }
        | Change::Announcements => None,
    }
}

/// What is shown, as text or as JSON.
struct View<'a> {
    asked: Asked<'a>,
    found: &'a Target,
    files: OverflowFiles<'a>,
    transcript: Transcript<'a>,
    /// What is said as JSON is made of this, and not of the transcript.
    feed: Feed,
    /// The number of the next line.
    number: u64,
}

impl<'a> View<'a> {
    fn new(found: &'a Target, asked: Asked<'a>, output: &Output) -> View<'a> {
        View {
            asked,
            found,
            files: OverflowFiles::new(asked.home, &found.path),
            transcript: asked.transcript(found, output),
            feed: Feed::default(),
            number: 1,
        }
    }

    fn take(&mut self, change: LogChange, output: &mut Output) -> Result<(), CommandError> {
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
                self.tell("restart", "the log was rewritten; it is read again", output)
            }
            LogChange::Removed => {
                self.begin_anew(output);
                self.tell("removed", "the log is gone; it is read if it comes again", output)
            }
        }
    }

    fn move_to(&mut self, home: &'a Home, path: PathBuf) {
        self.files = OverflowFiles::of_moved(home, path);
        self.transcript.set_files(self.files.clone());
    }

    fn line(&mut self, line: RawLine<'_>, output: &mut Output) -> Result<(), CommandError> {
        self.number = line.number + 1;
        let (entry, _) = decode(line);
        if !output.json {
            return self.transcript.entry(&entry, output);
        }
        for shown in self.feed.next(&entry) {
            export::write_item(shown, &self.files, wanted(self.asked.args), output)?;
        }
        Ok(())
    }

    fn begin_anew(&mut self, output: &Output) {
        self.transcript = self.asked.transcript(self.found, output);
        self.transcript.set_files(self.files.clone());
        (self.feed, self.number) = (Feed::default(), 1);
    }

    /// Says something that is not in the log.
    fn tell(&self, kind: &str, text: &str, output: &mut Output) -> Result<(), CommandError> {
        if !output.json {
            output.line("")?;
            return output.line(&output.paint(Look::Warning, &format!("({text})")));
        }
        let note = ObjectWriter::new()
            .string("item", "note")
            .number("turn", 0)
            .number("line", 0)
            .string_or_null("uuid", None)
            .string_or_null("time", None)
            .string("kind", kind)
            .string("text", text);
        output.json_line(note)
    }
}
