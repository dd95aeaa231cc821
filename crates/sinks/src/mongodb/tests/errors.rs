//! What the sink makes of errors that a server answers with.

use super::*;

/// A command's answer with one error of a write.
fn write_error(code: i32) -> Document {
    let error = doc! { "index": 0, "code": code, "errmsg": "it says why" };
    doc! { "ok": 1.0, "n": 0, "nModified": 0, "writeErrors": [error] }
}

/// Answers so to the first updates of rows.
fn rows_meet(fake: &FakeMongo, times: usize, answer: Document) {
    let mut left = times;
    fake.goes_wrong(move |command| {
        let is_row = command.get_str("update").is_ok_and(|name| name == "counts");
        let is_met = is_row && left > 0;
        left -= usize::from(is_met);
        is_met.then(|| Fault::Answers(answer.clone()))
    });
}

#[test]
fn a_document_that_another_node_makes_at_the_same_moment_is_tried_again() {
    for times in 1..=4 {
        let fake = FakeMongo::start();
        let (mut sink, _) = begun(&fake);
        rows_meet(&fake, times, write_error(11_000));
        sink.deliver(&batch(1, one("/a", 10))).unwrap();
        assert_eq!(count(&fake), 10, "{times}");
    }
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    rows_meet(&fake, 5, write_error(11_000));
    let error = sink.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
    assert!(error.to_string().ends_with("`counts`: made by others meanwhile"), "{error}");
    assert_eq!(begun(&fake).1, Some(checkpoint(1)));
    assert_eq!(count(&fake), 10);
}

#[test]
fn making_a_document_is_tried_again_too() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    let mut is_met = false;
    fake.goes_wrong(move |command| {
        let update = command.get_array("updates").ok()?.first()?.as_document()?;
        let is_first = update.get_bool("upsert").unwrap_or(false) && !is_met;
        is_met |= is_first;
        is_first.then(|| Fault::Answers(write_error(11_000)))
    });
    sink.deliver(&batch(1, one("/a", 10))).unwrap();
    assert_eq!(count(&fake), 10);
}

#[test]
fn what_the_server_does_not_take_is_refused_with_its_reason() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    rows_meet(&fake, 1, write_error(121));
    let error = sink.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(matches!(error, SinkError::Refused { engine: "mongodb", .. }), "{error}");
    assert!(error.to_string().ends_with("`counts`: it says why"), "{error}");
    let fake = FakeMongo::start();
    let no = doc! { "ok": 0.0, "code": 13, "codeName": "Unauthorized", "errmsg": "no right" };
    fake.goes_wrong(move |_| Some(Fault::Answers(no.clone())));
    let error = sink_error(&fake);
    assert!(matches!(error, SinkError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("no right"), "{error}");
}

fn sink_error(fake: &FakeMongo) -> SinkError {
    sink(fake).prepare(&[counts()]).unwrap_err()
}

#[test]
fn what_the_majority_has_not_confirmed_is_delivered_again() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    let late = doc! { "code": 64, "errmsg": "waiting for replication timed out" };
    rows_meet(&fake, 1, doc! { "ok": 1.0, "n": 1, "nModified": 1, "writeConcernError": late });
    let error = sink.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("replication timed out"), "{error}");
    assert_eq!(begun(&fake).1, Some(checkpoint(1)));
    assert_eq!(count(&fake), 10);
}

#[test]
fn a_broken_sketch_is_named_and_the_batch_waits() {
    use pipeline::{ColumnRole, Kind};
    let columns = vec![
        crate::tests::column("path", Kind::Text, ColumnRole::Key),
        crate::tests::column("users", Kind::Blob, ColumnRole::Sketch),
    ];
    let table = Arc::new(Table { name: "t_sketches".to_owned(), columns });
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    for (sequence, bytes) in (1..).zip([b"\x48\x02", b"\x48\x02"]) {
        let row: &[CellValue<'_>] = &[CellValue::Text(b"/a"), CellValue::Blob(bytes)];
        let outcome = sink.deliver(&batch(sequence, rows(&table, &[row])));
        assert_eq!(outcome.is_ok(), sequence == 1, "{outcome:?}");
        if let Err(error) = outcome {
            assert!(matches!(error, SinkError::Refused { .. }), "{error}");
            assert!(error.to_string().contains("sketch of version 2"), "{error}");
        }
    }
}

#[test]
fn an_address_names_a_database_and_shows_no_password() {
    let error = |url: &str| MongoSink::new(url).err().expect("it is wrong").to_string();
    assert_eq!(error("mongodb://u:hush@h:1/?appName=hush"), "`mongodb://h:1/` names no database");
    let wrong = error("mongodb://u:hush@h:x/t");
    assert_eq!(wrong, "`mongodb://h:x/t`: it is no address of MongoDB");
}
