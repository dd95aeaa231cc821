//! Claims about the encoders.

use http1::accept::Coding;
use stdx::Random;

use super::{StreamEncoder, whole};

fn decoded(coding: Coding, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    match coding {
        Coding::Zstd => out = zstd::stream::decode_all(bytes)?,
        Coding::Gzip => drop(std::io::copy(&mut flate2::read::GzDecoder::new(bytes), &mut out)?),
        Coding::Br => drop(std::io::copy(&mut brotli::Decompressor::new(bytes, 4096), &mut out)?),
    }
    Ok(out)
}

#[test]
fn what_was_encoded_decodes_to_the_same_bytes_in_parts_and_in_pieces() {
    for length in [0usize, 1, 1000, 70_000, 400_000] {
        let body: Vec<u8> = (0..length).map(|n| ((n * n) >> 5) as u8).collect();
        let third = length / 3;
        let parts = [&body[..third], &body[third..2 * third], &body[2 * third..]];
        for coding in Coding::ALL {
            for kept in [true, false] {
                assert_eq!(decoded(coding, &whole(coding, &[&body], kept).unwrap()).unwrap(), body);
                assert_eq!(decoded(coding, &whole(coding, &parts, kept).unwrap()).unwrap(), body);
            }
            for known in [Some(length as u64), None] {
                let mut encoder = StreamEncoder::new(coding, known).unwrap();
                let mut out = Vec::new();
                for piece in body.chunks(3000) {
                    encoder.feed(piece).unwrap();
                    encoder.flush().unwrap();
                    out.extend(encoder.take());
                }
                let open = out.clone();
                out.extend(encoder.finish().unwrap());
                assert_eq!(decoded(coding, &out).unwrap(), body);
                assert!(length == 0 || decoded(coding, &open).is_err(), "{coding:?} needs its end");
            }
        }
    }
}

#[test]
fn a_body_shorter_than_was_said_has_no_end() {
    let mut encoder = StreamEncoder::new(Coding::Zstd, Some(10)).unwrap();
    encoder.feed(b"short").unwrap();
    assert!(encoder.finish().is_err());
}

/// Returns rows as an API answers them.
fn rows(bytes: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    let mut text = String::new();
    while text.len() < bytes {
        let (id, price) = (random.up_to(99_999), random.up_to(9999));
        let name = ["lamp", "chair", "table", "shelf"][random.up_to(3) as usize];
        text += &format!("{{\"id\":{id},\"name\":\"{name}\",\"price\":{price}}},");
    }
    text.truncate(bytes);
    text.into_bytes()
}

#[test]
fn what_is_kept_is_made_smaller_than_what_is_sent_once() {
    let body = rows(50_000);
    for coding in [Coding::Gzip, Coding::Br] {
        let [kept, sent] = [true, false].map(|kept| whole(coding, &[&body], kept).unwrap().len());
        assert!(kept < sent && sent < body.len() / 2, "{coding:?}: {kept} and {sent} bytes");
    }
}

/// Returns the window that brotli names at its beginning, as a power of two (RFC 7932 §9.1).
fn window(encoded: &[u8]) -> u8 {
    match encoded[0] & 0b1111 {
        0b0001 if encoded[0] & 0b111_1111 == 1 => 17,
        bits if bits & 1 == 1 => 17 + (bits >> 1),
        bits => panic!("another window: {bits:b}"),
    }
}

#[test]
fn a_client_needs_a_window_of_the_bodys_length_within_bounds() {
    for (length, log) in [(1, 17), (131_071, 17), (131_072, 18), (600_000, 20), (5_000_000, 22)] {
        let encoded = whole(Coding::Br, &[&vec![b'x'; length]], true).unwrap();
        assert_eq!(window(&encoded), log, "{length}");
    }
    let mut stream = StreamEncoder::new(Coding::Br, Some(5_000_000)).unwrap();
    stream.feed(&[b'x'; 9000]).unwrap();
    assert_eq!(window(&stream.finish().unwrap()), 17);
}
