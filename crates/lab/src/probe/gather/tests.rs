//! Claims about series made of calls.

use super::{FinishedCall, ProbeRecord, gather};
use crate::inside::place;
use crate::probe::call::{CallDetails, CallFailure};
use crate::probe::clock::Origin;
use crate::probe::worker_threads::PlannedCall;
use crate::probe::{End, Plan, ProbeResult};

use verdicts::{AttributeValues, PhaseColumn, Series};

const MS: u64 = 1_000_000;

fn plan(targets: &[&str]) -> Plan {
    Plan::of(targets.iter().map(|text| text.parse().unwrap()).collect(), End::Count(1))
}

fn call(
    arrival: u64,
    arm: usize,
    took_ms: u64,
    made: Result<CallDetails, CallFailure>,
) -> FinishedCall {
    let at_ns = arrival * 100 * MS;
    let due = PlannedCall { at_ns, position: 0, arrival, arm, number: 0, is_timed: true };
    let sent_ns = at_ns + MS / 4;
    let phases = vec![("wait", took_ms as f64)];
    FinishedCall { due, sent_ns, ended_ns: sent_ns + took_ms * MS, phases, made }
}

fn gathered(targets: &[&str], calls: Vec<FinishedCall>) -> ProbeResult {
    let origin = Origin::now();
    let left = ProbeRecord {
        origin,
        calls,
        rate: None,
        steps: Vec::new(),
        was_full: false,
        given_up: 0,
        paused_ns: Vec::new(),
    };
    gather(&plan(targets), left, false)
}

fn fine() -> Result<CallDetails, CallFailure> {
    Ok(CallDetails::default())
}

fn refused() -> Result<CallDetails, CallFailure> {
    Err(CallFailure::new("connection refused"))
}

#[test]
fn rows_stand_in_the_order_in_which_calls_were_meant_to_begin() {
    let calls = vec![call(2, 0, 5, fine()), call(0, 0, 300, fine()), call(1, 0, 7, refused())];
    let series = &gathered(&["tcp:a:1"], calls).series[0];
    assert_eq!(series.total_ms, [300.0, 5.0]);
    assert_eq!(series.began_ms, [0.25, 200.25]);
    assert_eq!(series.left_out.failed["connection refused"], 1);
    let late = series.attributes.iter().find(|attribute| attribute.name == "late_ms").unwrap();
    let AttributeValues::Numbers(late) = &late.values else { panic!() };
    assert_eq!(late, &[0.25, 0.25]);
}

/// Turns of two targets, of which the last `lonely` lack the second.
fn turns(lonely: u64) -> ProbeResult {
    let both = |turn: u64| {
        let second = if turn < 10 - lonely { fine() } else { refused() };
        let swapped = (turn % 2) as usize;
        let made = [fine(), second];
        let arms = [swapped, 1 - swapped];
        let calls = arms.map(|arm| (arm, made[arm].clone()));
        let at = |(place, (arm, made))| {
            call(turn * 2 + place as u64, arm, 10 * (arm as u64 + 1) + turn, made)
        };
        calls.into_iter().enumerate().map(at).collect::<Vec<_>>()
    };
    gathered(&["tcp:a:1", "tcp:b:1"], (0..10).flat_map(both).collect())
}

#[test]
fn rows_of_two_targets_stand_beside_each_other() {
    let probed = turns(2);
    assert!(probed.is_paired);
    let [a, b] = &probed.series[..] else { panic!() };
    assert_eq!(a.total_ms, (10..18).map(f64::from).collect::<Vec<_>>());
    assert_eq!(b.total_ms, (20..28).map(f64::from).collect::<Vec<_>>());
    assert_eq!(b.left_out.total(), 2);
    assert!(a.notes.iter().any(|note| note.starts_with("2 calls are left out")), "{:?}", a.notes);
}

#[test]
fn many_failures_make_two_samples_of_pairs() {
    let probed = turns(3);
    assert!(!probed.is_paired);
    assert_eq!((probed.series[0].len(), probed.series[1].len()), (10, 7));
}

#[test]
fn a_target_that_dies_is_said_to_and_what_it_gave_is_kept() {
    let mut calls: Vec<FinishedCall> = (0..4).map(|at| call(at, 0, 5, fine())).collect();
    calls.extend((4..7).map(|at| call(at, 0, 1, refused())));
    let series = &gathered(&["tcp:a:1"], calls).series[0];
    assert_eq!(series.len(), 4);
    let note = series.notes.join("\n");
    assert!(note.contains("stopped answering after 0.4 s: the last 3 calls failed"), "{note}");
}

#[test]
fn redirects_are_said_with_where_they_lead() {
    let moved = CallDetails { elsewhere: Some("https://b/".to_owned()), ..CallDetails::default() };
    let calls = vec![call(0, 0, 1, Ok(moved)), call(1, 0, 1, fine()), call(2, 0, 1, refused())];
    let note =
        "1 of 2 answers are redirects, which are not followed; the first leads to https://b/";
    assert!(gathered(&["tcp:a:1"], calls).series[0].notes.contains(&note.to_owned()));
}

