//! Puts a change over time in words: what changes, when, by how much, and from what to what.
//!
//! The first quantity makes the sentence, the others are figures.
//! Invariant: a moment is a time of day in UTC where that is known, and otherwise counts from the
//! first call. A step happens at a moment, a ramp from one to another. Slower, and more calls over
//! a bound, is a fault; fewer or more calls a second is none, and nor is what is faster.

use screen::Ink;
use screen::number::{digits, p, percent, time};
use verdicts::{ChangeVerdict, ChangedQuantity};

/// Title, sentence, figures and colour of a change.
type ChangeWords = (&'static str, String, Vec<String>, Ink);

pub(super) fn texts(found: &ChangeVerdict) -> ChangeWords {
    let Some((first, others)) = found.quantities.split_first() else {
        return ("change", "Nothing is certain to change.".to_owned(), Vec::new(), Ink::Plain);
    };
    let rises = if first.part > 0.0 { "rises" } else { "falls" };
    let when = match found.until_ms {
        Some(end) => format!("from {} to {}", moment(found, found.at_ms), moment(found, end)),
        None => format!("at {}", moment(found, found.at_ms)),
    };
    let back = if found.is_recovery { ", back to what it was before" } else { "" };
    let (of, size) = (name(first), size(first));
    let sentence = format!("{of} {rises} {when} by {size}, {}{back}.", ends(first));
    let mut figures = vec![format!("{}; by chance: at most {}", between(first), p(found.p))];
    figures.extend(others.iter().map(|other| {
        let rises = if other.part > 0.0 { "rises" } else { "falls" };
        format!(
            "{} {rises} by {}, {}; {}",
            name(other),
            self::size(other),
            ends(other),
            between(other)
        )
    }));
    let begins = if found.until_ms.is_some() { "it begins" } else { "it is" };
    let [earliest, latest] = found.at_ci_ms.map(|at| moment(found, at));
    figures.push(format!("{begins} between {earliest} and {latest} (95 %)"));
    let title = if found.until_ms.is_some() { "slow change" } else { "change" };
    let is_worse = first.part > 0.0 && first.name != "rate";
    (title, sentence, figures, if is_worse { Ink::Alarm } else { Ink::Plain })
}

/// When something is, so many milliseconds after the first call.
fn moment(found: &ChangeVerdict, at_ms: f64) -> String {
    let Some(began) = found.began_unix_ms else {
        return format!("{} after the first call", time(at_ms));
    };
    let mut at = Vec::new();
    exchange::write_rfc3339(((began + at_ms).max(0.0) * 1000.0) as u64, &mut at);
    let whole = String::from_utf8_lossy(&at);
    match whole.split_once('.') {
        // A bin is longer than a second, or the span tells more.
        Some((seconds, _)) => format!("{seconds}Z"),
        None => whole.into_owned(),
    }
}

fn name(of: &ChangedQuantity) -> String {
    match (of.name.as_str(), of.over_ms) {
        ("share", Some(over)) => format!("The share of calls over {}", time(over)),
        ("rate", _) => "The number of calls".to_owned(),
        (name, _) => name.to_owned(),
    }
}

fn size(of: &ChangedQuantity) -> String {
    match of.over_ms {
        Some(_) => format!("{} points", digits(of.part.abs() * 100.0, 2)),
        None => percent(of.part.abs()),
    }
}

fn ends(of: &ChangedQuantity) -> String {
    let [before, after] = [of.before, of.after].map(|value| match of.name.as_str() {
        "share" => percent(value),
        "rate" => digits(value, 3),
        _ => time(value),
    });
    let unit = if of.name == "rate" { " a second" } else { "" };
    format!("from {before} to {after}{unit}")
}

fn between(of: &ChangedQuantity) -> String {
    // By how much it falls is told as a positive part, and so are the ends of that.
    let [low, high] = if of.part < 0.0 { [-of.ci[1], -of.ci[0]] } else { of.ci };
    match of.over_ms {
        Some(_) => {
            format!("{} to {} points (95 %)", digits(low * 100.0, 2), digits(high * 100.0, 2))
        }
        None => format!("{} to {} (95 %)", percent(low), percent(high)),
    }
}

#[cfg(test)]
mod tests;
