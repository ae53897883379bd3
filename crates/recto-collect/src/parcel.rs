//! A part of a file on its way to a store.

use std::fs::File;
use std::io::Seek as _;

use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_store::follow::FileKind;
use recto_store::keep::Archive;
use recto_store::keep::FileKey;
use recto_store::keep::LifeId;
use recto_store::keep::Lives;
use recto_store::keep::MachineSecret;
use recto_store::keep::Part;
use recto_store::keep::Range64;
use recto_store::keep::SegmentHeader;
use recto_store::keep::SegmentWriter;

use crate::error::CollectError;
use crate::filter::Cutter;
use crate::filter::LARGEST_FILE;
use crate::filter::LineFilter;
use crate::filter::end_of_log;
use crate::filter::whole;
use crate::policy::Policy;
use crate::policy::Withheld;
use crate::projects::Projects;

/// A segment as it is sent.
pub(crate) struct Parcel {
    /// At its beginning.
    pub(crate) file: File,
    /// Compressed.
    pub(crate) bytes: u64,
    pub(crate) header: SegmentHeader,
}

/// Makes what is sent of what is kept.
pub(crate) struct Packer<'a> {
    pub(crate) archive: &'a Archive,
    pub(crate) policy: &'a Policy,
    pub(crate) projects: &'a Projects<'a>,
}

impl Packer<'_> {
    /// A range of the lines of a file.
    pub(crate) fn lines(
        &self,
        file: FileKey,
        lives: &Lives,
        life: LifeId,
        range: Range64,
    ) -> Result<Parcel, CollectError> {
        let is_one = lives.segments(life).contains(&range);
        if self.policy.is_raw() && is_one && !self.policy.chooses_projects() {
            return self.as_it_is(file, &Part::Lines { life, range });
        }
        // The header is needed before the bytes, and what it says of times is known behind them.
        let mut about = None;
        let read = |take: &mut dyn FnMut(&[u8]) -> std::io::Result<()>| {
            self.archive.read_lines(file, lives, life, range, take)
        };
        let mut is_history = false;
        if let Some(first) = lives.segments(life).first() {
            let header = self.archive.part_header(file, &Part::Lines { life, range: *first })?;
            is_history = header.kind == FileKind::History;
        }
        let takes = |line: &[u8]| !is_history || self.projects.takes_prompt(line);
        let filter = LineFilter::new(self.policy, &takes, |take| {
            about = Some(read(take)?);
            Ok(())
        })?;
        let about = match about {
            Some(about) => about,
            None => read(&mut |_| Ok(()))?,
        };
        let header = SegmentHeader {
            start: range.start,
            end: range.end,
            marks: if about.marks.len() > 1 { about.marks } else { Vec::new() },
            policy: self.policy.name().to_owned(),
            level: SegmentHeader::USUAL_LEVEL,
            ..about.last
        };
        let is_plain = self.policy.is_raw() && !(is_history && self.policy.chooses_projects());
        if is_plain {
            let mut writer = SegmentWriter::new(tempfile::tempfile()?, header);
            read(&mut |piece| writer.write(piece))?;
            return sealed(writer);
        }
        let mut writer = SegmentWriter::filtered(tempfile::tempfile()?, header);
        let (mut cutter, mut out) = (Cutter::default(), Vec::new());
        read(&mut |piece| {
            cutter.take(piece, |cut| {
                filter.line(&cut, &mut out);
                writer.write(&out)
            })
        })?;
        sealed(writer)
    }

    /// A version of a file, or the end of one without a line end.
    pub(crate) fn whole(
        &self,
        file: FileKey,
        part: &Part,
    ) -> Result<Result<Parcel, Withheld>, CollectError> {
        let is_end = matches!(part, Part::Torn { .. });
        let header = self.archive.part_header(file, part)?;
        let chooses = header.kind == FileKind::History && self.policy.chooses_projects();
        if self.policy.is_raw() && !chooses {
            return self.as_it_is(file, part).map(Ok);
        }
        if header.content_bytes() > LARGEST_FILE {
            return Ok(Err(Withheld::Unsearchable));
        }
        let mut bytes = Vec::new();
        let header = self.archive.read_part(file, part, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        if chooses && !self.projects.takes_prompt(&bytes) {
            return Ok(Err(Withheld::Project));
        }
        if is_end {
            bytes = end_of_log(self.policy, bytes);
        }
        let Some(bytes) = whole(self.policy, header.kind, bytes)? else {
            return Ok(Err(Withheld::Unsearchable));
        };
        let header = SegmentHeader {
            policy: self.policy.name().to_owned(),
            level: SegmentHeader::USUAL_LEVEL,
            ..header
        };
        let mut writer = SegmentWriter::filtered(tempfile::tempfile()?, header);
        writer.write(&bytes)?;
        sealed(writer).map(Ok)
    }

    /// A segment that needs no change. It is compared with its digest before it goes.
    fn as_it_is(&self, file: FileKey, part: &Part) -> Result<Parcel, CollectError> {
        let header = self.archive.read_part(file, part, |_| Ok(()))?;
        let file = self.archive.part_file(file, part)?;
        let bytes = file.metadata()?.len();
        Ok(Parcel { file, bytes, header })
    }
}

fn sealed(writer: SegmentWriter) -> Result<Parcel, CollectError> {
    let (header, mut file) = writer.seal()?;
    file.rewind()?;
    let bytes = file.metadata()?.len();
    Ok(Parcel { file, bytes, header })
}

/// What was noted about a file, with the life as a store names it.
pub(crate) fn event(
    json: &[u8],
    secret: &MachineSecret,
    named: impl Fn(LifeId) -> Option<LifeId>,
) -> Vec<u8> {
    let Ok(event) = Value::parse(json.trim_ascii()) else { return b"{}".to_vec() };
    let text = |name: &str| event.str(name).map(|text| text.into_owned());
    let life: Option<LifeId> = text("life").and_then(|life| life.parse().ok());
    let life = life.map(|life| named(life).unwrap_or_else(|| life.sealed(secret)));
    ObjectWriter::new()
        .string_if_any("path", text("path").as_deref())
        .string_if_any("to", text("to").as_deref())
        .id_if_any("life", life.as_ref())
        .number_if_any("end", event.get("end").and_then(Value::as_u64))
        .finish()
}

/// A header of a kept file, which says what it is.
pub(crate) fn header_of(
    archive: &Archive,
    file: FileKey,
    lives: &Lives,
) -> Result<Option<SegmentHeader>, CollectError> {
    let lines = lives.ids().filter_map(|life| {
        let range = lives.segments(life).iter().max_by_key(|range| range.end)?;
        Some(Part::Lines { life, range: *range })
    });
    let others = lives.versions.iter().rev().chain(&lives.torn).cloned();
    let mut failed = None;
    for part in lines.chain(others) {
        match archive.part_header(file, &part) {
            Ok(header) => return Ok(Some(header)),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(None),
    }
}
