//! Writes the JSON of one profile, made of what its user has read.
//!
//! `affinity` has the user's categories as shares of the reads, largest first, to four decimals. A
//! read loses half its weight in every half-life, counted from the user's newest read. Items
//! without a category count for no share. `reads` is the number of distinct items, `recent` the
//! latest 100 of them. A read from the future counts as read at `now_unix_ms`.
//! Invariant: the reads must be settled, newest first (`builder/reads.rs`). The same reads give the
//! same text, at any later time too, unless one is from the future. That is why a profile that
//! nobody touched needs no other text as time goes by.
//! `profile.rs` parses it: a number under a new name needs no change there. The text must not
//! exceed `DATA_BYTES_MAX` of `profile.rs`; nothing here checks that.
//! The names must stay: models are trained on `user.affinity.CATEGORY` and `user.reads`, and
//! rankings leave out `recent`. docs/operating/profiles.md shows them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::reads::ItemRead;

/// Ids kept in `recent` of a profile.
pub(super) const RECENT_MAX: usize = 100;

/// What profiles depend on beside reads.
pub(super) struct DataOptions<'o> {
    /// Category by item.
    pub categories: &'o HashMap<String, String>,
    /// Time in which a read loses half its weight.
    pub half_life: Duration,
    /// No read counts as later than this.
    pub now_unix_ms: u64,
}

/// Appends the JSON of a profile.
pub(super) fn write_data(options: &DataOptions<'_>, reads: &[ItemRead<'_>], data: &mut String) {
    data.push_str("{\"affinity\":{");
    for (at, (category, share)) in affinity(options, reads).into_iter().enumerate() {
        data.push_str(if at == 0 { "" } else { "," });
        write_text(category, data);
        write!(data, ":{}", (share * 1e4).round() / 1e4).expect("writing to a string succeeds");
    }
    write!(data, "}},\"reads\":{},\"recent\":[", reads.len())
        .expect("writing to a string succeeds");
    for (at, read) in reads.iter().take(RECENT_MAX).enumerate() {
        data.push_str(if at == 0 { "" } else { "," });
        write_text(read.item, data);
    }
    data.push_str("]}");
}

/// Returns each category's share of the decayed reads, largest first. The decay is counted from
/// the user's newest read: shares come out the same, and cannot all vanish.
fn affinity<'o>(options: &DataOptions<'o>, reads: &[ItemRead<'_>]) -> Vec<(&'o str, f64)> {
    let half_life_ms = (options.half_life.as_secs_f64() * 1e3).max(1.0);
    let time = |read: &ItemRead<'_>| read.unix_ms.min(options.now_unix_ms);
    let newest = reads.first().map_or(0, time);
    let mut weights: Vec<(&str, f64)> = Vec::new();
    for read in reads {
        let category = options.categories.get(read.item).map_or("", String::as_str);
        if category.is_empty() {
            continue;
        }
        let weight = (-((newest - time(read)) as f64) / half_life_ms).exp2();
        match weights.iter_mut().find(|(other, _)| *other == category) {
            Some((_, sum)) => *sum += weight,
            None => weights.push((category, weight)),
        }
    }
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if total > 0.0 {
        weights.iter_mut().for_each(|(_, weight)| *weight /= total);
    }
    weights.sort_unstable_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    weights
}

fn write_text(text: &str, data: &mut String) {
    data.push_str(&serde_json::to_string(text).expect("a text is always JSON"));
}
