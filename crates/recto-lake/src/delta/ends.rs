//! Ends of logs that no line end follows.
//!
//! Such an end is a row like any other line, until the log goes on: what follows decides which line
//! it is. So these rows are in a file of their own for each shard, which is written again when one
//! of them is replaced, in the commit that adds what takes its place.

use std::collections::HashSet;

use arrow_array::BooleanArray;
use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use serde_json::Value;
use serde_json::json;

use crate::delta::build::upload;
use crate::delta::lake::Lake;
use crate::delta::log::DataFile;
use crate::delta::log::Snapshot;
use crate::delta::parquet_file;
use crate::delta::parquet_file::FileWriter;
use crate::delta::parquet_file::cell;
use crate::delta::parquet_file::stem_of_name;
use crate::error::LakeError;
use crate::rows::Cell;
use crate::schema::Table;

/// What the table of segments says of such an end, before anything else.
pub(crate) const UNENDED: &str = "its last line is not finished";
/// Names of files with such rows begin like this.
const STEM: &str = "ends-";

/// Whether a file has rows of ends: no other rows may be put into it.
pub(crate) fn is_of_ends(path: &str) -> bool {
    path.starts_with(STEM)
}

/// The beginning of the names of a shard's files.
fn stem_of(shard: &str) -> String {
    format!("{STEM}{shard}")
}

/// The beginning of the name of a file that takes the place of another one.
pub(crate) fn stem_after(path: &str) -> &str {
    stem_of_name(path).filter(|_| is_of_ends(path)).unwrap_or("kept")
}

/// An end whose rows are in the tables.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct End {
    pub(crate) machine: String,
    pub(crate) file: String,
    /// The version of the file.
    pub(crate) life: String,
    /// Where it begins.
    pub(crate) start: u64,
}

impl End {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "machine": self.machine, "file": self.file, "gen": self.life, "start": self.start,
        })
    }

    pub(crate) fn of_json(json: &Value) -> Option<End> {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let start = json["start"].as_u64()?;
        Some(End { machine: text("machine")?, file: text("file")?, life: text("gen")?, start })
    }
}

/// Which rows of a batch stay.
fn staying(batch: &RecordBatch, table: Table, replaced: &HashSet<[String; 4]>) -> BooleanArray {
    let place = if table == Table::Segments { "range_start" } else { "off" };
    let columns = ["machine", "file_id", "gen", place].map(|name| batch.column_by_name(name));
    (0..batch.num_rows())
        .map(|row| {
            let name = columns.map(|column| match column.map(|column| cell(column, row)) {
                Some(Cell::Text(text)) => text.to_owned(),
                Some(Cell::Long(number)) => number.to_string(),
                _ => String::new(),
            });
            Some(!replaced.contains(&name))
        })
        .collect()
}

impl Lake {
    /// Writes new rows of ends together with those that stay. Gives the files that go and the one
    /// that takes their place.
    pub(crate) async fn exchange_ends(
        &self,
        table: Table,
        snapshot: &Snapshot,
        shard: &str,
        replaced: &[End],
        mut rows: FileWriter,
    ) -> Result<(Vec<DataFile>, Option<DataFile>), LakeError> {
        if replaced.is_empty() && rows.is_empty() {
            return Ok((Vec::new(), None));
        }
        let name = |end: &End| {
            [end.machine.clone(), end.file.clone(), end.life.clone(), end.start.to_string()]
        };
        let replaced: HashSet<[String; 4]> = replaced.iter().map(name).collect();
        let (delta, stem) = (self.table(table), stem_of(shard));
        let files = snapshot.files.values().filter(|file| stem_after(&file.path) == stem);
        let files: Vec<DataFile> = files.cloned().collect();
        for file in &files {
            let key = delta.key(&file.path);
            let damaged = |reason: String| LakeError::Damaged { path: key.clone(), reason };
            let bytes = self.store.read_object(&key).await?;
            let bytes = bytes.ok_or_else(|| damaged("the file is missing".to_owned()))?;
            for batch in parquet_file::read(bytes, &key, None)? {
                let batch = batch.map_err(|error| damaged(error.to_string()))?;
                let batch = filter_record_batch(&batch, &staying(&batch, table, &replaced));
                rows.push_batch(&batch.map_err(|error| damaged(error.to_string()))?)?;
            }
        }
        Ok((files, upload(self, table, &stem, rows).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_takes_the_place_of_another_is_of_the_same_kind() {
        let name = |stem: &str| parquet_file::name_of(stem, b"x");
        assert_eq!(stem_after(&name("ends-shard-3")), "ends-shard-3");
        assert_eq!(stem_after(&name("shard-3-17")), "kept");
        assert_eq!(stem_after("ends-"), "kept");
    }
}
