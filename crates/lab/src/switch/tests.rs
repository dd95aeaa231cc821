//! Claims about experiments with a switch that is a file.

use testkit::{Origin, OriginReply, TempDir};

use super::*;
use crate::probe::ProbeTarget;

fn shell(line: &str) -> Program {
    Program::Shell(vec!["sh".to_owned()], line.to_owned())
}

/// Blocks of some calls, one after the other, at an origin; each command writes a line.
fn plan(origin: &Origin, folder: &TempDir, pairs: u64) -> SwitchPlan {
    let target: ProbeTarget = format!("http://{}/x?{{n}}", origin.address()).parse().unwrap();
    let log = folder.path().join("log");
    let probe = Plan { number_first: 1, ..Plan::of(vec![target], End::Count(3)) };
    let write = |word: &str| shell(&format!("echo {word} >> {}", log.display()));
    let (on, off) = (write("on"), write("off"));
    SwitchPlan { probe, on, off, settle: Duration::ZERO, pairs, is_left_on: false }
}

fn log(folder: &TempDir) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn pairs_are_one_on_and_one_off_in_random_order_and_the_state_is_put_back() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let folder = TempDir::new().unwrap();
    let mut record = SwitchRecord::default();
    let plan = plan(&origin, &folder, 8);
    run(&plan, &SwitchEnd::default(), &mut |_, _| {}, &mut record).unwrap();
    let states: Vec<bool> = record.blocks.iter().map(|timed| timed.block.is_on).collect();
    assert!(states.chunks_exact(2).all(|pair| pair[0] != pair[1]), "{states:?}");
    let first: Vec<bool> = states.iter().copied().step_by(2).collect();
    assert!(first.contains(&true) && first.contains(&false), "{first:?}");
    let mut expected: Vec<&str> =
        states.iter().map(|is_on| if *is_on { "on" } else { "off" }).collect();
    expected.push("off");
    assert_eq!(log(&folder), expected);
    assert_eq!((record.runs, record.calls), ([9, 8], 48));
    // Each call has a number of its own, and knows its block and its state.
    let mut targets: Vec<String> = origin.requests().into_iter().map(|it| it.target).collect();
    targets.sort();
    targets.dedup();
    assert_eq!((targets.len(), record.series.len()), (48, 48));
    let named = |name: &str| {
        record.series.attributes.iter().find(|attribute| attribute.name == name).unwrap()
    };
    let AttributeValues::Numbers(blocks) = &named("block").values else { panic!() };
    assert_eq!((blocks[2], blocks[3], blocks[47]), (1.0, 2.0, 16.0));
    let AttributeValues::Names { names, of } = &named("switch").values else { panic!() };
    assert_eq!(names[of[47] as usize] == "on", states[15]);
    assert_eq!(record.series.notes, ["each call was made when the one before had ended"]);
}

#[test]
fn a_command_that_fails_ends_the_experiment_and_the_state_is_put_back() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let folder = TempDir::new().unwrap();
    let mut plan = plan(&origin, &folder, 4);
    plan.on = shell("exit 3");
    let mut record = SwitchRecord::default();
    let error = run(&plan, &SwitchEnd::default(), &mut |_, _| {}, &mut record).unwrap_err();
    let block = record.blocks.len() + 1;
    assert_eq!(error.to_string(), format!("`exit 3`: exit code 3 before block {block}"));
    assert_eq!(log(&folder).last().map(String::as_str), Some("off"));
    plan.off = shell("exit 4");
    let mut record = SwitchRecord::default();
    let error = run(&plan, &SwitchEnd::default(), &mut |_, _| {}, &mut record).unwrap_err();
    assert!(error.to_string().ends_with("nor could the state be put back at the end"), "{error}");
    assert_eq!(record.runs, [0, 0]);
}

#[test]
fn a_stop_leaves_out_the_block_and_leaves_the_switch_as_asked() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let folder = TempDir::new().unwrap();
    let mut plan = plan(&origin, &folder, 4);
    plan.is_left_on = true;
    let (end, mut record) = (SwitchEnd::default(), SwitchRecord::default());
    let mut watch = |block: usize, _| end.soon.store(block == 4, Ordering::Relaxed);
    run(&plan, &end, &mut watch, &mut record).unwrap();
    assert_eq!((record.blocks.len(), record.is_interrupted), (3, true));
    assert_eq!(log(&folder).last().map(String::as_str), Some("on"));
    let last = record.series.notes.last().unwrap();
    assert_eq!(last, "interrupted in block 4, whose calls are left out");
}

#[test]
fn without_a_rate_five_calls_find_it_for_all_blocks_while_the_switch_is_off() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let folder = TempDir::new().unwrap();
    let mut plan = plan(&origin, &folder, 1);
    plan.probe.arrivals = Arrivals::Uniform(None);
    let mut record = SwitchRecord::default();
    run(&plan, &SwitchEnd::default(), &mut |_, _| {}, &mut record).unwrap();
    assert_eq!((record.calls, record.series.len(), record.runs), (11, 6, [3, 1]));
    assert_eq!(log(&folder)[0], "off");
    assert!(record.series.notes[0].starts_with("calls arrived at even distances, "));
    assert!(!record.series.notes[0].contains("first five"), "{:?}", record.series.notes);
}

#[test]
fn of_many_notes_on_blocks_six_are_kept_and_the_others_counted() {
    let mut record = SwitchRecord::default();
    for block in 0..9 {
        let notes = ["how calls arrived", "some were late"].map(|note| format!("{note}, {block}"));
        record.take(Series { notes: notes.to_vec(), ..Series::default() }, block % 2 == 1, 0);
    }
    record.end();
    let notes = &record.series.notes;
    assert_eq!((notes.len(), notes[2].as_str()), (9, "block 2: some were late, 1"));
    assert_eq!(notes[8], "2 more notes on single blocks are left out");
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_before_any_command() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let folder = TempDir::new().unwrap();
    let mut plan = plan(&origin, &folder, 1);
    plan.probe.arrivals = Arrivals::Poisson(Some(0.0));
    let mut record = SwitchRecord::default();
    let error = run(&plan, &SwitchEnd::default(), &mut |_, _| {}, &mut record).unwrap_err();
    assert!(matches!(error, LabError::Plan(_)), "{error}");
    assert!(log(&folder).is_empty() && origin.requests().is_empty());
}
