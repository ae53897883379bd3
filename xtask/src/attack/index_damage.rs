//! The search index with random damage: an answer is that of the whole index, or says that
//! something was wrong; the next answer is right in any case.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context as _;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use super::arena::Arena;
use super::arena::Random;
use super::report::Figures;

const PAGE: usize = 4096;

/// Words that are in few and in many texts.
const QUERIES: [&str; 6] =
    ["parser", "the", "test*", "function OR error", "tool:bash", "\"in the\""];

/// So many damaged indexes are worth a page.
const FULL: u64 = 1000;

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let options = Options { megabytes: 4, seed: arena.seed, shape: Shape::Mixed };
    let made = arena.folder().join("made");
    generate(&options, &made, &mut |_| {})?;
    fs::remove_dir_all(arena.home())?;
    fs::rename(made.join(".claude"), arena.home())?;
    let truth: Vec<Vec<u8>> =
        QUERIES.iter().map(|query| Ok(find(arena, query)?.0)).collect::<anyhow::Result<_>>()?;
    anyhow::ensure!(truth.iter().any(|hits| hits.len() > 10_000), "the queries find too little");
    let kept = arena.folder().join("kept");
    copy_flat(&index_folder(arena)?, &kept)?;
    let mut round = 0u64;
    loop {
        let folder = index_folder(arena)?;
        fs::remove_dir_all(&folder)?;
        copy_flat(&kept, &folder)?;
        let what = damage(&mut arena.random, &index_file(&folder)?)?;
        let at = arena.random.below(QUERIES.len());
        let (query, right, seed) = (QUERIES[at], &truth[at], arena.seed);
        let described =
            |trouble: String| format!("seed {seed}, round {round}, {what}, {query}: {trouble}");
        let (hits, said) = find(arena, query)?;
        let outcome = match (&hits == right, said.is_empty()) {
            (false, true) => Err(format!("{} bytes of hits, not {}", hits.len(), right.len())),
            _ => Ok(()),
        };
        figures.tried(
            "answers from a damaged index: right, or it is said",
            outcome.map_err(&described),
        );
        let (hits, _) = find(arena, query)?;
        let outcome = if &hits == right { Ok(()) } else { Err("still wrong".to_owned()) };
        figures.tried("the second answer is right", outcome.map_err(&described));
        round += 1;
        if !arena.goes_on(round, FULL) {
            return Ok(());
        }
    }
}

/// The hits, in the order of their places, and what was said.
fn find(arena: &Arena, query: &str) -> anyhow::Result<(Vec<u8>, String)> {
    let run = arena.run(&["find", query, "--limit", "0", "--json"])?;
    run.sound().map_err(anyhow::Error::msg).with_context(|| format!("find {query}"))?;
    Ok((run.stdout, String::from_utf8_lossy(&run.stderr).into_owned()))
}

fn index_folder(arena: &Arena) -> anyhow::Result<PathBuf> {
    let folder = arena.user().join("cache/recto");
    anyhow::ensure!(folder.is_dir(), "there is no {}", folder.display());
    Ok(folder)
}

fn index_file(folder: &Path) -> anyhow::Result<PathBuf> {
    let mut found = fs::read_dir(folder)?.filter_map(|item| Some(item.ok()?.path()));
    found
        .find(|path| path.extension().is_some_and(|extension| extension == "sqlite"))
        .context("there is no index")
}

fn copy_flat(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for item in fs::read_dir(from)? {
        let item = item?;
        fs::copy(item.path(), to.join(item.file_name()))?;
    }
    Ok(())
}

/// Damages the index or what is beside it, and says how.
fn damage(random: &mut Random, index: &Path) -> anyhow::Result<String> {
    let log = PathBuf::from(format!("{}-wal", index.display()));
    let has_log = fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0);
    let (path, name) = if has_log && random.below(4) == 0 {
        (log.as_path(), "the write-ahead log")
    } else {
        (index, "the file")
    };
    let mut bytes = fs::read(path)?;
    let pages = bytes.len() / PAGE;
    let page = |random: &mut Random| random.below(pages.max(1)) * PAGE;
    let what = match random.below(6) {
        0 => {
            let flips = random.below(11) + 1;
            for _ in 0..flips {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            format!("{flips} flipped bits")
        }
        1 if pages > 1 => {
            let swaps = random.below(3) + 1;
            for _ in 0..swaps {
                let (a, b) = (page(random), page(random));
                for at in 0..PAGE {
                    bytes.swap(a + at, b + at);
                }
            }
            format!("{swaps} swapped pages")
        }
        2 if pages > 1 => {
            let (from, to) = (page(random), page(random));
            bytes.copy_within(from..from + PAGE, to);
            "a page in place of another".to_owned()
        }
        3 => {
            let at = random.below(bytes.len());
            bytes.truncate(at);
            format!("cut to {at} bytes")
        }
        4 => {
            let start = random.below(bytes.len());
            let end = (start + random.below(40_000) + 1).min(bytes.len());
            bytes[start..end].fill(0);
            format!("{} zeroed bytes", end - start)
        }
        _ => {
            let start = random.below(bytes.len());
            let end = (start + random.below(5000) + 1).min(bytes.len());
            for byte in &mut bytes[start..end] {
                *byte = random.number() as u8;
            }
            format!("{} random bytes", end - start)
        }
    };
    fs::write(path, bytes)?;
    Ok(format!("{what} in {name}"))
}
