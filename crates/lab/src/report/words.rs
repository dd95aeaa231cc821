//! Puts a verdict in words: a title, one sentence that says it, and the figures that it stands on.
//!
//! Also the rate of false alarms that it was judged at, and the name of an attribute's value.
//! Invariant: a sentence claims no more than its verdict. A known timer stands after what was
//! judged; `in_words` finds it by its text `(a hint)`. The ink says whether a fault was found.
//! Wording and colours are for text and HTML alike; `lab bench` prints title and sentence, too
//! (`command/text.rs`). They are quoted in docs/lab/report.md, docs/lab/verdicts.md,
//! docs/lab/bench.md and docs/lab/example-cache-lock.md. JSON and programs know a verdict by its
//! `kind`, not by these words. What is a verdict at all is decided in `verdicts`; a new one needs
//! an arm of `plain_words`.
//! A user's text may be in the words: who prints them escapes it.

mod changes;
mod switched;

use screen::Ink;
use verdicts::{
    AttributeVerdict, CoresVerdict, ExcessVerdict, MODES_P_MAX, Modality, Outside, PhaseLock,
    Quantised, SHARED_RATE_P_MIN, SignalKind, SignalVerdict, StepShare, StepVerdict, Verdict,
};

pub(crate) use switched::{amount, difference, figure_name};

use screen::number::{count, digits, exact, interval, p, percent, time};

/// Steps whose parts of the excess are named one by one.
const PARTS_MAX: usize = 3;

/// A verdict as a reader gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What it is, in a word or two: `quantised`, `outside the request`.
    pub title: String,
    /// One sentence.
    pub sentence: String,
    /// What the sentence stands on: intervals, p-values, hints.
    pub figures: Vec<String>,
    /// Whether it is a fault that was found, a finding without fault, or neither.
    pub ink: Ink,
}

/// Returns a verdict in words.
pub fn in_words(verdict: &Verdict) -> Words {
    let mut words = plain_words(verdict);
    let judged = verdict.judged();
    let rate = judged.false_alarm_rate.map(|rate| {
        let draws = judged.draws_max.map_or_else(String::new, |draws| {
            format!(", by {} draws at most", count(u64::from(draws)))
        });
        format!("judged at {} of false alarms{draws}", percent(rate))
    });
    // Before the hint, which nothing was judged by.
    let hint = words.figures.iter().position(|figure| figure.contains("(a hint)"));
    let place = hint.unwrap_or(words.figures.len());
    words.figures.splice(place..place, rate);
    words
}

fn plain_words(verdict: &Verdict) -> Words {
    match verdict {
        Verdict::Quantised(comb) => quantised(comb),
        Verdict::Multimodal(modality) => multimodal(modality),
        Verdict::Unimodal(modality) => unimodal(modality),
        Verdict::Locked(lock) => locked(lock),
        Verdict::Step(step) => significant(step),
        Verdict::Outside(found) => outside(found),
        Verdict::Excess(found) => excess(found),
        Verdict::Attribute(found) => attribute(found),
        Verdict::Signal(found) => signal(found),
        Verdict::Cores(found) => cores(found),
        Verdict::Switch(found) => {
            let (title, sentence, figures, ink) = switched::switched(found);
            words(title, sentence, figures, ink)
        }
        Verdict::Change(found) => {
            let (title, sentence, figures, ink) = changes::texts(found);
            words(title, sentence, figures, ink)
        }
        Verdict::Unclear(unclear) => {
            words("unclear", format!("{}.", unclear.reason), Vec::new(), Ink::Plain)
        }
    }
}

fn words(title: &str, sentence: String, figures: Vec<String>, ink: Ink) -> Words {
    Words { title: title.to_owned(), sentence, figures, ink }
}

