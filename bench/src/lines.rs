//! The log lines of row `events`, made once from a seed, and the bare scanner.
//!
//! The scanner is the ceiling of that row: it finds the key and counts it, and neither validates
//! nor delivers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use memchr::{memchr, memchr_iter, memchr2};

/// Distinct paths, drawn by Zipf's law.
const PATHS: usize = 20_000;
/// Lines per second of log time: 12 million a minute, as the Logbunker takes.
const PER_SECOND: u64 = 200_000;
const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)";

/// Lines as `combined` or as our own journal writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Combined,
    Journal,
}

/// Writes `count` lines to `path`, unless they are there.
pub(crate) fn write(path: &Path, kind: Kind, count: u64) -> Result<()> {
    write_at(path, kind, count, PER_SECOND)
}

/// Writes `count` lines to `path`, `per_second` of log time, unless they are there.
pub(crate) fn write_at(path: &Path, kind: Kind, count: u64, per_second: u64) -> Result<()> {
    let done = path.with_extension("done");
    if done.exists() {
        return Ok(());
    }
    let file = File::create(path).with_context(|| format!("create `{}`", path.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let weights = cumulative();
    let mut random = 0x7e1d_e9a7_u64;
    let mut line = String::new();
    for number in 0..count {
        let draw = next(&mut random);
        let chance = (draw >> 11) as f64 / (1_u64 << 53) as f64 * weights[PATHS - 1];
        let item = weights.partition_point(|weight| *weight < chance).min(PATHS - 1);
        line.clear();
        let second = number / per_second;
        let request = LoggedRequest { number, second, item, draw: next(&mut random) };
        request.write(kind, &mut line);
        out.write_all(line.as_bytes())?;
    }
    out.flush()?;
    File::create(done)?;
    Ok(())
}

/// Reads lines and counts them by path and minute; returns how many.
pub(crate) fn scan(path: &Path) -> Result<u64> {
    let mut file = File::open(path)?;
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    let (mut chunk, mut kept, mut key, mut lines) = (vec![0; 1 << 20], 0, Vec::new(), 0);
    loop {
        let read = file.read(&mut chunk[kept..])?;
        if read == 0 {
            return Ok(lines);
        }
        let filled = kept + read;
        let mut start = 0;
        for end in memchr_iter(b'\n', &chunk[..filled]) {
            if let Some((path, minute)) = key_of(&chunk[start..end]) {
                key.clear();
                key.extend_from_slice(path);
                key.extend_from_slice(minute);
                match counts.get_mut(&key) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(key.clone(), 1)),
                }
                lines += 1;
            }
            start = end + 1;
        }
        chunk.copy_within(start..filled, 0);
        kept = filled - start;
    }
}

fn key_of(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let time = memchr(b'[', line)? + 1;
    let request = time + memchr(b'"', &line[time..])?;
    let start = request + memchr(b' ', &line[request..])? + 1;
    let end = start + memchr2(b' ', b'?', &line[start..])?;
    Some((&line[start..end], line.get(time..time + 17)?))
}

/// A request as the log has it.
struct LoggedRequest {
    number: u64,
    /// Of the log's time.
    second: u64,
    item: usize,
    /// Random bits, from which the rest is made.
    draw: u64,
}

impl LoggedRequest {
    fn write(&self, kind: Kind, line: &mut String) {
        let Self { number, second, item, draw } = *self;
        let bytes = 200 + draw % 60_000;
        let (minute, second) = (second / 60 % 60, second % 60);
        let [a, b, c, d, ..] = draw.to_le_bytes();
        let status = if draw.is_multiple_of(50) { 404 } else { 200 };
        let written = match kind {
            Kind::Combined => writeln!(
                line,
                "{a}.{b}.{c}.{d} - - [21/Nov/2026:03:{minute:02}:{second:02} +0000] \"GET \
             /videos/{item:05}/play.json?session={draw:010x} HTTP/1.1\" {status} {bytes} \
             \"https://example.com/watch/{item}\" \"{AGENT}\""
            ),
            Kind::Journal => writeln!(
                line,
                "{{\"time\":\"2026-11-21T03:{minute:02}:{second:02}.{:06}Z\",\"id\":\"{:032x}\",\
             \"method\":\"GET\",\"scheme\":\"http\",\"host\":\"api.example.com\",\
             \"path\":\"/videos/{item:05}/play.json\",\"query\":\"session={draw:010x}\",\
             \"version\":\"1.1\",\"status\":{status},\"bytes_in\":0,\"bytes_out\":{bytes},\
             \"client_ip\":\"{a}.{b}.{c}.{d}\",\"user_agent\":\"{AGENT}\",\
             \"route\":\"/videos\",\"decision\":\"generic\",\"cache\":\"hit\",\"total_us\":{},\
             \"phases\":{{\"lookup\":2,\"respond\":13}}}}",
                number * 5 % 1_000_000,
                u128::from(draw) << 64 | u128::from(number),
                draw % 977
            ),
        };
        written.expect("text takes every write");
    }
}

fn cumulative() -> Vec<f64> {
    let mut sum = 0.0;
    (1..=PATHS)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect()
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
