//! The arms: which server is probed in which way, and what is true of it.
//!
//! An arm compares the verdicts of the probe with that truth.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::control::{Control, Lateness};
use super::options::Options;
use super::world::{Scene, Shield, World};

/// A server with a known cause of its latency, or without it.
#[derive(Debug)]
pub(super) struct Arm {
    pub name: &'static str,
    scene: Scene,
    /// Arguments of `lab probe`, beside the target.
    probe: &'static str,
    truth: Truth,
}

/// What the verdicts have to say.
#[derive(Debug, Clone, Copy)]
enum Truth {
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
}

/// What became of an arm.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The verdicts are true.
    Right(String),
    /// They are not.
    Wrong(String),
    /// This machine cannot make it, and why.
    Absent(String),
}

/// Every arm; in a short run those that take no more than seconds.
pub(super) fn all(short: bool) -> Vec<Arm> {
    let mut arms = quick();
    if !short {
        arms.extend(slow());
    }
    arms
}

fn quick() -> Vec<Arm> {
    let plain = |kind, options| Scene::Plain { kind, options };
    let (closed, open) = ("-n 300 --closed --keep-alive", "-n 150 --rate 16");
    let stalls = "slow=7 p=0.06 stall_ms=150";
    vec![
        arm(
            "2 Nagle and delayed ACK",
            plain("pieces", ""),
            closed,
            Truth::Humps { gap_ms: [35.0, 50.0] },
        ),
        arm("2 Nagle off", plain("pieces", "nodelay=1"), closed, Truth::Smooth),
        arm(
            "4 delayed pread64",
            Scene::Delays { delay_ms: Some(100) },
            open,
            Truth::Quantised { quantum_ms: 100.0, nearest: None },
        ),
        arm("4 pread64, traced only", Scene::Delays { delay_ms: None }, open, Truth::Smooth),
        arm(
            "7 step 7 stalls in 6 of 100",
            plain("steps", stalls),
            "-n 400 --rate 40",
            Truth::Step("server.s7"),
        ),
        arm("7 no step stalls", plain("steps", ""), "-n 400 --rate 40", Truth::NoStep),
    ]
}

fn slow() -> Vec<Arm> {
    let lock = "-n 120 --burst 8 --stagger 4ms --rate 6 --timeout 20s";
    let lock_500 = Truth::Quantised { quantum_ms: 500.0, nearest: Some("nginx cache lock") };
    let plain = |kind, options| Scene::Plain { kind, options };
    let stalls = "slow=7 p=0.02 stall_ms=150";
    vec![
        arm("1 cache lock, nginx", Scene::CacheLock(Shield::Nginx), lock, lock_500),
        arm("1 cache lock, Tidegate", Scene::CacheLock(Shield::Tidegate), lock, Truth::Smooth),
        arm("1 cache lock, Varnish", Scene::CacheLock(Shield::Varnish), lock, Truth::Smooth),
        arm(
            "3 quota of 20 in 100 ms",
            Scene::Quota { is_set: true },
            "-n 200 --rate 1.5",
            Truth::Locked { period_ms: 100.0 },
        ),
        arm("3 no quota", Scene::Quota { is_set: false }, "-n 200 --rate 1.5", Truth::Smooth),
        arm("6 stops of 200 ms", Scene::Stops, "-n 3000 --rate 12", Truth::Outside),
        arm("6 no stops", plain("steps", ""), "-n 3000 --rate 12", Truth::NoStep),
        arm(
            "7 step 7 stalls in 2 of 100",
            plain("steps", stalls),
            "-n 1200 --rate 40",
            Truth::Step("server.s7"),
        ),
    ]
}

fn arm(name: &'static str, scene: Scene, probe: &'static str, truth: Truth) -> Arm {
    Arm { name, scene, probe, truth }
}

impl Arm {
    /// Makes the server, probes it, and compares.
    ///
    /// # Errors
    /// When the server does not start or the probe does not end well.
    pub(super) fn judge(&self, options: &Options) -> Result<Outcome> {
        let world = match World::start(&self.scene, options)? {
            Ok(world) => world,
            Err(absent) => return Ok(Outcome::Absent(absent)),
        };
        let mut probe = Command::new(&options.binary);
        probe.args(["lab", "probe", &world.url, "--format", "json"]);
        probe.args(self.probe.split(' ')).args(["--seed", &options.seed.to_string()]);
        if let Some(dir) = &options.keep {
            std::fs::create_dir_all(dir).context("making the directory of what is kept")?;
            probe.arg("--save").arg(dir.join(self.name.replace(' ', "-")).with_extension("json"));
        }
        let control = Control::begin();
        let output = probe.output().context("starting the probe")?;
        let lateness = control.end();
        drop(world);
        if !output.status.success() {
            bail!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        }
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{}: reading the report", self.name))?;
        let verdicts = report["verdicts"].as_array().cloned().unwrap_or_default();
        let words = verdicts.iter().map(brief).collect::<Vec<_>>().join("; ");
        let busy = || {
            format!("this machine slows servers down itself: {lateness}; the verdicts are {words}")
        };
        Ok(match self.truth.holds(&verdicts, lateness) {
            Agreement::Yes => Outcome::Right(words),
            Agreement::NotHere => Outcome::Absent(busy()),
            Agreement::No => Outcome::Wrong(format!("{words}, but the truth is {:?}", self.truth)),
        })
    }
}

/// Whether verdicts are true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Yes,
    No,
    /// What they add to the truth is true of a machine that is not quiet.
    NotHere,
}

impl Truth {
    fn holds(self, verdicts: &[Value], lateness: Lateness) -> Agreement {
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
            Self::Outside if !lateness.is_quiet() => Agreement::NotHere,
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
        }
    }
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
fn brief(verdict: &Value) -> String {
    let kind = verdict["kind"].as_str().unwrap_or("?");
    let detail = ["quantum_ms", "period_ms", "step", "attribute", "reason"];
    let stated = detail.iter().find(|key| !verdict[**key].is_null());
    stated.map_or_else(|| kind.to_owned(), |key| format!("{kind} {}", verdict[*key]))
}
