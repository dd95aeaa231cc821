//! Compares what the sink holds with what was written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::lines::{self, Key, Row, Totals};
use super::sink::Sink;

const CHECKPOINTS: &str = "tidegate_checkpoints";
const TOTALS: &str = "SELECT COUNT(*), COALESCE(SUM(count), 0), COALESCE(MAX(count), 0), \
                      COALESCE(MAX(CAST(query_id AS DECIMAL(20))), 0), \
                      COALESCE(SUM(sum_bytes_out), 0) FROM by_id";
const ROWS: &str = "SELECT path, second, count, sum_bytes_out, min_bytes_out, max_bytes_out, \
                    last_query_id FROM by_second";
/// Where the last id is in a [`Row`].
const LAST: usize = 4;

/// Ids that a sink holds, each of them once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredIds {
    /// How many.
    pub ids: u64,
    /// They are the first ones that were written, without a gap.
    pub is_prefix: bool,
}

/// Checks that the sink holds no id twice, and none that was not among the first `written`. Files
/// that rotate may be read in another order than they were written in, so there may be gaps.
///
/// # Errors
/// What is wrong.
pub(super) fn stored_ids(sink: &Sink, dir: &Path, written: u64) -> Result<StoredIds> {
    let found = totals(sink, dir)?;
    let is_sound = found.most <= 1 && found.lines == found.ids && found.ids <= written;
    if !is_sound || (found.ids > 0 && found.last >= written) {
        let doubled = "SELECT query_id, count FROM by_id WHERE count <> 1 ORDER BY 1 LIMIT 3";
        let doubled = sink.ask(dir, "by_id", doubled)?;
        let all = sink.ask(dir, CHECKPOINTS, "SELECT * FROM tidegate_checkpoints")?;
        bail!("of {written} ids the sink holds {found:?}; doubled: {doubled:?}; at {all:?}");
    }
    let is_prefix = found.ids == 0 || found.last + 1 == found.ids;
    Ok(StoredIds { ids: found.ids, is_prefix })
}

/// Checks that the sink holds exactly the first `written` ids, in every table.
///
/// # Errors
/// What is wrong.
pub(super) fn exact(sink: &Sink, dir: &Path, written: u64) -> Result<()> {
    stored_ids(sink, dir, written)?;
    let (found, expected) = (totals(sink, dir)?, lines::totals(written));
    if found != expected {
        let ids = sink.ask(dir, "by_id", "SELECT query_id FROM by_id")?;
        let ids: BTreeSet<u64> = ids.iter().map(|row| number(&row[0])).collect::<Result<_>>()?;
        let lost: Vec<u64> = (0..written).filter(|id| !ids.contains(id)).take(5).collect();
        bail!("the sink holds {found:?}, which should be {expected:?}; lost: {lost:?}…");
    }
    let mut rows = BTreeMap::new();
    for row in sink.ask(dir, "by_second", ROWS)? {
        let time = row[1].get(..19).context("a time is too short")?.replace('T', " ");
        let values: Vec<u64> = row[2..].iter().map(|text| number(text)).collect::<Result<_>>()?;
        let values = Row::try_from(values).ok().context("a row has the wrong width")?;
        rows.insert((row[0].clone(), time), values);
    }
    compare(&rows, &lines::rows(written))
}

fn totals(sink: &Sink, dir: &Path) -> Result<Totals> {
    Ok(match sink.ask(dir, "by_id", TOTALS)?.first() {
        None => Totals::default(),
        Some(row) => Totals {
            ids: number(&row[0])?,
            lines: number(&row[1])?,
            most: number(&row[2])?,
            last: number(&row[3])?,
            bytes: number(&row[4])?,
        },
    })
}

fn compare(rows: &BTreeMap<Key, Row>, expected: &BTreeMap<Key, Row>) -> Result<()> {
    for (key, row) in expected {
        let found = rows.get(key);
        // Lines of one second are equally late: any of them may be the last one.
        let is_same = found
            .is_some_and(|found| found[..LAST] == row[..LAST] && lines::key(found[LAST]) == *key);
        ensure!(is_same, "`by_second` holds {found:?} for {key:?}, not {row:?}");
    }
    let extra = rows.keys().find(|key| !expected.contains_key(*key));
    ensure!(extra.is_none(), "`by_second` holds {extra:?}, which was never written");
    Ok(())
}

fn number(text: &str) -> Result<u64> {
    // Sums come as 12 or 12.0, by engine.
    let whole = text.split('.').next().unwrap_or(text);
    whole.parse().with_context(|| format!("`{text}` is no number"))
}