fn quantised(comb: &Quantised) -> Words {
    let quantum = exact(comb.quantum_ms, comb.ci_ms);
    let within = if comb.within == "tail" { " among the slow ones" } else { "" };
    let spacing = match comb.spacing.as_str() {
        // Waits that add up stand one unit below those that do not.
        "geometric" if comb.offset_ms < -comb.quantum_ms / 2.0 => {
            format!("the sums of {quantum}, doubled each time")
        }
        "geometric" => format!("powers of two of {quantum}"),
        _ => format!("multiples of {quantum}"),
    };
    let what_for = match comb.evidence.pace.as_deref() {
        Some("convoy") => "for other calls, one at a time (a lock or a single worker)",
        Some(_) => "for a token, one at a time (a rate limit)",
        None => "for a timer",
    };
    let sentence = format!(
        "Latencies{within} stand at {spacing}{}: {} of the calls wait {what_for}, which accounts \
         for {} of the time above {}.",
        comb.base_ms.map_or_else(String::new, |base| format!(" above {}", time(base))),
        percent(comb.share),
        percent(comb.excess_share),
        if comb.base_ms.is_some() { "that" } else { "the fastest call" },
    );
    let mut figures = comb_figures(comb);
    match comb.phase_locked {
        Some(true) => figures
            .push("calls end in step with a clock: a tick, whenever the call began".to_owned()),
        Some(false) => figures.push(
            "calls do not end in step with a clock: the timer starts with the call".to_owned(),
        ),
        None => {}
    }
    figures.extend(
        comb.nearest.iter().map(|timer| format!("known timers of this period (a hint): {timer}")),
    );
    words("quantised", sentence, figures, Ink::Alarm)
}

/// What a comb stands on.
fn comb_figures(comb: &Quantised) -> Vec<String> {
    let teeth: Vec<String> = comb
        .teeth
        .iter()
        .map(|tooth| format!("{} at {}", count(tooth.calls), time(tooth_ms(comb, tooth.k))))
        .collect();
    let found = &comb.evidence;
    let between = |[low, high]: [f64; 2]| format!("{} to {}", percent(low), percent(high));
    let least = found.p_least.filter(|least| found.p <= *least);
    let by_chance = match least {
        Some(least) => format!(
            "at most {}, the least that draws can show here: 1 in {:.0}",
            p(least),
            least.recip()
        ),
        None => p(found.p),
    };
    let confirmed = found
        .p_confirmed
        .map_or_else(String::new, |half| format!("; on the half not searched: {}", p(half)));
    let mut figures = vec![
        format!("quantum {} (95 %), offset {}", interval(comb.ci_ms), time(comb.offset_ms)),
        format!("calls on the teeth: {}", teeth.join(", ")),
        format!(
            "{} of the calls wait (95 %), {} of the time; base and teeth explain {} of the calls",
            between(comb.share_ci),
            between(comb.excess_share_ci),
            percent(found.explained)
        ),
        format!("by chance: {by_chance}{confirmed}"),
        format!("fixed places that fit by accident: {}", p(found.p_places)),
    ];
    if !found.is_ordered {
        let alike = match comb.spacing.as_str() {
            "linear" => {
                ", and pauses of one length, or of calls that are sent several at once, may look \
                 like this"
            }
            _ => "",
        };
        figures.push(format!("the calls have no times: the order of rows says nothing{alike}"));
    }
    figures
}

fn multimodal(modality: &Modality) -> Words {
    let at =
        modality.modes.iter().map(|mode| format!("{} ({})", time(mode.at_ms), percent(mode.share)));
    let at: Vec<String> = at.collect();
    if modality.is_fixed {
        let sentence = format!(
            "{} fixed latencies, at {}, which hold {} of the calls; no quantum explains them.",
            modality.modes.len(),
            listed(&at),
            percent(modality.explained)
        );
        return words("fixed places", sentence, mode_figures(modality), Ink::Alarm);
    }
    let sentence =
        format!("{} humps, at {}; no comb of three teeth.", modality.modes.len(), listed(&at));
    words("multimodal", sentence, mode_figures(modality), Ink::Alarm)
}

fn unimodal(modality: &Modality) -> Words {
    let sentence = match modality.modes.first() {
        Some(mode) if mode.share < 1.0 => format!(
            "One hump, at {}, which holds {} of the calls; the others stand apart.",
            time(mode.at_ms),
            percent(mode.share)
        ),
        Some(mode) => format!("One hump, at {}.", time(mode.at_ms)),
        None => "One hump.".to_owned(),
    };
    let mut figures = mode_figures(modality);
    let has_strays = modality.modes.iter().any(|mode| mode.share < 1.0);
    if has_strays || modality.p.min(modality.p_dip) <= MODES_P_MAX {
        figures.push("what stands apart is too few calls for a hump of their own".to_owned());
    }
    words("unimodal", sentence, figures, Ink::Fine)
}

fn mode_figures(modality: &Modality) -> Vec<String> {
    let tops = modality.modes.iter().map(|mode| {
        format!(
            "hump at {} (95 %), {} of calls, {} wide",
            interval(mode.ci_ms),
            percent(mode.share),
            time(mode.width_ms)
        )
    });
    let mut figures: Vec<String> = tops.collect();
    figures.push(format!("one hump: {} (Silverman), {} (dip)", p(modality.p), p(modality.p_dip)));
    figures.extend(
        modality.resolution_ms.map(|step| format!("times are measured in steps of {}", time(step))),
    );
    figures
}

