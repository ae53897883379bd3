//! A segment as rows of all tables.

use std::fs::File;
use std::io::Read;
use std::io::Seek as _;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;
use recto_log::LineReader;
use recto_session::usage::PriceTable;
use recto_store::follow::FileKind;
use recto_store::keep::Part;
use recto_store::keep::SegmentHeader;
use recto_store::keep::SegmentKey;
use recto_store::keep::SegmentReader;
use recto_store::keep::session_of;

use crate::delta::ends::UNENDED;
use crate::delta::plan::Due;
use crate::error::LakeError;
use crate::rows::Cell;
use crate::rows::Days;
use crate::rows::Origin;
use crate::rows::RowMaker;
use crate::rows::TakeRow;
use crate::rows::Wanted;
use crate::schema::PARSER_VERSION;
use crate::schema::Table;

/// Larger segments are unpacked into a file.
const IN_MEMORY: u64 = 32 * 1024 * 1024;

/// Makes rows of a segment, and says how many bytes it has. One that is damaged gives no rows but
/// that which says so, and is named.
pub(crate) fn read_segment(
    due: &Due,
    file: File,
    user: Option<&str>,
    prices: &PriceTable,
    take: &mut TakeRow<'_, LakeError>,
) -> Result<(u64, Option<String>), LakeError> {
    let name = due.key.to_string();
    let (header, content) = match unpack(file, &name) {
        Ok(unpacked) => unpacked,
        Err(error) => {
            let problem = error.to_string();
            let origin = Origin {
                machine: due.key.machine.to_string(),
                user: user.map(str::to_owned),
                file: due.key.file.to_string(),
                policy: "unknown".to_owned(),
                modified: Timestamp::UNIX_EPOCH,
                ..Origin::default()
            };
            let told = match due.is_end() {
                true => format!("{UNENDED}; {problem}"),
                false => problem.clone(),
            };
            segment_row(&due.key, &origin, None, (0, 0), Some(&told), take)?;
            return Ok((0, Some(problem)));
        }
    };
    let origin = origin_of(&due.key, &header, user);
    let is_log = matches!(header.kind, FileKind::MainLog | FileKind::AgentLog);
    let mut counts = (0, 0);
    if is_log {
        let mut maker = RowMaker::new(&origin, prices, Wanted::ALL);
        let mut lines = LineReader::new(content);
        let is_filtered = header.length.is_some();
        let mut index = 0;
        while let Some(line) = lines.next_line()? {
            // Lines that a policy changed have no place in the source, but an order.
            let offset = header.start + if is_filtered { index } else { line.offset };
            index += 1;
            if is_filtered || offset >= due.from {
                maker.line(line, offset, take)?;
            }
        }
        counts = (maker.lines, maker.bad_lines);
    }
    let told = due.is_end().then_some(UNENDED);
    segment_row(&due.key, &origin, Some(&header), counts, told, take)?;
    Ok((header.content_bytes(), None))
}

/// The content of a segment, compared with its digest.
fn unpack(file: File, name: &str) -> Result<(SegmentHeader, Box<dyn Read>), LakeError> {
    let keep = |error: recto_store::keep::KeepError| LakeError::Store(error.into());
    let reader = SegmentReader::of_stranger(file, name).map_err(keep)?;
    if reader.header.content_bytes() <= IN_MEMORY {
        let mut content = Vec::new();
        let header = reader.read_all(Path::new(name), |piece| {
            content.extend_from_slice(piece);
            Ok(())
        });
        return Ok((header.map_err(keep)?, Box::new(std::io::Cursor::new(content))));
    }
    let mut content = tempfile::tempfile()?;
    let header = reader.read_all(Path::new(name), |piece| content.write_all(piece));
    let header = header.map_err(keep)?;
    content.rewind()?;
    Ok((header, Box::new(std::io::BufReader::with_capacity(1024 * 1024, content))))
}

fn origin_of(key: &SegmentKey, header: &SegmentHeader, user: Option<&str>) -> Origin {
    let generation = match &key.part {
        Part::Lines { life, .. } | Part::Torn { life, .. } => life.to_string(),
        Part::Version { .. } | Part::Gone(_) | Part::Moved(_) => String::new(),
    };
    let below = header.path.strip_prefix("projects/");
    let project = below.and_then(|below| below.split_once('/')).map(|(project, _)| project);
    let stem = header.path.rsplit('/').next().and_then(|name| name.strip_suffix(".jsonl"));
    let agent = stem.and_then(|stem| stem.strip_prefix("agent-"));
    Origin {
        machine: key.machine.to_string(),
        user: user.map(str::to_owned),
        project: project.map(str::to_owned),
        session: session_of(header.kind, &header.path).map(|session| session.to_string()),
        agent: agent.filter(|_| header.kind == FileKind::AgentLog).map(str::to_owned),
        file: key.file.to_string(),
        generation,
        policy: header.policy.clone(),
        modified: header.modified,
    }
}

fn segment_row(
    key: &SegmentKey,
    origin: &Origin,
    header: Option<&SegmentHeader>,
    (lines, bad): (u64, u64),
    problem: Option<&str>,
    take: &mut TakeRow<'_, LakeError>,
) -> Result<(), LakeError> {
    let (Part::Lines { life, range } | Part::Torn { life, range, .. }) = &key.part else {
        return Ok(());
    };
    let life = life.to_string();
    let digest: String = header
        .map(|header| header.sha256.iter().map(|byte| format!("{byte:02x}")).collect())
        .unwrap_or_default();
    let captured = header.map_or(0, |header| header.captured.as_millisecond());
    let days = Days::of(origin.modified);
    take(
        Table::Segments,
        &[
            Cell::Text(&origin.machine),
            origin.user.as_deref().map_or(Cell::Null, Cell::Text),
            origin.project.as_deref().map_or(Cell::Null, Cell::Text),
            origin.session.as_deref().map_or(Cell::Null, Cell::Text),
            Cell::Text(&origin.file),
            Cell::Text(&life),
            Cell::Long(range.start as i64),
            Cell::Long(range.end as i64),
            Cell::Long(lines as i64),
            Cell::Long(bad as i64),
            Cell::Text(&digest),
            Cell::Long(captured),
            Cell::Text(&origin.policy),
            header.map_or(Cell::Null, |header| Cell::Text(&header.path)),
            problem.map_or(Cell::Null, Cell::Text),
            Cell::Day(days.day),
            Cell::Day(days.week),
            Cell::Day(days.month),
            Cell::Long(PARSER_VERSION),
        ],
    )
}
