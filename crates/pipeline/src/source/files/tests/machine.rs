//! Rotation as a drawn sequence of what servers, `logrotate`, operators and crashes do.
//!
//! An account says what must come of it: every line once, and every destroyed byte reported once.

use std::collections::BTreeMap;
use std::fs;

use stdx::Random;

use super::world::{IDLE_TIMEOUT, Seen, Tail, World, gzip, line};

const LIVE: &str = "access.log";
const SEEDS: u64 = 100;
const STEPS: usize = 60;

/// The logs, the reader, and what it should have said.
struct Machine {
    world: World,
    tail: Tail,
    random: Random,
    written: u64,
    rotated: u64,
    /// Rotated files that are there, oldest first.
    old: Vec<String>,
    /// The rest of the last line of the live file.
    torn: Option<String>,
    committed: (String, Account),
    now: Account,
    expected_lost: u64,
    destroyed: Vec<String>,
    story: Vec<String>,
}

/// What the reader has said.
#[derive(Clone, Default)]
struct Account {
    ids: Vec<String>,
    lost: u64,
}

#[test]
fn every_line_comes_once_and_every_lost_byte_is_reported_whatever_happens_to_the_files() {
    for seed in 0..SEEDS {
        let mut machine = Machine::new(seed);
        for _ in 0..STEPS {
            machine.step();
        }
        machine.complete();
        for _ in 0..4 {
            machine.drain();
            machine.world.clock.advance(IDLE_TIMEOUT * 2);
        }
        machine.check(seed);
    }
}

impl Machine {
    fn new(seed: u64) -> Self {
        let world = World::new(&["access.log*"]);
        let tail = world.tail();
        let committed = (tail.position(), Account::default());
        Self {
            world,
            tail,
            random: Random::new(seed),
            written: 0,
            rotated: 0,
            old: Vec::new(),
            torn: None,
            committed,
            now: Account::default(),
            expected_lost: 0,
            destroyed: Vec::new(),
            story: Vec::new(),
        }
    }

    fn step(&mut self) {
        let (what, step): (&str, fn(&mut Self)) = match self.random.up_to(15) {
            0..=2 => ("write", Self::write_some),
            3 => ("partial", Self::partial),
            4..=5 => ("drain", Self::drain),
            6 => ("commit", Self::commit),
            7..=8 => ("crash", Self::crash),
            9 => ("rename", Self::rename),
            10 => ("copytruncate", Self::copy_truncate),
            11 => ("truncate", Self::truncate),
            12 => ("compress", Self::compress),
            13 => ("delete", Self::delete),
            14 => ("late worker", Self::late_worker),
            _ => ("quiet", |machine| machine.world.clock.advance(IDLE_TIMEOUT * 2)),
        };
        self.story.push(format!("{what} at n{}", self.written));
        step(self);
    }

    fn new_id(&mut self) -> String {
        self.written += 1;
        format!("n{}", self.written)
    }

    fn write(&mut self, name: &str) -> String {
        let id = self.new_id();
        self.world.partial(name, line(&id).as_bytes());
        id
    }

    fn write_some(&mut self) {
        self.complete();
        for _ in 0..=self.random.up_to(30) {
            self.write(LIVE);
        }
    }

    /// Ends the line that is written in part.
    fn complete(&mut self) {
        if let Some(rest) = self.torn.take() {
            self.world.partial(LIVE, rest.as_bytes());
        }
    }

    fn partial(&mut self) {
        self.write_some();
        let id = self.new_id();
        let mut text = line(&id);
        let rest = text.split_off(1 + self.random.up_to(text.len() as u64 - 2) as usize);
        self.world.partial(LIVE, text.as_bytes());
        self.torn = Some(rest);
    }

    fn drain(&mut self) {
        let seen: Seen = self.tail.drain();
        self.now.ids.extend(seen.ids);
        self.now.lost += seen.lost.iter().map(|(from, to)| to - from).sum::<u64>();
        assert!(seen.torn.is_empty() && seen.oversized.is_empty(), "{:?}", self.story);
    }

    fn commit(&mut self) {
        self.committed = (self.tail.position(), self.now.clone());
    }

    fn crash(&mut self) {
        self.tail = self.world.tail_from(Some(&self.committed.0));
        self.now = self.committed.1.clone();
    }

    fn rotated_name(&mut self) -> String {
        self.rotated += 1;
        let name = format!("{LIVE}.{}", self.rotated);
        self.old.push(name.clone());
        name
    }

    fn rename(&mut self) {
        self.write_some();
        let name = self.rotated_name();
        self.world.rename(LIVE, &name);
    }

    fn copy_truncate(&mut self) {
        self.write_some();
        let name = self.rotated_name();
        fs::copy(self.world.path(LIVE), self.world.path(&name)).unwrap();
        self.world.truncate(LIVE, 0);
    }

    /// Destroys lines that the reader knows of and has not read.
    fn truncate(&mut self) {
        self.write_some();
        self.drain();
        for _ in 0..self.random.up_to(5) {
            let id = self.write(LIVE);
            self.expected_lost += line(&id).len() as u64;
            self.destroyed.push(id);
        }
        self.tail.source_sees_lengths();
        self.commit();
        self.world.truncate(LIVE, 0);
    }

    fn compress(&mut self) {
        let plain = self.old.iter_mut().find(|name| !name.ends_with(".gz"));
        let Some(name) = plain else { return };
        let packed = format!("{name}.gz");
        let bytes = fs::read(self.world.path(name)).unwrap();
        fs::write(self.world.path(&packed), gzip(&bytes)).unwrap();
        self.world.remove(name);
        *name = packed;
    }

    fn delete(&mut self) {
        self.drain();
        self.commit();
        if !self.old.is_empty() {
            self.world.remove(&self.old.remove(0));
        }
    }

    /// A worker that has not opened the new file yet.
    fn late_worker(&mut self) {
        if let Some(name) = self.old.last().filter(|name| !name.ends_with(".gz")).cloned() {
            self.write(&name);
        }
    }

    fn check(&self, seed: u64) {
        let mut times: BTreeMap<&str, i32> = BTreeMap::new();
        self.now.ids.iter().for_each(|id| *times.entry(id).or_default() += 1);
        let mut wrong = Vec::new();
        for number in 1..=self.written {
            let id = format!("n{number}");
            let wanted = i32::from(!self.destroyed.contains(&id));
            let came = times.get(&*id).copied().unwrap_or(0);
            if came != wanted {
                wrong.push(format!("{id} came {came} times"));
            }
        }
        let some = &wrong[..wrong.len().min(5)];
        assert!(
            wrong.is_empty(),
            "seed {seed}: {} such as {some:?} in {:?}",
            wrong.len(),
            self.story
        );
        assert_eq!(self.now.lost, self.expected_lost, "seed {seed}: {:?}", self.story);
    }
}