fn locked(lock: &PhaseLock) -> Words {
    let period = exact(lock.period_ms, lock.ci_ms);
    let sentence = format!(
        "{} of the calls end with a tick of {period} of the clock, whenever they began.",
        percent(lock.share)
    );
    let mut figures =
        vec![format!("period {} (95 %); by chance: {}", interval(lock.ci_ms), p(lock.p))];
    figures.extend(lock.cost.iter().filter(|cost| cost.longer_ms > 0.0).map(|cost| {
        format!(
            "they take {} longer than others (95 % {}), {} of all time",
            time(cost.longer_ms),
            interval(cost.ci_ms),
            percent(cost.part)
        )
    }));
    let is_slight = lock.cost.as_ref().is_some_and(|cost| cost.is_slight);
    if is_slight {
        figures.push(format!(
            "half a tick for each of them is too little to matter: {} on average",
            time(lock.share * lock.period_ms / 2.0)
        ));
    }
    figures.extend(
        lock.nearest.iter().map(|timer| format!("known timers of this period (a hint): {timer}")),
    );
    match is_slight {
        true => words("slightly locked to a clock", sentence, figures, Ink::Plain),
        false => words("locked to a clock", sentence, figures, Ink::Alarm),
    }
}

fn significant(step: &StepVerdict) -> Words {
    let whole: f64 = step.shares.iter().map(|share| share.excess_ms).sum();
    let share = step.shares.iter().find(|share| share.step == step.step);
    let slowed: f64 = step.shares.iter().map(|share| share.slowed).sum();
    let usual: f64 = step.shares.iter().map(|share| share.median_ms.max(0.0)).sum();
    let parts = share.filter(|_| slowed > 0.0 && usual > 0.0).map(|share| {
        let (slowed, usual) = (share.slowed / slowed, share.median_ms.max(0.0) / usual);
        format!(
            ": it has {} of the slow-downs and {} of the usual time",
            percent(slowed),
            percent(usual)
        )
    });
    let sentence = format!("Step `{}` is slow by itself{}.", step.step, parts.unwrap_or_default());
    let mut figures = vec![format!(
        "{} times the slow-downs of its part of the time ({} to {}, 95 %), {}",
        digits(step.ratio, 2),
        digits(step.ci[0], 2),
        digits(step.ci[1], 2),
        p(step.p)
    )];
    if let Some(share) = share.filter(|_| whole > 0.0) {
        figures.push(format!(
            "{} of the {} that slow calls take longer: {} (95 % {})",
            percent(share.excess_ms / whole),
            time(whole),
            time(share.excess_ms),
            interval(share.ci_ms)
        ));
    }
    words("step", sentence, figures, Ink::Alarm)
}

fn outside(found: &Outside) -> Words {
    let sentence = "Slow-downs strike the steps in proportion to the time spent there, as what \
        comes from outside the request does: host, kernel, virtual machine, a paused process.";
    let mut figures = vec![format!(
        "{} a second of usual time (95 % {} to {}); all steps share this rate: {}, \
            said above {SHARED_RATE_P_MIN}",
        digits(found.rate_per_second, 2),
        digits(found.ci[0], 2),
        digits(found.ci[1], 2),
        p(found.p)
    )];
    figures.extend(found.admission_step.iter().map(|step| {
        format!("`{step}` has more, as many as calls that arrive meanwhile and wait there explain")
    }));
    figures.extend(parts(&found.shares));
    words("outside the request", sentence.to_owned(), figures, Ink::Alarm)
}

fn excess(found: &ExcessVerdict) -> Words {
    let sentence = format!(
        "`{}` has {} of the {} that slow calls take longer than typical ones.",
        found.step,
        percent(found.part),
        time(found.whole_ms)
    );
    let [low, high] = found.ci;
    let mut figures = vec![format!("{} to {} of it (95 %)", percent(low), percent(high))];
    figures.extend(parts(&found.shares));
    figures.push(format!("whose fault that is, is not proven: {}", found.reason));
    words("excess", sentence, figures, Ink::Plain)
}

