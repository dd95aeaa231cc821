//! Makes series of calls: a row for each that succeeded, in the order in which they were meant to
//! begin.
//!
//! Phases that `ORDER` does not name are dropped. To `verdicts` the first phase, and `wait` by its
//! name, may be where calls are admitted; `soak/src/lab/arm.rs` knows `wait`, too. Failures are
//! counted by their words. Attributes, lateness and bursts become columns; `bench` reads `late_ms`
//! of saved files.
//! Notes say how calls arrived, what was late, when a target died, and where redirects lead.
//! With n targets, rows stand beside their partners if at most one turn in five lacks one.
//! Arrivals nk to nk + n - 1 are a turn, as `scheduler.rs` hands them out. Calls without partners
//! are then left out, and a note counts them; otherwise the series are not paired.
//! Invariant: no millisecond is in two phases. Times that others have measured go through
//! `inside.rs`. Notes on the whole probe are in the first series only.
//! The page docs/lab/probe.md lists phases, attributes and bounds. Never here: verdicts
//! (`report.rs`) and the making of calls.

use std::collections::BTreeMap;

use verdicts::{Attribute, AttributeValues, BURST, LeftOut, PhaseColumn, Series};

use super::call::CallDetails;
use super::plan::{Arrivals, IN_FLIGHT_MAX, Plan};
use super::scheduler::{ProbeRecord, paused};
use super::worker_threads::FinishedCall;
use crate::inside;

/// Steps as they follow each other.
const ORDER: [&str; 8] = ["resolve", "connect", "tls", "send", "wait", "transfer", "spawn", "run"];
/// What a call has that lacks a name which others have.
const NONE: &str = "(none)";
/// Calls at the end that all failed, from which on the target is called dead.
const DEAD_FROM: usize = 3;
/// Characters of a redirect's address that are shown.
const LOCATION_MAX: usize = 200;
/// A call is called late from here on.
const LATE_MS: f64 = 1.0;
const BURSTS: &str = "calls of one burst are not independent: whether latencies are quantised or \
                      have several humps is said of one call of each burst";
/// Calls without a partner are at most one of so many.
const LONELY_MAX: usize = 5;

/// What a probe has measured.
#[derive(Debug, Clone)]
pub struct ProbeResult {
    /// One series for each target.
    pub series: Vec<Series>,
    /// Whether row i of all series was measured in the same turn.
    pub is_paired: bool,
    /// Whether it was interrupted.
    pub is_interrupted: bool,
    /// Arrivals a second on average, where they follow a rate.
    pub rate: Option<f64>,
}

pub(super) fn gather(plan: &Plan, mut left: ProbeRecord, is_interrupted: bool) -> ProbeResult {
    left.calls.sort_unstable_by_key(|call| call.due);
    let mut notes = vec![arrivals(plan, &left)];
    notes.extend(self::notes(&left, is_interrupted));
    if plan.burst.calls > 1 {
        notes.push(BURSTS.to_owned());
    }
    let lonely = lonely(&mut left.calls, plan.targets.len());
    notes.extend(lonely.filter(|lonely| *lonely > 0).map(|lonely| {
        format!("{lonely} calls are left out because another target failed in the same turn")
    }));
    let series = plan.targets.iter().enumerate().map(|(arm, target)| {
        let calls: Vec<&FinishedCall> =
            left.calls.iter().filter(|call| call.due.arm == arm).collect();
        let mut series = one(&calls, left.origin.unix_ms);
        series.name = target.to_string();
        let inside = std::mem::take(&mut series.notes);
        series.notes =
            notes.drain(..).chain(inside).chain(died(&calls)).chain(elsewhere(&calls)).collect();
        series
    });
    let series = series.collect();
    ProbeResult { series, is_paired: lonely.is_some(), is_interrupted, rate: left.rate }
}

/// A series of some calls of a target, which are put in order.
pub(super) fn batch(calls: &mut [FinishedCall], origin_unix_ms: f64) -> Series {
    calls.sort_unstable_by_key(|call| call.due);
    one(&calls.iter().collect::<Vec<_>>(), origin_unix_ms)
}

