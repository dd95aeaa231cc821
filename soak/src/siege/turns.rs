//! Who attacks when: attacks are drawn from a shuffled deck, several at a time, each for a turn.
//!
//! Invariant: none runs twice at once, so each has one address. Never here: what they do.

use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::assault::Assault;
use super::attacks::{ATTACKS, Attack};
use super::edge::Edge;
use super::honest::Scene;
use crate::dice::Dice;

/// Attackers at a time.
pub(super) const ATTACKERS: u64 = 3;
const TURN_MAX: Duration = Duration::from_secs(20);

/// The attacks that take turns.
#[derive(Debug)]
pub(super) struct Turns {
    /// Indexes of those that are not running, the next one last.
    deck: Mutex<(Vec<usize>, Dice)>,
    mean: Duration,
}

impl Turns {
    /// Turns of the attacks at these indexes, so that each has one within `time`.
    pub(super) fn new(chosen: Vec<usize>, time: Duration, seed: u64) -> Self {
        let rounds = chosen.len().div_ceil(ATTACKERS as usize).max(1) as u32;
        let mean = (time / rounds).clamp(Duration::from_millis(500), TURN_MAX);
        let mut dice = Dice::new(seed, 1);
        let mut deck = chosen;
        for at in (1..deck.len()).rev() {
            deck.swap(at, dice.below(at as u64 + 1) as usize);
        }
        Self { deck: Mutex::new((deck, dice)), mean }
    }

    /// Attacks until everybody stops.
    pub(super) fn run(&self, scene: &Scene, edge: &Edge, end: Instant) {
        while !scene.stop.load(Ordering::Relaxed) && Instant::now() < end {
            let Some((index, dice, share)) = self.draw() else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            let Attack { name, act } = ATTACKS[index];
            let deadline = (Instant::now() + self.mean.mul_f64(share)).min(end);
            let mut assault = Assault {
                name,
                from: Ipv4Addr::new(127, 0, 2, 1 + index as u8),
                scene,
                dice,
                deadline,
                pid: edge.server.process_id(),
                names: &edge.names,
                client: None,
            };
            scene.account.begins(name);
            act(&mut assault);
            drop(assault);
            scene.account.ends(name);
            self.deck.lock().unwrap_or_else(PoisonError::into_inner).0.insert(0, index);
        }
    }

    /// The next attack, its dice, and its turn as a share of the mean.
    fn draw(&self) -> Option<(usize, Dice, f64)> {
        let mut deck = self.deck.lock().unwrap_or_else(PoisonError::into_inner);
        let index = deck.0.pop()?;
        let dice = Dice::new(deck.1.number(), index as u64);
        Some((index, dice, 0.5 + deck.1.fraction()))
    }
}
