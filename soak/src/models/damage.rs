//! Spoils the file of a model that predicts, and puts files in place.
//!
//! Every damage must be refused: the file is no model, or fails its golden input. A file is put in
//! place whole, by renaming, or as careless operators do: emptied, then written piece by piece.
//! Refuses: to know what the server makes of it (`swapper.rs`).

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::graph;
use super::kind::{COLUMNS, Kind};
use crate::dice::Dice;

/// What stands in the place of a model's file.
#[derive(Debug)]
pub(super) enum Damage {
    /// A file.
    Bytes(Vec<u8>),
    /// A directory.
    Directory,
    /// Nothing.
    Nothing,
    /// A symbolic link to itself.
    Loop,
}

/// Damages by name.
const NAMES: [&str; 12] = [
    "file cut",
    "file of zeros",
    "file of noise",
    "empty file",
    "another kind of model",
    "other names of inputs",
    "huge numbers",
    "half of it zeros",
    "deep nesting",
    "a directory",
    "file removed",
    "a link to itself",
];

/// Chooses a damage to the file of a kind, and its name.
pub(super) fn damage(kind: Kind, version: usize, dice: &mut Dice) -> (&'static str, Damage) {
    let name = dice.pick(&NAMES);
    let good = kind.bytes(version);
    let bytes = match name {
        "file cut" => good[..good.len() * (1 + dice.below(90)) as usize / 100].to_vec(),
        "file of zeros" => vec![0; good.len()],
        "file of noise" => (0..good.len()).map(|_| dice.number() as u8).collect(),
        "empty file" => Vec::new(),
        "another kind of model" => other(kind).bytes(version),
        "other names of inputs" => match renamed(kind, &good) {
            Some(bytes) => bytes,
            None => return ("file removed", Damage::Nothing),
        },
        "huge numbers" => huge(kind, &good),
        "half of it zeros" => {
            let half = good.len() / 2;
            [&good[..half], &vec![0; good.len() - half][..]].concat()
        }
        "deep nesting" => nested(&good),
        "a directory" => return (name, Damage::Directory),
        "file removed" => return (name, Damage::Nothing),
        _ => return (name, Damage::Loop),
    };
    (name, Damage::Bytes(bytes))
}

fn other(kind: Kind) -> Kind {
    match kind {
        Kind::Line | Kind::Ranks => Kind::Trees,
        Kind::Trees => Kind::Graph,
        Kind::Graph => Kind::Line,
    }
}

/// The same model over inputs of other names; a model that ranks takes such a one.
fn renamed(kind: Kind, good: &[u8]) -> Option<Vec<u8>> {
    let replaced =
        |from: &str, to: &str| Some(String::from_utf8_lossy(good).replace(from, to).into_bytes());
    match kind {
        Kind::Line => replaced("item.a", "item.z"),
        Kind::Trees => replaced("feature_names=a", "feature_names=z"),
        Kind::Graph => Some(graph::named(&[[1.0; 2]; COLUMNS], &[1.0, 2.0], "Z")),
        Kind::Ranks => None,
    }
}

fn huge(kind: Kind, good: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(good);
    match kind {
        Kind::Line | Kind::Ranks => text.replace("\"intercept\":3.0", "\"intercept\":1e999"),
        Kind::Trees => text.replace("max_feature_idx=3", "max_feature_idx=2000000000"),
        Kind::Graph => return graph::huge("X", COLUMNS as u64),
    }
    .into_bytes()
}

/// A hundred thousand arrays within each other, behind what tells the format.
fn nested(good: &[u8]) -> Vec<u8> {
    let head = &good[..good.len().min(40)];
    [head, &[b'['; 100_000][..]].concat()
}

/// Puts a damage in the place of a file.
///
/// # Errors
/// When the disk says no.
pub(super) fn spoil(file: &Path, damage: &Damage, careless: Option<&mut Dice>) -> io::Result<()> {
    if let Damage::Bytes(bytes) = damage {
        return put(file, bytes, careless);
    }
    clear(file)?;
    fs::remove_file(file)?;
    match damage {
        Damage::Directory => fs::create_dir(file),
        Damage::Loop => symlink(file, file),
        _ => Ok(()),
    }
}

/// Writes a file: whole at any moment, or piece by piece where the dice are given.
///
/// # Errors
/// When the disk says no.
pub(super) fn put(file: &Path, bytes: &[u8], careless: Option<&mut Dice>) -> io::Result<()> {
    clear(file)?;
    let Some(dice) = careless else {
        let new = file.with_extension("new");
        fs::write(&new, bytes)?;
        return fs::rename(new, file);
    };
    let mut file = File::create(file)?;
    let size = bytes.len() / (1 + dice.below(6) as usize) + 1;
    for piece in bytes.chunks(size) {
        sleep(Duration::from_millis(dice.below(120)));
        file.write_all(piece)?;
    }
    Ok(())
}

/// Leaves a file there, whatever was in its place.
fn clear(file: &Path) -> io::Result<()> {
    match fs::symlink_metadata(file) {
        Ok(about) if about.is_dir() => fs::remove_dir(file)?,
        Ok(about) if about.is_symlink() => fs::remove_file(file)?,
        Ok(_) => return Ok(()),
        Err(_) => {}
    }
    File::create(file).map(drop)
}