#[test]
fn nothing_but_failures_is_a_series_without_rows() {
    let series = &gathered(&["tcp:a:1"], vec![call(0, 0, 1, refused())]).series[0];
    assert!(series.is_empty() && series.phases.is_empty());
    assert_eq!(series.left_out.total(), 1);
}

#[test]
fn a_name_that_some_answers_lack_is_none_there() {
    let mut made = CallDetails::default();
    made.name("x-cache", "HIT");
    let calls = vec![call(0, 0, 1, Ok(made)), call(1, 0, 1, fine())];
    let series = &gathered(&["tcp:a:1"], calls).series[0];
    let AttributeValues::Names { names, of } = &series.attributes[0].values else { panic!() };
    assert_eq!((&names[..], &of[..]), (&["HIT".to_owned(), "(none)".to_owned()][..], &[0, 1][..]));
}

/// What becomes of parts inside a phase `wait`: the phases, and the names of the attributes.
fn placed(wait: &[f64], rows: &[&[(&str, f64)]]) -> (Vec<(String, Vec<f64>)>, Vec<String>) {
    let phase = PhaseColumn { name: "wait".to_owned(), ms: wait.to_vec() };
    let mut series = Series { phases: vec![phase], ..Series::default() };
    let owned = |row: &&[(&str, f64)]| -> Vec<(String, f64)> {
        row.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect()
    };
    let rows: Vec<Vec<(String, f64)>> = rows.iter().map(owned).collect();
    let rows: Vec<&[(String, f64)]> = rows.iter().map(|row| &row[..]).collect();
    let attributes = place(&mut series, "wait", &rows);
    let phases = series.phases.into_iter().map(|phase| (phase.name, phase.ms)).collect();
    (phases, attributes.into_iter().map(|(name, _)| name).collect())
}

fn phase(name: &str, ms: &[f64]) -> (String, Vec<f64>) {
    (name.to_owned(), ms.to_vec())
}

#[test]
fn what_a_server_says_replaces_its_part_of_the_wait() {
    let rows: [&[_]; 2] = [&[("server.db", 6.0), ("server.render", 3.0)], &[("server.db", 2.0)]];
    let (phases, attributes) = placed(&[10.0, 5.0], &rows);
    let expected = [
        phase("wait", &[1.0, 3.0]),
        phase("server.db", &[6.0, 2.0]),
        phase("server.render", &[3.0, 0.0]),
    ];
    assert_eq!(phases, expected);
    assert!(attributes.is_empty());
}

#[test]
fn a_total_beside_its_parts_is_an_attribute() {
    let rows: [&[_]; 1] = [&[("server.total", 9.0), ("server.db", 6.0)]];
    let (phases, attributes) = placed(&[10.0], &rows);
    assert_eq!(phases, [phase("wait", &[4.0]), phase("server.db", &[6.0])]);
    assert_eq!(attributes, ["server.total_ms"]);
}

#[test]
fn times_that_overlap_are_attributes_and_nothing_is_taken_from_the_wait() {
    let rows: [&[_]; 1] = [&[("server.a", 8.0), ("server.b", 7.0)]];
    let (phases, attributes) = placed(&[10.0], &rows);
    assert_eq!(phases, [phase("wait", &[10.0])]);
    assert_eq!(attributes, ["server.a_ms", "server.b_ms"]);
}

#[test]
fn a_rare_reading_that_is_too_long_is_cut_to_the_wait() {
    let mut wait = vec![10.0; 40];
    wait[7] = 2.0;
    let rows = vec![&[("server.db", 4.0)][..]; 40];
    let (phases, _) = placed(&wait, &rows);
    assert_eq!((phases[0].1[7], phases[1].1[7]), (0.0, 2.0));
    assert_eq!((phases[0].1[8], phases[1].1[8]), (6.0, 4.0));
}

#[test]
fn three_targets_are_paired_turn_by_turn_although_one_is_dead() {
    let turn = |turn: u64| {
        // One of twelve turns lacks the second target.
        let second = if turn == 5 { refused() } else { fine() };
        let at = 3 * turn;
        [call(at, 1, 7, second), call(at + 1, 2, 9, refused()), call(at + 2, 0, 5, fine())]
    };
    let calls = (0..12).flat_map(turn).collect();
    let probed = gathered(&["tcp://a:1", "tcp://b:1", "tcp://c:1"], calls);
    assert!(probed.is_paired);
    let calls: Vec<usize> = probed.series.iter().map(Series::len).collect();
    assert_eq!(calls, [11, 11, 0]);
    let said = "1 calls are left out because another target failed in the same turn";
    assert!(probed.series[0].notes.iter().any(|note| note == said), "{:?}", probed.series[0].notes);
    assert_eq!(probed.series[2].left_out.failed["connection refused"], 12);
}
