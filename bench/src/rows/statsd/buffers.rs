//! How much of a bursty load arrives, by the size of the receiver's buffer.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use load::{Blast, Stop};

use super::{Trial, figure};
use crate::machine::SERVER_CORE;
use crate::measure::Measurement;
use crate::peers::statsd::{self, Options};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "statsd-buffers",
    what: "what arrives of bursts at a busy machine, by the buffer of the socket",
    notes: "Bursts are 20,000 tiny datagrams as fast as one core sends them (trains, cut by the \
        kernel), 200,000 a second on average.\n\
        Two other programs want the receiver's core all the time.\n\
        Buffers above `net.core.rmem_max` are set by `SO_RCVBUFFORCE`.\n\
        A kernel buffer of so many bytes holds about one tiny datagram for every 400 of them.\n\
        What is lost is in Tidegate's count of drops, to the datagram.\n\
        The author of Net::Statsd::Server saw no gain above 4 to 8 MB, for servers that were too \
        slow altogether.\n\
        They received 50 to 54 % with 1 MB, and 36 to 42 % with the default.\n\
        Tidegate asks for 8 MB by default.",
    peers: &["tidegate"],
    run,
};

const BURST: usize = 20_000;
const RATE: f64 = 200_000.0;
const SIZES: [(usize, &str); 9] = [
    (256 << 10, "256 KB"),
    (512 << 10, "512 KB"),
    (1 << 20, "1 MB"),
    (2 << 20, "2 MB"),
    (4 << 20, "4 MB"),
    (8 << 20, "8 MB"),
    (16 << 20, "16 MB"),
    (32 << 20, "32 MB"),
    (64 << 20, "64 MB"),
];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let options = |(bytes, _)| Options { buffer_bytes: Some(bytes), ..Options::default() };
    let start = |size| statsd::tidegate(setup, &options(size));
    let sides = SIZES.map(start).into_iter().collect::<Result<Vec<_>>>()?;
    let mut trials = vec![Vec::new(); sides.len()];
    let stop = Stop::After(Duration::from_secs(1));
    for _ in 0..setup.rounds {
        for (side, trials) in sides.iter().zip(&mut trials) {
            let blast = Blast::new(side.server.address, vec![b"a:1|c".to_vec()], stop);
            let blast = Blast { in_trains: true, rate: Some(RATE), burst: BURST, ..blast };
            let _others = [BusyNeighbour::start()?, BusyNeighbour::start()?];
            trials.push(Trial::run(side, blast)?);
        }
    }
    let bars = SIZES.iter().zip(&trials).map(|((_, name), trials)| {
        figure(&format!("buffer {name}"), "received %", trials, Trial::share).drawn()
    });
    Ok(bars.collect())
}

/// Another program on the server's core, which wants all of it; ended when dropped.
struct BusyNeighbour(Child);

impl BusyNeighbour {
    fn start() -> Result<Self> {
        let core = SERVER_CORE.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "taskset", "-c", &core, "sh", "-c"]);
        command.arg("while :; do :; done").stdin(Stdio::null());
        Ok(Self(command.spawn().context("start `setpriv`")?))
    }
}

impl Drop for BusyNeighbour {
    fn drop(&mut self) {
        // It does not end by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
