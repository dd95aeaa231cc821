//! Writes training examples as Apache Parquet, compressed with zstd, in row groups of 65,536 rows.
//!
//! Invariant: columns are written in the order of `SCHEMA`, which is that of `COLUMNS`. Memory is
//! one row group, and a footer that grows with the number of groups.
//! A position above `i32::MAX` becomes `i32::MAX`. Elsewhere: values that both formats share
//! (`examples/row.rs`).

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use training::Example;

use super::row::ExampleRow;

const SCHEMA: &str = "message example {
    REQUIRED BYTE_ARRAY request_id (UTF8);
    REQUIRED BYTE_ARRAY ranked_by (UTF8);
    REQUIRED INT64 time (TIMESTAMP(MICROS, true));
    OPTIONAL BYTE_ARRAY user (UTF8);
    OPTIONAL BYTE_ARRAY route (UTF8);
    REQUIRED BYTE_ARRAY decision (UTF8);
    REQUIRED BYTE_ARRAY cache (UTF8);
    REQUIRED BYTE_ARRAY model (UTF8);
    REQUIRED BYTE_ARRAY version (UTF8);
    OPTIONAL DOUBLE propensity;
    REQUIRED INT32 position;
    REQUIRED BYTE_ARRAY item (UTF8);
    REQUIRED INT32 label;
    REQUIRED INT64 feedback;
    OPTIONAL INT64 feedback_time (TIMESTAMP(MICROS, true));
    REQUIRED BOOLEAN censored;
}";

/// Rows that are written together.
pub(super) const GROUP_ROWS: usize = 64 << 10;

/// Writes Apache Parquet, compressed with zstd.
pub struct ParquetExamples<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    rows: usize,
    request: RequestColumns,
    model: ModelColumns,
    item: ItemColumns,
}

/// The request that showed the item.
#[derive(Default)]
struct RequestColumns {
    request_id: ParquetColumn<ByteArrayType>,
    ranked_by: ParquetColumn<ByteArrayType>,
    time: ParquetColumn<Int64Type>,
    user: ParquetColumn<ByteArrayType>,
    route: ParquetColumn<ByteArrayType>,
    decision: ParquetColumn<ByteArrayType>,
    cache: ParquetColumn<ByteArrayType>,
}

/// The model that ranked it.
#[derive(Default)]
struct ModelColumns {
    model: ParquetColumn<ByteArrayType>,
    version: ParquetColumn<ByteArrayType>,
    propensity: ParquetColumn<DoubleType>,
}

/// The item, and what was done with it.
#[derive(Default)]
struct ItemColumns {
    position: ParquetColumn<Int32Type>,
    item: ParquetColumn<ByteArrayType>,
    label: ParquetColumn<Int32Type>,
    feedback: ParquetColumn<Int64Type>,
    feedback_time: ParquetColumn<Int64Type>,
    censored: ParquetColumn<BoolType>,
}

impl<W: Write + Send> ParquetExamples<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: W) -> io::Result<Self> {
        let schema = parse_message_type(SCHEMA).expect("the schema is well-formed");
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties));
        Ok(Self {
            writer: writer.map_err(parquet_error)?,
            rows: 0,
            request: RequestColumns::default(),
            model: ModelColumns::default(),
            item: ItemColumns::default(),
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, example: &Example<'_>) -> io::Result<()> {
        let row = ExampleRow::of(example);
        self.request.add(&row);
        self.model.add(&row);
        self.item.add(&row);
        self.rows += 1;
        if self.rows == GROUP_ROWS { self.write_group().map_err(parquet_error) } else { Ok(()) }
    }

    /// Writes what is left, and the footer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_group().map_err(parquet_error)?;
        let mut out = self.writer.into_inner().map_err(parquet_error)?;
        out.flush()
    }

    /// Writes the columns in the order of the schema.
    fn write_group(&mut self) -> Result<(), ParquetError> {
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        self.request.write(&mut group)?;
        self.model.write(&mut group)?;
        self.item.write(&mut group)?;
        group.close()?;
        Ok(())
    }
}

impl RequestColumns {
    fn add(&mut self, row: &ExampleRow<'_>) {
        let shown = row.example.shown;
        self.request_id.add(ByteArray::from(row.request_id.as_str()));
        self.ranked_by.add(ByteArray::from(row.ranked_by.as_str()));
        self.time.add(shown.time_us.cast_signed());
        self.user.add_some(row.user.as_deref().map(ByteArray::from));
        self.route.add_some(shown.route.as_deref().map(ByteArray::from));
        self.decision.add(ByteArray::from(shown.decision.name()));
        self.cache.add(ByteArray::from(shown.cache.name()));
    }

    fn write(&mut self, group: &mut RowGroup<'_, impl Write + Send>) -> Result<(), ParquetError> {
        self.request_id.write(group)?;
        self.ranked_by.write(group)?;
        self.time.write(group)?;
        self.user.write(group)?;
        self.route.write(group)?;
        self.decision.write(group)?;
        self.cache.write(group)
    }
}

impl ModelColumns {
    fn add(&mut self, row: &ExampleRow<'_>) {
        let (model, version) = row.model();
        self.model.add(ByteArray::from(model));
        self.version.add(ByteArray::from(version));
        self.propensity.add_some(row.propensity);
    }

    fn write(&mut self, group: &mut RowGroup<'_, impl Write + Send>) -> Result<(), ParquetError> {
        self.model.write(group)?;
        self.version.write(group)?;
        self.propensity.write(group)
    }
}

impl ItemColumns {
    fn add(&mut self, row: &ExampleRow<'_>) {
        let example = row.example;
        self.position.add(i32::try_from(example.position).unwrap_or(i32::MAX));
        self.item.add(ByteArray::from(example.item));
        self.label.add(row.label);
        self.feedback.add(example.feedback.cast_signed());
        self.feedback_time.add_some(example.feedback_us.map(u64::cast_signed));
        self.censored.add(example.is_censored);
    }

    fn write(&mut self, group: &mut RowGroup<'_, impl Write + Send>) -> Result<(), ParquetError> {
        self.position.write(group)?;
        self.item.write(group)?;
        self.label.write(group)?;
        self.feedback.write(group)?;
        self.feedback_time.write(group)?;
        self.censored.write(group)
    }
}

/// Rows that are written together.
type RowGroup<'g, W> = SerializedRowGroupWriter<'g, W>;

/// The values of a column, and for each row whether it has one.
struct ParquetColumn<T: DataType> {
    values: Vec<T::T>,
    levels: Vec<i16>,
}

impl<T: DataType> Default for ParquetColumn<T> {
    fn default() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T: DataType> ParquetColumn<T> {
    fn add(&mut self, value: T::T) {
        self.add_some(Some(value));
    }

    fn add_some(&mut self, value: Option<T::T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    /// Writes the next column of a row group.
    fn write(&mut self, group: &mut RowGroup<'_, impl Write + Send>) -> Result<(), ParquetError> {
        let mut column = group.next_column()?.expect("the schema has as many columns");
        // A required column takes no levels, and has none that says absent.
        column.typed::<T>().write_batch(&self.values, Some(&self.levels), None)?;
        column.close()?;
        self.values.clear();
        self.levels.clear();
        Ok(())
    }
}

fn parquet_error(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
