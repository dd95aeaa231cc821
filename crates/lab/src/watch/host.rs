//! Reads the host's counters: pressure, processors, memory, disks, network and NFS.
//!
//! A file is opened once and read from its beginning each time. Each source knows the fields it
//! reports by name, and passes over all others.
//! Sources: pressure stall information (kernel documentation, accounting/psi.rst), proc(5), and
//! the iostats and NFS pages of the kernel. For softnet_stat it is the kernel's
//! net/core/net-procfs.c. Times become milliseconds, sectors of 512 bytes and pages become bytes.
//! Failure: a file that is missing or may not be read is left out with a note. One that cannot be
//! read any more reports nothing. What is mounted by NFS during a watch is seen half a minute later
//! at ten samples a second.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::counters::{SignalReadings, SignalSource};
use crate::error::plain;

/// Bytes that a file is read in.
const CHUNK_BYTES: usize = 8 << 10;
/// Milliseconds of a tick of /proc/stat (`USER_HZ` is 100 on every Linux that runs us).
pub(super) const TICK_MS: f64 = 10.0;
const SECTOR_BYTES: f64 = 512.0;

/// Samples for which a host without NFS is not asked again.
const UNASKED: u32 = 300;

/// A file that is read again and again.
#[derive(Debug)]
pub(super) struct ReadAgain {
    file: File,
    text: Vec<u8>,
}

/// Reports what a file's text says.
type Reports = fn(&str, &mut SignalReadings);

/// A file of the host, and how it is read.
struct HostFile {
    file: ReadAgain,
    reports: Reports,
}

/// The mounts of this program, of which those by NFS are reported.
struct MountsFile {
    file: ReadAgain,
    /// Samples until it is read again.
    unasked: u32,
}

/// Opens what this host has.
pub(super) fn sources(notes: &mut Vec<String>) -> Vec<Box<dyn SignalSource>> {
    let files: [(&str, Reports); 10] = [
        ("/proc/pressure/cpu", |text, found| pressure(text, "core", found)),
        ("/proc/pressure/io", |text, found| pressure(text, "disk", found)),
        ("/proc/pressure/memory", |text, found| pressure(text, "memory", found)),
        ("/proc/stat", processors),
        ("/proc/vmstat", memory),
        ("/proc/diskstats", disks),
        ("/proc/net/snmp", |text, found| network(text, found)),
        ("/proc/net/netstat", |text, found| network(text, found)),
        ("/proc/net/softnet_stat", received_packets),
        ("/proc/schedstat", run_queues),
    ];
    let mut found: Vec<Box<dyn SignalSource>> = Vec::new();
    for (path, reports) in files {
        if let Some(file) = readable(path, notes) {
            found.push(Box::new(HostFile { file, reports }));
        }
    }
    if let Some(file) = readable("/proc/self/mountstats", notes) {
        found.push(Box::new(MountsFile { file, unasked: 0 }));
    }
    found
}

/// Opens a file that can be read, or notes that it is left out.
fn readable(path: &str, notes: &mut Vec<String>) -> Option<ReadAgain> {
    let mut file = ReadAgain::open(path)
        .inspect_err(|error| notes.push(format!("left out: `{path}` ({})", plain(error))))
        .ok()?;
    if file.read().is_none() {
        notes.push(format!("left out: `{path}` cannot be read"));
        return None;
    }
    Some(file)
}

impl SignalSource for HostFile {
    fn sample(&mut self, found: &mut SignalReadings) {
        if let Some(text) = self.file.read() {
            (self.reports)(text, found);
        }
    }
}

impl SignalSource for MountsFile {
    fn sample(&mut self, found: &mut SignalReadings) {
        if self.unasked > 0 {
            self.unasked -= 1;
            return;
        }
        match self.file.read() {
            Some(text) if text.contains(" fstype nfs") => nfs(text, found),
            _ => self.unasked = UNASKED,
        }
    }
}

impl ReadAgain {
    pub(super) fn open(path: &str) -> std::io::Result<Self> {
        Ok(Self { file: File::open(path)?, text: Vec::new() })
    }

    /// The file's text now; nothing when it cannot be read any more.
    pub(super) fn read(&mut self) -> Option<&str> {
        let mut filled = 0;
        loop {
            self.text.resize(filled + CHUNK_BYTES, 0);
            let read = self.file.read_at(&mut self.text[filled..], filled as u64).ok()?;
            filled += read;
            if read == 0 {
                break;
            }
        }
        std::str::from_utf8(&self.text[..filled]).ok()
    }
}

fn pressure(text: &str, what: &str, found: &mut SignalReadings) {
    for line in text.lines() {
        let whose = if line.starts_with("some") { "some waits" } else { "all wait" };
        let total = line.rsplit_once("total=").and_then(|(_, total)| total.trim().parse().ok());
        if let Some(micros) = total {
            let micros: f64 = micros;
            // That all wait for a core is 0 by definition for a whole host.
            if !(what == "core" && line.starts_with("full")) {
                found.counter(&format!("{whose} for {what}"), "ms", micros / 1000.0);
            }
        }
    }
}

