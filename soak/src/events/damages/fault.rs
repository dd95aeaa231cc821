//! Damages a journal's directory, as disks, power cuts and operators do.
//!
//! Nobody writes to the directory meanwhile. Every fault is really made, in place: bytes are
//! overwritten, files are cut or removed, directories are replaced. Refuses: to say what is lost by
//! it; `account` compares the directory before and after.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::dice::Dice;
use crate::events::ledger::{Ledger, Segment};
use crate::events::world::copy_all;

/// Lengths of what is overwritten: a sector, a page, more.
const LENGTHS: [u64; 4] = [512, 1024, 4096, 16_384];

/// What was done to a directory.
#[derive(Debug, Clone)]
pub(super) struct Damage {
    /// In words, for people.
    pub words: String,
    pub kind: Kind,
}

/// What that leaves of what the program can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Only bytes of lines: what is lost is known to the byte.
    Lines,
    /// Only what stands beside the lines: nothing is lost.
    Beside,
    /// Bytes of lines, and the sessions.
    LinesAndSessions,
    /// The directory was removed.
    Removed,
    /// An older copy is in its place.
    Older,
}

/// Draws a fault and makes it.
///
/// # Errors
/// When the disk says no.
pub(super) fn make(
    dir: &Path,
    before: &Ledger,
    older: &[PathBuf],
    dice: &mut Dice,
) -> Result<Damage> {
    let of = |words: String, kind| Ok(Damage { words, kind });
    match dice.below(100) {
        0..10 => {
            fs::remove_dir_all(dir)?;
            of("removed".to_owned(), Kind::Removed)
        }
        10..20 if !older.is_empty() => {
            let copy = &older[dice.below(older.len() as u64) as usize];
            fs::remove_dir_all(dir)?;
            fs::create_dir_all(dir)?;
            copy_all(copy, dir)?;
            of("replaced by an older copy".to_owned(), Kind::Older)
        }
        20..30 => {
            let name = dice.pick(&["sessions", "sessions", "sessions", "consumers/events-main"]);
            of(spoil(&dir.join(name), dice)?, Kind::Beside)
        }
        30..36 => {
            let sessions = spoil(&dir.join("sessions"), dice)?;
            let lines = damage_lines(before, dice)?;
            of(format!("{sessions}, {lines}"), Kind::LinesAndSessions)
        }
        36..46 => {
            let (one, other) = (damage_lines(before, dice)?, damage_lines(before, dice)?);
            of(format!("{one}, {other}"), Kind::Lines)
        }
        _ => of(damage_lines(before, dice)?, Kind::Lines),
    }
}

/// Damages one segment.
fn damage_lines(before: &Ledger, dice: &mut Dice) -> Result<String> {
    let there: Vec<&Segment> = before.segments.iter().filter(|it| it.path.exists()).collect();
    let Some(live) = there.last() else { return Ok("nothing was left".to_owned()) };
    let packed: Vec<&Segment> = there.iter().filter(|it| it.is_packed).copied().collect();
    let segment = match dice.below(10) {
        0..5 => live,
        5..8 if !packed.is_empty() => packed[dice.below(packed.len() as u64) as usize],
        _ => there[dice.below(there.len() as u64) as usize],
    };
    let path = &segment.path;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let length = fs::metadata(path)?.len();
    let from = dice.below(length.max(1));
    let file = OpenOptions::new().write(true).open(path)?;
    match dice.below(10) {
        0..2 => {
            fs::remove_file(path)?;
            Ok(format!("`{name}` removed"))
        }
        2..5 => {
            file.set_len(from)?;
            Ok(format!("`{name}` cut from {length} to {from}"))
        }
        5 if segment.is_packed => {
            let mut bytes = fs::read(path)?;
            bytes[from as usize] ^= 1 << dice.below(8);
            file.write_all_at(&bytes, 0)?;
            Ok(format!("a bit of `{name}` flipped at {from} of {length}"))
        }
        drawn => {
            let to_end = length - from;
            let mut size = if dice.chance(40) { to_end } else { dice.pick(&LENGTHS) };
            // Over the end of a plain file come more lines that are none.
            if segment.is_packed || dice.chance(75) {
                size = size.min(to_end);
            }
            let is_noise = drawn % 2 == 0;
            let byte = |dice: &mut Dice| if is_noise { dice.number() as u8 } else { 0 };
            let bytes: Vec<u8> = (0..size).map(|_| byte(dice)).collect();
            file.write_all_at(&bytes, from)?;
            let what = if is_noise { "noise" } else { "zeros" };
            Ok(format!("{size} bytes of {what} over `{name}` at {from} of {length}"))
        }
    }
}

/// Damages a small file beside the lines.
fn spoil(path: &Path, dice: &mut Dice) -> Result<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let length = fs::metadata(path).map_or(0, |file| file.len());
    let noise: Vec<u8> = (0..length.max(16)).map(|_| dice.number() as u8).collect();
    Ok(match dice.below(4) {
        0 => {
            fs::remove_file(path)?;
            format!("`{name}` removed")
        }
        1 => {
            File::options().write(true).open(path)?.set_len(dice.below(length.max(1)))?;
            format!("`{name}` cut")
        }
        2 => {
            fs::write(path, &noise)?;
            format!("`{name}` overwritten by noise")
        }
        _ => {
            fs::write(path, vec![0; noise.len()])?;
            format!("`{name}` overwritten by zeros")
        }
    })
}
