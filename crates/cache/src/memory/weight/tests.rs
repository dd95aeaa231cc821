//! Claims about what each part of a stored response weighs.
//!
//! What all of it takes from the allocator is measured in `crates/gateway/tests/memory.rs`.

use std::sync::Arc;
use std::time::Instant;

use exchange::Decision;
use http1::accept::{Coding, Codings};

use super::super::content::Content;
use super::super::engine;
use super::{INDEX_BYTES, allocated, of};
use crate::encodings::{Encoding, Variant};
use crate::entry::{Entry, NewEntry};
use crate::key::FieldNames;
use crate::tags::Tags;
use crate::tests::{MINUTE, response};

#[test]
fn an_allocation_is_rounded_to_sixteen_bytes_and_then_to_four_sizes_per_power_of_two() {
    for (asked, taken) in [
        (1, 16),
        (16, 16),
        (17, 32),
        (120, 128),
        (129, 160),
        (1000, 1024),
        (1025, 1280),
        (5000, 5120),
        (100_000, 114_688),
    ] {
        assert_eq!(allocated(asked), taken);
    }
}

#[test]
fn a_place_in_the_index_weighs_what_a_node_with_six_of_eleven_keys_takes_for_each() {
    // A node of a B-tree has room for eleven keys with their tags, and a head.
    let node = allocated(11 * (16 + 16) + 12);
    assert!(INDEX_BYTES.abs_diff(node / 6) <= 2, "{INDEX_BYTES}, not {}", node / 6);
}

fn weight(key: &str, new: NewEntry) -> u64 {
    of(key.as_bytes(), &Content::Entry(Entry::new(new, MINUTE, Instant::now())))
}

#[test]
fn each_part_of_a_response_adds_what_the_allocator_takes_for_it() {
    let bare = weight("k", response(&[], ""));
    let more = |key: &str, new| weight(key, new) - bare;
    let fields = |length: usize| {
        // With `x: ` and the end of the line.
        let value = "v".repeat(length - 5);
        more("k", response(&[("x", &value)], ""))
    };
    assert_eq!([fields(16), fields(100)], [16 + 32, 112 + 32]);
    let body = |length: usize| more("k", response(&[], "b".repeat(length)));
    assert_eq!([body(1), body(16), body(2000)], [16 + 32, 16 + 32, 2048 + 32]);
    // Tag and date of change stand in the fields, and once more by themselves.
    let tag = "t".repeat(200 - 8);
    assert_eq!(more("k", response(&[("etag", &tag)], "")), 224 + 32 + 192);
    let date = "d".repeat(100 - 17);
    assert_eq!(more("k", response(&[("last-modified", &date)], "")), 112 + 32 + 96);
    let tags = Tags::from_fingerprints(vec![1, 2, 3]);
    assert_eq!(more("k", NewEntry { tags, ..response(&[], "") }), 3 * 72);
    // The key shares its allocation with two counters.
    assert_eq!(more(&"k".repeat(17), response(&[], "")), 16);
    assert_eq!(more(&"k".repeat(112), response(&[], "")), 128 - 32);
}

#[test]
fn encodings_weigh_what_was_counted_of_them() {
    let codings = Some(Codings::ALL);
    let new = NewEntry { codings, ..response(&[], "") };
    let entry = Entry::new(new, MINUTE, Instant::now());
    let encodings = Arc::clone(entry.encodings.as_ref().unwrap());
    let weigh = || of(b"k", &Content::Entry(Arc::clone(&entry)));
    let bare = weight("k", response(&[], ""));
    assert_eq!(weigh() - bare, encodings.counted_bytes());
    let variant = Variant { coding: Coding::Br, decision: Decision::default() };
    encodings.fill(variant, Some(Encoding { fields: "".into(), body: "encoded".into() }));
    encodings.count_bytes();
    assert_eq!(weigh() - bare, encodings.counted_bytes());
}

#[test]
fn a_key_with_its_place_is_charged_whatever_its_content_is() {
    let names =
        |names: &[&str]| -> FieldNames { names.iter().map(|name| (*name).into()).collect() };
    let weight = |content: &FieldNames| of(b"k", &Content::Varies(Arc::clone(content)));
    let bare = weight(&names(&[]));
    let place = engine::bytes_each::<Content>() + INDEX_BYTES;
    assert_eq!(bare, place as u64 + 32);
    let long = "n".repeat(20);
    assert_eq!(weight(&names(&["accept"])) - bare, 16 + 16);
    assert_eq!(weight(&names(&["accept", &long])) - bare, 16 + 16 + 16 + 32);
    let entry = size_of::<Entry>() + 16;
    assert_eq!(self::weight("k", response(&[], "")) - bare, allocated(entry) as u64);
}
