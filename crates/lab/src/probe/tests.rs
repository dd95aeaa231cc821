//! Claims about whole probes, against origins that are scripted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use testkit::{Gate, Origin, OriginReply};
use verdicts::AttributeValues;

use super::{Arrivals, Burst, End, Plan, ProbeResult, Progress, run};
use crate::LabError;

fn plan(targets: &[String]) -> Plan {
    Plan {
        arrivals: Arrivals::Poisson(Some(1000.0)),
        seed: 3,
        number_first: 100,
        ..Plan::of(targets.iter().map(|text| text.parse().unwrap()).collect(), End::Count(10))
    }
}

fn url(origin: &Origin) -> String {
    format!("http://{}/x?{{n}}", origin.address())
}

fn probe(plan: &Plan) -> ProbeResult {
    run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn numbers(probed: &ProbeResult, name: &str) -> Vec<f64> {
    let found = probed.series[0].attributes.iter().find(|attribute| attribute.name == name);
    match &found.unwrap().values {
        AttributeValues::Numbers(numbers) => numbers.clone(),
        AttributeValues::Names { .. } => panic!(),
    }
}

#[test]
fn every_call_is_a_row_with_phases_that_fit_into_it() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let probed = probe(&plan(&[url(&origin)]));
    let series = &probed.series[0];
    assert_eq!((series.len(), series.left_out.total()), (10, 0));
    for row in 0..10 {
        let sum: f64 = series.phases.iter().map(|phase| phase.ms[row]).sum();
        assert!(sum > 0.0 && sum <= series.total_ms[row] + 1e-6);
    }
    assert_eq!(series.notes[0], "calls arrived at random, 1000 a second; seed 3");
    assert_eq!(numbers(&probed, "late_ms").len(), 10);
    let mut targets: Vec<String> = origin.requests().iter().map(|r| r.target.clone()).collect();
    targets.sort();
    assert_eq!(targets, (100..110).map(|n| format!("/x?{n}")).collect::<Vec<_>>());
}

#[test]
fn a_burst_is_sent_together_under_one_number() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("yes").after(&held));
    let mut plan = plan(&[url(&origin)]);
    plan.end = End::Count(2);
    plan.arrivals = Arrivals::Closed;
    plan.burst = Burst { calls: 4, stagger: Duration::from_micros(100) };
    std::thread::scope(|scope| {
        let probing = scope.spawn(|| probe(&plan));
        // All four are in flight at once, and nothing of the next burst is.
        gate.wait_for(4);
        assert_eq!(origin.requests().len(), 4);
        assert!(origin.requests().iter().all(|request| request.target == "/x?100"));
        gate.open();
        let probed = probing.join().unwrap();
        assert_eq!(numbers(&probed, "position"), [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    });
    assert_eq!(origin.requests().iter().filter(|r| r.target == "/x?101").count(), 4);
}

#[test]
fn an_open_loop_does_not_wait_for_answers() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("yes").after(&held));
    let plan = plan(&[url(&origin)]);
    std::thread::scope(|scope| {
        let probing = scope.spawn(|| probe(&plan));
        gate.wait_for(10);
        gate.open();
        assert_eq!(probing.join().unwrap().series[0].len(), 10);
    });
}

#[test]
fn two_targets_are_called_in_turns_whose_order_is_random() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let other = Origin::start(|_| OriginReply::ok("no"));
    let mut plan = plan(&[url(&origin), url(&other)]);
    plan.arrivals = Arrivals::Closed;
    let probed = probe(&plan);
    assert!(probed.is_paired);
    assert_eq!((probed.series[0].len(), probed.series[1].len()), (10, 10));
    // Each turn is one call of each: 100 and 101, 102 and 103, …
    let numbers: Vec<String> = origin.requests().iter().map(|r| r.target[3..].to_owned()).collect();
    let turns: Vec<u64> = numbers.iter().map(|n| (n.parse::<u64>().unwrap() - 100) / 2).collect();
    assert_eq!(turns, (0..10).collect::<Vec<_>>());
    let firsts = numbers.iter().filter(|n| n.parse::<u64>().unwrap() % 2 == 0).count();
    assert!((1..10).contains(&firsts), "{firsts}");
}

#[test]
fn a_stop_gives_up_what_is_under_way_and_keeps_the_rest() {
    let origin = Origin::start(|request| match request.target.as_str() {
        "/x?102" => OriginReply::ok("").stall(),
        _ => OriginReply::ok("yes"),
    });
    let mut plan = plan(&[url(&origin)]);
    plan.arrivals = Arrivals::Closed;
    let stop = AtomicBool::new(false);
    let mut watch = |progress: &Progress| {
        stop.store(progress.done == 2 && origin.requests().len() == 3, Ordering::Relaxed);
    };
    let probed = run(&plan, &stop, &mut watch).unwrap();
    assert!(probed.is_interrupted);
    assert_eq!(probed.series[0].len(), 2);
    let note = &probed.series[0].notes[1];
    assert_eq!(note, "interrupted: 2 calls had ended, 1 were under way and are not counted");
}

#[test]
fn a_target_that_dies_half_way_leaves_what_it_gave() {
    let answered = AtomicUsize::new(0);
    let origin = Origin::start(move |_| match answered.fetch_add(1, Ordering::Relaxed) {
        0..6 => OriginReply::ok("yes"),
        _ => OriginReply::ok("").close_before_head(),
    });
    let probed = probe(&Plan { arrivals: Arrivals::Closed, ..plan(&[url(&origin)]) });
    let series = &probed.series[0];
    assert_eq!((series.len(), series.left_out.failed["connection closed"]), (6, 4));
    assert!(series.notes[1].contains("the last 4 calls failed"), "{:?}", series.notes);
}

#[test]
fn nothing_listens_and_every_call_says_so() {
    let port = testkit::free_port();
    let probed = probe(&plan(&[format!("tcp://127.0.0.1:{port}")]));
    assert!(probed.series[0].is_empty());
    assert_eq!(probed.series[0].left_out.failed["connection refused"], 10);
}

#[test]
fn calls_that_are_close_together_look_at_the_clock_for_a_shorter_time() {
    let spin_us = |rate: f64, calls: u32| {
        let burst = Burst { calls, stagger: Duration::ZERO };
        let arrivals = Arrivals::Uniform(Some(rate));
        Plan { arrivals, burst, ..plan(&["tcp://127.0.0.1:1".to_owned()]) }.spin().as_micros()
    };
    assert_eq!(
        [(20.0, 1), (1000.0, 1), (100.0, 10), (1e6, 1)].map(|(r, c)| spin_us(r, c)),
        [500, 250, 250, 150]
    );
}

#[test]
fn plans_that_contradict_themselves_are_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan(&["tcp://127.0.0.1:1".to_owned()]);
        change(&mut plan);
        let error = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
        assert!(matches!(error, LabError::Plan(_)), "{error}");
    };
    refused(&|plan| plan.arrivals = Arrivals::Poisson(Some(0.0)));
    refused(&|plan| plan.arrivals = Arrivals::Uniform(Some(f64::NAN)));
    refused(&|plan| plan.end = End::Count(0));
    refused(&|plan| plan.end = End::After(Duration::ZERO));
    refused(&|plan| plan.burst.calls = 0);
    refused(&|plan| plan.burst.calls = 513);
    refused(&|plan| plan.timeout = Duration::ZERO);
    refused(&|plan| plan.targets.clear());
}
