//! The writer of the log: it writes in bursts, sometimes half a line, and rotates as loggers do.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::progress::Progress;
use crate::dice::Dice;
use crate::events::lines;
use crate::events::world::World;

const PAUSE_US: u64 = 4000;
const BURST: u64 = 12;
/// Rotated files that are kept, whether they are delivered or not.
const KEPT: usize = 3;

pub(super) struct Writer<'w> {
    world: &'w World,
    progress: &'w Progress,
    dice: Dice,
    next: u64,
    /// Rotated files, oldest first, each with the id after its last.
    rotated: Vec<(PathBuf, u64)>,
    rotations: u64,
}

impl<'w> Writer<'w> {
    pub(super) fn new(world: &'w World, progress: &'w Progress, dice: Dice) -> Self {
        Self { world, progress, dice, next: 0, rotated: Vec::new(), rotations: 0 }
    }

    /// Writes until it is to end; returns how often it rotated.
    pub(super) fn run(mut self) -> Result<u64> {
        let mut file = self.open()?;
        while !self.progress.ends.load(Ordering::Relaxed) {
            self.burst(&mut file)?;
            if self.dice.chance(1) {
                file = self.rotate(file)?;
                self.delete()?;
            }
            self.pause();
        }
        Ok(self.rotations)
    }

    fn open(&self) -> Result<File> {
        Ok(OpenOptions::new().create(true).append(true).open(self.world.log())?)
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_micros(self.dice.below(PAUSE_US)));
    }

    /// Appends lines, in one write or torn in two.
    fn burst(&mut self, file: &mut File) -> Result<()> {
        let count = 1 + self.dice.below(BURST);
        let mut text = String::new();
        for id in self.next..self.next + count {
            if self.dice.chance(1) {
                text += &lines::garbage(id);
            }
            text += &lines::line(id);
        }
        self.next += count;
        // Announced first: the reader may be faster than this thread.
        self.progress.written.store(self.next, Ordering::Release);
        let is_torn = self.dice.chance(20);
        let cut = if is_torn { self.dice.below(text.len() as u64) as usize } else { 0 };
        file.write_all(&text.as_bytes()[..cut])?;
        if is_torn {
            self.pause();
        }
        Ok(file.write_all(&text.as_bytes()[cut..])?)
    }

    /// Renames and goes on in the old file for a while; renames and packs; or copies and empties.
    fn rotate(&mut self, mut file: File) -> Result<File> {
        self.rotations += 1;
        let log = self.world.log();
        let old = log.with_extension(format!("log.{:06}", self.rotations));
        match self.dice.below(3) {
            0 => {
                fs::rename(&log, &old)?;
                for _ in 0..self.dice.below(4) {
                    self.pause();
                    self.burst(&mut file)?;
                }
                self.rotated.push((old, self.next));
                self.open()
            }
            1 => {
                fs::rename(&log, &old)?;
                let file = self.open()?;
                let packed = log.with_extension(format!("log.{:06}.gz", self.rotations));
                let end = self.next;
                self.pause();
                let mut packer = GzEncoder::new(File::create(&packed)?, Compression::fast());
                packer.write_all(&fs::read(&old)?)?;
                packer.finish()?;
                self.pause();
                fs::remove_file(&old)?;
                self.rotated.push((packed, end));
                Ok(file)
            }
            _ => {
                fs::copy(&log, &old)?;
                self.pause();
                file.set_len(0)?;
                self.rotated.push((old, self.next));
                Ok(file)
            }
        }
    }

    /// Deletes what is delivered, as an operator would.
    fn delete(&mut self) -> Result<()> {
        let delivered = self.progress.delivered.load(Ordering::Acquire);
        while self.rotated.len() > KEPT && self.rotated[0].1 <= delivered {
            let (file, _) = self.rotated.remove(0);
            fs::remove_file(file)?;
        }
        Ok(())
    }
}
