//! Bounds the memory that names may take: bytes by prefix, with one visible key for what is beyond.
//!
//! Of several prefixes the longest counts. A name is charged when a receiver's table or the gauges
//! add it, and refunded when it is removed there. So is what its cell points to: the members of a
//! set, the sketch of a timer. Single values of timers are not charged (`table.rs` bounds their
//! number).
//! Invariant: it drops nothing. For a name without room it counts the sample and names the overflow
//! key of its prefix, where the caller puts it. That key is always let in, and sketches may still
//! grow, so the use may pass the bound. `table.rs` sees to it that every change is charged.
//! Overflow keys are series of users: `PREFIX.overflow`, and `overflow` behind the server's own
//! prefix. `config.rs` and docs/STATSD.md have these names.
//! A name is charged for all that it takes: [`NAME_BYTES`] and its cell in the table, and
//! [`NameCosts`] (`name_costs.rs`) outside it. Members and sketches: `members.rs`, `samples.rs`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::names::{NAME_BYTES, SharedName};

/// Bytes that a name takes outside its table, by what it stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NameCosts {
    /// A counter or a gauge.
    pub plain: usize,
    /// A timer with few values.
    pub timer: usize,
    /// A set without members.
    pub set: usize,
    /// Copies of the name's text.
    pub copies: usize,
}

/// Bytes for all names, and for those of some prefixes.
#[derive(Debug)]
pub struct Budget {
    /// Longest prefix first; the last one is empty.
    rules: Vec<Rule>,
    costs: NameCosts,
    overflowed: AtomicU64,
}

#[derive(Debug)]
struct Rule {
    prefix: String,
    bytes_max: usize,
    overflow: SharedName,
    used: AtomicUsize,
}

/// What a prefix takes of its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The prefix; empty for all other names.
    pub prefix: String,
    /// Bytes that its names take.
    pub used: usize,
    /// Bytes that they may take.
    pub bytes_max: usize,
}

impl Budget {
    /// Returns a budget for the names of each prefix, and one for all others.
    ///
    /// The overflow key of a prefix is `PREFIX.overflow`. That of the others is `overflow` behind
    /// the prefix of the server's own metrics.
    pub fn new(self_prefix: &str, bytes_max: usize, prefixes: &[(String, usize)]) -> Self {
        let rule = |prefix: &str, bytes_max, overflow: String| Rule {
            prefix: prefix.to_owned(),
            bytes_max,
            overflow: overflow.into(),
            used: AtomicUsize::new(0),
        };
        let mut rules: Vec<Rule> = prefixes
            .iter()
            .map(|(prefix, bytes)| {
                rule(prefix, *bytes, format!("{}.overflow", prefix.trim_end_matches('.')))
            })
            .collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.prefix.len()));
        rules.push(rule("", bytes_max, format!("{self_prefix}.overflow")));
        Self { rules, costs: NameCosts::default(), overflowed: AtomicU64::new(0) }
    }

    /// Charges for each name what it costs outside its table, too.
    pub fn costing(self, costs: NameCosts) -> Self {
        Self { costs, ..self }
    }

    /// What names cost outside their tables.
    pub fn costs(&self) -> &NameCosts {
        &self.costs
    }

    /// Charges a new name with a cell of `cell_bytes`.
    ///
    /// # Errors
    /// With the overflow key when there is no room; that key itself is always let in.
    pub fn charge(&self, name: &[u8], cell_bytes: usize) -> Result<(), &SharedName> {
        let rule = self.rule(name);
        let bytes = self.name_bytes(name) + cell_bytes;
        let before = rule.used.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes <= rule.bytes_max || name == rule.overflow.as_bytes() {
            return Ok(());
        }
        rule.used.fetch_sub(bytes, Ordering::Relaxed);
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        Err(&rule.overflow)
    }

    /// Charges what a name that is in has beside its cell; false when there is no room.
    pub fn charge_contents(&self, name: &[u8], bytes: usize) -> bool {
        let rule = self.rule(name);
        let before = rule.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= rule.bytes_max;
        if !fits {
            rule.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    /// Charges or refunds what a name holds beside its cell, whether there is room or not.
    pub fn adjust(&self, name: &[u8], more: isize) {
        let used = &self.rule(name).used;
        match usize::try_from(more) {
            Ok(more) => used.fetch_add(more, Ordering::Relaxed),
            Err(_) => used.fetch_sub(more.unsigned_abs(), Ordering::Relaxed),
        };
    }

    /// The overflow key of a name that is in and finds no room for more; none when it is that key.
    pub fn overflow(&self, name: &[u8]) -> Option<SharedName> {
        let rule = self.rule(name);
        if name == rule.overflow.as_bytes() {
            return None;
        }
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        Some(SharedName::clone(&rule.overflow))
    }

    /// Refunds a name that is removed.
    pub fn refund(&self, name: &[u8], cell_bytes: usize) {
        let bytes = self.name_bytes(name) + cell_bytes;
        self.rule(name).used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of a name beside its cell and what is made of that.
    pub fn name_bytes(&self, name: &[u8]) -> usize {
        name.len() * (1 + self.costs.copies) + NAME_BYTES
    }

    /// Goes on counting where another budget ends.
    pub fn counting_on(self, other: &Self) -> Self {
        self.overflowed.store(other.overflowed(), Ordering::Relaxed);
        self
    }

    /// Samples that went to an overflow key.
    pub fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// What each prefix takes.
    pub fn usage(&self) -> Vec<Usage> {
        let usage = |rule: &Rule| Usage {
            prefix: rule.prefix.clone(),
            used: rule.used.load(Ordering::Relaxed),
            bytes_max: rule.bytes_max,
        };
        self.rules.iter().map(usage).collect()
    }

    fn rule(&self, name: &[u8]) -> &Rule {
        let rule = self.rules.iter().find(|rule| name.starts_with(rule.prefix.as_bytes()));
        rule.expect("the last rule has every prefix")
    }
}

#[cfg(test)]
mod tests;
