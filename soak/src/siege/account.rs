//! The account: what each attack tried and got, what each honest client asked and got.
//!
//! Invariant: an honest request that got anything but its right answer is a failure, whatever the
//! reason. Never here: what is right, and what must hold when the attackers have stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const EXAMPLES_MAX: usize = 10;

/// What all threads add to.
#[derive(Debug)]
pub(super) struct Account {
    begun: Instant,
    inner: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// By attack: turns, and answers by status or fate.
    attacks: BTreeMap<&'static str, (u64, BTreeMap<String, u64>)>,
    /// By kind of honest request.
    honest: BTreeMap<&'static str, Asked>,
    running: BTreeSet<&'static str>,
    wrong: u64,
    wrong_examples: Vec<String>,
}

#[derive(Debug, Default)]
struct Asked {
    count: u64,
    failed: u64,
    slowest_ms: u128,
    examples: Vec<String>,
}

/// How an honest request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// An answer with the body of something else.
    WrongBody(String),
    /// Anything else that is not its right answer.
    Other(String),
}

impl Account {
    /// An empty account that begins now.
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), inner: Mutex::default() }
    }

    /// Counts a turn of an attack, which runs until [`Self::ends`].
    pub(super) fn begins(&self, attack: &'static str) {
        let mut entries = self.entries();
        entries.running.insert(attack);
        entries.attacks.entry(attack).or_default().0 += 1;
    }

    /// The attack's turn is over.
    pub(super) fn ends(&self, attack: &'static str) {
        self.entries().running.remove(attack);
    }

    /// Counts what a try of an attack came to.
    pub(super) fn tried(&self, attack: &'static str, outcome: &str, count: u64) {
        let mut entries = self.entries();
        let outcomes = &mut entries.attacks.entry(attack).or_default().1;
        *outcomes.entry(outcome.to_owned()).or_default() += count;
    }

    /// Counts an honest request that was sent at `sent`.
    pub(super) fn asked(&self, kind: &'static str, sent: Instant, result: Result<(), Failure>) {
        let mut entries = self.entries();
        let running: Vec<&str> = entries.running.iter().copied().collect();
        let at = sent.duration_since(self.begun).as_secs_f64();
        let took = sent.elapsed().as_millis();
        let asked = entries.honest.entry(kind).or_default();
        asked.count += 1;
        asked.slowest_ms = asked.slowest_ms.max(took);
        let Err(failure) = result else { return };
        asked.failed += 1;
        let (Failure::WrongBody(what) | Failure::Other(what)) = &failure;
        let text = format!("{at:.1} s, after {took} ms: {what}; beside {}", running.join(" "));
        if asked.examples.len() < EXAMPLES_MAX {
            asked.examples.push(text.clone());
        }
        if matches!(failure, Failure::WrongBody(_)) {
            entries.wrong(format!("{kind}: {text}"));
        }
    }

    /// Notes an answer that gave somebody what is another's.
    pub(super) fn wrong(&self, what: String) {
        self.entries().wrong(what);
    }

    /// Honest requests, those that failed, and wrong bodies.
    pub(super) fn totals(&self) -> (u64, u64, u64) {
        let entries = self.entries();
        let sum = |of: fn(&Asked) -> u64| entries.honest.values().map(of).sum();
        (sum(|asked| asked.count), sum(|asked| asked.failed), entries.wrong)
    }

    /// How many kinds of attack had a turn with at least one try.
    pub(super) fn attacks(&self) -> usize {
        self.entries().attacks.values().filter(|(_, outcomes)| !outcomes.is_empty()).count()
    }

    /// Prints it.
    pub(super) fn print(&self) {
        let entries = self.entries();
        println!("attacks: turns, tries, answers");
        for (name, (turns, outcomes)) in &entries.attacks {
            let tries: u64 = outcomes.values().sum();
            let answers: Vec<String> =
                outcomes.iter().map(|(outcome, count)| format!("{outcome}: {count}")).collect();
            println!("    {turns:>4} {tries:>8}  {name}: {}", answers.join(", "));
        }
        println!("honest requests: asked, failed, slowest");
        for (kind, asked) in &entries.honest {
            let Asked { count, failed, slowest_ms, examples } = asked;
            println!("    {count:>8} {failed:>6} {slowest_ms:>6} ms  {kind}");
            for example in examples {
                println!("        failed: {example}");
            }
        }
        for example in &entries.wrong_examples {
            println!("wrong: {example}");
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn wrong(&mut self, what: String) {
        self.wrong += 1;
        if self.wrong_examples.len() < EXAMPLES_MAX {
            self.wrong_examples.push(what);
        }
    }
}
