//! The siege of the gateway: attacks by single clients beside honest ones, then rest, then the
//! account.
//!
//! It passes when all of this holds:
//! - every honest client got its right answer, and nobody got what is another's;
//! - memory stayed bounded at any moment;
//! - what attackers opened is closed when they have gone;
//! - entries on disk answer as hits after a restart;
//! - the journal still has the lines from before the siege, and no id of a hashed route in clear;
//! - others can read no file;
//! - no line of the log is a client's.

mod account;
mod assault;
mod attacks;
mod edge;
mod expected;
mod honest;
mod origin;
mod turns;
mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use testkit::free_port;

use self::account::{Account, Failure};
use self::attacks::ATTACKS;
use self::edge::{Edge, Listen, Open, Program};
use self::honest::{DISK_KEYS, Honest, Kind, Scene};
use self::origin::Careless;
use self::turns::Turns;
use crate::process::rss_bytes;

/// The cache has 20 MB, requests under way 64 MB; the rest is code, stacks, buffers, the index of
/// the disk.
const RSS_BYTES_MAX: u64 = 200 << 20;
/// Time for what attackers left to run into its limits.
const REST: Duration = Duration::from_secs(90);
/// Sockets that may come and go by themselves.
const SOCKETS_SPARE: usize = 4;
const SAMPLE: Duration = Duration::from_millis(20);

/// What to do.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program.
    pub binary: PathBuf,
    /// How long it is attacked.
    pub time: Duration,
    /// Of all chance.
    pub seed: u64,
    /// Only attacks of these names; empty: all.
    pub only: Vec<String>,
    /// File descriptors that the gateway may have; none: as many as this process.
    pub descriptors: Option<u64>,
}

impl Options {
    fn program(&self) -> Program {
        Program { binary: self.binary.clone(), descriptors: self.descriptors }
    }
}

/// What was found when the attackers had gone.
#[derive(Debug, Default)]
struct Findings {
    rss_bytes_max: u64,
    open: Open,
    sockets: (usize, usize),
    not_hits: Vec<String>,
    lost_lines: Vec<String>,
    in_clear: Vec<String>,
    readable: Vec<PathBuf>,
    forged: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// When anything was not as it must be.
pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen = chosen(&options.only)?;
    let seconds = options.time.as_secs();
    println!("soak gateway --attacks: seed {}, {seconds} s", options.seed);
    let on_loopback = || SocketAddr::from(([127, 0, 0, 1], free_port()));
    let listen = Listen { public: on_loopback(), admin: on_loopback() };
    let origin = Careless::start(listen.public).context("starting the origin")?;
    let users: Vec<String> = (0..honest::USERS).map(honest::user).collect();
    let mut edge = Edge::start(options.program(), listen, origin.address, &users)?;
    let scene = Scene {
        public: listen.public,
        admin: listen.admin,
        account: Account::new(),
        stop: AtomicBool::new(false),
        fresh: AtomicU64::new(0),
    };
    let mut findings = Findings { sockets: (edge.sockets(), 0), ..Findings::default() };
    fill_disk(&scene, &edge, options.seed)?;

    findings.rss_bytes_max = besiege(options, chosen, &scene, &edge);
    let rested = rest(&scene, &edge, &origin, &mut findings).and_then(|()| {
        findings.forged = forged(&edge.server.stderr());
        edge.restart().context("restarting the gateway")?;
        look_back(&scene, &edge, options.seed, &mut findings)
    });
    scene.account.print();
    rested.with_context(|| format!("the gateway wrote: {}", tail(&edge.server.stderr())))?;
    print(&scene.account, &findings);
    verdict(&scene.account, &findings)
}

/// The indexes of the attacks of these names.
fn chosen(only: &[String]) -> Result<Vec<usize>> {
    let is_known = |name: &&String| ATTACKS.iter().any(|attack| attack.name == name.as_str());
    if let Some(unknown) = only.iter().find(|name| !is_known(name)) {
        let names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        bail!("no attack is called `{unknown}`; there are {}", names.join(", "));
    }
    let is_chosen = |name: &str| only.is_empty() || only.iter().any(|it| it == name);
    Ok((0..ATTACKS.len()).filter(|at| is_chosen(ATTACKS[*at].name)).collect())
}

/// Stores the entries that must outlive the siege, and waits until they are on disk.
fn fill_disk(scene: &Scene, edge: &Edge, seed: u64) -> Result<()> {
    let mut client = disk_client(scene, seed);
    for key in 0..DISK_KEYS {
        if let Err(Failure::WrongBody(what) | Failure::Other(what)) = client.disk_entry(key) {
            bail!("before any attack: {what}");
        }
    }
    edge.wait("written its entries", |edge| {
        Ok(edge.metric("tidegate_disk_writes_total")? >= DISK_KEYS)
    })
}

fn disk_client(scene: &Scene, seed: u64) -> Honest<'_> {
    let number = Kind::ALL.iter().position(|(kind, _)| *kind == Kind::Disk);
    Honest::new(scene, number.expect("it is one of the kinds"), seed)
}

/// Has everybody ask and attack for the whole time; returns the most memory that was seen.
fn besiege(options: &Options, chosen: Vec<usize>, scene: &Scene, edge: &Edge) -> u64 {
    let end = Instant::now() + options.time;
    let turns = Turns::new(chosen, options.time, options.seed);
    thread::scope(|scope| {
        for number in 0..Kind::ALL.len() {
            let client = Honest::new(scene, number, options.seed);
            scope.spawn(move || client.run());
        }
        let turns = &turns;
        for _ in 0..turns::ATTACKERS {
            scope.spawn(move || turns.run(scene, edge, end));
        }
        let pid = edge.server.process_id();
        let mut most = 0;
        while Instant::now() < end {
            most = most.max(rss_bytes(pid));
            thread::sleep(SAMPLE);
        }
        scene.stop.store(true, Ordering::Relaxed);
        most
    })
}

