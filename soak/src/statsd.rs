//! The soak of statsd: ends and kills of the server, and a carbon that comes, goes and hangs; then
//! the account. The carbon also hangs while the server is started again.
//!
//! Each name is sent once, with 1, by TCP. A burst is confirmed when the server's management port
//! shows its last name. It passes when all of this holds:
//! - no name is stored more than once, under whatever times;
//! - each confirmed name is stored, or the start after a kill named it;
//! - no backend counts a flush as lost.
//!
//! A start names the time since which samples are lost, and flushes that may not have arrived.

mod carbon;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use testkit::{Server, TempDir, free_port};

use crate::dice::Dice;
use carbon::{Carbon, Mode};

/// Names of a burst.
const BURST: u64 = 20;
/// How long a burst may take to be confirmed; a server may be ending meanwhile.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(2);
/// How long everything may take to arrive at last: retries come every half minute.
const REST: Duration = Duration::from_secs(90);
/// How far a flush may be from the samples in it, in seconds: 2.5 intervals, and rounding.
const FLUSH_REACH_S: f64 = 3.5;

/// What to do.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program.
    pub binary: PathBuf,
    /// How long faults are made.
    pub time: Duration,
    /// Of all chance.
    pub seed: u64,
}

/// Names that were sent together.
#[derive(Debug, Clone, Copy)]
struct Burst {
    first: u64,
    sent_s: f64,
    confirmed_s: Option<f64>,
}

/// What a start said of the server before it.
#[derive(Debug, Clone)]
struct Named {
    /// Samples that came between these are lost.
    samples_s: Option<(f64, f64)>,
    /// Times of the flushes that may not have arrived.
    flushes_s: Vec<f64>,
}

/// Where the server's files and ports are.
struct Place {
    binary: PathBuf,
    dir: TempDir,
    input: SocketAddr,
    management: SocketAddr,
}

#[derive(Debug, Default)]
struct Faults {
    ends: u64,
    kills: u64,
    modes: u64,
}

/// Runs it.
///
/// # Errors
/// When anything was not as it must be.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("soak statsd: seed {}, {} s", options.seed, options.time.as_secs());
    let carbon = Carbon::start()?;
    let place = Place::make(&options.binary, carbon.port)?;
    let (bursts, stop) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let (server, named, faults) = thread::scope(|scope| {
        let sender = scope.spawn(|| send(&place, &stop, &bursts));
        let outcome = make_faults(options, &place, &carbon);
        stop.store(true, Ordering::Relaxed);
        drop(sender.join());
        outcome
    })?;
    carbon.set(Mode::There);
    let bursts = bursts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let deadline = Instant::now() + REST;
    while !missing(&bursts, &carbon, &named).is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
    }
    let lost = figure(&ask(place.management, "stats\n")?, "statsd.backends.graphite.lost: ");
    drop(server);
    account(&bursts, &carbon, &named, &faults, lost.as_deref())
}

impl Place {
    fn make(binary: &Path, carbon: u16) -> Result<Self> {
        let dir = TempDir::new().context("making a directory")?;
        let address = || SocketAddr::from(([127, 0, 0, 1], free_port()));
        let (input, management) = (address(), address());
        let config = format!(
            "[statsd]\nlisten = [\"tcp:{input}\"]\nmanagement = \"{management}\"\n\
             flush = \"1s\"\nidle_timeout = \"5s\"\n\
             backend = [{{ kind = \"graphite\", to = \"127.0.0.1:{carbon}\" }}]\n"
        );
        fs::write(dir.path().join("tidegate.toml"), config).context("writing its file")?;
        Ok(Self { binary: binary.to_owned(), dir, input, management })
    }

    fn start(&self) -> Result<Server> {
        let mut command = Command::new(&self.binary);
        command.arg("statsd").arg("-c").arg(self.dir.path().join("tidegate.toml"));
        Server::spawn(command, self.management).context("starting the server")
    }
}

/// Sends bursts until it is to stop.
fn send(place: &Place, stop: &AtomicBool, bursts: &Mutex<Vec<Burst>>) {
    let mut first = 0;
    while !stop.load(Ordering::Relaxed) {
        let mut burst = Burst { first, sent_s: unix_s(), confirmed_s: None };
        if send_one(place, &burst).is_ok() {
            burst.confirmed_s = Some(unix_s());
        } else {
            thread::sleep(Duration::from_millis(20));
        }
        bursts.lock().unwrap_or_else(PoisonError::into_inner).push(burst);
        first += BURST;
    }
}

