//! Claims about when and where encodings are made, and who waits for them.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use chassis::{Inflight, WorkPool};
use exchange::Decision;
use http1::accept::{Coding, Codings};
use metrics::Registry;
use parking_lot::Mutex;
use testkit::FIXTURE_TIMEOUT;
use tokio::task::LocalSet;

use super::{ENCODINGS, Encoder, JOBS_MAX};
use crate::codec;
use crate::encodings::{Encodings, Variant};
use crate::entry::{Entry, NewEntry};
use crate::key::EntryKey;
use crate::memory::Memory;
use crate::tests::{MINUTE, poll, response};

const GENERIC: Decision = Decision::Generic;
/// A body that takes too long for an I/O core, whichever its coding.
const LONG: usize = 50_001;

/// An encoder with a work pool of one thread, whose queue has room for so many jobs.
fn encoder(queue_max: usize) -> Arc<Encoder> {
    let memory = Memory::new(100_000_000, 1_000_000, &Inflight::unbounded());
    let work = WorkPool::start(1, queue_max).unwrap();
    Encoder::new(Arc::new(memory), work, &Registry::default())
}

/// Keeps the thread of the pool busy as long as the gate is locked.
fn block(encoder: &Encoder, gate: &Arc<Mutex<()>>) {
    let gate = Arc::clone(gate);
    encoder.work.spawn(ENCODINGS, Box::new(move || drop(gate.lock()))).unwrap();
}

fn encodable(body: Vec<u8>) -> Arc<Entry> {
    let new = NewEntry { codings: Some(Codings::ALL), ..response(&[("etag", "\"1\"")], body) };
    Entry::new(new, MINUTE, Instant::now())
}

fn long() -> Arc<Entry> {
    encodable(vec![b'x'; LONG])
}

fn encodings(entry: &Entry) -> &Encodings {
    entry.encodings.as_ref().unwrap()
}

fn only(coding: Coding) -> Codings {
    Codings::default().with(coding)
}

fn of(coding: Coding) -> Variant {
    Variant { coding, decision: GENERIC }
}

fn run<T>(claim: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, claim)
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + FIXTURE_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        tokio::task::yield_now().await;
    }
}

#[test]
fn what_is_quick_is_made_at_once_and_the_rest_only_off_the_core() {
    run(async {
        // A pool without room: what must leave the core is not made.
        let encoder = encoder(0);
        for (coding, longest) in
            [(Coding::Zstd, 50_000), (Coding::Gzip, 15_384), (Coding::Br, 8_000)]
        {
            for (length, is_made) in [(100, true), (longest, true), (longest + 1, false)] {
                let entry = encodable(vec![b'x'; length]);
                encoder.prepare(&entry, GENERIC, |_| only(coding)).await;
                let made = encodings(&entry).made(of(coding));
                assert_eq!(made.is_some(), is_made, "{length} bytes in {coding:?}");
                assert!(!encodings(&entry).is_claimed(of(coding)), "others may try again");
            }
            assert_eq!(encoder.encoded[coding as usize].get(), 2);
        }
    });
}

#[test]
fn only_what_is_offered_liked_and_lacking_is_made() {
    run(async {
        let encoder = encoder(0);
        let plain = Entry::new(response(&[], "x"), MINUTE, Instant::now());
        encoder.prepare(&plain, GENERIC, |_| panic!("it must stay as it is")).await;
        let gzip = Some(only(Coding::Gzip));
        let new = NewEntry { codings: gzip, ..response(&[], vec![b'x'; 1000]) };
        let entry = Entry::new(new, MINUTE, Instant::now());
        encoder.prepare(&entry, GENERIC, |offered| offered.and(only(Coding::Br))).await;
        assert!(!encodings(&entry).is_complete(GENERIC));
        encoder.prepare(&entry, GENERIC, |offered| offered).await;
        assert!(encodings(&entry).made(of(Coding::Gzip)).is_some());
        encoder.prepare(&entry, GENERIC, |_| panic!("nothing is left to be made")).await;
    });
}

#[test]
fn a_body_stays_as_it_is_unless_a_coding_saves_more_than_a_sixteenth() {
    let mut random = stdx::Random::new(1);
    let noise: Vec<u8> = (0..512).map(|_| random.bits() as u8).collect();
    let body = |zeros: usize| [&noise[..], &vec![0; zeros]].concat();
    let left = |zeros: usize| {
        let encoded = codec::whole(Coding::Zstd, &[&body(zeros)], true).unwrap().len();
        body(zeros).len() as i64 - (encoded + encoded / 16) as i64
    };
    // The body with which the limit is just met.
    let zeros = (0..200).find(|zeros| left(*zeros) == 0).unwrap();
    run(async {
        let encoder = encoder(0);
        for zeros in [0, zeros - 10, zeros, zeros + 2, zeros + 1000] {
            let entry = encodable(body(zeros));
            encoder.prepare(&entry, GENERIC, |_| only(Coding::Zstd)).await;
            let made = encodings(&entry).made(of(Coding::Zstd)).is_some();
            assert_eq!(made, left(zeros) > 0, "{zeros}");
            assert!(encodings(&entry).is_settled(of(Coding::Zstd)), "it is not tried again");
        }
    });
}

