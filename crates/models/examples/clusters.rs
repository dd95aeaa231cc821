//! Measures grouping of vectors, for DECISIONS, and writes the group of each row.
//!
//! Run: `cargo run --release -p models --example clusters -- VECTORS DIMS METHOD [SIMILARITY]`,
//! with a file of little-endian floats, row after row, and `linkage` or `communities`; or with
//! `random:ROWS` in place of the file. The groups go to standard output, a number per row, -1 for
//! noise; `golden/stories.py` compares them.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::time::Instant;

use models::{Clustering, EmbedderKind, Method};

const REPEATS: usize = 5;
const USAGE: &str = "usage: clusters VECTORS|random:ROWS DIMS linkage|communities [SIMILARITY]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [vectors, dims, method, rest @ ..] = &arguments[..] else { return Err(USAGE.into()) };
    let dims: usize = dims.parse()?;
    let values = match vectors.strip_prefix("random:") {
        Some(rows) => random(rows.parse::<usize>()?, dims),
        None => {
            let bytes = fs::read(vectors)?;
            bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        }
    };
    let method = match method.as_str() {
        "linkage" => Method::Linkage,
        "communities" => Method::Communities,
        _ => return Err(USAGE.into()),
    };
    let default = method.similarity_min(EmbedderKind::Encoder { layers: 6 });
    let similarity_min = rest.first().map_or(Ok(default), |word| word.parse())?;
    let how = Clustering { method, similarity_min, members_min: 2 };
    let mut best = f64::INFINITY;
    let mut found = how.cluster(&values, dims)?;
    for _ in 1..REPEATS {
        let started = Instant::now();
        found = how.cluster(&values, dims)?;
        best = best.min(started.elapsed().as_secs_f64());
    }
    let mut groups = vec![-1; values.len() / dims];
    for (number, cluster) in found.clusters.iter().enumerate() {
        cluster.members.iter().for_each(|row| groups[*row as usize] = number as i64);
    }
    let (rows, clusters, noise) = (groups.len(), found.clusters.len(), found.noise.len());
    writeln!(
        io::stderr(),
        "{rows} rows, {how:?}: {clusters} groups, {noise} noise, {:.1} ms",
        best * 1e3
    )?;
    let mut out = io::stdout().lock();
    groups.iter().try_for_each(|group| writeln!(out, "{group}"))?;
    Ok(())
}

/// Rows around a centre for every twenty of them.
fn random(rows: usize, dims: usize) -> Vec<f32> {
    let mut state = 20_u64;
    let mut normal = || {
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_889);
            (state >> 40) as f32 / (1_u64 << 24) as f32
        };
        (0..4).map(|_| uniform()).sum::<f32>() * 1.7 - 3.4
    };
    let centres: Vec<f32> = (0..rows.div_ceil(20) * dims).map(|_| normal()).collect();
    (0..rows * dims).map(|at| centres[at / dims / 20 * dims + at % dims] + normal() * 0.5).collect()
}
