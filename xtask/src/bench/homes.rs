//! The homes that are measured. Each is made once and kept.

use std::env;
use std::fs;
use std::fs::File;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::BufWriter;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use anyhow::bail;

use super::Plan;
use crate::repository::say;

/// Client homes, ready to be read.
pub(super) struct Homes {
    pub(super) old: PathBuf,
    pub(super) new: PathBuf,
    /// Many sessions of a few lines.
    pub(super) small: PathBuf,
    /// One session that is very long.
    pub(super) long: PathBuf,
    pub(super) long_file: PathBuf,
    /// The largest session of `old`.
    pub(super) largest: PathBuf,
    /// Files that sessions of `old` and `new` worked on.
    pub(super) touched_by_old: Option<Touched>,
    pub(super) touched_by_new: Option<Touched>,
}

/// A file that sessions worked on.
pub(super) struct Touched {
    /// Where the logs say it is.
    pub(super) path: PathBuf,
    /// A file with its name that is really there. Who wrote it is looked for in
    /// every log that holds the name.
    pub(super) copy: PathBuf,
}

impl Homes {
    pub(super) fn prepare(folder: &Path, plan: &Plan) -> anyhow::Result<Homes> {
        let Plan { megabytes, small_sessions, .. } = plan;
        let old =
            kept(folder, &format!("old-{megabytes}"), |home| generate(home, "old", *megabytes))?;
        let new =
            kept(folder, &format!("new-{megabytes}"), |home| generate(home, "new", *megabytes))?;
        let small = kept(folder, &format!("small-{small_sessions}"), |home| {
            write_small_sessions(&home.join(".claude/projects"), *small_sessions)
        })?;
        let largest = largest_log(&old.join("projects"))?.context("a home without a log")?.1;
        let name = "0b5e55ed-0000-4000-8000-000000000000.jsonl";
        let long = kept(folder, &format!("joined-{megabytes}"), |home| {
            let project = home.join(".claude/projects/-home-dev-app");
            fs::create_dir_all(&project)?;
            join(&old.join("projects"), &project.join(name), megabytes * 700_000)
        })?;
        let long_file = long.join("projects/-home-dev-app").join(name);
        let touched_by_old = touched(folder, &old)?;
        let touched_by_new = touched(folder, &new)?;
        Ok(Homes { old, new, small, long, long_file, largest, touched_by_old, touched_by_new })
    }
}

/// The first file that the largest log says was edited or read.
fn touched(folder: &Path, home: &Path) -> anyhow::Result<Option<Touched>> {
    let Some((_, log)) = largest_log(&home.join("projects"))? else { return Ok(None) };
    let Some(path) = first_path(BufReader::new(File::open(log)?))? else { return Ok(None) };
    let copy = folder.join("work").join(path.file_name().context("a path without a name")?);
    fs::create_dir_all(folder.join("work"))?;
    fs::write(&copy, "one\ntwo\nthree\n")?;
    Ok(Some(Touched { path, copy }))
}

/// The first path that a log names. Line by line: the memory that this process has
/// ever used is a floor of what is measured of its children.
fn first_path(log: impl BufRead) -> io::Result<Option<PathBuf>> {
    for line in log.split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let path = line.split_once("\"filePath\":\"").and_then(|(_, rest)| rest.split_once('"'));
        if let Some((path, _)) = path {
            return Ok(Some(PathBuf::from(path)));
        }
    }
    Ok(None)
}

