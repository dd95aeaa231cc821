//! Says in sentences what was measured, how the second target compares, and what a change comes to.
//!
//! `lab bench` prints the last, too (`command/text.rs`). Also the title of the line chart. Text and
//! HTML both print these, so they say the same words; a change shows in both. docs/lab/report.md
//! and docs/lab/example-cache-lock.md show them. Verdicts are put into words in `words.rs`.
//! Invariant: figures are formatted by `screen::number`. Without a second target there is no
//! comparison.

use super::Report;
use screen::number::{count, of, p, percent, time};
use verdicts::{Direction, RelativeChange};

/// One sentence of what was measured.
pub(super) fn summary(report: &Report<'_>) -> String {
    let mut text = of(report.counts.calls, "call", "calls");
    if let Some(span) = report.counts.span_ms {
        text += &format!(" in {}", time(span));
    }
    if let Some(began) = report.counts.began_unix_ms {
        let mut at = Vec::new();
        exchange::write_rfc3339((began.max(0.0) * 1000.0) as u64, &mut at);
        text += &format!(" from {}", String::from_utf8_lossy(&at));
    }
    if report.counts.failed > 0 {
        text += &format!(", {} failed", count(report.counts.failed));
    }
    let left_out: u64 = report.counts.left_out.values().sum();
    if left_out > 0 {
        text += &format!(", {} left out", of(left_out, "row", "rows"));
    }
    if let Some(moments) = report.moments {
        let (min, mean, max) = (time(moments.min_ms), time(moments.mean_ms), time(moments.max_ms));
        text += &format!("; least {min}, mean {mean}, most {max}");
    }
    text + "."
}

pub(super) fn line_title(report: &Report<'_>) -> &'static str {
    if report.has_times() { "Calls over time" } else { "Calls in their order" }
}

/// How the second target compares: the verdict, then the shift.
pub(super) fn comparison(report: &Report<'_>) -> Option<String> {
    let versus = report.versus.as_ref()?;
    let Some(found) = &versus.difference else {
        return Some("second target: nothing to compare.".to_owned());
    };
    // By how much it is faster is told as a positive time, and so are the ends of that.
    let is_faster = found.shift_ms < 0.0;
    let shift = found.shift_ci_ms.map_or_else(String::new, |[low, high]| {
        let [low, high] = if is_faster { [-high, -low] } else { [low, high] };
        format!(" (95 % {} to {})", time(low), time(high))
    });
    let slower = if is_faster { "faster" } else { "slower" };
    let how = if versus.paired { "call by call" } else { "as two samples" };
    let (by, test) = (time(found.shift_ms.abs()), &found.test);
    let verdict = versus.change.as_ref().map_or_else(String::new, |found| {
        let [start, rest @ ..] = &change(found)[..] else { return String::new() };
        let rest: String = rest.iter().map(|text| format!(" {text}.")).collect();
        format!("{start}.{rest} ")
    });
    let test = p(found.p) + &format!(" ({test})");
    Some(format!("second target: {verdict}Shift: {by} {slower} {how}{shift}, {test}."))
}

/// What a change comes to, a sentence each without its full stop: of all calls, then of the slow
/// ones where theirs is another.
pub(crate) fn change(found: &RelativeChange) -> Vec<String> {
    let mut all = vec![match (found.verdict, found.ci, found.detectable) {
        (Direction::Slower, Some([low, high]), _) => {
            format!("slower by {} (95 %)", parts([low, high]))
        }
        (Direction::Faster, Some([low, high]), _) => {
            format!("faster by {} (95 %)", parts([-high, -low]))
        }
        (Direction::NoDifference, _, Some(seen)) => format!(
            "no difference seen; at least {} would have been, four times in five",
            percent(seen)
        ),
        _ => "unclear: too few calls to say by which part".to_owned(),
    }];
    for tail in found.tails.iter().filter(|tail| tail.verdict() != found.verdict) {
        let ([low, high], name) = (tail.ci, format!("p{}", tail.q * 100.0));
        all.extend(match tail.verdict() {
            Direction::Slower => {
                Some(format!("Its {name} is slower by {} (99 %)", parts([low, high])))
            }
            Direction::Faster => {
                Some(format!("Its {name} is faster by {} (99 %)", parts([-high, -low])))
            }
            Direction::NoDifference | Direction::Unclear => None,
        });
    }
    all
}

/// Two shares as `8.0 to 12 %`.
fn parts([low, high]: [f64; 2]) -> String {
    let low = percent(low);
    format!("{} to {}", low.trim_end_matches(" %"), percent(high))
}
