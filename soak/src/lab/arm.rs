//! The arms: which server is measured in which way, and what is true of it.
//!
//! An arm compares the verdicts with that truth.

use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::control::Control;
use super::options::Options;
use super::truth::{Agreement, Truth, brief};
use super::world::{Scene, Shield, World};

/// A server with a known cause of its latency, or without it.
#[derive(Debug)]
pub(super) struct Arm {
    pub name: &'static str,
    scene: Scene,
    measured: Measured,
    truth: Truth,
}

/// By what the server is measured, with arguments beside the target.
#[derive(Debug, Clone, Copy)]
enum Measured {
    /// `lab probe`
    Probe(&'static str),
    /// `lab watch`, and `lab report` on its file.
    Watch(&'static str),
    /// `lab switch`, by the file that the server looks at.
    Switch(&'static str),
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
        arms.extend(long());
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

/// Watches, switches, and what changes while it is probed.
fn long() -> Vec<Arm> {
    let plain = |kind, options| Scene::Plain { kind, options };
    let other = |name, measured, scene, truth| Arm { name, scene, measured, truth };
    let watch = Measured::Watch("--every 40ms --for 90s");
    let switch = Measured::Switch("--block 2s --settle 0ms --rate 40");
    let checkin = "checkin";
    let turned = "-n 4000 --rate 40";
    let half = Truth::Change { after_s: 50.0, part: [0.3, 0.5] };
    vec![
        other(
            "5 a program in the way",
            watch,
            plain("saves", "in_the_way=1"),
            Truth::Program(checkin),
        ),
        other("8 a program beside", watch, plain("saves", ""), Truth::NotProgram(checkin)),
        arm("10 40 % slower from half on", plain("turns", "after=2000 factor=1.4"), turned, half),
        arm("10 one spike", plain("turns", "spike=2000"), turned, Truth::NoChange),
        arm("10 no change", plain("turns", ""), turned, Truth::NoChange),
        other(
            "a switch that stalls 3 in 10",
            switch,
            plain("switched", "p=0.3 stall_ms=50"),
            Truth::Switch { longer_ms: [35.0, 65.0] },
        ),
        other(
            "a switch of nothing",
            switch,
            plain("switched", "p=0.3 stall_ms=0"),
            Truth::NoSwitch,
        ),
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
    Arm { name, scene, measured: Measured::Probe(probe), truth }
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
        let control = Control::begin();
        let output = self.measure(&world, options)?;
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

    /// Measures, and returns the report as JSON on standard output.
    fn measure(&self, world: &World, options: &Options) -> Result<Output> {
        let kept = match &options.keep {
            Some(dir) => {
                std::fs::create_dir_all(dir).context("making the directory of what is kept")?;
                dir.join(self.name.replace(' ', "-"))
            }
            None => world.dir().join("kept"),
        };
        let binary = std::path::absolute(&options.binary).context("finding the program")?;
        let lab = |verb: &str, words: &str| {
            let mut command = Command::new(&binary);
            command.current_dir(world.dir()).args(["lab", verb]).args(words.split_whitespace());
            command
        };
        let seed = options.seed.to_string();
        let mut command = match self.measured {
            Measured::Probe(words) => {
                let mut probe = lab("probe", words);
                probe.args([&world.url, "--seed", &seed, "--save"]).arg(kept);
                probe
            }
            Measured::Switch(words) => {
                let mut switch = lab("switch", words);
                switch.args(["--on", "touch switched", "--off", "rm -f switched", &world.url]);
                switch.args(["--seed", &seed, "--save"]).arg(kept);
                switch
            }
            Measured::Watch(words) => {
                let mut watch = lab("watch", words);
                let output = watch.arg(&world.url).arg("-o").arg(&kept).output();
                let output = output.context("starting the watch")?;
                if !output.status.success() {
                    return Ok(output);
                }
                let mut report = lab("report", "--slow 60ms --from");
                report.arg(kept);
                report
            }
        };
        command.args(["--format", "json"]).output().context("starting the laboratory")
    }
}
