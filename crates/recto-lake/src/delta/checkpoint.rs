//! A version of a table in one Parquet file, so that opening it needs few requests.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::ArrayRef;
use arrow_array::BooleanArray;
use arrow_array::Int32Array;
use arrow_array::Int64Array;
use arrow_array::RecordBatch;
use arrow_array::StringArray;
use arrow_array::StructArray;
use arrow_array::builder::ListBuilder;
use arrow_array::builder::MapBuilder;
use arrow_array::builder::MapFieldNames;
use arrow_array::builder::StringBuilder;
use arrow_buffer::NullBuffer;
use arrow_schema::Field;
use arrow_schema::Fields;
use arrow_schema::Schema;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use serde_json::json;

use crate::delta::log::DataFile;
use crate::delta::log::Snapshot;
use crate::delta::log::check_protocol;
use crate::delta::log::is_file_name;
use crate::delta::parquet_file::properties;
use crate::error::LakeError;

/// How long a removed file is remembered, in milliseconds: seven days.
const REMEMBERED: i64 = 7 * 24 * 3600 * 1000;

/// The rows of one kind of action, among those of others.
struct Part {
    /// The first row, and how many there are.
    start: usize,
    count: usize,
    all: usize,
}

impl Part {
    /// Values at the rows of the part, nothing at others.
    fn spread<T, O: FromIterator<Option<T>>>(
        &self,
        values: impl IntoIterator<Item = Option<T>>,
    ) -> O {
        let before = std::iter::repeat_with(|| None).take(self.start);
        let behind = std::iter::repeat_with(|| None).take(self.all - self.start - self.count);
        before.chain(values).chain(behind).collect()
    }

    fn texts<'a>(&self, values: impl IntoIterator<Item = Option<&'a str>>) -> ArrayRef {
        Arc::new(self.spread::<&str, StringArray>(values))
    }

    fn longs(&self, values: impl IntoIterator<Item = i64>) -> ArrayRef {
        Arc::new(self.spread::<i64, Int64Array>(values.into_iter().map(Some)))
    }

    fn bools(&self, value: bool) -> ArrayRef {
        let values = std::iter::repeat_n(Some(value), self.count);
        Arc::new(self.spread::<bool, BooleanArray>(values))
    }

    /// Empty maps.
    fn maps(&self) -> Result<ArrayRef, LakeError> {
        let names = MapFieldNames {
            entry: "key_value".to_owned(),
            key: "key".to_owned(),
            value: "value".to_owned(),
        };
        let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
        for row in 0..self.all {
            let is_in = (self.start..self.start + self.count).contains(&row);
            maps.append(is_in).map_err(|error| broken(&error))?;
        }
        Ok(Arc::new(maps.finish()))
    }

    /// Empty lists.
    fn lists(&self) -> ArrayRef {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in 0..self.all {
            lists.append((self.start..self.start + self.count).contains(&row));
        }
        Arc::new(lists.finish())
    }

    fn nulls(&self) -> NullBuffer {
        (0..self.all).map(|row| (self.start..self.start + self.count).contains(&row)).collect()
    }

    fn record(&self, columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
        let fields: Fields = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
            .collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        Arc::new(StructArray::new(fields, arrays, Some(self.nulls())))
    }
}

fn broken(error: &dyn std::fmt::Display) -> LakeError {
    LakeError::Damaged { path: "checkpoint".to_owned(), reason: error.to_string() }
}

