//! Puts an experiment with a switch in words, and says how the figures of its blocks read.
//!
//! Invariant: an effect is claimed only of figures whose own p-value is small enough. With too few
//! blocks it says how many are needed, and what so few can show.
//! `words.rs` adds at which rate of false alarms it was judged.

use screen::Ink;
use screen::number::{digits, p, percent, time};
use verdicts::{SWITCH_P_MAX, SwitchEffect, SwitchVerdict};

/// The figure that is a share; others are milliseconds.
const SHARE: &str = "slow_share";

/// Returns title, sentence, figures and ink.
pub(super) fn switched(found: &SwitchVerdict) -> (&'static str, String, Vec<String>, Ink) {
    let figures = figures(found);
    if found.blocks < found.blocks_needed {
        let sentence = format!(
            "{} blocks show {} at best, and nothing is concluded above p = {SWITCH_P_MAX}: {} \
             blocks are needed.",
            found.blocks,
            p(found.p_least),
            found.blocks_needed
        );
        return ("unclear", sentence, figures, Ink::Plain);
    }
    if !found.is_effect {
        let sentence = format!(
            "In {} blocks on and off differ by no more than chance explains.",
            found.blocks
        );
        let advice = "less than that takes more blocks (`--blocks`), longer ones (`--block`), or a \
                      switch that acts more often";
        let figures = figures.into_iter().chain([advice.to_owned()]).collect();
        return ("no effect seen", sentence, figures, Ink::Plain);
    }
    let changed = found.effects.iter().filter(|effect| effect.p <= SWITCH_P_MAX).map(changed);
    let changed: Vec<String> = changed.collect();
    let sentence = format!("The switch makes the difference: on, {}.", changed.join("; "));
    ("switch", sentence, figures, Ink::Alarm)
}

/// Returns what a figure is called.
pub(crate) fn figure_name(effect: &SwitchEffect) -> &'static str {
    match effect.figure.as_str() {
        "median_ms" => "median",
        "p95_ms" => "p95",
        _ => "slow or failed calls",
    }
}

/// Returns how a value of a figure reads.
pub(crate) fn amount(effect: &SwitchEffect, value: f64) -> String {
    if effect.figure == SHARE { percent(value) } else { time(value) }
}

/// Returns how a difference of a figure reads: a share in points.
pub(crate) fn difference(effect: &SwitchEffect, value: f64) -> String {
    match effect.figure == SHARE {
        true => format!("{} points", digits(100.0 * value, 2)),
        false => time(value),
    }
}

fn changed(effect: &SwitchEffect) -> String {
    let by = difference(effect, effect.effect.abs());
    match (effect.figure == SHARE, effect.effect >= 0.0) {
        (true, true) => format!("{by} more of the calls are slow or fail"),
        (true, false) => format!("{by} less of the calls are slow or fail"),
        (false, true) => format!("the {} is {by} longer", figure_name(effect)),
        (false, false) => format!("the {} is {by} shorter", figure_name(effect)),
    }
}

fn figures(found: &SwitchVerdict) -> Vec<String> {
    let one = |effect: &SwitchEffect| {
        let ends = effect.ci.map(|ends| ends.map(|end| difference(effect, end)));
        let interval =
            ends.map_or_else(String::new, |[low, high]| format!(" (95 % {low} to {high})"));
        format!(
            "{}: {} off, {} on; on less off {}{interval}, {}",
            figure_name(effect),
            amount(effect, effect.off),
            amount(effect, effect.on),
            difference(effect, effect.effect),
            p(effect.p)
        )
    };
    let mut figures: Vec<String> = found.effects.iter().map(one).collect();
    figures.push(format!(
        "over all figures: {}; the least that {} blocks can show is {}",
        p(found.p),
        found.blocks,
        p(found.p_least)
    ));
    figures.push(format!("slow are calls over {}, and those that fail", time(found.slow_over_ms)));
    figures
}
