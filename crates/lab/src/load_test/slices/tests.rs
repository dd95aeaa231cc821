//! Claims about the pieces of a run.

use super::super::merged::MergedRun;
use super::super::sample::SampledCall;
use super::slices;

/// A run of one call each 10 ms over these seconds, that took `seconds` in all.
fn run(calls_seconds: u64, seconds: f64) -> MergedRun {
    let mut run = MergedRun::of(Vec::new(), 0);
    let call = |number: u64| SampledCall::new(number * 10_000_000, 0, 0);
    run.calls = (0..calls_seconds * 100).map(call).collect();
    run.offered = run.calls.len() as u64;
    run.report.seconds = seconds;
    run
}

#[test]
fn replies_that_come_late_make_no_piece_of_their_own() {
    for late in [0.0, 0.05, 0.5, 30.0] {
        let pieces = slices(&run(2, 2.0 + late), 0.0);
        let rates: Vec<f64> = pieces.iter().map(|piece| piece.intended_rate.round()).collect();
        assert_eq!(rates, [100.0, 101.0], "{late} s late");
    }
}

#[test]
fn what_fails_to_the_end_belongs_to_the_pieces_too() {
    let mut run = run(1, 3.2);
    run.failed_by_second = vec![0, 100, 100];
    let failed: Vec<u64> = slices(&run, 0.0).iter().map(|piece| piece.failed).collect();
    assert_eq!(failed, [0, 100, 100]);
}
