//! Measures embedding, for DECISIONS: texts of a file, in memory, by one thread, in CPU time.
//!
//! Run: `cargo run --release -p models --example embed -- FOLDER TEXTS [PRECISION [VECTORS]]`.
//! PRECISION is `single`, `bf16` or `int8`; TEXTS holds a text a line; VECTORS, where given, takes
//! the vectors as 32-bit floats.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use models::{EmbedOptions, EmbedScratch, Embedder, Precision, Tokens};

const REPEATS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, texts, rest @ ..] = arguments.as_slice() else {
        return Err("usage: embed FOLDER TEXTS [PRECISION [VECTORS]]".into());
    };
    let precision = match rest.first().map_or("single", String::as_str) {
        "bf16" => Precision::Bf16,
        "int8" => Precision::Int8,
        _ => Precision::Single,
    };
    let started = Instant::now();
    let embedder = Embedder::load(Path::new(folder), precision)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{:?}, read in {:?}", embedder.about(), started.elapsed())?;
    let text = fs::read_to_string(texts)?;
    let texts: Vec<&str> = text.lines().collect();
    let mut vectors = vec![0.0; texts.len() * embedder.about().dims];
    let mut scratch = EmbedScratch::default();
    let mut tokens = Tokens::default();
    for text in &texts {
        embedder.tokenize(text, true, &mut tokens)?;
    }
    writeln!(out, "{} texts, {} tokens", texts.len(), tokens.total())?;
    let mut report = |name: &str, run: &mut dyn FnMut() -> Result<(), models::Error>| {
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            // Often enough that the steps in which CPU time is counted do not matter.
            let (started, mut runs) = (cpu_time()?, 0);
            while runs == 0 || cpu_time()? < started + Duration::from_millis(200) {
                run()?;
                runs += 1;
            }
            best = best.min((cpu_time()? - started).as_secs_f64() / f64::from(runs));
        }
        let each = best / texts.len() as f64;
        writeln!(out, "{name:10} {:10.0} texts/s  {:8.1} us/text", 1.0 / each, each * 1e6)?;
        Ok::<(), Box<dyn Error>>(())
    };
    report("tokens", &mut || {
        tokens.clear();
        for text in &texts {
            embedder.tokenize(text, true, &mut tokens)?;
        }
        Ok(())
    })?;
    report("all", &mut || {
        embedder.embed(&texts, EmbedOptions::default(), &mut scratch, &mut vectors)?;
        black_box(&vectors);
        Ok(())
    })?;
    if let [_, path] = rest {
        fs::write(
            path,
            vectors.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>(),
        )?;
    }
    Ok(())
}

/// CPU time of this thread, as Linux counts it.
fn cpu_time() -> Result<Duration, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split(' ').next().ok_or("an empty schedstat")?.parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}