fn processors(text: &str, found: &mut SignalReadings) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let mut next = || words.next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
        match name {
            "cpu" => {
                let [user, nice, system, _idle, disk, hard, soft, stolen] =
                    [(); 8].map(|()| next());
                for (name, ticks) in [
                    ("cpu of programs", user + nice),
                    ("cpu of the kernel", system),
                    ("cpu idle for disk", disk),
                    ("cpu of interrupts", hard + soft),
                    ("cpu stolen", stolen),
                ] {
                    found.counter(name, "ms", ticks * TICK_MS);
                }
            }
            "ctxt" => found.counter("context switches", "", next()),
            "processes" => found.counter("forks", "", next()),
            "procs_running" => found.level("runnable threads", "", next()),
            "procs_blocked" => found.level("threads blocked on disk", "", next()),
            _ => {}
        }
    }
}

fn run_queues(text: &str, found: &mut SignalReadings) {
    let cores = text.lines().filter(|line| line.starts_with("cpu"));
    let waited = cores.filter_map(|line| line.split_ascii_whitespace().nth(8)?.parse::<f64>().ok());
    found.counter("waits in run queues", "ms", waited.sum::<f64>() / 1e6);
}

fn memory(text: &str, found: &mut SignalReadings) {
    const PAGE_BYTES: f64 = 4096.0;
    let (mut stalls, mut scans) = (0.0, 0.0);
    for line in text.lines() {
        let Some((name, value)) = line.split_once(' ') else { continue };
        let Ok(value) = value.parse::<f64>() else { continue };
        match name {
            "nr_dirty" => found.level("dirty pages", "bytes", value * PAGE_BYTES),
            "nr_writeback" => found.level("pages in writeback", "bytes", value * PAGE_BYTES),
            "pgmajfault" => found.counter("page faults from disk", "", value),
            "pswpin" => found.counter("swapped in", "bytes", value * PAGE_BYTES),
            "pswpout" => found.counter("swapped out", "bytes", value * PAGE_BYTES),
            "compact_stall" => found.counter("stalls for compaction", "", value),
            _ if name.starts_with("allocstall") => stalls += value,
            "pgscan_direct" => scans += value,
            _ => {}
        }
    }
    found.counter("stalls for free pages", "", stalls);
    found.counter("pages scanned by programs", "", scans);
}

fn disks(text: &str, found: &mut SignalReadings) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(name) = words.get(2) else { continue };
        let is_whole = std::path::Path::new("/sys/block").join(name).exists();
        if name.starts_with("loop") || name.starts_with("ram") || !is_whole {
            continue;
        }
        let at = |place: usize| words.get(place).and_then(|word| word.parse::<f64>().ok());
        for (what, unit, place, scale) in [
            ("reads from", "bytes", 5, SECTOR_BYTES),
            ("writes to", "bytes", 9, SECTOR_BYTES),
            ("busy time of", "ms", 12, 1.0),
            ("waits in the queue of", "ms", 13, 1.0),
            ("flushes of", "", 18, 1.0),
        ] {
            if let Some(value) = at(place) {
                found.counter(&format!("{what} {name}"), unit, value * scale);
            }
        }
    }
}

fn network(text: &str, found: &mut SignalReadings) {
    let mut lines = text.lines();
    while let (Some(heads), Some(values)) = (lines.next(), lines.next()) {
        let pairs = heads.split_ascii_whitespace().zip(values.split_ascii_whitespace());
        for (head, value) in pairs {
            let name = match head {
                "RetransSegs" => "tcp retransmissions",
                "TCPTimeouts" => "tcp time-outs",
                "DelayedACKs" => "tcp delayed acknowledgements",
                "ListenDrops" => "connections dropped at listen",
                _ => continue,
            };
            if let Ok(value) = value.parse() {
                found.counter(name, "", value);
            }
        }
    }
}

/// What the cores could not take in: packets that found a full queue (`dropped`), and rounds that
/// ended with packets left (`time_squeeze`). Each core has a line of hexadecimal columns.
fn received_packets(text: &str, found: &mut SignalReadings) {
    let sum = |column: usize| -> f64 {
        let words = text.lines().filter_map(|line| line.split_ascii_whitespace().nth(column));
        words.filter_map(|word| u32::from_str_radix(word, 16).ok()).map(f64::from).sum()
    };
    found.counter("packets dropped at the backlog", "", sum(1));
    found.counter("network time squeezes", "", sum(2));
}

/// The operations of every NFS mount, and how long they took (`per-op statistics`).
fn nfs(text: &str, found: &mut SignalReadings) {
    let mut mount = None;
    let mut sums = [0.0, 0.0];
    let mut report = |mount: Option<&str>, sums: [f64; 2]| {
        if let Some(mount) = mount {
            found.counter(&format!("operations on {mount}"), "", sums[0]);
            found.counter(&format!("waits for {mount}"), "ms", sums[1]);
        }
    };
    for line in text.lines() {
        if line.starts_with("device ") {
            report(mount.take(), std::mem::take(&mut sums));
            let is_nfs = line.contains(" fstype nfs");
            mount = line.split(" mounted on ").nth(1).filter(|_| is_nfs);
            mount = mount.and_then(|rest| rest.split(' ').next());
        }
        let Some((name, numbers)) = line.trim_start().split_once(':') else { continue };
        let numbers: Vec<f64> =
            numbers.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let is_operation = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        // Operations, transmissions, time-outs, bytes sent and received, and the milliseconds in
        // the queue, on the way, and in all.
        if mount.is_some() && is_operation && numbers.len() >= 8 {
            sums[0] += numbers[0];
            sums[1] += numbers[7];
        }
    }
    report(mount, sums);
}

#[cfg(test)]
mod tests;
