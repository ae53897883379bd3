//! Reading a store back.

use futures_util::StreamExt as _;
use futures_util::stream;
use recto_store::follow::FileKind;
use recto_store::keep::FileKey;
use recto_store::keep::Lives;
use recto_store::keep::MachineId;
use recto_store::keep::Part;
use recto_store::keep::SegmentHeader;
use recto_store::keep::SegmentKey;
use recto_store::keep::SegmentReader;

use crate::contents::Contents;
use crate::error::CollectError;
use crate::projects::Projects;
use crate::send::Sender;
use crate::store::Store;

/// How many objects are read at the same time.
const AT_ONCE: usize = 8;

/// What reading a store back found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreVerify {
    /// Files of the machine.
    pub files: u64,
    /// Objects that were read.
    pub objects: u64,
    /// Their plain bytes.
    pub bytes: u64,
    /// Their compressed bytes.
    pub stored_bytes: u64,
    /// Segments whose secrets were replaced, or whose content was reduced, on their way; names
    /// alone do not tell.
    pub filtered: Option<u64>,
    /// What is damaged or missing.
    pub problems: Vec<String>,
    /// Files that the store does not have up to their end, and how many bytes are missing.
    pub behind: Vec<(String, u64)>,
}

impl StoreVerify {
    /// Whether everything is there and whole.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.behind.is_empty()
    }

    /// Reads everything that a store has of this machine, and compares it with the archive.
    pub fn of_sender(
        sender: &Sender,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<StoreVerify, CollectError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(of_sender(sender, progress))
    }
}

async fn of_sender(
    sender: &Sender,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<StoreVerify, CollectError> {
    let machine = sender.archive().machine();
    let contents = Contents::list(sender.store(), machine).await?;
    let mut report = StoreVerify::default();
    read_machine(sender.store(), machine, &contents, &mut report, progress).await?;
    let mut is_lost = false;
    for file in sender.archive().files()? {
        is_lost |= compare(sender, file, &contents, &mut report)?;
    }
    if is_lost {
        // What is remembered is wrong: the next round lists the store, and fills the gaps.
        sender.state().forget()?;
    }
    Ok(report)
}

/// Reads and checks everything that a store has of a machine.
pub(crate) async fn read_machine(
    store: &Store,
    machine: MachineId,
    contents: &Contents,
    report: &mut StoreVerify,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), CollectError> {
    report.files += contents.files.len() as u64;
    for name in &contents.strange {
        report.problems.push(format!("{name} is not a name of a segment"));
    }
    let keys = contents.files.iter().flat_map(|(file, parts)| {
        let is_content = |part: &&Part| !matches!(part, Part::Gone(_) | Part::Moved(_));
        let key = |part: &Part| SegmentKey { machine, file: *file, part: part.clone() };
        parts.iter().filter(is_content).map(key)
    });
    let keys: Vec<SegmentKey> = keys.collect();
    let all = keys.len() as u64;
    let mut filtered = report.filtered.unwrap_or_default();
    let mut reading = stream::iter(keys)
        .map(|key| async move {
            let file = store.fetch(&key.to_string()).await?;
            Ok::<_, CollectError>((key, file))
        })
        .buffer_unordered(AT_ONCE);
    while let Some(read) = reading.next().await {
        let (key, file) = read?;
        let name = key.to_string();
        report.objects += 1;
        report.stored_bytes += file.metadata()?.len();
        let checked = SegmentReader::of_stranger(file, &name)
            .and_then(|reader| reader.read_all(std::path::Path::new(&name), |_| Ok(())));
        match checked {
            Ok(header) => {
                report.bytes += header.content_bytes();
                filtered += u64::from(header.length.is_some());
                if !is_named(&key.part, &header) {
                    report.problems.push(format!("{name}: its name does not say what is in it"));
                }
            }
            Err(problem) => report.problems.push(problem.to_string()),
        }
        progress(report.objects, all);
    }
    report.filtered = Some(filtered);
    for (file, from, to) in contents.gaps() {
        report.problems.push(format!("bytes {from} to {to} of {file} are missing in the store"));
    }
    Ok(())
}

/// Whether the name of a part says what its header says. Digests in names are keyed.
pub(crate) fn is_named(part: &Part, header: &SegmentHeader) -> bool {
    match part {
        Part::Lines { range, .. } | Part::Torn { range, .. } => {
            range.start == header.start && range.end == header.end
        }
        Part::Version { .. } => header.start == 0,
        Part::Gone(_) | Part::Moved(_) => true,
    }
}

/// Compares what the archive has of a file with what the store has. Whether the store has lost
/// something that it had.
fn compare(
    sender: &Sender,
    file: FileKey,
    contents: &Contents,
    report: &mut StoreVerify,
) -> Result<bool, CollectError> {
    let lives = Lives::of(sender.archive().parts(file)?);
    let Some(about) = sender.about(file, &lives)? else { return Ok(false) };
    let projects = Projects::new(sender.archive(), sender.policy());
    if sender.policy().withholds(about.kind).is_some()
        || !projects.takes(file, about.kind, &about.path)
        || sender.is_forgotten(file, &about)?
    {
        return Ok(false);
    }
    let there = contents.files.get(&file).cloned().unwrap_or_default();
    let remote = Lives::of(there.clone());
    let mut missing = 0;
    for life in lives.ids() {
        let named = sender.state().life(file, life)?;
        let named = named.unwrap_or_else(|| life.sealed(sender.secret()));
        missing += lives.cover(life).1.saturating_sub(remote.cover(named).1);
    }
    if about.kind != FileKind::History && !about.kind.grows() && there.is_empty() {
        missing += about.content_bytes();
    }
    if missing > 0 {
        report.behind.push((about.path, missing));
    }
    let known = sender.state().of_file(file)?;
    let lost = known.iter().filter(|one| one.is_there && !there.contains(&one.part));
    let lost: Vec<String> = lost.map(|one| one.part.name()).collect();
    for name in &lost {
        report.problems.push(format!("{name} of {file} was in the store and is missing"));
    }
    Ok(!lost.is_empty())
}
