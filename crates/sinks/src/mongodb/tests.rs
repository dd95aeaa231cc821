//! The sink against a small server that keeps documents in memory (`tests/server.rs`).
//!
//! FerretDB, a real server, is tried by `make test-engines`.

mod errors;
mod roles;
mod server;

use std::path::Path;

use ::mongodb::bson::{Bson, Document, doc};
use pipeline::{CellValue, TableRows};

use self::server::{FakeMongo, Fault};
use super::*;
use crate::tests::{TIME, batch, checkpoint, counts, one, rows};

fn sink(fake: &FakeMongo) -> Box<dyn Sink> {
    crate::open(&fake.url(), Path::new("/")).unwrap()
}

/// A sink as a pipeline begins with it, and what it then holds.
fn begun(fake: &FakeMongo) -> (Box<dyn Sink>, Option<Checkpoint>) {
    let mut sink = sink(fake);
    sink.prepare(&[counts()]).unwrap();
    sink.claim("n1", "web").unwrap();
    let stored = sink.checkpoints("web").unwrap().pop();
    (sink, stored)
}

fn count(fake: &FakeMongo) -> i64 {
    fake.documents("counts").iter().map(|found| found.get_i64("count").unwrap()).sum()
}

/// A batch of the source `source`.
fn of(source: &str, mut batch: Batch) -> Batch {
    source.clone_into(&mut batch.checkpoint.source);
    batch
}

#[test]
fn a_batch_that_was_interrupted_anywhere_counts_once() {
    for fault in [Fault::LosesAnswer, Fault::LosesRequest] {
        for nth in 1.. {
            let fake = FakeMongo::start();
            let (mut sink, _) = begun(&fake);
            fake.goes_wrong_at(nth, fault.clone());
            let outcome = sink.deliver(&batch(1, one("/a", 10)));
            fake.goes_wrong(|_| None);
            if outcome.is_ok() {
                // The sink writes less often than that.
                assert!(nth > 5, "{nth}");
                break;
            }
            let (mut sink, stored) = begun(&fake);
            // The log has grown meanwhile: the batch is another one, unless it is finished.
            let expected = if stored.is_some() { 10 } else { 13 };
            if stored.is_none() {
                sink.deliver(&batch(1, one("/a", 13))).unwrap();
            }
            assert_eq!(count(&fake), expected, "write {nth}, {fault:?}");
            sink.deliver(&batch(2, one("/a", 5))).unwrap();
            assert_eq!(count(&fake), expected + 5, "write {nth}, {fault:?}");
            assert_eq!(fake.documents(BATCHES), [], "write {nth}, {fault:?}");
        }
    }
}

#[test]
fn after_a_failure_the_next_delivery_claims_and_finishes_what_was_committed() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    // The second write commits, and the third applies.
    fake.goes_wrong_at(3, Fault::LosesRequest);
    let lost = sink.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(matches!(lost, SinkError::Unreachable { engine: "mongodb", .. }), "{lost}");
    assert_eq!(count(&fake), 0);
    let fenced = sink.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 1, expected: 0, .. }), "{fenced}");
    assert_eq!(count(&fake), 10);
    assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint(1)]);
}

#[test]
fn delivers_nothing_where_the_checkpoint_is_another_one() {
    let fake = FakeMongo::start();
    let (mut sink, stored) = begun(&fake);
    assert_eq!(stored, None);
    let fenced = sink.deliver(&batch(3, one("/a", 1))).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 0, expected: 2, .. }), "{fenced}");
    assert_eq!((fake.documents("counts"), fake.documents(BATCHES)), (vec![], vec![]));
    // It was told, and the claim stays.
    sink.deliver(&batch(1, one("/a", 1))).unwrap();
    assert_eq!(count(&fake), 1);
}

#[test]
fn only_the_process_that_claimed_last_can_commit() {
    let fake = FakeMongo::start();
    let (mut first, _) = begun(&fake);
    let (mut second, _) = begun(&fake);
    let error = first.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(error.to_string().ends_with("taken over the delivery of this source"), "{error}");
    second.deliver(&batch(1, one("/a", 7))).unwrap();
    assert_eq!(count(&fake), 7);
    // The other claims anew with its next batch, and sees what was committed.
    let fenced = first.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 1, expected: 0, .. }), "{fenced}");
    assert_eq!(count(&fake), 7);
}

