//! Journals that are damaged while nobody writes them, and read and written again afterwards.
//!
//! `tidegate serve` writes the journal and its record process delivers it. Both end, or are killed;
//! some events are not delivered then. A fault is drawn and made (`fault`). Then the processes are
//! started again, in an order that is drawn too, and more events are written.
//! Invariant held against them: every event that still stands is delivered once, and nothing is
//! doubled. What is lost is named, to the byte where the documentation promises it (`account`).
//! A loss is an alarm until it is acknowledged, also after a restart, and comes up once.

mod account;
mod fault;
mod ranges;
mod restart;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use testkit::TempDir;

use self::account::{Case, Expected, Knows, Loss};
use self::fault::{Damage, Kind};
use self::restart::{Comeback, Record};
use super::ledger::{Ledger, Line};
use super::options::Options;
use super::served::{self, Place, Served, wait_for};
use super::world::copy_all;
use crate::dice::Dice;

/// Damages before everything starts anew in another directory.
const PER_WORLD: u64 = 4;
/// Older copies that are kept.
const COPIES: usize = 2;
/// Journals between two words of how far it is.
const WORLDS_PER_WORD: u64 = 10;

const WRITER: &str = r#"
node = "soak"

[journal]
dir = "journal"
sync = "always"
segment_bytes_max = "SEGMENT"

[[route]]
path = "/read"
collect = "only"
"#;
const ROLLUP: &str = r#"
[[rollup]]
name = "reads"
by = ["query.item"]

[[sink]]
name = "main"
url = "sqlite:sink.db"
flush = "10ms"
"#;

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    worlds: u64,
    damages: BTreeMap<Kind, u64>,
    events: u64,
    /// Events that were destroyed before they were delivered.
    destroyed: u64,
    /// Bytes of them, which the program has named one by one.
    lost_bytes: u64,
    /// Damages of which only that they happened can be known.
    unmeasured: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worlds, events, destroyed, lost_bytes, unmeasured, .. } = self;
        let damages: u64 = self.damages.values().sum();
        write!(
            f,
            "  {damages} damages to {worlds} journals {:?}: {events} events, {destroyed} destroyed \
             undelivered, {lost_bytes} bytes named, {unmeasured} losses of unknown length; \
             otherwise 0 lost, 0 doubled, 0 silent",
            self.damages
        )
    }
}

/// Damages as many journals as asked.
///
/// # Errors
/// The first thing found wrong.
pub(super) fn run(options: &Options) -> Result<Tally> {
    let mut tally = Tally::default();
    let binary = fs::canonicalize(&options.binary)?;
    for number in 0..options.damages.div_ceil(PER_WORLD) {
        let count = (options.damages - number * PER_WORLD).min(PER_WORLD);
        let mut dir = TempDir::new()?;
        let world = World::new(binary.clone(), dir.path().to_owned(), options.seed, number);
        world.run(count, &mut tally).with_context(|| {
            dir.disable_cleanup(true);
            let (seed, dir) = (options.seed, dir.path().display());
            format!("journal {number} of seed {seed}; what is left is in `{dir}`")
        })?;
        tally.worlds += 1;
        if tally.worlds.is_multiple_of(WORLDS_PER_WORD) {
            println!("{tally} so far");
        }
    }
    Ok(tally)
}

struct World {
    place: Place,
    dice: Dice,
    /// The configuration that only writes.
    writer: String,
    /// The next event.
    next: u64,
    /// Each event's line as it was written.
    known: BTreeMap<u64, Vec<u8>>,
    /// Events that must be counted.
    expected: BTreeSet<u64>,
    /// Events that were destroyed before they were counted.
    gone: BTreeSet<u64>,
    /// Copies of the directory, oldest first.
    copies: Vec<PathBuf>,
    /// What was named before the present damage, and what was not acknowledged of it.
    named: Vec<Loss>,
    /// Lines in quarantine before it.
    quarantined: usize,
}

impl World {
    fn new(binary: PathBuf, dir: PathBuf, seed: u64, number: u64) -> Self {
        let mut dice = Dice::new(seed, 0x6a6f_7572 + number);
        let segment = dice.pick(&["2KB", "10KB", "40KB", "1MB"]);
        Self {
            place: Place { binary, dir, environment: Vec::new() },
            writer: WRITER.replace("SEGMENT", segment),
            dice,
            next: 0,
            known: BTreeMap::new(),
            expected: BTreeSet::new(),
            gone: BTreeSet::new(),
            copies: Vec::new(),
            named: Vec::new(),
            quarantined: 0,
        }
    }

    fn journal(&self) -> PathBuf {
        self.place.dir.join("journal")
    }

    fn full(&self) -> String {
        format!("{}{ROLLUP}", self.writer)
    }