fn one(calls: &[&FinishedCall], origin_unix_ms: f64) -> Series {
    let mut series = Series {
        origin_unix_ms: Some(origin_unix_ms),
        left_out: LeftOut::default(),
        ..Series::default()
    };
    let mut rows = Vec::new();
    for call in calls {
        match &call.made {
            Ok(made) => rows.push((*call, made)),
            Err(failure) => {
                *series.left_out.failed.entry(failure.words.clone()).or_default() += 1;
            }
        }
    }
    series.total_ms = rows.iter().map(|(call, _)| total_ms(call)).collect();
    series.began_ms = rows.iter().map(|(call, _)| call.sent_ns as f64 / 1e6).collect();
    series.phases = phases(&rows.iter().map(|(call, _)| *call).collect::<Vec<_>>());
    let parts: Vec<&[(String, f64)]> = rows.iter().map(|(_, made)| &made.parts[..]).collect();
    let around = rows.iter().map(|(_, made)| made.around).find(|around| !around.is_empty());
    let numbers = inside::place(&mut series, around.unwrap_or_default(), &parts);
    series.attributes =
        attributes(&rows.iter().map(|(_, made)| &made.names[..]).collect::<Vec<_>>());
    let given = rows.iter().map(|(_, made)| &made.numbers[..]).collect::<Vec<_>>();
    series.attributes.extend(inside::columns(&given).into_iter().map(numeric));
    series.attributes.extend(numbers.into_iter().map(numeric));
    probe_attributes(&mut series, &rows.iter().map(|(call, _)| *call).collect::<Vec<_>>());
    series
}

/// What the probe knows of a call by itself: its burst and its place in it, and how late it was
/// sent.
fn probe_attributes(series: &mut Series, calls: &[&FinishedCall]) {
    if calls.iter().any(|call| call.due.position > 0) {
        let positions = calls.iter().map(|call| f64::from(call.due.position) + 1.0).collect();
        series.attributes.push(numeric(("position".to_owned(), positions)));
        let bursts = calls.iter().map(|call| call.due.arrival as f64).collect();
        series.attributes.push(numeric((BURST.to_owned(), bursts)));
    }
    if calls.iter().any(|call| call.due.is_timed) {
        let late = calls.iter().map(|call| late_ms(call)).collect();
        series.attributes.push(numeric(("late_ms".to_owned(), late)));
    }
}

fn phases(calls: &[&FinishedCall]) -> Vec<PhaseColumn> {
    let mut phases = Vec::new();
    for name in ORDER {
        let of = |call: &&FinishedCall| {
            call.phases.iter().find(|(known, _)| *known == name).map(|p| p.1)
        };
        if calls.iter().any(|call| of(call).is_some()) {
            let ms = calls.iter().map(|call| of(call).unwrap_or(0.0)).collect();
            phases.push(PhaseColumn { name: name.to_owned(), ms });
        }
    }
    phases
}

fn attributes(rows: &[&[(String, String)]]) -> Vec<Attribute> {
    let mut columns: Vec<(String, Vec<u32>, Vec<String>)> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| row.iter()) {
        if !columns.iter().any(|(known, ..)| known == name) {
            columns.push((name.clone(), Vec::new(), Vec::new()));
        }
    }
    for (name, of, names) in &mut columns {
        for row in rows {
            let value = row.iter().find(|(known, _)| known == name);
            let value = value.map_or(NONE, |(_, value)| value.as_str());
            let at = names.iter().position(|known| known == value).unwrap_or_else(|| {
                names.push(value.to_owned());
                names.len() - 1
            });
            of.push(u32::try_from(at).unwrap_or(u32::MAX));
        }
    }
    let attribute =
        |(name, of, names)| Attribute { name, values: AttributeValues::Names { names, of } };
    columns.into_iter().map(attribute).collect()
}

fn numeric((name, numbers): (String, Vec<f64>)) -> Attribute {
    Attribute { name, values: AttributeValues::Numbers(numbers) }
}

