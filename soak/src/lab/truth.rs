//! What is true of an arm, and whether verdicts agree with it.

use serde_json::Value;

use super::control::Lateness;

/// By how much the moment of a change may be missed: two bins of some fifty.
const CHANGE_MISSED_S: f64 = 5.0;

/// What the verdicts have to say.
#[derive(Debug, Clone, Copy)]
pub(super) enum Truth {
    /// Latencies are multiples of a quantum, within a part in a hundred, and the timer starts with
    /// the call.
    Quantised { quantum_ms: f64, nearest: Option<&'static str> },
    /// Neither quantised nor in step with a clock, but for a kernel tick that costs too little to
    /// matter.
    Smooth,
    /// At least two humps, these milliseconds apart, and no quantum.
    Humps { gap_ms: [f64; 2] },
    /// In step with a clock, within a part in a hundred.
    Locked { period_ms: f64 },
    /// One step is slow by itself; something outside too only if the machine is.
    Step(&'static str),
    /// The cause is outside the request.
    Outside,
    /// Nothing is said of any step, and nothing of outside unless the machine is.
    NoStep,
    /// A program of this name goes together with the slow calls.
    Program(&'static str),
    /// This program does not.
    NotProgram(&'static str),
    /// The median grew by these parts, so many seconds after the first call.
    Change { after_s: f64, part: [f64; 2] },
    /// Nothing changed.
    NoChange,
    /// The switch makes the 95th percentile longer by so many milliseconds.
    Switch { longer_ms: [f64; 2] },
    /// The switch does nothing.
    NoSwitch,
}

/// Whether verdicts are true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    Yes,
    No,
    /// What they add to the truth is true of a machine that is not quiet.
    NotHere,
}

impl Truth {
    /// Compares verdicts with the truth, on a machine that was so late by itself.
    pub(super) fn holds(self, verdicts: &[Value], lateness: Lateness) -> Agreement {
        if self.is_in(verdicts) {
            return Agreement::Yes;
        }
        let inside: Vec<Value> =
            verdicts.iter().filter(|verdict| verdict["kind"] != "outside").cloned().collect();
        match self {
            Self::Step(_) if !lateness.is_quiet() && self.is_in(&inside) => Agreement::Yes,
            // A busy machine is late to take calls up, too, and starts slowly after a stop.
            Self::NoStep if !lateness.is_quiet() && self.is_in(&without(&inside, "wait")) => {
                Agreement::NotHere
            }
            // A probe that is late itself says so, and leaves the step to a quieter machine.
            Self::Step(_) if !lateness.is_quiet() && names_probe(verdicts) => Agreement::NotHere,
            Self::Outside | Self::Change { .. } | Self::NoChange if !lateness.is_quiet() => {
                Agreement::NotHere
            }
            // A late timer is longer than it says: each tooth stands a little further out.
            Self::Quantised { quantum_ms, nearest } if !lateness.is_quiet() => {
                let later = |percent: u32| quantum_ms * (1.0 + f64::from(percent) / 100.0);
                let is_later = (1..=5)
                    .map(later)
                    .any(|quantum_ms| Self::Quantised { quantum_ms, nearest }.is_in(verdicts));
                if is_later { Agreement::NotHere } else { Agreement::No }
            }
            _ => Agreement::No,
        }
    }

    fn is_in(self, verdicts: &[Value]) -> bool {
        let of = |kind: &str| verdicts.iter().find(|verdict| verdict["kind"] == *kind).cloned();
        let matters = |lock: &Value| lock["cost"]["is_slight"] != true;
        let near = |value: &Value, truth: f64| {
            value.as_f64().is_some_and(|value| (value / truth - 1.0).abs() < 0.01)
        };
        match self {
            Self::Quantised { quantum_ms, nearest } => of("quantised").is_some_and(|verdict| {
                near(&verdict["quantum_ms"], quantum_ms)
                    && verdict["phase_locked"] != true
                    && nearest.is_none_or(|timer| {
                        verdict["nearest"].as_str().is_some_and(|named| named.contains(timer))
                    })
            }),
            Self::Smooth => {
                of("quantised").is_none() && !of("locked").is_some_and(|lock| matters(&lock))
            }
            Self::Humps { gap_ms } => {
                of("quantised").is_none()
                    && of("multimodal").is_some_and(|verdict| {
                        let modes = verdict["modes"].as_array().cloned().unwrap_or_default();
                        let at = |mode: &Value| mode["at_ms"].as_f64().unwrap_or(f64::NAN);
                        let gap = modes.last().map_or(0.0, at) - modes.first().map_or(0.0, at);
                        modes.len() > 1 && gap > gap_ms[0] && gap < gap_ms[1]
                    })
            }
            Self::Locked { period_ms } => {
                of("locked")
                    .is_some_and(|lock| near(&lock["period_ms"], period_ms) && matters(&lock))
                    || of("quantised").is_some_and(|verdict| {
                        near(&verdict["quantum_ms"], period_ms) && verdict["phase_locked"] == true
                    })
            }
            Self::Step(step) => {
                let named = verdicts.iter().filter(|verdict| verdict["kind"] == "step");
                named.map(|verdict| &verdict["step"]).eq([step]) && of("outside").is_none()
            }
            Self::Outside => of("outside").is_some() && of("step").is_none(),
            Self::NoStep => of("outside").is_none() && of("step").is_none(),
            Self::Program(name) => blames(verdicts, name),
            Self::NotProgram(name) => !blames(verdicts, name),
            Self::Change { after_s, part } => verdicts.iter().any(|verdict| {
                let at_s = verdict["at_ms"].as_f64().unwrap_or(f64::NAN) / 1e3;
                let median = &verdict["quantities"][0];
                let grew = median["part"].as_f64().unwrap_or(f64::NAN);
                (at_s - after_s).abs() <= CHANGE_MISSED_S
                    && median["name"] == "p50"
                    && grew >= part[0]
                    && grew <= part[1]
            }),
            Self::NoChange => of("change").is_none(),
            Self::Switch { longer_ms } => of("switch").is_some_and(|verdict| {
                let effects = verdict["effects"].as_array().cloned().unwrap_or_default();
                let p95 = effects.iter().find(|effect| effect["figure"] == "p95_ms").cloned();
                let longer = p95.map_or(f64::NAN, |effect| {
                    let of = |key: &str| effect[key].as_f64().unwrap_or(f64::NAN);
                    of("on") - of("off")
                });
                verdict["is_effect"] == true && longer >= longer_ms[0] && longer <= longer_ms[1]
            }),
            Self::NoSwitch => of("switch").is_some_and(|verdict| verdict["is_effect"] == false),
        }
    }
}

/// Whether a signal of a program of this name goes together with slow calls.
fn blames(verdicts: &[Value], program: &str) -> bool {
    verdicts.iter().any(|verdict| {
        verdict["kind"] == "signal"
            && verdict["signal"].as_str().is_some_and(|signal| signal.contains(program))
    })
}

/// Whether slow calls are put down to the lateness of the probe.
fn names_probe(verdicts: &[Value]) -> bool {
    verdicts.iter().any(|verdict| verdict["attribute"] == "late_ms")
}

/// The verdicts but for those on a step.
fn without(verdicts: &[Value], step: &str) -> Vec<Value> {
    verdicts.iter().filter(|verdict| verdict["step"] != step).cloned().collect()
}

/// A verdict in a few words.
pub(super) fn brief(verdict: &Value) -> String {
    let kind = verdict["kind"].as_str().unwrap_or("?");
    let detail = ["quantum_ms", "period_ms", "step", "attribute", "reason"];
    let stated = detail.iter().find(|key| !verdict[**key].is_null());
    stated.map_or_else(|| kind.to_owned(), |key| format!("{kind} {}", verdict[*key]))
}
