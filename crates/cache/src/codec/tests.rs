//! Claims about the encoders.

use super::{StreamEncoder, whole};
use http1::accept::Coding;

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
