//! What the soak of models found beside wrong answers: memory, threads, files and times; the
//! account of it all, and the verdict.

use std::fs;

use anyhow::{Result, bail};

use super::world::World;
use crate::process::{open_files, rss_bytes};
use crate::tally::{Counts, total};

/// Each allocator of a thread may keep pages of its own, and answers of 32 MB are kept.
const GROWTH_BYTES_MAX: u64 = 64 << 20;
/// Threads and files that may come once and stay.
const MORE_MAX: usize = 4;
/// A light request may take so much longer beside heavy ones.
const RATIO_MAX: f64 = 10.0;
/// The middle and the end of the time: what memory was at least there counts.
const MIDDLE: [f64; 2] = [0.4, 0.5];
const END: [f64; 2] = [0.9, 1.1];

/// What the kernel shows of the server at a moment.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Look {
    threads: usize,
    files: usize,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Findings {
    /// At rest behind all clients.
    pub end: Look,
    /// Of light models and of the graph, each alone and beside heavy requests.
    pub p99_ms: [[f64; 2]; 2],
    start: Look,
    pid: u32,
    /// A model of texts is in memory twice while it is replaced, and pages are kept for a while.
    weights_bytes: u64,
    is_timed: bool,
    /// The least in the middle and at the end, and the most.
    rss_bytes: [u64; 3],
}

impl Look {
    /// Looks at a process.
    pub(super) fn at(pid: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        Self { threads, files: open_files(pid) }
    }
}

impl Findings {
    /// Before all clients.
    pub(super) fn new(world: &World, is_timed: bool) -> Self {
        let pid = world.server.process_id();
        Self {
            end: Look::default(),
            p99_ms: [[0.0; 2]; 2],
            start: Look::at(pid),
            pid,
            weights_bytes: world.library.weights_bytes,
            is_timed,
            rss_bytes: [u64::MAX, u64::MAX, 0],
        }
    }

    /// Looks at the memory; `share` of the time is over.
    pub(super) fn weigh(&mut self, share: f64) {
        let bytes = rss_bytes(self.pid);
        let [middle, end, most] = &mut self.rss_bytes;
        *most = bytes.max(*most);
        for ([from, to], least) in [(MIDDLE, middle), (END, end)] {
            if (from..to).contains(&share) {
                *least = bytes.min(*least);
            }
        }
    }

    /// Whether no more threads and files are there than before.
    pub(super) fn is_at_rest(&self) -> bool {
        self.end.threads <= self.start.threads + MORE_MAX
            && self.end.files <= self.start.files + MORE_MAX
    }

    /// Prints all of it.
    pub(super) fn account(&self, counts: &Counts) {
        counts.print();
        let swaps = counts.faults.iter().filter(|(kind, _)| kind.contains("good "));
        println!("good files: {}", swaps.map(|(_, count)| count).sum::<u64>());
        for (name, outcome) in [("failed requests", "FAILED"), ("wrong answers", "wrong")] {
            println!("{name}: {}", counts.with(outcome));
        }
        let [middle, end, most] = self.rss_bytes.map(|bytes| bytes >> 20);
        println!(
            "memory of the server: {middle} MB at half time, {end} MB at the end, {most} MB at most"
        );
        let (start, end) = (self.start, self.end);
        println!("threads: {} before, {} behind", start.threads, end.threads);
        println!("open files: {} before, {} behind", start.files, end.files);
        let [[alone, beside], graph] = self.p99_ms;
        let bound = if self.is_timed { "at most 10 is right" } else { "not checked" };
        println!(
            "p99 of light requests: {alone:.2} ms alone, {beside:.2} ms beside heavy ones, \
             {:.1} times ({bound})",
            self.ratio()
        );
        let [alone, beside] = graph;
        println!(
            "p99 of the graph, which takes turns: {alone:.2} ms alone, {beside:.2} ms beside heavy \
             requests"
        );
        for example in &counts.examples {
            println!("wrong: {example}");
        }
    }

    /// Says whether all is well.
    ///
    /// # Errors
    /// What is not.
    pub(super) fn verdict(&self, counts: &Counts) -> Result<()> {
        let [middle, end, _] = self.rss_bytes;
        let growth_max = GROWTH_BYTES_MAX + self.weights_bytes;
        let checks = [
            (counts.wrong == 0, "failed or wrong requests"),
            (end <= middle.saturating_add(growth_max), "memory of the server"),
            (self.is_at_rest(), "threads or open files of the server"),
            (!self.is_timed || self.ratio() <= RATIO_MAX, "light requests wait for heavy ones"),
            (total(&counts.requests) > 0 && total(&counts.faults) > 0, "nothing was tried"),
        ];
        let failed: Vec<&str> = checks.iter().filter(|it| !it.0).map(|it| it.1).collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        println!("passed");
        Ok(())
    }

    /// How much longer light requests take beside heavy ones.
    fn ratio(&self) -> f64 {
        let [alone, beside] = self.p99_ms[0];
        if alone > 0.0 { beside / alone } else { 0.0 }
    }
}
