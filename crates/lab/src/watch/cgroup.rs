//! Reads how often control groups were throttled, for versions 1 and 2.
//!
//! Groups are our own, and those of the processes that the user names. A group that is throttled
//! stops all its threads for the rest of its quota's interval, whatever the host's load is.
//! Failure: a process that is gone, or a group without a quota's counters, is left out with a note.

use std::fs;
use std::path::{Path, PathBuf};

use super::counters::{SignalReadings, SignalSource};
use super::host::ReadAgain;

const ROOT: &str = "/sys/fs/cgroup";

/// A group's `cpu.stat`.
struct Throttling {
    name: String,
    file: ReadAgain,
}

/// The groups of this process and of `pids`, each once.
pub(super) fn sources(pids: &[u32], notes: &mut Vec<String>) -> Vec<Box<dyn SignalSource>> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut found: Vec<Box<dyn SignalSource>> = Vec::new();
    let ours = std::iter::once("self".to_owned());
    for pid in ours.chain(pids.iter().map(ToString::to_string)) {
        let Some((name, file)) = stat_file(&pid) else {
            notes
                .push(format!("left out: the control group of process {pid} counts no throttling"));
            continue;
        };
        if seen.contains(&file) {
            continue;
        }
        if let Ok(opened) = ReadAgain::open(&file.to_string_lossy()) {
            found.push(Box::new(Throttling { name, file: opened }));
            seen.push(file);
        }
    }
    found
}

/// The name of the group of a process, and the file of its counters.
fn stat_file(pid: &str) -> Option<(String, PathBuf)> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
        let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
        let below = group.trim_start_matches('/');
        let places = match (is_cpu, controllers.is_empty()) {
            (true, _) => vec![Path::new(ROOT).join(controllers), Path::new(ROOT).join("cpu")],
            (_, true) => vec![PathBuf::from(ROOT), Path::new(ROOT).join("unified")],
            _ => continue,
        };
        let files = places.into_iter().map(|place| place.join(below).join("cpu.stat"));
        let has_quota = |file: &PathBuf| {
            fs::read_to_string(file).is_ok_and(|text| text.contains("nr_throttled"))
        };
        if let Some(file) = files.into_iter().find(has_quota) {
            return Some((if group == "/" { "the root group".into() } else { group.into() }, file));
        }
    }
    None
}

impl SignalSource for Throttling {
    fn sample(&mut self, found: &mut SignalReadings) {
        let Some(text) = self.file.read() else { return };
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let ms = match name {
                "throttled_time" => value / 1e6,
                "throttled_usec" => value / 1e3,
                _ => continue,
            };
            found.counter(&format!("throttling of {}", self.name), "ms", ms);
        }
    }
}