/// A version as Parquet, and how many actions it has.
pub(crate) fn write(snapshot: &Snapshot) -> Result<(Bytes, usize), LakeError> {
    let now = jiff::Timestamp::now().as_millisecond();
    let removed: Vec<(&String, &i64)> =
        snapshot.removed.iter().filter(|(_, at)| now - **at < REMEMBERED).collect();
    let (files, writers) = (&snapshot.files, &snapshot.writers);
    let counts = [1, 1, writers.len(), files.len(), removed.len()];
    let all: usize = counts.iter().sum();
    let mut start = 0;
    let parts = counts.map(|count| {
        let part = Part { start, count, all };
        start += count;
        part
    });
    let [protocol, metadata, writer, add, remove] = &parts;
    let none = Value::Null;
    let about = snapshot.metadata.as_ref().unwrap_or(&none);
    let format = metadata.record(vec![
        ("provider", metadata.texts([Some("parquet")])),
        ("options", metadata.maps()?),
    ]);
    let about_columns = vec![
        ("id", metadata.texts([about["id"].as_str()])),
        ("name", metadata.texts([about["name"].as_str()])),
        ("description", metadata.texts([about["description"].as_str()])),
        ("format", format),
        ("schemaString", metadata.texts([about["schemaString"].as_str()])),
        ("partitionColumns", metadata.lists()),
        ("configuration", metadata.maps()?),
        ("createdTime", metadata.longs([about["createdTime"].as_i64().unwrap_or(0)])),
    ];
    let versions =
        |number: i32| -> ArrayRef { Arc::new(protocol.spread::<i32, Int32Array>([Some(number)])) };
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "txn",
            writer.record(vec![
                ("appId", writer.texts(writers.keys().map(|name| Some(name.as_str())))),
                ("version", writer.longs(writers.values().copied())),
                ("lastUpdated", writer.longs(writers.values().map(|_| now))),
            ]),
        ),
        (
            "add",
            add.record(vec![
                ("path", add.texts(files.keys().map(|path| Some(path.as_str())))),
                ("partitionValues", add.maps()?),
                ("size", add.longs(files.values().map(|file| file.bytes as i64))),
                ("modificationTime", add.longs(files.values().map(|file| file.modified))),
                ("dataChange", add.bools(false)),
                ("stats", add.texts(files.values().map(|file| Some(file.stats.as_str())))),
            ]),
        ),
        (
            "remove",
            remove.record(vec![
                ("path", remove.texts(removed.iter().map(|(path, _)| Some(path.as_str())))),
                ("deletionTimestamp", remove.longs(removed.iter().map(|(_, at)| **at))),
                ("dataChange", remove.bools(false)),
            ]),
        ),
        ("metaData", metadata.record(about_columns)),
        (
            "protocol",
            protocol
                .record(vec![("minReaderVersion", versions(1)), ("minWriterVersion", versions(2))]),
        ),
    ];
    let schema: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(schema)), arrays);
    let batch = batch.map_err(|error| broken(&error))?;
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties(&[])))
        .map_err(|error| broken(&error))?;
    writer.write(&batch).map_err(|error| broken(&error))?;
    let bytes = writer.into_inner().map_err(|error| broken(&error))?;
    Ok((bytes.into(), all))
}

/// The version that a checkpoint is of.
pub(crate) fn read(bytes: Bytes, path: &str, version: i64) -> Result<Snapshot, LakeError> {
    let damaged = |reason: &dyn std::fmt::Display| LakeError::Damaged {
        path: path.to_owned(),
        reason: reason.to_string(),
    };
    let mut snapshot = Snapshot { version, ..Snapshot::default() };
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| damaged(&error))?;
    for batch in reader.build().map_err(|error| damaged(&error))? {
        let batch = batch.map_err(|error| damaged(&error))?;
        let group = |name: &str| {
            let column = batch.column_by_name(name);
            column.and_then(|column| column.as_any().downcast_ref::<StructArray>().cloned())
        };
        let missing = || damaged(&"an action has another form");
        let add = group("add").ok_or_else(missing)?;
        let remove = group("remove").ok_or_else(missing)?;
        let writer = group("txn").ok_or_else(missing)?;
        let metadata = group("metaData").ok_or_else(missing)?;
        let protocol = group("protocol").ok_or_else(missing)?;
        for row in 0..batch.num_rows() {
            if add.is_valid(row) {
                let path = text(&add, "path", row).filter(|path| is_file_name(path));
                let path = path.ok_or_else(missing)?;
                let file = DataFile {
                    path: path.clone(),
                    bytes: long(&add, "size", row).unwrap_or(0) as u64,
                    modified: long(&add, "modificationTime", row).unwrap_or(0),
                    stats: text(&add, "stats", row).unwrap_or_default(),
                };
                snapshot.files.insert(path, file);
            } else if remove.is_valid(row) {
                let path = text(&remove, "path", row).ok_or_else(missing)?;
                let at = long(&remove, "deletionTimestamp", row).unwrap_or(0);
                snapshot.removed.insert(path, at);
            } else if writer.is_valid(row) {
                let name = text(&writer, "appId", row).ok_or_else(missing)?;
                snapshot.writers.insert(name, long(&writer, "version", row).unwrap_or(0));
            } else if metadata.is_valid(row) {
                let text = |name: &str| text(&metadata, name, row);
                snapshot.metadata = Some(json!({
                    "id": text("id"), "name": text("name"), "description": text("description"),
                    "schemaString": text("schemaString"),
                    "createdTime": long(&metadata, "createdTime", row),
                }));
            } else if protocol.is_valid(row) {
                let number = |name: &str| {
                    let column =
                        protocol.column_by_name(name)?.as_any().downcast_ref::<Int32Array>();
                    column.map(|column| column.value(row))
                };
                let versions = json!({
                    "minReaderVersion": number("minReaderVersion"),
                    "minWriterVersion": number("minWriterVersion"),
                });
                check_protocol(&versions, path)?;
            }
        }
    }
    Ok(snapshot)
}

fn text(group: &StructArray, name: &str, row: usize) -> Option<String> {
    let column = group.column_by_name(name)?.as_any().downcast_ref::<StringArray>()?;
    column.is_valid(row).then(|| column.value(row).to_owned())
}

fn long(group: &StructArray, name: &str, row: usize) -> Option<i64> {
    let column = group.column_by_name(name)?.as_any().downcast_ref::<Int64Array>()?;
    column.is_valid(row).then(|| column.value(row))
}
