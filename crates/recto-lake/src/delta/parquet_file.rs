//! Rows in a Parquet file, and back.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::ArrayRef;
use arrow_array::BooleanArray;
use arrow_array::Date32Array;
use arrow_array::Int32Array;
use arrow_array::Int64Array;
use arrow_array::RecordBatch;
use arrow_array::StringArray;
use arrow_array::TimestampMicrosecondArray;
use arrow_array::builder::BooleanBuilder;
use arrow_array::builder::Date32Builder;
use arrow_array::builder::Int32Builder;
use arrow_array::builder::Int64Builder;
use arrow_array::builder::StringBuilder;
use arrow_array::builder::TimestampMicrosecondBuilder;
use arrow_schema::DataType;
use arrow_schema::Field;
use arrow_schema::Schema;
use arrow_schema::SchemaRef;
use arrow_schema::TimeUnit;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::basic::Encoding;
use parquet::basic::ZstdLevel;
use parquet::file::properties::EnabledStatistics;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;

use crate::error::LakeError;
use crate::rows::Cell;
use crate::rows::date_of;
use crate::schema::Column;
use crate::schema::ColumnType;
use crate::schema::Table;

/// Rows that are turned into columns at a time.
const BATCH_ROWS: usize = 8192;
/// The same by the bytes of their texts.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// A row group is written when it takes so much memory.
const GROUP_BYTES: usize = 48 * 1024 * 1024;
/// Values of these columns hardly repeat.
const DISTINCT: [&str; 6] =
    ["uuid", "parent_uuid", "message_id", "tool_use_id", "message_key", "text"];
/// Numbers of these grow from row to row.
const GROWING: [&str; 4] = ["off", "ts", "ts_ms", "captured_ms"];