    fn run(mut self, count: u64, tally: &mut Tally) -> Result<()> {
        let mut served = self.place.serve(&self.full())?;
        for nth in 0..count {
            self.write(&served)?;
            self.delivered(&served)?;
            self.stop_behind(served)?;
            let before = Ledger::read(&self.journal())?;
            self.learn(&before)?;
            let damage = fault::make(&self.journal(), &before, &self.copies, &mut self.dice)?;
            let after = Ledger::read(&self.journal())?;
            let comeback = Comeback::draw(&mut self.dice);
            let words = format!("damage {nth}, {}, then {comeback:?}", damage.words);
            let done = self.survive(&damage, &before, &after, comeback);
            let (back, expected) = done.context(words)?;
            served = back;
            self.count(&damage, &before, &expected, tally);
        }
        self.write(&served)?;
        self.delivered(&served)?;
        served.stop("TERM")?;
        tally.events += self.next;
        Ok(())
    }

    fn count(&self, damage: &Damage, before: &Ledger, expected: &Expected, tally: &mut Tally) {
        *tally.damages.entry(damage.kind).or_default() += 1;
        let events = before.lines.iter().filter_map(Line::event);
        tally.destroyed += events.filter(|id| !self.expected.contains(id)).count() as u64;
        match expected.knows {
            Knows::Bytes => tally.lost_bytes += expected.lost_bytes(),
            Knows::Perhaps => tally.unmeasured += 1,
        }
    }

    /// Writes events, which are then expected.
    fn write(&mut self, served: &Served) -> Result<()> {
        let count = 1 + self.dice.below(30);
        let ids = self.next..self.next + count;
        self.next += count;
        self.expected.extend(ids.clone());
        served.write(ids, &mut self.dice)
    }

    /// Waits until what is expected was counted; each event once, and no other.
    fn delivered(&self, served: &Served) -> Result<()> {
        let mut wrong = None;
        let waited = wait_for("the deliveries", || {
            let counted = self.counted()?;
            let ids: BTreeSet<u64> = counted.keys().copied().collect();
            let missing = self.expected.difference(&ids).copied().collect::<Vec<_>>();
            let more = ids.difference(&self.expected).copied().collect::<Vec<_>>();
            wrong = Some(format!("missing {missing:?}, beyond what stood {more:?}"));
            ensure!(more.is_empty(), "counted, and does not stand any more: {more:?}");
            Ok(missing.is_empty())
        });
        waited
            .with_context(|| format!("{}; it says: {}", wrong.unwrap_or_default(), served.stderr()))
    }

    fn counted(&self) -> Result<BTreeMap<u64, u64>> {
        let counted: BTreeMap<u64, u64> =
            served::counted(&self.place.dir.join("sink.db"), "reads")?.into_iter().collect();
        let doubled: Vec<_> = counted.iter().filter(|(_, count)| **count != 1).collect();
        ensure!(doubled.is_empty(), "not counted once: {doubled:?}");
        Ok(counted)
    }

    /// Has the processes end, mostly with events in the journal that were not delivered.
    fn stop_behind(&mut self, served: Served) -> Result<()> {
        self.stop(served)?;
        self.copy()?;
        if self.dice.chance(25) {
            return Ok(());
        }
        for _ in 0..=self.dice.below(2) {
            let served = self.place.serve(&self.writer)?;
            self.write(&served)?;
            self.stop(served)?;
            if self.dice.chance(30) {
                self.copy()?;
            }
        }
        Ok(())
    }

    /// Ends the processes, or kills them while an event is under way.
    fn stop(&mut self, served: Served) -> Result<()> {
        if self.dice.chance(50) {
            return served.stop("TERM");
        }
        let under_way = served.write_unanswered(self.next, &mut self.dice)?;
        self.next += 1;
        let stopped = served.stop("KILL");
        drop(under_way);
        stopped
    }

    fn copy(&mut self) -> Result<()> {
        let copy = self.place.dir.join(format!("copy-{}-{}", self.next, self.copies.len()));
        fs::create_dir_all(&copy)?;
        copy_all(&self.journal(), &copy)?;
        self.copies.push(copy);
        if self.copies.len() > COPIES {
            fs::remove_dir_all(self.copies.remove(0))?;
        }
        Ok(())
    }