fn signal(found: &SignalVerdict) -> Words {
    let how = match found.lag_ms {
        lag if lag > 0.0 => format!("follows slow calls, by {}", time(lag)),
        lag if lag < 0.0 => format!("goes before slow calls, by {}", time(-lag)),
        _ => "goes together with slow calls".to_owned(),
    };
    let sentence = format!(
        "`{}` {how}, and explains {} of them ({} to {}).",
        found.signal,
        percent(found.explained),
        percent(found.ci[0]),
        percent(found.ci[1])
    );
    let second = if found.kind == SignalKind::Sum { " a second" } else { "" };
    let figures = vec![
        format!(
            "{}{second} in slow calls, {} beside them; {}",
            signal_amount(found.slow, &found.unit),
            signal_amount(found.typical, &found.unit),
            p(found.p)
        ),
        format!(
            "high in {} of slow calls, and by chance in {}",
            percent(found.share_slow),
            percent(found.share_typical)
        ),
        "what drives both goes together, too: `tidegate lab switch` proves a reason".to_owned(),
    ];
    words("signal", sentence, figures, Ink::Alarm)
}

fn cores(found: &CoresVerdict) -> Words {
    let (together, by_chance) = (percent(found.together), percent(found.together_by_chance));
    let (ink, sentence) = match found.cores.as_str() {
        "all" => (
            Ink::Alarm,
            format!(
                "All {} cores stall at once, in {together} of {} stalls ({by_chance} by chance): \
                 the kernel or the machine below it holds them up.",
                found.watched,
                count(found.stalls)
            ),
        ),
        "one" => (
            Ink::Alarm,
            format!(
                "Core {} stalls by itself, in {} of {} stalls.",
                found.core,
                percent(found.alone),
                count(found.stalls)
            ),
        ),
        _ => (
            Ink::Plain,
            format!(
                "Of {} stalls, {together} are of all {} cores at once ({by_chance} by chance).",
                count(found.stalls),
                found.watched
            ),
        ),
    };
    let figures = vec![format!(
        "all at once in {} to {} of stalls (95 %); {}",
        percent(found.ci[0]),
        percent(found.ci[1]),
        p(found.p)
    )];
    words("cores", sentence, figures, ink)
}

/// Whose the excess is: the largest parts by name, and the sum of the others.
fn parts(shares: &[StepShare]) -> Option<String> {
    let whole: f64 = shares.iter().map(|share| share.excess_ms).sum();
    if shares.len() < 2 || whole <= 0.0 {
        return None;
    }
    let named =
        if shares.len() == PARTS_MAX + 1 { shares.len() } else { PARTS_MAX.min(shares.len()) };
    let (most, others) = shares.split_at(named);
    let one = |name: &str, ms: f64| format!("{name} {} ({})", time(ms), percent(ms / whole));
    let mut parts: Vec<String> =
        most.iter().map(|share| one(&format!("`{}`", share.step), share.excess_ms)).collect();
    if !others.is_empty() {
        let rest = others.iter().map(|share| share.excess_ms).sum();
        parts.push(one(&format!("the other {}", others.len()), rest));
    }
    Some(format!("slow calls take {} longer: {}", time(whole), parts.join(", ")))
}

fn attribute(found: &AttributeVerdict) -> Words {
    let value = named(found);
    let sentence = format!(
        "{} of the slow calls have {value}, and {} of typical ones.",
        percent(found.share_slow),
        percent(found.share_typical)
    );
    let figures = vec![format!(
        "{:.0} to {:.0} points more (95 %), {}",
        found.ci[0] * 100.0,
        found.ci[1] * 100.0,
        p(found.p)
    )];
    words("attribute", sentence, figures, Ink::Alarm)
}

/// An attribute with its value: `server = b`, `bytes > 4096`; a threshold in three digits.
pub(super) fn named(found: &AttributeVerdict) -> String {
    let threshold = ["> ", "<= "].iter().find_map(|sign| {
        let value = found.value.strip_prefix(sign)?.parse().ok()?;
        Some(format!("{} {sign}{}", found.attribute, digits(value, 3)))
    });
    threshold.unwrap_or_else(|| format!("{} = {}", found.attribute, found.value))
}

pub(super) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Where a tooth of a comb stands.
pub(super) fn tooth_ms(comb: &Quantised, k: u64) -> f64 {
    if comb.spacing == "geometric" {
        return comb.offset_ms + comb.quantum_ms * 2_f64.powi(i32::try_from(k).unwrap_or(i32::MAX));
    }
    comb.offset_ms + k as f64 * comb.quantum_ms
}

/// An amount of a signal in its unit; of a sum, what comes up in a second.
pub(super) fn signal_amount(value: f64, unit: &str) -> String {
    match unit {
        "ms" => time(value),
        "bytes" => screen::number::bytes(value),
        _ => screen::number::digits(value, 3),
    }
}

#[cfg(test)]
mod tests;