/// Waits until nothing is open any more.
fn rest(scene: &Scene, edge: &Edge, origin: &Careless, findings: &mut Findings) -> Result<()> {
    let deadline = Instant::now() + REST;
    let pid = edge.server.process_id();
    let before = findings.sockets.0;
    loop {
        findings.rss_bytes_max = findings.rss_bytes_max.max(rss_bytes(pid));
        findings.open = edge.open()?;
        if findings.open == Open::default() {
            origin.close_connections();
        }
        findings.sockets.1 = edge.sockets();
        let is_closed = findings.sockets.1 <= before + SOCKETS_SPARE;
        if (findings.open == Open::default() && is_closed) || Instant::now() > deadline {
            return Ok(());
        }
        thread::sleep(SAMPLE * 5);
        ensure!(scene.stop.load(Ordering::Relaxed), "somebody still attacks");
    }
}

/// Asks a new process for the entries on disk, and reads what the old one has written.
fn look_back(scene: &Scene, edge: &Edge, seed: u64, findings: &mut Findings) -> Result<()> {
    let mut client = disk_client(scene, seed);
    for key in 0..DISK_KEYS {
        match client.disk_entry(key) {
            Ok(cache) if cache.contains("hit") => {}
            Ok(cache) => findings.not_hits.push(format!("{key}: {cache}")),
            Err(Failure::WrongBody(what) | Failure::Other(what)) => findings.not_hits.push(what),
        }
    }
    let recorded = edge.recorded().context("reading the journal")?;
    let recorded = String::from_utf8_lossy(&recorded);
    ensure!(recorded.contains("/s/key/"), "the journal has nothing of the siege");
    let learned = (0..honest::USERS).map(edge::learned_path);
    findings.lost_lines = learned.filter(|path| !recorded.contains(&**path)).collect();
    let secrets = [attacks::SECRET_ID, attacks::SECRET_TOKEN, "honest-user-"];
    let is_secret = |line: &&str| secrets.iter().any(|secret| line.contains(secret));
    findings.in_clear = recorded.lines().filter(is_secret).map(str::to_owned).collect();
    findings.readable = edge.readable_by_others().context("reading modes of files")?;
    Ok(())
}

/// Lines of the log that speak to the terminal, or that a client has begun.
fn forged(log: &str) -> Vec<String> {
    let is_raw = |line: &&str| line.contains(['\u{1b}', '\u{7}', '\r']);
    let is_begun = |line: &&str| line.starts_with("2026 FAK") || line.starts_with("ERROR fake");
    let forged = log.lines().filter(|line| is_raw(line) || is_begun(line));
    forged.map(|line| line.escape_debug().to_string()).collect()
}

fn tail(text: &str) -> &str {
    let start = text.len().saturating_sub(2000);
    text.get(start..).unwrap_or(text)
}

fn print(account: &Account, findings: &Findings) {
    let (asked, failed, wrong) = account.totals();
    println!("honest requests: {asked}, failed: {failed}");
    println!("wrong bodies: {wrong}");
    println!("memory at most: {} MB", findings.rss_bytes_max >> 20);
    let Open { flights, waiters, tunnels, inflight_bytes } = findings.open;
    println!("open flights: {flights}, waiters: {waiters}, tunnels: {tunnels}");
    println!("bytes in flight: {inflight_bytes}");
    println!("open sockets: {} before, {} after", findings.sockets.0, findings.sockets.1);
    println!("entries on disk: {DISK_KEYS}, not hits: {}", findings.not_hits.len());
    println!("old lines of the journal: {}, lost: {}", honest::USERS, findings.lost_lines.len());
    println!("ids and tokens in clear: {}", findings.in_clear.len());
    println!("files that others can read: {}", findings.readable.len());
    println!("forged lines of the log: {}", findings.forged.len());
    for line in findings.forged.iter().take(5) {
        println!("forged: {line}");
    }
    for example in findings.not_hits.iter().take(5) {
        println!("no hit: {example}");
    }
    for line in findings.in_clear.iter().take(5) {
        println!("in clear: {line}");
    }
    for path in findings.readable.iter().take(5) {
        println!("readable: {}", path.display());
    }
}

fn verdict(account: &Account, findings: &Findings) -> Result<()> {
    let (asked, failed, wrong) = account.totals();
    let checks = [
        (failed == 0, "honest requests"),
        (wrong == 0, "wrong bodies"),
        (findings.rss_bytes_max < RSS_BYTES_MAX, "memory"),
        (findings.open == Open::default(), "what stayed open"),
        (findings.sockets.1 <= findings.sockets.0 + SOCKETS_SPARE, "leaked connections"),
        (findings.not_hits.is_empty(), "entries on disk"),
        (findings.lost_lines.is_empty(), "old lines of the journal"),
        (findings.in_clear.is_empty(), "ids in clear"),
        (findings.readable.is_empty(), "files that others can read"),
        (findings.forged.is_empty(), "forged lines of the log"),
        (asked > 0 && account.attacks() > 0, "nothing was tried"),
    ];
    let failed: Vec<&str> = checks.iter().filter(|check| !check.0).map(|check| check.1).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("passed");
    Ok(())
}
