//! Claims about files of rows: commits, cuts, locks and what is refused.

mod turns;

use super::*;
use crate::open;
use crate::tests::{TIME, batch, checkpoint, column, counts, one, rows};

use pipeline::{CellValue, ColumnRole, Kind};
use testkit::TempDir;

const FORMATS: [&str; 2] = ["ndjson", "csv"];

fn sink(format: &str, dir: &Path) -> Box<dyn Sink> {
    open(&format!("{format}:out"), dir).unwrap()
}

fn read(format: &str, dir: &Path) -> String {
    fs::read_to_string(dir.join("out").join(format!("counts.{format}"))).unwrap()
}

fn expected(format: &str, counts: &[i64]) -> String {
    let header = if format == "csv" { "path,minute,count\n" } else { "" };
    let line = |count: &i64| match format {
        "csv" => format!("/a,2026-11-21T09:48:00Z,{count}\n"),
        _ => format!("{{\"path\":\"/a\",\"minute\":\"2026-11-21T09:48:00Z\",\"count\":{count}}}\n"),
    };
    header.to_owned() + &counts.iter().map(line).collect::<String>()
}

#[test]
fn appends_what_each_batch_adds() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        for sequence in 1..=3 {
            let mut sink = sink(format, dir.path());
            sink.prepare(&[counts()]).unwrap();
            sink.deliver(&batch(sequence, one("/a", sequence as i64))).unwrap();
            assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint(sequence)]);
        }
        assert_eq!(read(format, dir.path()), expected(format, &[1, 2, 3]));
    }
}

#[test]
fn cuts_off_what_was_not_committed_wherever_the_writer_died() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let mut sink = sink(format, dir.path());
        sink.deliver(&batch(1, one("/a", 1))).unwrap();
        let file = dir.path().join("out").join(format!("counts.{format}"));
        let whole = fs::read(&file).unwrap();
        for torn in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes.extend_from_slice(&whole[..torn]);
            fs::write(&file, &bytes).unwrap();
            fs::write(dir.path().join("out/checkpoints.json.new"), &bytes).unwrap();
            let before = fs::read(dir.path().join("out/checkpoints.json")).unwrap();
            sink.deliver(&batch(2, one("/a", 2))).unwrap();
            assert_eq!(read(format, dir.path()), expected(format, &[1, 2]));
            // Back to where the writer died.
            fs::write(dir.path().join("out/checkpoints.json"), before).unwrap();
        }
    }
}

#[test]
fn advances_one_of_two_writers() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let mut sinks = [sink(format, dir.path()), sink(format, dir.path())];
        for sequence in 1..=10 {
            let outcomes = std::thread::scope(|scope| {
                let deliver =
                    |sink: &mut Box<dyn Sink>| sink.deliver(&batch(sequence, one("/a", 1))).is_ok();
                let threads = sinks.each_mut().map(|sink| scope.spawn(move || deliver(sink)));
                threads.map(|thread| thread.join().unwrap())
            });
            assert_eq!(outcomes.iter().filter(|is_ok| **is_ok).count(), 1);
        }
        assert_eq!(read(format, dir.path()), expected(format, &[1; 10]));
    }
}

#[test]
fn begins_anew_when_a_file_was_moved_away() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let mut sink = sink(format, dir.path());
        sink.deliver(&batch(1, one("/a", 1))).unwrap();
        let file = dir.path().join("out").join(format!("counts.{format}"));
        fs::rename(&file, file.with_extension("old")).unwrap();
        sink.deliver(&batch(2, one("/a", 2))).unwrap();
        sink.deliver(&batch(3, one("/a", 3))).unwrap();
        assert_eq!(read(format, dir.path()), expected(format, &[2, 3]));
    }
}

#[test]
fn refuses_a_file_that_lost_its_end() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let mut sink = sink(format, dir.path());
        sink.deliver(&batch(1, one("/a", 1))).unwrap();
        let file = dir.path().join("out").join(format!("counts.{format}"));
        OpenOptions::new().write(true).open(&file).unwrap().set_len(5).unwrap();
        let error = sink.deliver(&batch(2, one("/a", 2))).unwrap_err();
        assert!(matches!(error, SinkError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("has 5 bytes and "), "{error}");
        assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint(1)]);
    }
}

#[test]
fn refuses_other_columns_in_a_csv_file() {
    let dir = TempDir::new().unwrap();
    let mut sink = sink("csv", dir.path());
    sink.deliver(&batch(1, one("/a", 1))).unwrap();
    let mut wider = (*counts()).clone();
    wider.columns.push(column("sum_x", Kind::Integer, ColumnRole::Sum));
    let error = sink.prepare(&[Arc::new(wider)]).unwrap_err().to_string();
    let expected = "has the columns `path,minute,count`, and rows have `path,minute,count,sum_x`";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn writes_values_that_readers_take() {
    let table = Arc::new(Table {
        name: "t".to_owned(),
        columns: vec![
            column("text", Kind::Text, ColumnRole::Plain),
            column("real", Kind::Real, ColumnRole::Plain),
            column("time", Kind::Time, ColumnRole::Plain),
            column("blob", Kind::Blob, ColumnRole::Plain),
        ],
    });
    let rows = rows(
        &table,
        &[
            &[
                CellValue::Text(b"a,\"b\"\n\xff"),
                CellValue::Real(1e300),
                CellValue::Time(TIME + 5),
                CellValue::Blob(b"\x00\xff"),
            ],
            &[
                CellValue::Text(b""),
                CellValue::Real(f64::NAN),
                CellValue::Absent,
                CellValue::Absent,
            ],
        ],
    );
    let text = |format: Format| String::from_utf8(format.rows(&rows)).unwrap();
    assert_eq!(
        text(Format::Csv),
        "\"a,\"\"b\"\"\n\u{fffd}\",1e300,2026-11-21T09:48:00.000005Z,00ff\n\"\",,,\n"
    );
    assert_eq!(
        text(Format::Ndjson),
        "{\"text\":\"a,\\\"b\\\"\\n\u{fffd}\",\"real\":1e300,\
         \"time\":\"2026-11-21T09:48:00.000005Z\",\"blob\":\"00ff\"}\n\
         {\"text\":\"\",\"real\":null,\"time\":null,\"blob\":null}\n"
    );
}