/// How files are written. The columns are none for a checkpoint.
pub(crate) fn properties(columns: &[Column]) -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_statistics_truncate_length(Some(64))
        .set_max_row_group_row_count(Some(1024 * 1024))
        .set_created_by(concat!("recto ", env!("CARGO_PKG_VERSION")).to_owned());
    for column in columns {
        let path = ColumnPath::from(column.name);
        if DISTINCT.contains(&column.name) {
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        if GROWING.contains(&column.name) {
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
            builder = builder.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if column.name == "text" {
            builder = builder.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    builder.build()
}

/// The columns of a table for Arrow.
pub(crate) fn schema_of(table: Table) -> SchemaRef {
    let field = |column: &Column| {
        let kind = match column.kind {
            ColumnType::Text => DataType::Utf8,
            ColumnType::Long => DataType::Int64,
            ColumnType::Int => DataType::Int32,
            ColumnType::Bool => DataType::Boolean,
            ColumnType::Date => DataType::Date32,
            ColumnType::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        };
        Field::new(column.name, kind, column.nullable)
    };
    Arc::new(Schema::new(table.columns().iter().map(field).collect::<Vec<_>>()))
}

/// The values of one column, so far.
enum Values {
    Text(StringBuilder),
    Long(Int64Builder),
    Int(Int32Builder),
    Bool(BooleanBuilder),
    Date(Date32Builder),
    Time(TimestampMicrosecondBuilder),
}

impl Values {
    fn new(kind: ColumnType) -> Values {
        match kind {
            ColumnType::Text => Values::Text(StringBuilder::new()),
            ColumnType::Long => Values::Long(Int64Builder::new()),
            ColumnType::Int => Values::Int(Int32Builder::new()),
            ColumnType::Bool => Values::Bool(BooleanBuilder::new()),
            ColumnType::Date => Values::Date(Date32Builder::new()),
            ColumnType::Time => {
                Values::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
        }
    }

    /// Adds a value. One of another kind than the column's is none.
    fn push(&mut self, cell: &Cell<'_>) {
        match (self, cell) {
            (Values::Text(values), Cell::Text(text)) => values.append_value(text),
            (Values::Text(values), _) => values.append_null(),
            (Values::Long(values), Cell::Long(number)) => values.append_value(*number),
            (Values::Long(values), _) => values.append_null(),
            (Values::Int(values), Cell::Long(number)) => {
                values.append_value(i32::try_from(*number).unwrap_or(i32::MAX));
            }
            (Values::Int(values), _) => values.append_null(),
            (Values::Bool(values), Cell::Bool(is)) => values.append_value(*is),
            (Values::Bool(values), _) => values.append_null(),
            (Values::Date(values), Cell::Day(day)) => values.append_value(*day),
            (Values::Date(values), _) => values.append_null(),
            (Values::Time(values), Cell::Micros(micros)) => values.append_value(*micros),
            (Values::Time(values), _) => values.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Values::Text(values) => Arc::new(values.finish()),
            Values::Long(values) => Arc::new(values.finish()),
            Values::Int(values) => Arc::new(values.finish()),
            Values::Bool(values) => Arc::new(values.finish()),
            Values::Date(values) => Arc::new(values.finish()),
            Values::Time(values) => Arc::new(values.finish()),
        }
    }
}

/// What the log says of the rows of a file.
#[derive(Debug, Default)]
struct Statistics {
    rows: u64,
    days: Option<(i32, i32)>,
    times: Option<(i64, i64)>,
}

/// Writes a file of a table.
pub(crate) struct FileWriter {
    table: Table,
    columns: Vec<Values>,
    waiting: usize,
    waiting_bytes: usize,
    writer: ArrowWriter<Vec<u8>>,
    statistics: Statistics,
}

fn broken(table: Table, error: &dyn std::fmt::Display) -> LakeError {
    LakeError::Damaged { path: table.name().to_owned(), reason: error.to_string() }
}

impl FileWriter {
    pub(crate) fn new(table: Table) -> Result<FileWriter, LakeError> {
        let columns = table.columns();
        let writer = ArrowWriter::try_new(Vec::new(), schema_of(table), Some(properties(&columns)))
            .map_err(|error| broken(table, &error))?;
        Ok(FileWriter {
            table,
            columns: columns.iter().map(|column| Values::new(column.kind)).collect(),
            waiting: 0,
            waiting_bytes: 0,
            writer,
            statistics: Statistics::default(),
        })
    }

    /// Whether it has no row yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0 && self.statistics.rows == 0
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), LakeError> {
        for (values, cell) in self.columns.iter_mut().zip(cells) {
            if let Cell::Text(text) = cell {
                self.waiting_bytes += text.len();
            }
            values.push(cell);
        }
        self.waiting += 1;
        if self.waiting >= BATCH_ROWS || self.waiting_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LakeError> {
        if self.waiting == 0 {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().map(Values::finish).collect();
        (self.waiting, self.waiting_bytes) = (0, 0);
        let batch = RecordBatch::try_new(schema_of(self.table), arrays);
        let batch = batch.map_err(|error| broken(self.table, &error))?;
        self.push_batch(&batch)
    }

    /// Adds rows that are columns already.
    pub(crate) fn push_batch(&mut self, batch: &RecordBatch) -> Result<(), LakeError> {
        self.statistics.add(batch);
        self.writer.write(batch).map_err(|error| broken(self.table, &error))?;
        if self.writer.in_progress_size() > GROUP_BYTES {
            self.writer.flush().map_err(|error| broken(self.table, &error))?;
        }
        Ok(())
    }

    /// Ends the file: its bytes and what the log says of them. Nothing without rows.
    pub(crate) fn finish(mut self) -> Result<Option<(Bytes, String)>, LakeError> {
        self.flush()?;
        if self.statistics.rows == 0 {
            return Ok(None);
        }
        let stats = self.statistics.to_json();
        let bytes = self.writer.into_inner().map_err(|error| broken(self.table, &error))?;
        Ok(Some((bytes.into(), stats)))
    }
}

impl Statistics {
    fn add(&mut self, batch: &RecordBatch) {
        self.rows += batch.num_rows() as u64;
        let days = batch.column_by_name("day").and_then(|array| {
            let days = array.as_any().downcast_ref::<Date32Array>()?;
            Some((days.iter().flatten().min()?, days.iter().flatten().max()?))
        });
        let times = batch.column_by_name("ts_ms").and_then(|array| {
            let times = array.as_any().downcast_ref::<Int64Array>()?;
            Some((times.iter().flatten().min()?, times.iter().flatten().max()?))
        });
        self.days = wider(self.days, days);
        self.times = wider(self.times, times);
    }

    /// Nothing that says who a row is of: erasing a person must not need to change the log.
    fn to_json(&self) -> String {
        let (mut least, mut most) = (Map::new(), Map::new());
        if let Some((first, last)) = self.days {
            least.insert("day".to_owned(), Value::String(date_of(first).to_string()));
            most.insert("day".to_owned(), Value::String(date_of(last).to_string()));
        }
        if let Some((first, last)) = self.times {
            least.insert("ts_ms".to_owned(), first.into());
            most.insert("ts_ms".to_owned(), last.into());
        }
        json!({"numRecords": self.rows, "minValues": least, "maxValues": most, "nullCount": {}})
            .to_string()
    }
}

fn wider<T: Ord + Copy>(a: Option<(T, T)>, b: Option<(T, T)>) -> Option<(T, T)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// The name of a file of a table: nobody else has it, and it says what is in the file.
pub(crate) fn name_of(stem: &str, bytes: &[u8]) -> String {
    format!("{stem}-{}.{}.parquet", uuid::Uuid::new_v4(), digest_of(bytes))
}

/// What a name begins with.
pub(crate) fn stem_of_name(name: &str) -> Option<&str> {
    const UNIQUE: usize = "-00000000-0000-4000-8000-000000000000".len();
    let (unique, _) = name.split_once('.')?;
    unique.get(..unique.len().checked_sub(UNIQUE)?)
}

/// Parquet has no checksums here, and most damage to a file would only change its values.
fn digest_of(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a file is what was written, as far as its name says that.
fn is_whole(path: &str, bytes: &[u8]) -> bool {
    let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".parquet"));
    let digest = name.and_then(|name| name.split_once('.')).map(|(_, digest)| digest);
    digest.is_none_or(|digest| digest == digest_of(bytes))
}

/// Reads a file of a table: all columns, or some.
pub(crate) fn read(
    bytes: Bytes,
    path: &str,
    columns: Option<&[&str]>,
) -> Result<ParquetRecordBatchReader, LakeError> {
    let damaged = |error: &dyn std::fmt::Display| LakeError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    if !is_whole(path, &bytes) {
        return Err(damaged(&"it is not what was written"));
    }
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| damaged(&error))?;
    let builder = match columns {
        None => builder,
        Some(columns) => {
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            builder.with_projection(mask)
        }
    };
    builder.with_batch_size(BATCH_ROWS).build().map_err(|error| damaged(&error))
}

/// A value of a column.
pub(crate) fn cell(array: &ArrayRef, row: usize) -> Cell<'_> {
    if array.is_null(row) {
        return Cell::Null;
    }
    let any = array.as_any();
    if let Some(values) = any.downcast_ref::<StringArray>() {
        Cell::Text(values.value(row))
    } else if let Some(values) = any.downcast_ref::<Int64Array>() {
        Cell::Long(values.value(row))
    } else if let Some(values) = any.downcast_ref::<Int32Array>() {
        Cell::Long(values.value(row).into())
    } else if let Some(values) = any.downcast_ref::<BooleanArray>() {
        Cell::Bool(values.value(row))
    } else if let Some(values) = any.downcast_ref::<Date32Array>() {
        Cell::Day(values.value(row))
    } else if let Some(values) = any.downcast_ref::<TimestampMicrosecondArray>() {
        Cell::Micros(values.value(row))
    } else {
        Cell::Null
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_in_the_file_and_older_names_say_nothing() {
        let name = name_of("shard-3-17", b"some bytes");
        assert_eq!(stem_of_name(&name), Some("shard-3-17"), "{name}");
        assert!(is_whole(&format!("lake/v1/t1/lines/{name}"), b"some bytes"));
        assert!(!is_whole(&name, b"some bytez"));
        assert!(is_whole("shard-3-17-4f7dd025-310f-4fd9-8119-a81a1cf1ce70.parquet", b"any"));
        for odd in ["", ".parquet", "a.b.c.parquet", "\u{e9}-4f7dd025.x.parquet"] {
            assert_eq!(stem_of_name(odd), None, "{odd}");
        }
    }
}