#[test]
fn an_encoding_has_the_body_with_the_decision_and_counts_in_memory() {
    let text = format!("<p>fallback</p>{}", "text ".repeat(200));
    let codings = Some(Codings::ALL);
    let new = NewEntry { codings, decision_at: Some(3..11), ..response(&[], text.clone()) };
    let entry = Entry::new(new, MINUTE, Instant::now());
    let encoder = encoder(0);
    let (key, names) = (b"http\na\n/", Default::default());
    encoder.memory.store(&EntryKey { base: key, names: &names, key }, Arc::clone(&entry));
    let before = encoder.memory.bytes();
    for decision in [Decision::Personalised, Decision::HeldOut] {
        run(encoder.prepare(&entry, decision, |_| only(Coding::Gzip)));
        let made = encodings(&entry).made(Variant { coding: Coding::Gzip, decision }).unwrap();
        let mut decoded = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&*made.body);
        std::io::Read::read_to_string(&mut decoder, &mut decoded).unwrap();
        assert_eq!(decoded, text.replace("fallback", decision.name()));
        assert_eq!(&*made.fields, b"content-encoding: gzip\r\n");
    }
    assert!(encoder.memory.bytes() > before + 2 * 128);
}

#[test]
fn who_comes_while_an_encoding_is_made_off_the_core_waits_for_it() {
    run(async {
        let encoder = encoder(100);
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock();
        block(&encoder, &gate);
        let prepare = |entry: Arc<Entry>| {
            let encoder = Arc::clone(&encoder);
            Box::pin(async move { encoder.prepare(&entry, GENERIC, |_| Codings::ALL).await })
        };
        // The wait is bounded: on a busy machine one of them may have ended when it is polled.
        let mut waited = [false; 2];
        for _ in 0..JOBS_MAX {
            let entry = long();
            for waited in &mut waited {
                *waited |= poll(&mut prepare(Arc::clone(&entry))) == Poll::Pending;
            }
            assert!(encodings(&entry).is_claimed(of(Coding::Zstd)));
        }
        assert_eq!(waited, [true; 2], "who had it made, and who came second");
        drop(held);
        let entry = long();
        let is_made = || encodings(&entry).made(of(Coding::Zstd)).is_some();
        eventually("the jobs", || encoder.jobs.load(super::Ordering::Relaxed) == 0).await;
        prepare(Arc::clone(&entry)).await;
        eventually("the encoding", is_made).await;
        eventually("the claim", || !encodings(&entry).is_claimed(of(Coding::Zstd))).await;
    });
}

#[test]
fn who_waits_goes_on_when_the_claim_is_given_up() {
    run(async {
        let encoder = encoder(0);
        let entry = long();
        let encodings = encodings(&entry);
        let waits = |_: &usize| {
            assert!(encodings.claim(of(Coding::Zstd)));
            let prepare = encoder.prepare(&entry, GENERIC, |_| Codings::ALL);
            let mut waiting: std::pin::Pin<Box<dyn Future<Output = ()>>> = Box::pin(prepare);
            let waited = poll(&mut waiting) == Poll::Pending;
            encodings.release(of(Coding::Zstd));
            assert_eq!(poll(&mut waiting), Poll::Ready(()));
            waited
        };
        // On a busy machine the bounded wait may be over when it is looked at.
        assert!((0..100).any(|turn| waits(&turn)));
    });
}

#[test]
fn sixteen_bodies_are_encoded_off_the_cores_at_once_and_later_ones_in_their_turn() {
    run(async {
        let encoder = encoder(100);
        for _ in 0..2 {
            let gate = Arc::new(Mutex::new(()));
            let held = gate.lock();
            block(&encoder, &gate);
            let entries: Vec<_> = (0..JOBS_MAX + 4).map(|_| long()).collect();
            for entry in &entries {
                // What waits has its job; nobody needs to wait to the end.
                let prepare = encoder.prepare(entry, GENERIC, |_| Codings::ALL);
                let mut prepare: std::pin::Pin<Box<dyn Future<Output = ()>>> = Box::pin(prepare);
                let _ = poll(&mut prepare);
            }
            let is_claimed = |entry: &&Arc<Entry>| encodings(entry).is_claimed(of(Coding::Zstd));
            assert_eq!(entries.iter().filter(is_claimed).count(), 16);
            assert_eq!(entries.iter().take_while(|entry| is_claimed(entry)).count(), 16);
            drop(held);
            let is_made = |entry: &Arc<Entry>| encodings(entry).is_settled(of(Coding::Zstd));
            eventually("the encodings", || entries[..16].iter().all(is_made)).await;
            eventually("the jobs", || encoder.jobs.load(super::Ordering::Relaxed) == 0).await;
            assert!(!entries[16..].iter().any(is_made));
        }
    });
}

#[test]
fn brotli_for_a_popular_entry_is_made_in_the_background_however_short_it_is() {
    run(async {
        for (queue_max, is_made) in [(0, false), (100, true)] {
            let encoder = encoder(queue_max);
            let entry = encodable(vec![b'x'; 1000]);
            for _ in 0..10 {
                encoder.prepare(&entry, GENERIC, |_| Codings::ALL).await;
            }
            let has_br = || encodings(&entry).made(of(Coding::Br)).is_some();
            if is_made {
                eventually("brotli", has_br).await;
                assert_eq!(encoder.encoded[Coding::Br as usize].get(), 1);
            }
            assert_eq!(has_br(), is_made);
        }
    });
}

#[test]
fn encoded_bodies_are_counted_by_coding() {
    let registry = Registry::default();
    for (times, counter) in (1..).zip(super::encoded_counters(&registry)) {
        counter.add(times);
    }
    for (times, coding) in (1..).zip(Coding::ALL) {
        let labels = [("coding", coding.name())];
        assert_eq!(registry.sum("tidegate_encodings_total", &labels), times);
    }
}