/// Makes the system forget what it keeps of the logs of a home in memory.
pub(super) fn forget_logs(folder: &Path) -> io::Result<()> {
    for item in fs::read_dir(folder)? {
        let item = item?;
        if item.file_type()?.is_dir() {
            forget_logs(&item.path())?;
        } else if item.file_type()?.is_file() {
            let file = File::open(item.path())?;
            // Only what is on the disk can be forgotten.
            file.sync_data()?;
            forget(&file)?;
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn forget(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The bytes of all logs of a home.
pub(super) fn log_bytes(folder: &Path) -> u64 {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = items.map(|item| match item.file_type() {
        Ok(kind) if kind.is_dir() => log_bytes(&item.path()),
        Ok(_) if item.path().extension().is_some_and(|extension| extension == "jsonl") => {
            item.metadata().map_or(0, |metadata| metadata.len())
        }
        _ => 0,
    });
    bytes.sum()
}

/// How many logs are below a folder.
pub(super) fn count_logs(folder: &Path) -> u64 {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let logs = items.map(|item| match item.file_type() {
        Ok(kind) if kind.is_dir() => count_logs(&item.path()),
        Ok(_) => u64::from(item.path().extension().is_some_and(|extension| extension == "jsonl")),
        Err(_) => 0,
    });
    logs.sum()
}

/// The client's home in `folder/name`, made if it is not complete yet.
pub(super) fn kept(
    folder: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let place = folder.join(name);
    let complete = folder.join(format!("{name}.complete"));
    if !complete.exists() {
        say(&format!("making {name}"));
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::create_dir_all(&place)?;
        make(&place).with_context(|| format!("cannot make {name}"))?;
        fs::write(complete, "")?;
    }
    say(&format!("{name} is ready"));
    Ok(place.join(".claude"))
}

/// Generates in a process of its own: the peak memory of a measured command is
/// never less than that of the process which starts it.
pub(super) fn generate(place: &Path, shape: &str, megabytes: u64) -> anyhow::Result<()> {
    let mut task = Command::new(env::current_exe()?);
    task.args(["gen", "--seed", "1", "--shape", shape, "--mb", &megabytes.to_string()]);
    if !task.arg(place).status()?.success() {
        bail!("the generator failed");
    }
    Ok(())
}

/// The largest log of a folder, with its size.
fn largest_log(folder: &Path) -> io::Result<Option<(u64, PathBuf)>> {
    let mut largest = None;
    for item in fs::read_dir(folder)? {
        let item = item?;
        let path = item.path();
        let found = if item.file_type()?.is_dir() {
            largest_log(&path)?
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            Some((item.metadata()?.len(), path))
        } else {
            None
        };
        largest = largest.max(found);
    }
    Ok(largest)
}

/// Joins the logs of a home into one file, until it is as long as wanted. Lines
/// must not be repeated: recto keeps facts by uuid, and would keep too few.
fn join(folder: &Path, file: &Path, wanted: u64) -> anyhow::Result<()> {
    let mut out = File::create(file)?;
    let mut waiting = vec![folder.to_owned()];
    let mut written = 0;
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let mut inside: Vec<PathBuf> =
                fs::read_dir(path)?.map(|item| Ok(item?.path())).collect::<io::Result<_>>()?;
            inside.sort();
            waiting.extend(inside);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            written += io::copy(&mut File::open(path)?, &mut out)? + 1;
            // A torn end would spoil the next line.
            out.write_all(b"\n")?;
        }
        if written >= wanted {
            return Ok(());
        }
    }
    bail!("the home has only {written} bytes of logs")
}

const PROJECTS: usize = 100;

fn write_small_sessions(projects: &Path, sessions: usize) -> anyhow::Result<()> {
    for number in 0..sessions {
        let project = projects.join(format!("-home-dev-project-{}", number % PROJECTS));
        if number < PROJECTS {
            fs::create_dir_all(&project)?;
        }
        let id = format!("{number:08x}-1111-4111-8111-111111111111");
        let mut out = BufWriter::new(File::create(project.join(format!("{id}.jsonl")))?);
        write_small_session(&mut out, number, &id)?;
        out.flush()?;
    }
    Ok(())
}

/// Two turns of a prompt and an answer.
fn write_small_session(out: &mut impl io::Write, number: usize, id: &str) -> io::Result<()> {
    let uuid = |line: usize| format!("{number:08x}-2222-4222-8222-{line:012x}");
    for line in 0..4 {
        let parent = match line {
            0 => "null".to_owned(),
            _ => format!("\"{}\"", uuid(line - 1)),
        };
        let time =
            format!("2026-{:02}-{:02}T10:00:{line:02}.000Z", 1 + number % 12, 1 + number % 28);
        let (kind, message) = if line % 2 == 0 {
            ("user", format!(r#"{{"role":"user","content":"prompt {line} of session {number}"}}"#))
        } else {
            ("assistant", answer(number, line))
        };
        writeln!(
            out,
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/dev/project-{project}","sessionId":"{id}","version":"2.1.29","gitBranch":"main","type":"{kind}","message":{message},"uuid":"{uuid}","timestamp":"{time}"}}"#,
            project = number % PROJECTS,
            uuid = uuid(line),
        )?;
    }
    Ok(())
}

fn answer(number: usize, line: usize) -> String {
    format!(
        r#"{{"id":"msg_{number}_{line}","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"answer {line}"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":10,"output_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_session_is_a_chain_of_whole_lines() {
        let mut log = Vec::new();
        write_small_session(&mut log, 7, "x").unwrap();
        let mut parent = None;
        for line in recto_log::Lines::new(&log) {
            let (entry, problems) = recto_log::decode(line);
            assert_eq!(problems, []);
            assert_eq!(entry.parent_uuid(), parent);
            assert!(entry.message().is_some() && entry.timestamp().is_some());
            parent = entry.uuid();
        }
        assert_eq!(parent.unwrap().to_string(), "00000007-2222-4222-8222-000000000003");
    }

    #[test]
    fn a_home_is_made_once_and_again_if_it_was_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let mut made = 0;
        for outcome in [Err(anyhow::anyhow!("full")), Ok(()), Ok(())] {
            let _ = kept(folder.path(), "home", |place| {
                made += 1;
                assert_eq!(fs::read_dir(place)?.count(), 0);
                fs::write(place.join("half"), "")?;
                outcome
            });
        }
        assert_eq!(made, 2);
    }

    #[test]
    fn logs_are_joined_and_never_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        fs::write(project.join("a.jsonl"), "{}\n").unwrap();
        fs::write(project.join("b.jsonl"), "{\"b\":1}").unwrap();
        fs::write(project.join("c.txt"), "longer than all the logs").unwrap();
        let (size, path) = largest_log(folder.path()).unwrap().unwrap();
        assert_eq!((size, path.file_name().unwrap()), (7, "b.jsonl".as_ref()));
        let long = folder.path().join("long");
        join(folder.path(), &long, 12).unwrap();
        assert_eq!(fs::read_to_string(&long).unwrap(), "{\"b\":1}\n{}\n\n");
        assert!(join(folder.path(), &long, 13).is_err());
    }
}