    /// Takes note of the lines that were written since the last damage. Answered ones are there.
    fn learn(&mut self, before: &Ledger) -> Result<()> {
        let first = self.known.last_key_value().map_or(0, |(id, _)| id + 1);
        for line in &before.lines {
            if let Some(id) = line.event().filter(|id| *id >= first) {
                self.known.insert(id, line.text.clone());
            }
        }
        let missing = self.expected.range(first..).find(|id| !self.known.contains_key(id));
        ensure!(missing.is_none(), "event {missing:?} was answered, and is not in the journal");
        let durable = before.lines.iter().filter(|line| line.at.end <= before.durable);
        let durable: BTreeSet<u64> = durable.filter_map(Line::event).collect();
        let early = self.expected.range(first..).find(|id| !durable.contains(id));
        ensure!(early.is_none(), "event {early:?} was answered before it was durable");
        Ok(())
    }

    /// Brings the processes back after a damage, and checks what they make of it.
    fn survive(
        &mut self,
        damage: &Damage,
        before: &Ledger,
        after: &Ledger,
        comeback: Comeback,
    ) -> Result<(Served, Expected)> {
        let delivered: BTreeSet<u64> = self.counted()?.into_keys().collect();
        let place = restart::place(&self.place.dir.join("sink.db"))?;
        for line in &before.lines {
            let Some(id) = line.event().filter(|id| self.expected.contains(id)) else { continue };
            let is_before = line.at.end <= place;
            ensure!(is_before == delivered.contains(&id), "event {id} at {:?}, {place}", line.at);
        }
        let (known, gone, kind) = (&self.known, &self.gone, damage.kind);
        let case = Case { before, after, place, known, delivered: &delivered, gone, kind };
        let expected = case.expected();
        let counts = |id: &u64| delivered.contains(id) || expected.to_come.contains(id);
        let gone: Vec<u64> = before.lines.iter().filter_map(Line::event).collect();
        self.gone.extend(gone.into_iter().filter(|id| !counts(id)));
        self.expected = delivered.union(&expected.to_come).copied().collect();
        let served = self.come_back(comeback)?;
        self.write(&served)?;
        self.delivered(&served)?;
        let losses = account::losses(&self.place.events(&["losses"])?)?;
        let quarantined = restart::quarantined(&self.place.dir)?;
        let new = quarantined.get(self.quarantined..).context("the quarantine has shrunk")?;
        self.quarantined = quarantined.len();
        let named: Vec<Loss> =
            losses.iter().filter(|loss| !self.named.contains(loss)).cloned().collect();
        expected.check(&named, new).with_context(|| {
            let refused: Vec<_> = expected.refused.values().collect();
            format!(
                "delivered to {place}, durable to {}, lost {:?}, refused {refused:?}",
                before.durable, expected.lost
            )
        })?;
        let served = self.acknowledge(served, &losses)?;
        Ok((served, expected))
    }

    /// Starts the processes in that order; at the end both run.
    fn come_back(&mut self, comeback: Comeback) -> Result<Served> {
        match comeback {
            Comeback::Together => {}
            Comeback::IdleWriter(times) => {
                for _ in 0..times {
                    let served = self.place.serve(&self.writer)?;
                    served.stop(self.dice.pick(&["TERM", "KILL"]))?;
                }
            }
            Comeback::Writer(times) => {
                for _ in 0..times {
                    let served = self.place.serve(&self.writer)?;
                    self.write(&served)?;
                    served.stop(self.dice.pick(&["TERM", "KILL"]))?;
                }
            }
            Comeback::Record => {
                let mut record = Record::start(&self.place, &self.full())?;
                let served = self.place.serve(&self.writer)?;
                self.write(&served)?;
                self.delivered(&served)?;
                served.stop(self.dice.pick(&["TERM", "KILL"]))?;
                record.end()?;
            }
        }
        self.place.serve(&self.full())
    }

    /// Every loss is an alarm, also after a restart, until it is acknowledged.
    fn acknowledge(&mut self, mut served: Served, losses: &[Loss]) -> Result<Served> {
        let ids: Vec<String> = losses.iter().map(|loss| loss.id.clone()).collect();
        let alarms = served.alarms()?;
        ensure!(alarms == ids, "alarms {alarms:?}, losses {ids:?}");
        if self.dice.chance(40) {
            self.stop(served)?;
            let after = Ledger::read(&self.journal())?;
            let events: BTreeSet<u64> = after.lines.iter().filter_map(Line::event).collect();
            // What was under way may have been written.
            self.expected.extend(events.range(self.next - 1..self.next));
            served = self.place.serve(&self.full())?;
            self.write(&served)?;
            self.delivered(&served)?;
            let alarms = served.alarms()?;
            ensure!(alarms == ids, "after a restart: alarms {alarms:?}, losses {ids:?}");
        }
        self.named = losses.to_vec();
        if self.dice.chance(60) {
            self.place.events(&["losses", "--ack", "all"])?;
            let alarms = served.alarms()?;
            ensure!(alarms.is_empty(), "acknowledged, and still alarms: {alarms:?}");
            self.named.clear();
        }
        Ok(served)
    }
}
