//! Whoever writes the log: in bursts, sometimes half a line, and rotates as web servers do.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;

use super::Shared;
use crate::dice::Dice;
use crate::events::lines;
use crate::events::world::World;

const PAUSE_US: u64 = 4000;
const BURST: u64 = 12;

pub(super) struct Writer<'w> {
    world: &'w World,
    shared: &'w Shared,
    dice: Dice,
    next: u64,
    rotations: u64,
}

impl<'w> Writer<'w> {
    pub(super) fn new(world: &'w World, shared: &'w Shared, dice: Dice) -> Self {
        Self { world, shared, dice, next: 0, rotations: 0 }
    }

    /// Writes until told to end; returns how often it rotated.
    pub(super) fn run(mut self) -> Result<u64> {
        let mut file = self.open()?;
        while !self.shared.ends.load(Ordering::Relaxed) {
            self.burst(&mut file)?;
            std::thread::sleep(Duration::from_micros(self.dice.below(PAUSE_US)));
        }
        Ok(self.rotations)
    }

    fn open(&self) -> Result<File> {
        Ok(OpenOptions::new().create(true).append(true).open(self.world.log())?)
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
        self.shared.written.store(self.next, Ordering::Release);
        let cut =
            if self.dice.chance(20) { self.dice.below(text.len() as u64) as usize } else { 0 };
        file.write_all(&text.as_bytes()[..cut])?;
        if cut > 0 {
            std::thread::sleep(Duration::from_micros(self.dice.below(PAUSE_US)));
        }
        Ok(file.write_all(&text.as_bytes()[cut..])?)
    }
}
