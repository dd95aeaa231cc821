//! Claims about bodies with a coding.

use std::io::Write;

use chassis::{Charge, Inflight, WorkPool};
use flate2::Compression;
use flate2::write::GzEncoder;
use metrics::Registry;

use super::plain;
use crate::error::Refusal;

const BODY_BYTES_MAX: u64 = 1 << 20;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// What becomes of a body, with a budget of so many bytes.
fn became(coding: &str, body: Vec<u8>, budget: usize) -> Result<Vec<u8>, u16> {
    let work = WorkPool::start(1, 4).unwrap();
    let budget = Inflight::new(budget, &Registry::default());
    let charge = Charge::new(&budget);
    let done = plain(coding.as_bytes(), body.clone().into(), (BODY_BYTES_MAX, charge), &work);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let done = runtime.block_on(done);
    let status = |refusal: Refusal| refusal.status();
    done.map(|plain| plain.map_or(body, |(plain, _)| plain)).map_err(status)
}

#[test]
fn a_gzip_body_becomes_plain_on_either_kind_of_thread() {
    let noise: Vec<u8> =
        (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for text in [&b"{}"[..], &noise] {
        for coding in ["gzip", "x-gzip", " GZIP "] {
            assert_eq!(became(coding, gzip(text), 1 << 24).unwrap(), text);
        }
    }
    // Members follow each other (RFC 1952 §2.2).
    let two = [gzip(b"one "), gzip(b"two")].concat();
    assert_eq!(became("gzip", two, 1 << 24).unwrap(), b"one two");
    for coding in ["identity", ""] {
        assert_eq!(became(coding, b"as it is".to_vec(), 1 << 24).unwrap(), b"as it is");
    }
}

#[test]
fn what_cannot_be_decoded_is_refused() {
    assert_eq!(became("br", b"x".to_vec(), 1 << 24), Err(415));
    assert_eq!(became("gzip", b"no gzip".to_vec(), 1 << 24), Err(400));
    let whole = gzip(b"some text");
    assert_eq!(became("gzip", whole[..whole.len() - 1].to_vec(), 1 << 24), Err(400));
}

#[test]
fn a_small_body_that_becomes_a_huge_one_ends_at_the_bound_or_the_budget() {
    let bomb = gzip(&vec![0; 100 << 20]);
    assert_eq!(became("gzip", bomb.clone(), 1 << 30), Err(413));
    assert_eq!(became("gzip", bomb, 1 << 19), Err(503));
}
