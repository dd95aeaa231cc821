//! What `tidegate lab watch` costs: its share of a core, and memory.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testkit::TempDir;

use super::Row;
use crate::measure::Measurement;
use crate::process::{rss_bytes, server_cpu};
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "watch",
    what: "what `tidegate lab watch` costs with all signals: CPU, memory",
    notes: "One target, which is a port of this machine, is called once a second.\n\
        Signals are read ten times a second, programs about once a second, and each core has a \
        sleeper.\n\
        The share of a core is that of the whole process, after ten seconds of start.\n\
        No peer does the same; sar and pidstat read a part of it once a second at most.",
    peers: &["tidegate"],
    run,
};

const SPAN: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(10);

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").context("listen")?;
    let target = format!("tcp://{}", listener.local_addr()?);
    thread::spawn(move || listener.incoming().for_each(drop));
    let tidegate = setup.tidegate()?;
    let (mut shares, mut most) = (Vec::new(), Vec::new());
    for _ in 0..setup.rounds.min(3) {
        let dir = TempDir::new().context("a directory")?;
        let mut command = Command::new(&tidegate);
        command.args(["lab", "watch", &target, "--every", "1s"]).current_dir(dir.path());
        let mut watch = command.stderr(Stdio::null()).spawn().context("start the watch")?;
        thread::sleep(START);
        let (before, begun) = (server_cpu(watch.id())?, Instant::now());
        thread::sleep(SPAN);
        let seconds = begun.elapsed().as_secs_f64();
        let cpu = server_cpu(watch.id())?.since(before).total_us() / 1e6;
        shares.push(100.0 * cpu / seconds);
        most.push(rss_bytes(watch.id()) as f64 / 1e6);
        let file = std::fs::metadata(dir.path().join("watch.db")).context("the file")?.len();
        watch.kill()?;
        watch.wait()?;
        ensure!(file > 0, "nothing was written");
    }
    let name = "tidegate lab watch";
    Ok(vec![
        Measurement::new(name, "% of a core", shares).at_most(1.0, "under 1"),
        Measurement::new(name, "MB of memory", most).at_most(50.0, "under 50"),
    ])
}
