//! What this process uses, and names.

use super::super::counters::{SignalReadings, SignalSource as _};
use super::super::usage::ProcessUsage;
use super::Processes;

#[test]
fn what_a_process_wrote_between_two_looks_is_reported_under_its_name() {
    let dir = testkit::TempDir::new().expect("a directory");
    let mut notes = Vec::new();
    let mut processes = Processes::new(None, &mut notes);
    let mut counters = SignalReadings::default();
    counters.begin(1);
    processes.sample(&mut counters);
    let (name, before) = ProcessUsage::of(std::process::id()).expect("we live");
    let file = dir.path().join("x");
    std::fs::write(&file, vec![7; 3 << 20]).expect("written");
    std::fs::File::open(&file).and_then(|file| file.sync_all()).expect("on disk");
    counters.begin(3_600_000_000_000);
    processes.sample(&mut counters);
    let (_, after) = ProcessUsage::of(std::process::id()).expect("we live");
    let mut written = 0.0;
    counters.grown(&mut |it| {
        if it.name == format!("writes of {}", name.plain) {
            written += it.amount;
        }
    });
    // Other tests of this process write meanwhile, too.
    let most = after.since(before).written_bytes;
    println!("written: {written} of at most {most}");
    assert!(written <= most + f64::from(64 << 20));
    assert!(ProcessUsage::of(u32::MAX).is_none());
}