#[test]
fn one_that_claims_between_the_look_and_the_commit_wins() {
    let fake = FakeMongo::start();
    let (mut first, _) = begun(&fake);
    // The answer to a commit that matches nothing, since another claim stands there.
    fake.goes_wrong_at(2, Fault::Answers(doc! { "ok": 1.0, "n": 0, "nModified": 0 }));
    let error = first.deliver(&batch(1, one("/a", 10))).unwrap_err();
    assert!(error.to_string().ends_with("was moved by another process"), "{error}");
    assert_eq!(fake.documents("counts"), []);
    assert_eq!(begun(&fake).1, None);
}

#[test]
fn sources_of_a_node_are_delivered_and_claimed_each_for_itself() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    for sequence in 1..=3 {
        sink.deliver(&batch(sequence, one("/a", 1))).unwrap();
        sink.deliver(&of("app", batch(sequence, one("/a", 10)))).unwrap();
    }
    assert_eq!(count(&fake), 33);
    assert_eq!(sink.checkpoints("app").unwrap(), [of("app", batch(3, one("/a", 1))).checkpoint]);
    assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint(3)]);
    // Whoever begins anew takes nothing from the other source.
    let (mut other, _) = begun(&fake);
    sink.deliver(&of("app", batch(4, one("/a", 10)))).unwrap();
    other.deliver(&batch(4, one("/a", 1))).unwrap();
    assert_eq!(count(&fake), 44);
}

#[test]
fn a_batch_that_waits_to_be_finished_stops_no_other_source() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    fake.goes_wrong_at(3, Fault::LosesRequest);
    sink.deliver(&batch(1, one("/a", 10))).unwrap_err();
    fake.goes_wrong(|_| None);
    sink.deliver(&of("app", batch(1, one("/a", 1)))).unwrap();
    assert_eq!(count(&fake), 1);
    assert_eq!(begun(&fake).1, Some(checkpoint(1)));
    assert_eq!(count(&fake), 11);
}

#[test]
fn a_batch_of_many_rows_is_applied_whole_with_all_its_documents() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    let mut many = TableRows::new(counts());
    // Two documents of a batch, and more updates than a command has.
    for at in 0..401 {
        many.push(CellValue::Text(format!("/{at}").as_bytes()));
        many.push(CellValue::Time(TIME));
        many.push(CellValue::Integer(1));
    }
    sink.deliver(&batch(1, many)).unwrap();
    assert_eq!(fake.documents("counts").len(), 401);
    assert_eq!(count(&fake), 401);
    assert_eq!(fake.documents(BATCHES), []);
}

#[test]
fn a_batch_without_rows_moves_the_checkpoint() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    sink.deliver(&Batch { checkpoint: checkpoint(1), rows: Vec::new() }).unwrap();
    sink.deliver(&batch(2, TableRows::new(counts()))).unwrap();
    assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint(2)]);
    assert_eq!(fake.documents("counts"), []);
}

#[test]
fn rows_whose_documents_are_there_take_one_command() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    let commands = || -> usize {
        let state = fake.state();
        state.commands.iter().filter(|(_, collection)| collection == "counts").count()
    };
    // Updated in vain, made, updated.
    sink.deliver(&batch(1, one("/a", 1))).unwrap();
    assert_eq!(commands(), 3);
    sink.deliver(&batch(2, one("/a", 1))).unwrap();
    assert_eq!(commands(), 4);
}

#[test]
fn attempts_have_different_numbers_and_none_is_zero() {
    let mut attempts: Vec<i64> = (0..100).map(|_| encode::attempt()).collect();
    attempts.sort_unstable();
    attempts.dedup();
    assert_eq!(attempts.len(), 100);
    // 0 says that no batch is under way.
    assert!(attempts[0] > 0, "{}", attempts[0]);
}
