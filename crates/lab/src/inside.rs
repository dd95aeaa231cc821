//! Places times that others have measured inside a phase: as phases of a series, or as attributes.
//!
//! They become phases if in 95 % of calls they add up to no more than the phase `around`, which
//! keeps what they leave. In the other calls they are cut down in proportion. If they do not fit,
//! they become attributes called `…_ms`, and a note says so. `server.total` beside other metrics is
//! always an attribute.
//! Bound: names beyond [`NAMES_MAX`] are one, `other`: a server may invent one for each call.
//! Invariant: phases add up to what they did before. A call without such a time has 0 as a phase,
//! NaN as an attribute; one that comes twice is added up.
//!
//! `columns` also turns other numbers into columns, for `probe/gather.rs`. `Server-Timing` is read
//! in `probe/timing.rs`, `time_…` of plug-ins in `probe/command.rs`. Access logs come by way of
//! `import/server_timing.rs`.

use verdicts::{PhaseColumn, Series};

/// What the parts may have more than the whole in a call: milliseconds, and a share. They are
/// rounded, and measured by another clock.
const COARSE: (f64, f64) = (0.05, 0.01);
/// Share of calls in which the parts may say more than the whole: clocks of others are coarse.
const TOO_LONG_MAX: f64 = 0.05;

/// Names that are told apart; what comes under further ones is added up as [`OTHER`].
pub(crate) const NAMES_MAX: usize = 64;
pub(crate) const OTHER: &str = "other";

/// Makes the parts phases if they fit into the phase `around`; else returns them as columns of
/// numbers, and notes why. A metric of a server that is called `total` is the sum of
/// others: it is left out of the phases where there are any.
pub(crate) fn place(
    series: &mut Series,
    around: &str,
    parts: &[&[(String, f64)]],
) -> Vec<(String, Vec<f64>)> {
    let mut columns = columns(parts);
    let Some(whole) = series.phases.iter().position(|phase| phase.name == around) else {
        return columns;
    };
    if columns.is_empty() {
        return columns;
    }
    let mut sums = Vec::new();
    if columns.len() > 1 {
        (sums, columns) = columns.into_iter().partition(|(name, _)| name == "server.total");
    }
    if columns.is_empty() || !fit(&series.phases[whole].ms, &columns) {
        series.notes.push(format!(
            "what is measured inside `{around}` adds up to more than it: it overlaps, and is shown \
             as attributes, not as phases"
        ));
        sums.append(&mut columns);
    }
    take_out(&mut series.phases[whole].ms, &mut columns);
    let phases = columns.into_iter().map(|(name, ms)| PhaseColumn { name, ms });
    series.phases.splice(whole + 1..whole + 1, phases);
    sums.into_iter().map(|(name, ms)| (format!("{name}_ms"), ms)).collect()
}

/// Turns rows of names and numbers into columns; NaN where a row has no such number.
pub(crate) fn columns(rows: &[&[(String, f64)]]) -> Vec<(String, Vec<f64>)> {
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for (name, number) in *row {
            let known = columns.iter().position(|(known, _)| known == name);
            let name = if columns.len() < NAMES_MAX - 1 { name } else { OTHER };
            let other = || columns.iter().position(|(known, _)| known == name);
            let found = known.or_else(other).unwrap_or_else(|| {
                columns.push((name.to_owned(), vec![f64::NAN; rows.len()]));
                columns.len() - 1
            });
            let cell = &mut columns[found].1[at];
            // One that comes twice in a row is added up.
            *cell = if cell.is_nan() { *number } else { *cell + number };
        }
    }
    columns
}

fn fit(whole: &[f64], parts: &[(String, Vec<f64>)]) -> bool {
    let (ms, share) = COARSE;
    let is_too_long = |at: &usize| sum(parts, *at) > whole[*at] * (1.0 + share) + ms;
    let too_long = (0..whole.len()).filter(is_too_long).count();
    too_long as f64 <= TOO_LONG_MAX * whole.len() as f64
}

/// Leaves of the whole what the parts do not have; parts that are too long are cut to it.
fn take_out(whole: &mut [f64], parts: &mut [(String, Vec<f64>)]) {
    for at in 0..whole.len() {
        let sum = sum(parts, at);
        let factor = if sum > whole[at] { whole[at] / sum } else { 1.0 };
        for (_, ms) in parts.iter_mut() {
            ms[at] = if ms[at].is_nan() { 0.0 } else { ms[at] * factor };
        }
        whole[at] = (whole[at] - sum * factor).max(0.0);
    }
}

fn sum(parts: &[(String, Vec<f64>)], at: usize) -> f64 {
    parts.iter().map(|(_, ms)| ms[at]).filter(|ms| !ms.is_nan()).sum()
}
