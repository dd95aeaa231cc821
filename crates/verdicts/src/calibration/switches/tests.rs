//! The tables in short: a cell or two of each.

use super::{Background, PlantedEffect};

#[test]
fn a_switch_that_does_nothing_is_rarely_convicted_whatever_drifts_meanwhile() {
    for background in Background::ALL {
        let counts = background.counts(PlantedEffect::None, 20, 0..150);
        // At most 1.5 expected of 150; 7 or more would come once in a thousand times.
        assert!(counts.significant < 7, "{}: {counts:?}", background.name());
    }
}

#[test]
fn an_effect_is_found_and_its_intervals_hold_the_truth() {
    // 99 and 78 are found of 100; fewer than these would come once in a thousand times.
    for (background, least) in [(Background::Steady, 94), (Background::Drift, 64)] {
        let counts = background.counts(PlantedEffect::Longer, 20, 0..100);
        // 95 expected of 100; 87 or fewer would come once in a thousand times.
        assert!(counts.covered[..2].iter().all(|covered| *covered > 87), "{counts:?}");
        assert!(counts.significant > least, "{}: {counts:?}", background.name());
    }
}