/// Takes calls away whose turn has one that did not succeed, so that rows stand beside their
/// partners; returns how many. Nothing is taken, and nothing returned, when that would be more than
/// a fifth: two samples say more then than pairs. A target that never answered lacks in no turn.
fn lonely(calls: &mut Vec<FinishedCall>, arms: usize) -> Option<usize> {
    let turn = |call: &FinishedCall| (call.due.arrival / arms as u64, call.due.position);
    let answers = |arm: &usize| calls.iter().any(|call| call.due.arm == *arm && call.made.is_ok());
    let alive = (0..arms).filter(answers).count();
    if alive < 2 {
        return None;
    }
    let mut whole: BTreeMap<(u64, u32), usize> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.made.is_ok()) {
        *whole.entry(turn(call)).or_default() += 1;
    }
    let is_short = |count: &&usize| **count < alive;
    let short = whole.values().filter(is_short).count();
    if short * LONELY_MAX > whole.len() {
        return None;
    }
    calls.retain(|call| call.made.is_err() || whole.get(&turn(call)) == Some(&alive));
    calls.sort_by_key(turn);
    Some(whole.values().filter(is_short).sum())
}

/// How calls arrived: without it a reader cannot judge the rest.
fn arrivals(plan: &Plan, left: &ProbeRecord) -> String {
    let (kind, given) = match plan.arrivals {
        Arrivals::Poisson(rate) => ("at random", rate),
        Arrivals::Uniform(rate) => ("at even distances", rate),
        Arrivals::Closed => return "each call was made when the one before had ended".to_owned(),
    };
    let what = match plan.burst.calls {
        1 => "calls".to_owned(),
        calls => format!("bursts of {calls} calls"),
    };
    match (given, left.rate) {
        (Some(rate), _) => format!("{what} arrived {kind}, {rate} a second; seed {}", plan.seed),
        (None, Some(rate)) => format!(
            "{what} arrived {kind}, {rate:.3} a second, from what the first five took; seed {}",
            plan.seed
        ),
        (None, None) => format!("{what} arrived one after the other; seed {}", plan.seed),
    }
}

fn notes(left: &ProbeRecord, is_interrupted: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if is_interrupted {
        notes.push(format!(
            "interrupted: {} calls had ended, {} were under way and are not counted",
            left.calls.len(),
            left.given_up
        ));
    }
    for (at_ms, by_ms) in &left.steps {
        notes.push(format!(
            "the system's clock stepped by {:+.3} s after {:.1} s; times here are of the clock \
             that does not",
            by_ms / 1e3,
            at_ms / 1e3
        ));
    }
    notes.extend(left.paused_ns.iter().map(|ns| paused(*ns)));
    let late: Vec<f64> = left.calls.iter().map(late_ms).filter(|ms| *ms > LATE_MS).collect();
    if !late.is_empty() {
        let most = late.iter().copied().fold(0.0, f64::max);
        let reason = match left.was_full {
            true => format!("; {IN_FLIGHT_MAX} calls were in flight"),
            false => String::new(),
        };
        notes.push(format!(
            "{} of {} calls were sent over {LATE_MS} ms late, the worst {most:.1} ms{reason}",
            late.len(),
            left.calls.len()
        ));
    }
    notes
}

/// Says so when a target answered first, and no more at the end.
fn died(calls: &[&FinishedCall]) -> Option<String> {
    let alive = calls.iter().rposition(|call| call.made.is_ok())?;
    let dead = &calls[alive + 1..];
    let first = dead.first().filter(|_| dead.len() >= DEAD_FROM)?;
    let Err(failure) = &first.made else { return None };
    let seconds = first.sent_ns as f64 / 1e9;
    let count = dead.len();
    Some(format!(
        "the target stopped answering after {seconds:.1} s: the last {count} calls failed, \
         the first of them: {}",
        failure.words
    ))
}

/// Says where redirects lead: their time is not that of what they lead to.
fn elsewhere(calls: &[&FinishedCall]) -> Option<String> {
    let answers: Vec<&CallDetails> =
        calls.iter().filter_map(|call| call.made.as_ref().ok()).collect();
    let to: Vec<&str> = answers.iter().filter_map(|made| made.elsewhere.as_deref()).collect();
    let first: String = to.first()?.chars().take(LOCATION_MAX).collect();
    Some(format!(
        "{} of {} answers are redirects, which are not followed; the first leads to {first}",
        to.len(),
        answers.len()
    ))
}

fn total_ms(call: &FinishedCall) -> f64 {
    call.ended_ns.saturating_sub(call.sent_ns) as f64 / 1e6
}

fn late_ms(call: &FinishedCall) -> f64 {
    match call.due.is_timed {
        true => call.sent_ns.saturating_sub(call.due.at_ns) as f64 / 1e6,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests;
