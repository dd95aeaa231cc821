//! Writes the JSON of one profile, made of what its user has read.
//!
//! `affinity` has the user's categories as shares of the reads, largest first, to four decimals. A
//! read loses half its weight in every half-life, counted from the user's newest read. Items
//! without a category count for no share. `reads` is the number of distinct items, `recent` the
//! latest 100 of them.
//! Invariant: the history must be compact, newest first (`builder/history.rs`). The same history
//! gives the same text.
//! `profile.rs` parses it: a number under a new name needs no change there. The text must not
//! exceed `DATA_BYTES_MAX` of `profile.rs`; nothing here checks that.
//! The names must stay: models are trained on `user.affinity.CATEGORY` and `user.reads`, and
//! rankings leave out `recent`. docs/operating/profiles.md shows them.

use std::fmt::Write as _;
use std::time::Duration;

use super::catalogue::Catalogue;
use super::history::History;

/// Ids kept in `recent` of a profile.
pub(super) const RECENT_MAX: usize = 100;

/// Appends the JSON of a profile; `history` is compact, which is newest first.
pub(super) fn write_data(
    catalogue: &Catalogue,
    half_life: Duration,
    history: &History,
    data: &mut String,
) {
    data.push_str("{\"affinity\":{");
    for (at, (category, share)) in affinity(catalogue, half_life, history).into_iter().enumerate() {
        data.push_str(if at == 0 { "" } else { "," });
        write_text(catalogue.category(category), data);
        write!(data, ":{}", (share * 1e4).round() / 1e4).expect("writing to a string succeeds");
    }
    write!(data, "}},\"reads\":{},\"recent\":[", history.distinct())
        .expect("writing to a string succeeds");
    for (at, read) in history.reads().iter().take(RECENT_MAX).enumerate() {
        data.push_str(if at == 0 { "" } else { "," });
        write_text(catalogue.id(read.item), data);
    }
    data.push_str("]}");
}

/// Returns each category's share of the decayed reads, largest first. The decay is counted from
/// the user's newest read: shares come out the same, and cannot all vanish.
fn affinity(catalogue: &Catalogue, half_life: Duration, history: &History) -> Vec<(u32, f64)> {
    let half_life_ms = (half_life.as_secs_f64() * 1e3).max(1.0);
    let newest = history.reads().first().map_or(0, |read| read.unix_ms);
    let mut weights: Vec<(u32, f64)> = Vec::new();
    for read in history.reads() {
        let Some(category) = catalogue.category_of(read.item) else { continue };
        let weight = (-((newest - read.unix_ms) as f64) / half_life_ms).exp2();
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
