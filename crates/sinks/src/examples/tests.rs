//! Claims about files of examples: what was written is read back.

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use bytes::Bytes;
use exchange::{Exchange, Impression};
use training::Example;

use super::parquet::GROUP_ROWS;
use std::io::{self, Write};

use super::{COLUMNS, CsvExamples, ParquetExamples};

const ITEM: &str = "a,\"b\"\nc";

/// Hands out examples, of which every third has feedback.
fn examples(count: usize, mut seen: impl FnMut(&Example<'_>)) {
    let mut ranked = Impression {
        model: "news".into(),
        version: "7".into(),
        propensity: 0.25,
        items: [ITEM].into_iter().collect(),
    };
    let mut shown = Exchange::default();
    for at in 0..count {
        shown.id = at as u128 + 1;
        shown.time_us = 1_700_000_000_000_000 + at as u64;
        shown.user = (at % 2 == 0).then(|| b"\xffx"[..].into());
        ranked.propensity = if at == 1 { f64::NAN } else { 0.25 };
        let feedback = u64::from(at % 3 == 0);
        let feedback_us = (feedback > 0).then_some(shown.time_us + 5);
        let (position, is_censored) = (at + 1, at % 5 == 0);
        let (shown, ranking, ranked, item) = (&shown, 9, &ranked, ITEM);
        let example =
            Example { shown, ranking, ranked, position, item, feedback, feedback_us, is_censored };
        seen(&example);
    }
}

#[test]
fn parquet_is_read_back_over_several_row_groups() {
    let count = GROUP_ROWS + 100;
    let mut file = Vec::new();
    let mut writer = ParquetExamples::new(&mut file).unwrap();
    examples(count, |example| writer.add(example).unwrap());
    writer.finish().unwrap();
    let reader = SerializedFileReader::new(Bytes::from(file)).unwrap();
    assert_eq!(reader.num_row_groups(), 2);
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, COLUMNS);
    let mut rows = 0;
    for (at, row) in reader.get_row_iter(None).unwrap().enumerate() {
        let row = row.unwrap();
        let shown: Vec<String> =
            row.get_column_iter().map(|(_, value)| value.to_string()).collect();
        let absent = "null".to_owned();
        assert_eq!(shown[0], format!("\"{:032x}\"", at + 1));
        assert_eq!(shown[3] == absent, at % 2 != 0);
        assert_eq!(shown[4], absent);
        assert_eq!(shown[9], if at == 1 { "null" } else { "0.25" });
        assert_eq!(shown[10], (at + 1).to_string());
        assert_eq!(shown[12], u8::from(at % 3 == 0).to_string());
        assert_eq!(shown[14] == absent, at % 3 != 0);
        assert_eq!(shown[15], (at % 5 == 0).to_string());
        rows += 1;
    }
    assert_eq!(rows, count);
}

#[test]
fn csv_quotes_what_would_end_a_cell() {
    let mut text = Vec::new();
    let mut writer = CsvExamples::new(&mut text).unwrap();
    examples(2, |example| writer.add(example).unwrap());
    writer.finish().unwrap();
    let text = String::from_utf8(text).unwrap();
    let id = |id: u128| format!("{id:032x}");
    let first = format!(
        "{},{},2023-11-14T22:13:20.000000Z,\u{fffd}x,,generic,none,news,7,0.25,1,\
         \"a,\"\"b\"\"\nc\",1,1,2023-11-14T22:13:20.000005Z,1\n",
        id(1),
        id(9)
    );
    let second = format!(
        "{},{},2023-11-14T22:13:20.000001Z,,,generic,none,news,7,,2,\"a,\"\"b\"\"\nc\",0,0,,0\n",
        id(2),
        id(9)
    );
    assert_eq!(text, format!("{}\n{first}{second}", COLUMNS.join(",")));
}

/// Tells whether what was written to it was flushed.
#[derive(Default)]
struct Flushed {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl Write for Flushed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_whole = false;
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.is_whole = true;
        Ok(())
    }
}

#[test]
fn a_file_that_is_finished_is_flushed_even_without_rows() {
    let (mut csv, mut parquet) = (Flushed::default(), Flushed::default());
    CsvExamples::new(&mut csv).unwrap().finish().unwrap();
    ParquetExamples::new(&mut parquet).unwrap().finish().unwrap();
    assert!(csv.is_whole && parquet.is_whole);
    assert_eq!(csv.bytes, format!("{}\n", COLUMNS.join(",")).into_bytes());
    let reader = SerializedFileReader::new(Bytes::from(parquet.bytes)).unwrap();
    assert_eq!((reader.num_row_groups(), reader.get_row_iter(None).unwrap().count()), (0, 0));
}

#[test]
fn every_column_of_parquet_has_what_csv_has() {
    let (mut csv, mut parquet) = (Vec::new(), Vec::new());
    let mut lines = CsvExamples::new(&mut csv).unwrap();
    let mut columns = ParquetExamples::new(&mut parquet).unwrap();
    examples(7, |example| {
        lines.add(example).unwrap();
        columns.add(example).unwrap();
    });
    lines.finish().unwrap();
    columns.finish().unwrap();
    let csv = String::from_utf8(csv).unwrap().replace("a,\"\"b\"\"\nc", "item");
    let reader = SerializedFileReader::new(Bytes::from(parquet)).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    for (line, row) in csv.lines().skip(1).zip(rows) {
        let row = row.unwrap();
        let cells = row.get_column_iter().map(|(name, field)| match (name.as_str(), field) {
            (_, Field::Null) => String::new(),
            ("item", _) => "\"item\"".to_owned(),
            (_, Field::Str(text)) => text.clone(),
            (_, Field::Bool(truth)) => u8::from(*truth).to_string(),
            (_, Field::TimestampMicros(us)) => crate::time::rfc3339_exact(*us),
            (_, other) => other.to_string(),
        });
        assert_eq!(cells.collect::<Vec<_>>().join(","), line);
    }
}
