//! A reader that does only what any count of usage must do: the measure for
//! `recto usage`.
//!
//! It walks the projects, looks for `"usage"` in the bytes of each line, parses
//! what it finds with serde into the few fields that matter, and keeps one usage
//! for each message id. No prices, no times, no checks.

use std::collections::HashMap;
use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;

use memchr::memmem::Finder;
use serde::Deserialize;

use crate::repository::say;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a str>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// Counts the tokens of a home, on as many threads as there are cores.
pub(super) fn run(home: &Path) -> anyhow::Result<()> {
    let mut files = Vec::new();
    collect(&home.join("projects"), &mut files)?;
    files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let counted: Vec<HashMap<String, (String, Usage)>> = std::thread::scope(|scope| {
        let work = || {
            let mut known = HashMap::new();
            loop {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some((file, _)) = files.get(at) else { return known };
                // A file that went away meanwhile has nothing to count.
                let _ = count(file, &mut known);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    let mut all: HashMap<String, (String, Usage)> = HashMap::new();
    for (id, (model, usage)) in counted.into_iter().flatten() {
        keep(&mut all, id, model, usage);
    }
    let mut models: HashMap<&str, [u64; 5]> = HashMap::new();
    for (model, usage) in all.values() {
        let sum = models.entry(model).or_default();
        let more = [
            1,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ];
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    for (model, sum) in models {
        say(&format!("{model} {sum:?}"));
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, u64)>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else if entry.path().extension().is_some_and(|ending| ending == "jsonl") {
            files.push((entry.path(), entry.metadata()?.len()));
        }
    }
    Ok(())
}

fn count(file: &Path, known: &mut HashMap<String, (String, Usage)>) -> anyhow::Result<()> {
    let finder = Finder::new(b"\"usage\"");
    let mut reader = BufReader::with_capacity(256 * 1024, fs::File::open(file)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if finder.find(&line).is_some()
            && let Ok(Line { kind: Some("assistant"), message: Some(message) }) =
                serde_json::from_slice::<Line<'_>>(&line)
            && let Message { id: Some(id), model: Some(model), usage: Some(usage) } = message
            && model != "<synthetic>"
        {
            keep(known, id, model, usage);
        }
        line.clear();
    }
    Ok(())
}

fn keep(known: &mut HashMap<String, (String, Usage)>, id: String, model: String, usage: Usage) {
    let slot = known.entry(id).or_insert_with(|| (model, usage));
    if usage.output_tokens > slot.1.output_tokens {
        slot.1 = usage;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_reader_keeps_the_most_output_of_a_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.jsonl");
        let line = |kind: &str, output: u64| {
            format!(
                r#"{{"type":"{kind}","message":{{"id":"m","model":"x","usage":{{"output_tokens":{output}}}}}}}"#
            )
        };
        let lines = [line("assistant", 3), line("assistant", 8), line("progress", 99)];
        fs::write(&file, lines.join("\n")).unwrap();
        let mut known = HashMap::new();
        count(&file, &mut known).unwrap();
        assert_eq!(known.len(), 1);
        assert_eq!(known["m"].1.output_tokens, 8);
    }
}
