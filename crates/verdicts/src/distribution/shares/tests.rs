//! Shares are those of the calls on teeth, less what stands there by chance.

use super::Teeth;
use crate::random::Draw;

#[test]
fn undelayed_calls_are_on_no_tooth_and_a_background_is_taken_off() {
    let mut draw = Draw::new(42, 0);
    let mut values: Vec<f64> = (0..1_000)
        .map(|call| match call % 10 {
            0 => 200.0 + draw.normal(),
            1 => 300.0 + draw.normal(),
            2..5 => 50.0 + 400.0 * draw.fraction(),
            _ => 100.0 + draw.normal(),
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let at = [(1, 200.0), (2, 300.0)];
    let teeth = Teeth { at: &at, deviation: 1.0, reach_max: 50.0, base: Some((100.0, 1.0)) };
    let shares = teeth.count(&values);
    let [low, high] = shares.calls_ci;
    assert!(low < 0.2 && high > 0.2 && high - low < 0.06, "{shares:?}");
    assert_eq!(shares.teeth.iter().map(|tooth| tooth.k).collect::<Vec<_>>(), [1, 2]);
}
