//! Measures what encoding costs and saves, by library, level and length of the body.
//!
//! Run it with `cargo run --release -p cache --example compression`. The levels in `codec.rs` are
//! chosen from its figures, which are in docs/decisions/gateway.md. Never here: timing under load.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;

/// A text whose words make the titles.
const TEXT: &str = include_str!("../../../docs/CACHING.md");

fn main() -> io::Result<()> {
    for bytes in [4_000, 100_000] {
        let body = ranking(bytes);
        let heading = "coding level     bytes  ratio        us";
        writeln!(io::stdout(), "\n{} bytes of JSON\n  {heading}", body.len())?;
        for level in [1, 2, 3, 4, 6, 9] {
            measure("gzip", level, &body, |body| gzip(body, level as u32))?;
        }
        for level in [1, 3, 5, 6, 9, 12] {
            let mut context = zstd::bulk::Compressor::new(level)?;
            measure("zstd", level, &body, |body| context.compress(body))?;
        }
        for level in [1, 2, 3, 4, 5, 6, 9] {
            measure("br", level, &body, |body| br(body, level))?;
        }
    }
    Ok(())
}

/// Returns a ranked response like the demo's: ids and scores differ, titles are of common words.
fn ranking(bytes: usize) -> Vec<u8> {
    let words: Vec<&str> =
        TEXT.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty()).collect();
    let mut seed = 5u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut text = String::from("{\"decision\":\"anonymous\",\"items\":[");
    while text.len() < bytes {
        let title: Vec<&str> = (0..5 + next(6)).map(|_| words[next(words.len())]).collect();
        let (id, score, title) = (next(10_000_000), next(1_000_000), title.join(" "));
        let kind = ["politics", "sport", "culture", "science", "economy"][next(5)];
        let item = format!("{{\"id\":\"{id}\",\"title\":\"{title}\",");
        text.push_str(&item);
        text.push_str(&format!("\"category\":\"{kind}\",\"score\":0.{score:06}}},"));
    }
    text.push_str("null]}");
    text.into_bytes()
}

fn gzip(body: &[u8], level: u32) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), Compression::new(level));
    encoder.write_all(body)?;
    encoder.finish()
}

fn br(body: &[u8], quality: i32) -> io::Result<Vec<u8>> {
    let lgwin = (usize::BITS - body.len().leading_zeros()).clamp(17, 22) as i32;
    let params =
        BrotliEncoderParams { quality, lgwin, size_hint: body.len(), ..Default::default() };
    let out = Vec::with_capacity(body.len() / 3);
    let mut encoder = CompressorWriter::with_params(out, 16 * 1024, &params);
    encoder.write_all(body)?;
    Ok(encoder.into_inner())
}

/// Prints the bytes and the least time of many runs. Other work on the machine only adds time.
fn measure(
    coding: &str,
    level: i32,
    body: &[u8],
    mut encode: impl FnMut(&[u8]) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    let runs = (4_000_000 / body.len()).clamp(20, 400);
    let mut least = f64::MAX;
    let mut bytes = 0;
    for _ in 0..runs {
        let begun = Instant::now();
        bytes = black_box(encode(black_box(body))?).len();
        least = least.min(begun.elapsed().as_secs_f64() * 1e6);
    }
    let ratio = bytes as f64 / body.len() as f64;
    writeln!(io::stdout(), "  {coding:<6} {level:>5} {bytes:>9} {ratio:>6.3} {least:>9.1}")
}