fn send_one(place: &Place, burst: &Burst) -> Result<()> {
    let lines: String =
        (burst.first..burst.first + BURST).map(|name| format!("soak.n{name}:1|c\n")).collect();
    let mut stream = TcpStream::connect(place.input)?;
    stream.write_all(lines.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let last = format!("\"soak.n{}\"", burst.first + BURST - 1);
    let deadline = Instant::now() + CONFIRMED_WITHIN;
    while !ask(place.management, "counters\n")?.contains(&last) {
        if Instant::now() > deadline {
            bail!("nobody confirms it");
        }
    }
    Ok(())
}

fn ask(management: SocketAddr, command: &str) -> Result<String> {
    let mut stream = TcpStream::connect(management)?;
    stream.set_read_timeout(Some(CONFIRMED_WITHIN))?;
    stream.write_all(command.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn make_faults(
    options: &Options,
    place: &Place,
    carbon: &Carbon,
) -> Result<(Server, Vec<Named>, Faults)> {
    let mut dice = Dice::new(options.seed, 0);
    let (mut named, mut faults) = (Vec::new(), Faults::default());
    let mut server = place.start()?;
    let end = Instant::now() + options.time;
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(50 + dice.below(1200)));
        let signal = match dice.below(5) {
            0 | 1 => {
                carbon.set(dice.pick(&[
                    Mode::There,
                    Mode::Away,
                    Mode::Resets,
                    Mode::Hangs,
                    Mode::Hangs,
                ]));
                faults.modes += 1;
                continue;
            }
            2 | 3 => "TERM",
            _ => "KILL",
        };
        server.signal(signal).context("ending the server")?;
        let status = server.wait().context("waiting for its end")?;
        let ended_s = unix_s();
        if signal == "TERM" && !status.success() {
            bail!("it did not end well: {}", server.stderr());
        }
        *(if signal == "TERM" { &mut faults.ends } else { &mut faults.kills }) += 1;
        if dice.chance(50) {
            thread::sleep(Duration::from_millis(dice.below(2500)));
        }
        server = place.start()?;
        let report = named_by(&ask(place.management, "stats\n")?, ended_s);
        if signal == "TERM" && report.as_ref().is_some_and(|report| report.samples_s.is_some()) {
            bail!("it says that samples are lost after an end: {report:?}");
        }
        named.extend(report);
    }
    Ok((server, named, faults))
}

/// What a start says of the server before it, which was gone by then.
fn named_by(stats: &str, ended_s: f64) -> Option<Named> {
    let after = figure(stats, "statsd.snapshot.lost_after_unix_s: ");
    let after = after.and_then(|after| after.parse::<f64>().ok());
    let flushes = stats.lines().filter_map(|line| {
        let rest = line.strip_prefix("statsd.snapshot.doubtful_flushes_unix_s")?;
        rest.rsplit(": ").next()?.parse::<f64>().ok()
    });
    let named =
        Named { samples_s: after.map(|after_s| (after_s, ended_s)), flushes_s: flushes.collect() };
    (named.samples_s.is_some() || !named.flushes_s.is_empty()).then_some(named)
}

impl Named {
    /// Whether it names a burst that was confirmed then.
    fn names(&self, burst: &Burst, confirmed_s: f64) -> bool {
        let in_samples =
            |(after_s, ended_s): (f64, f64)| burst.sent_s <= ended_s && confirmed_s >= after_s;
        let in_flush =
            |time: &f64| burst.sent_s <= time + 1.0 && confirmed_s >= time - FLUSH_REACH_S;
        self.samples_s.is_some_and(in_samples) || self.flushes_s.iter().any(in_flush)
    }
}

/// Confirmed names that are not stored, and that nothing names.
fn missing(bursts: &[Burst], carbon: &Carbon, named: &[Named]) -> Vec<u64> {
    let stored = carbon.stored();
    let confirmed = bursts.iter().filter_map(|burst| Some((burst, burst.confirmed_s?)));
    let silent = confirmed.filter(|(burst, at)| !named.iter().any(|n| n.names(burst, *at)));
    let names = silent.flat_map(|(burst, _)| burst.first..burst.first + BURST);
    names.filter(|name| !stored.contains_key(name)).collect()
}

fn account(
    bursts: &[Burst],
    carbon: &Carbon,
    named: &[Named],
    faults: &Faults,
    lost: Option<&str>,
) -> Result<()> {
    let stored = carbon.stored();
    let confirmed = bursts.iter().filter(|burst| burst.confirmed_s.is_some());
    let confirmed: Vec<u64> =
        confirmed.flat_map(|burst| burst.first..burst.first + BURST).collect();
    let absent = confirmed.iter().filter(|name| !stored.contains_key(name)).count();
    let silent = missing(bursts, carbon, named);
    let doubled: Vec<_> = stored.iter().filter(|(_, sum)| **sum > 1.0).collect();
    let Faults { ends, kills, modes } = faults;
    println!("ends {ends}, kills {kills}, changes of carbon {modes}");
    println!("connections while carbon hung: {}", carbon.hung());
    println!("names sent: {}, confirmed: {}", bursts.len() as u64 * BURST, confirmed.len());
    println!("stored: {}", stored.len());
    println!("lost and named by the program: {}", absent - silent.len());
    println!("lost silently: {}", silent.len());
    println!("stored more than once: {}", doubled.len());
    if !silent.is_empty() || !doubled.is_empty() || lost != Some("0") {
        let example = silent
            .first()
            .and_then(|name| bursts.iter().find(|burst| burst.first == name - name % BURST));
        let (silent, doubled) = (silent.first(), doubled.first());
        bail!("silent {silent:?} ({example:?}), doubled {doubled:?}, lost {lost:?}: {named:?}");
    }
    if confirmed.is_empty() {
        bail!("nothing was confirmed");
    }
    Ok(())
}

fn figure(stats: &str, name: &str) -> Option<String> {
    stats.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

fn unix_s() -> f64 {
    stdx::unix_micros() as f64 / 1e6
}
