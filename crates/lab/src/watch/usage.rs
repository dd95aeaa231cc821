//! Reads what a process has used: processor, waits for a core, reads, writes and faults.
//!
//! Source of the fields: proc(5). Reads and writes are those of disks, as the kernel charges them
//! (`read_bytes`, `write_bytes`); where they may not be read they are 0.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

use super::counters::SignalReadings;
use super::host::TICK_MS;
use super::program_name::ProgramName;

/// What a process has used since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ProcessUsage {
    /// When it began, in ticks since the host's start.
    pub(super) began: u64,
    pub(super) cpu_ms: f64,
    pub(super) waited_ms: f64,
    pub(super) read_bytes: f64,
    pub(super) written_bytes: f64,
    pub(super) paged_in: f64,
}

impl ProcessUsage {
    /// What a process has used, and its name; nothing once it is gone.
    pub(super) fn of(pid: u32) -> Option<(ProgramName, Self)> {
        Self::beside(pid, schedule(pid).unwrap_or_default())
    }

    /// The same, where [`schedule`] was already asked.
    pub(super) fn beside(pid: u32, (ran, waited_ms): (u64, f64)) -> Option<(ProgramName, Self)> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let at = |place: usize| words.get(place).and_then(|word| word.parse::<f64>().ok());
        let mut usage = Self {
            began: words.get(19)?.parse().ok()?,
            // Of all threads in whole ticks, or of the first one exactly: a short child has one.
            cpu_ms: ((at(11)? + at(12)?) * TICK_MS).max(ran as f64 / 1e6),
            waited_ms,
            paged_in: at(9)?,
            ..Self::default()
        };
        let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        for line in io.lines() {
            let Some((name, value)) = line.split_once(": ") else { continue };
            match (name, value.parse()) {
                ("read_bytes", Ok(value)) => usage.read_bytes = value,
                ("write_bytes", Ok(value)) => usage.written_bytes = value,
                _ => {}
            }
        }
        Some((ProgramName::of(pid, name), usage))
    }

    /// Nanoseconds since it began.
    pub(super) fn lived_ns(&self) -> u64 {
        ticks_now().saturating_sub(self.began) * (TICK_MS * 1e6) as u64
    }

    /// What was used since; nothing is less than 0.
    pub(super) fn since(self, before: Self) -> Self {
        self.each(before, |now, before| (now - before).max(0.0))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.each(other, |one, other| one + other)
    }

    /// The more of each: one of them may lack what the other knows.
    pub(super) fn most(self, other: Self) -> Self {
        self.each(other, f64::max)
    }

    fn each(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            began: self.began,
            cpu_ms: of(self.cpu_ms, other.cpu_ms),
            waited_ms: of(self.waited_ms, other.waited_ms),
            read_bytes: of(self.read_bytes, other.read_bytes),
            written_bytes: of(self.written_bytes, other.written_bytes),
            paged_in: of(self.paged_in, other.paged_in),
        }
    }

    pub(super) fn report(self, name: &str, span_ns: [u64; 2], found: &mut SignalReadings) {
        for (what, unit, amount) in [
            ("cpu of", "ms", self.cpu_ms),
            ("waits for a core of", "ms", self.waited_ms),
            ("reads of", "bytes", self.read_bytes),
            ("writes of", "bytes", self.written_bytes),
            ("pages read of", "", self.paged_in),
        ] {
            found.of_program(&format!("{what} {name}"), unit, span_ns, amount);
        }
    }
}

/// Ticks since the host's start.
pub(super) fn ticks_now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    (now.tv_sec.unsigned_abs() * 1_000 + now.tv_nsec.unsigned_abs() / 1_000_000) / TICK_MS as u64
}

/// Nanoseconds on a core, and milliseconds of waiting for one.
pub(super) fn schedule(pid: u32) -> Option<(u64, f64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut words = text.split_ascii_whitespace();
    let ran = words.next()?.parse().ok()?;
    Some((ran, words.next()?.parse::<f64>().ok()? / 1e6))
}
