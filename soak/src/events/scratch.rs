//! Spoils what the process keeps beside the log: every file but the log, the configuration and the
//! sink.
//!
//! Each file is replaced by random bytes, cut at every length, and has every byte flipped.
//! Invariant: whatever was spoilt, the next start delivers every line once.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};

use super::options::Options;
use super::sink::Server;
use super::world::World;
use crate::dice::Dice;

const BEFORE: u64 = 20;
const LINES: u64 = 40;
/// Bytes that are spoilt in a short run, of each file, by cuts and flips.
const SHORT: usize = 12;

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    files: u64,
    trials: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, trials } = self;
        write!(f, "  {trials} times one of {files} local files spoilt: 0 lost, 0 doubled")
    }
}

/// Spoils every file in turn.
///
/// # Errors
/// The first thing found wrong.
pub(super) fn run(options: &Options, server: &Arc<Server>) -> Result<Tally> {
    let world = World::new(&options.binary, server)?;
    world.append(0..BEFORE)?;
    world.append_garbage()?;
    world.settle(BEFORE)?;
    world.append(BEFORE..LINES)?;
    let mut files = Vec::new();
    let data = world.dir().join("data");
    if data.is_dir() {
        list(&data, &mut files)?;
    }
    let mut tally = Tally { files: files.len() as u64, trials: 0 };
    let mut dice = Dice::new(options.seed, 7);
    for file in files {
        let file = file.strip_prefix(world.dir())?.to_owned();
        let good = fs::read(world.dir().join(&file))?;
        for spoilt in spoilt(&good, options.thorough, &mut dice) {
            let copy = world.copy()?;
            fs::write(copy.dir().join(&file), &spoilt)?;
            copy.settle(LINES).with_context(|| {
                format!("after `{}` was {}", file.display(), spoilt.escape_ascii())
            })?;
            tally.trials += 1;
        }
    }
    Ok(tally)
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        match path.is_dir() {
            true => list(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

fn spoilt(good: &[u8], thorough: bool, dice: &mut Dice) -> Vec<Vec<u8>> {
    let random = |length: usize, dice: &mut Dice| -> Vec<u8> {
        (0..length).map(|_| dice.number() as u8).collect()
    };
    let mut all = vec![Vec::new(), random(good.len(), dice), random(4 * good.len() + 100, dice)];
    let step = if thorough { 1 } else { (good.len() / SHORT).max(1) };
    for at in (0..good.len()).step_by(step) {
        all.push(good[..at].to_vec());
        let mut flipped = good.to_vec();
        flipped[at] ^= 1 << dice.below(8);
        all.push(flipped);
    }
    all
}
