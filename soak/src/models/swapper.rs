//! Replaces, spoils and mends the file of one model, and loads and unloads it.
//!
//! After each change it waits until the server shows what must follow: the new version, or what is
//! wrong with the file. It notes in the model's [`VersionLog`](super::judge::VersionLog) which
//! versions can answer. At the end a good version is in place.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::client::Shared;
use super::damage::{damage, put, spoil};
use super::kind::{KINDS, Kind, VERSIONS};
use super::texts::TEXT_VERSIONS;
use super::world::{MODELS, name};
use crate::dice::Dice;

/// Loads that are asked for by several at once; an unload keeps them out.
#[derive(Debug, Default)]
pub(super) struct Gates([Mutex<()>; MODELS]);

/// Changes one model.
#[derive(Debug)]
pub(super) struct Swapper<'s> {
    shared: &'s Shared<'s>,
    gates: &'s Gates,
    model: usize,
    dice: Dice,
    /// The version in use.
    version: usize,
    /// Whether the weights of texts can be replaced where they are.
    is_live: bool,
}

/// Asks for loads of any model until the time is over, whatever the swappers do.
pub(super) fn load_often(shared: &Shared<'_>, gates: &Gates, mut dice: Dice) {
    while !shared.is_over.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(20 + dice.below(300)));
        let model = dice.below(MODELS as u64) as usize;
        let _gate = gates.0[model].lock().unwrap_or_else(PoisonError::into_inner);
        match shared.world.tell(model, "load") {
            Ok(reply) if matches!(reply.status, 200 | 400) => {
                shared.tally.request("load, beside changes", "as it must be", false);
            }
            Ok(reply) => shared.tally.wrong(format!("`load` was answered {}", reply.status)),
            Err(error) => shared.tally.wrong(format!("{error:#}")),
        }
    }
}

impl<'s> Swapper<'s> {
    /// For one model, whose first version is in use.
    pub(super) fn new(shared: &'s Shared<'s>, gates: &'s Gates, model: usize, dice: Dice) -> Self {
        Self { shared, gates, model, dice, version: 0, is_live: false }
    }

    /// Changes the model until the time is over; returns the version that must be in use then.
    pub(super) fn run(mut self) -> usize {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(20 + self.dice.below(500)));
            let done = match self.dice.below(100) {
                0..45 => self.change(),
                45..80 => self.break_and_mend(),
                80..90 => self.write_again(),
                90..95 if KINDS.get(self.model) == Some(&Kind::Graph) => self.unload(),
                _ => self.load(200),
            };
            if let Err(error) = done {
                self.shared.tally.wrong(format!("{}: {error:#}", name(self.model)));
            }
        }
        self.version
    }

    /// Puts another version in place, and waits until it is in use.
    fn change(&mut self) -> Result<()> {
        let count = if self.kind().is_some() { VERSIONS } else { TEXT_VERSIONS };
        let version = (self.version + 1 + self.dice.below(count as u64 - 1) as usize) % count;
        // Known before it can be answered.
        self.shared.world.logs[self.model].begin(Some(version));
        self.version = version;
        self.write()?;
        self.shared.world.wait_for(self.model, version)?;
        self.shared.world.logs[self.model].only(Some(version));
        Ok(())
    }

    /// The same version in a new file.
    fn write_again(&mut self) -> Result<()> {
        self.write()?;
        self.shared.world.wait_for(self.model, self.version)
    }

    fn write(&mut self) -> Result<()> {
        let is_careless = self.dice.chance(40);
        let tally = &self.shared.tally;
        let Some(kind) = self.kind() else { return self.write_texts(is_careless) };
        tally.fault(if is_careless { "good file, piece by piece" } else { "good file, renamed" });
        let file = self.shared.world.file(kind);
        let careless = is_careless.then_some(&mut self.dice);
        Ok(put(&file, &kind.bytes(self.version), careless)?)
    }

    fn write_texts(&mut self, is_careless: bool) -> Result<()> {
        let (library, tally) = (&self.shared.world.library, &self.shared.tally);
        match self.dice.below(3) {
            0 => {
                tally.fault("texts: good directory, by a link");
                self.is_live = false;
                library.show(self.version)
            }
            _ if !self.is_live => {
                tally.fault("texts: good copy, by a link");
                self.is_live = true;
                library.show_live(self.version)
            }
            _ => {
                tally.fault(match is_careless {
                    true => "texts: good weights, piece by piece",
                    false => "texts: good weights, renamed",
                });
                library.replace(self.version, is_careless.then_some(&mut self.dice))
            }
        }
    }

    /// Spoils the file, sees that the good version stays, and mends it.
    fn break_and_mend(&mut self) -> Result<()> {
        let world = self.shared.world;
        match self.kind() {
            Some(kind) => {
                let (what, damage) = damage(kind, self.version, &mut self.dice);
                self.shared.tally.fault(what);
                let is_careless = self.dice.chance(40);
                let careless = is_careless.then_some(&mut self.dice);
                spoil(&world.file(kind), &damage, careless)?;
            }
            None => {
                self.is_live = false;
                let what = world.library.spoil(&mut self.dice)?;
                self.shared.tally.fault(what);
            }
        }
        let is_refused = |status: &Value| status["error"].is_string();
        let refused = world.wait(self.model, "alarmed about a broken file", is_refused);
        let checked = refused.and_then(|_| self.stays());
        // Whatever was found, the next change begins with a good file.
        self.change().and(checked)
    }

    /// The good version stays, even when the broken file is asked for.
    fn stays(&mut self) -> Result<()> {
        if self.dice.chance(40) {
            self.load(400)?;
        }
        sleep(Duration::from_millis(self.dice.below(500)));
        let status = self.shared.world.status(self.model)?;
        let name = self.shared.world.names[self.model][self.version].as_str();
        ensure!(status["version"] == name, "version {name} did not stay: {status}");
        Ok(())
    }

    fn load(&mut self, due: u16) -> Result<()> {
        self.shared.tally.fault("load");
        let reply = self.shared.world.tell(self.model, "load")?;
        let text = String::from_utf8_lossy(&reply.body);
        ensure!(reply.status == due, "`load` was answered {}, not {due}: {text}", reply.status);
        Ok(())
    }

    /// Takes the model away for a moment.
    fn unload(&mut self) -> Result<()> {
        let (world, gates) = (self.shared.world, self.gates);
        let log = &world.logs[self.model];
        self.shared.tally.fault("unload and load");
        let _gate = gates.0[self.model].lock().unwrap_or_else(PoisonError::into_inner);
        log.begin(None);
        let reply = world.tell(self.model, "unload")?;
        ensure!(reply.status == 200, "`unload` was answered {}", reply.status);
        log.only(None);
        sleep(Duration::from_millis(self.dice.below(200)));
        log.begin(Some(self.version));
        let loaded = self.load(200);
        log.only(Some(self.version));
        loaded
    }

    fn kind(&self) -> Option<Kind> {
        KINDS.get(self.model).copied()
    }
}
