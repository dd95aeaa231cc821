//! Recorded look-ups of real caches, as numbers: the keys of a trace in their order.
//!
//! Files are big-endian integers compressed by xz (`bench/data/ATTRIBUTION.md`). Keys are numbered
//! by their first appearance: eviction depends on which keys are equal, on nothing else of them.
//! Refuses: a file that ends within a key.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A file of `bench/data`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    /// Name in the tables.
    pub name: &'static str,
    /// Bytes of a key.
    pub key_bytes: usize,
}

/// A trace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The keys in order; below [`Self::distinct`].
    pub keys: Vec<u32>,
    /// Number of distinct keys.
    pub distinct: usize,
}

impl Source {
    /// Reads `NAME.trace.xz` of `folder`.
    ///
    /// # Errors
    /// When `xz` is missing or the file is damaged.
    pub(crate) fn read(self, dir: &Path) -> Result<Trace> {
        let path = dir.join(format!("{}.trace.xz", self.name));
        let unpacked = Command::new("xz")
            .arg("--decompress")
            .arg("--stdout")
            .arg(&path)
            .output()
            .context("start `xz`; hint: apt-get install xz-utils")?;
        let complaint = String::from_utf8_lossy(&unpacked.stderr);
        ensure!(unpacked.status.success(), "unpack `{}`: {}", path.display(), complaint.trim());
        Trace::decode(&unpacked.stdout, self.key_bytes)
            .with_context(|| format!("read `{}`", path.display()))
    }
}

impl Trace {
    /// Reads keys of `key_bytes` bytes each.
    ///
    /// # Errors
    /// When the bytes end within a key.
    pub(crate) fn decode(bytes: &[u8], key_bytes: usize) -> Result<Self> {
        let keys = bytes.chunks_exact(key_bytes);
        ensure!(keys.remainder().is_empty(), "it ends within a key of {key_bytes} bytes");
        let mut numbers = HashMap::new();
        let keys = keys.map(|key| {
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        });
        Ok(Self { keys: keys.collect(), distinct: numbers.len() })
    }

    /// The first `requests` of it.
    pub(crate) fn first(&self, requests: usize) -> Self {
        let keys = self.keys[..requests.min(self.keys.len())].to_vec();
        let distinct = keys.iter().max().map_or(0, |last| *last as usize + 1);
        Self { keys, distinct }
    }

    /// The keys as little-endian 64-bit integers.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.keys.iter().flat_map(|key| u64::from(*key).to_le_bytes()).collect()
    }

    /// How many entries are `percent` of the distinct keys; at least one.
    pub(crate) fn entries(&self, percent: usize) -> usize {
        ((self.distinct * percent + 50) / 100).max(1)
    }

    /// The hit ratio in percent of a cache without bound.
    pub(crate) fn hits_possible(&self) -> f64 {
        100.0 * (1.0 - self.distinct as f64 / self.keys.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests;
