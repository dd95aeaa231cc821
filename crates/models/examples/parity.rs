//! Compares scores of trees with those that `golden/trees.py` wrote beside each model.
//!
//! Run: `cargo run --release -p models --example parity -- FOLDER`.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use models::{TreeScratch, Trees};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: parity FOLDER")?;
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending != "rows"));
    paths.sort();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:28} {:>6} {:>6} {:>22} {:>22}",
        "model", "trees", "rows", "margins", "scores"
    )?;
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let model = Trees::read(&fs::read(&path)?).map_err(|error| format!("{name}: {error}"))?;
        let [rows, margins, scores] = read_rows(&path.with_extension("rows"))?;
        let mut scratch = TreeScratch::default();
        let (mut got_margins, mut got_scores) = (vec![0.0; margins.len()], vec![0.0; scores.len()]);
        model.margins(&rows, &mut scratch, &mut got_margins)?;
        model.score(&rows, &mut scratch, &mut got_scores)?;
        let about = model.about();
        writeln!(
            out,
            "{name:28} {:>6} {:>6} {:>22} {:>22}",
            about.trees,
            rows.len() / about.features,
            compare(&margins, &got_margins),
            compare(&scores, &got_scores),
        )?;
    }
    Ok(())
}

/// Rows, margins and scores.
fn read_rows(path: &Path) -> Result<[Vec<f64>; 3], Box<dyn Error>> {
    let mut numbers = [Vec::new(), Vec::new(), Vec::new()];
    for line in fs::read_to_string(path)?.lines() {
        let mut parts = line.split('|');
        for into in &mut numbers {
            for number in parts.next().unwrap_or_default().split_ascii_whitespace() {
                into.push(number.parse()?);
            }
        }
    }
    Ok(numbers)
}

/// How many are the same to the bit, else the largest relative error.
fn compare(wanted: &[f64], got: &[f64]) -> String {
    let same = wanted.iter().zip(got).filter(|(a, b)| a.to_bits() == b.to_bits()).count();
    if same == wanted.len() {
        return format!("all {same}");
    }
    let error = |(a, b): (&f64, &f64)| (a - b).abs() / a.abs().max(b.abs()).max(1e-300);
    let most = wanted.iter().zip(got).map(error).fold(0.0, f64::max);
    format!("{same}/{} {most:.1e}", wanted.len())
}
