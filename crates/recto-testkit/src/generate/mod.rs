//! A made-up Claude home of any size, with exact knowledge of what is in it.
//!
//! Owns: the content of `.claude` and `truth.json` below a directory. The content depends on the
//! options only: not on the directory, the clock or the platform. Does not own: reading; nothing here
//! uses the log reader, so that both can be checked against each other.
//!
//! ```no_run
//! use recto_testkit::generate::{Options, Shape, generate};
//!
//! let options = Options { megabytes: 10, seed: 1, shape: Shape::Mixed };
//! let truth = generate(&options, std::path::Path::new("corpus"), &mut |_bytes| {})?;
//! assert_eq!(truth.sessions.len() as u64, truth.files.main);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
#![doc = include_str!("README.md")]

mod agents;
mod assets;
mod clock;
mod compaction;
mod damage;
mod era;
mod home;
mod json;
mod ledger;
mod lines;
mod message;
mod random;
mod request;
mod results;
mod tail;
mod text;
mod tools;
mod transcript;
mod truth;
mod turn;

use std::io;
use std::path::Path;

pub use truth::AppendLine;
pub use truth::FileCounts;
pub use truth::HumanTurns;
pub use truth::LargestSession;
pub use truth::LineCounts;
pub use truth::ModelTokens;
pub use truth::Needle;
pub use truth::NeedleHit;
pub use truth::SessionRow;
pub use truth::ToolCalls;
pub use truth::Truth;
pub use truth::Usage;

use assets::Assets;
use random::Random;
use text::Text;

/// Which clients wrote the home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Versions 2.0.36 to 2.1.29.
    Old,
    /// Version 2.1.325.
    New,
    /// Some sessions old, some new.
    #[default]
    Mixed,
}

impl Shape {
    /// The name as options spell it.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Old => "old",
            Shape::New => "new",
            Shape::Mixed => "mixed",
        }
    }

    /// The shape of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Shape::Old, Shape::New, Shape::Mixed].into_iter().find(|shape| shape.name() == name)
    }
}

/// What to generate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// About how many million bytes of session logs.
    pub megabytes: u64,
    /// Another seed gives another home.
    pub seed: u64,
    /// Which clients wrote it.
    pub shape: Shape,
}

/// Writes `directory/.claude` and `directory/truth.json`.
///
/// `progress` is told the bytes of logs written so far.
///
/// # Errors
///
/// When `directory/.claude` exists already, or a file cannot be written.
pub fn generate(
    options: &Options,
    directory: &Path,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Truth> {
    home::write(Generator::new(options), directory, progress)
}

/// A file that is ready to be written; the path is below `.claude`.
struct OutputFile {
    path: String,
    bytes: Vec<u8>,
    /// Time of its last change.
    time: i64,
}

/// The state of a run.
struct Generator {
    random: Random,
    text: Text,
    assets: Assets,
    shape: Shape,
    truth: Truth,
    plans: Vec<ledger::Plan>,
    /// Bytes of logs to write, and written.
    total: u64,
    written: u64,
    line_counter: usize,
    damage_interval: usize,
    damage_counter: usize,
    bash_counter: usize,
    surrogate_interval: usize,
    turn_counter: usize,
    /// Events that wait for a session with a past.
    postponed: Vec<turn::Special>,
    agents_started: usize,
    outbox: Vec<OutputFile>,
}

impl Generator {
    fn new(options: &Options) -> Self {
        let mut random = Random::new(options.seed);
        let text = Text::new(&mut random);
        let assets = Assets::new(&mut random, &text);
        let (needles, plans) = ledger::needles();
        let total = options.megabytes * 1_000_000;
        // One line in ten thousand, but at least about ten in a small home.
        let damage_interval = (total / 27_000).clamp(40, 10_000) as usize;
        Generator {
            random,
            text,
            assets,
            shape: options.shape,
            truth: Truth {
                seed: options.seed,
                megabytes: options.megabytes,
                shape: options.shape,
                needles,
                ..Truth::default()
            },
            plans,
            total,
            written: 0,
            line_counter: 0,
            damage_interval,
            damage_counter: 0,
            bash_counter: 0,
            surrogate_interval: (damage_interval / 5).clamp(20, 2_000),
            turn_counter: 0,
            postponed: Vec::new(),
            agents_started: 0,
            outbox: Vec::new(),
        }
    }
}
