//! Compares what the sink holds with what was written.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::lines::{self, Key, Row, Totals};
use super::sink::Sink;

const TOTALS: &str = "SELECT COUNT(*), COALESCE(SUM(count), 0), COALESCE(MAX(count), 0), \
                      COALESCE(MAX(CAST(query_id AS DECIMAL(20))), 0), \
                      COALESCE(SUM(sum_bytes_out), 0) FROM by_id";
const ROWS: &str = "SELECT path, second, count, sum_bytes_out, min_bytes_out, max_bytes_out, \
                    last_query_id FROM by_second";

/// Checks that the sink holds the first N ids, each once; returns N. `written` is how many there
/// may be.
///
/// # Errors
/// What is wrong: ids lost, doubled, or never written.
pub fn prefix(sink: &Sink, folder: &Path, written: u64) -> Result<u64> {
    let held = match sink.ask(folder, TOTALS)?.first() {
        None => Totals::default(),
        Some(row) => Totals {
            ids: number(&row[0])?,
            lines: number(&row[1])?,
            most: number(&row[2])?,
            last: number(&row[3])?,
            bytes: number(&row[4])?,
        },
    };
    ensure!(held.ids <= written, "{} ids are held, {written} were written", held.ids);
    let expected = lines::totals(held.ids);
    if held != expected {
        let worst = worst(sink, folder)?;
        bail!("the sink holds {held:?}, which should be {expected:?}; {worst}");
    }
    Ok(held.ids)
}

/// Checks that the sink holds exactly the first `written` ids, in every table.
///
/// # Errors
/// What is wrong.
pub fn exact(sink: &Sink, folder: &Path, written: u64) -> Result<()> {
    let held = prefix(sink, folder, written)?;
    ensure!(held == written, "{held} ids are held, {written} were written");
    let mut rows = BTreeMap::new();
    for row in sink.ask(folder, ROWS)? {
        let time = row[1].get(..19).context("a time is too short")?.replace('T', " ");
        let values: Vec<u64> = row[2..].iter().map(|text| number(text)).collect::<Result<_>>()?;
        let values = Row::try_from(values).ok().context("a row has the wrong width")?;
        rows.insert((row[0].clone(), time), values);
    }
    compare(&rows, &lines::rows(written))
}

fn compare(held: &BTreeMap<Key, Row>, expected: &BTreeMap<Key, Row>) -> Result<()> {
    for (key, row) in expected {
        let found = held.get(key);
        ensure!(found == Some(row), "`by_second` holds {found:?} for {key:?}, not {row:?}");
    }
    let extra = held.keys().find(|key| !expected.contains_key(*key));
    ensure!(extra.is_none(), "`by_second` holds {extra:?}, which was never written");
    Ok(())
}

fn worst(sink: &Sink, folder: &Path) -> Result<String> {
    let doubled = "SELECT query_id, count FROM by_id WHERE count <> 1 ORDER BY 1 LIMIT 3";
    let doubled = sink.ask(folder, doubled)?;
    let checkpoint = sink.ask(folder, "SELECT * FROM tidegate_checkpoints")?;
    Ok(format!("counted more than once: {doubled:?}; checkpoint: {checkpoint:?}"))
}

fn number(text: &str) -> Result<u64> {
    // Sums come as 12 or 12.0, by engine.
    let whole = text.split('.').next().unwrap_or(text);
    whole.parse().with_context(|| format!("`{text}` is no number"))
}
