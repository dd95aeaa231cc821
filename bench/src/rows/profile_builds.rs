//! A scheduled build of the profiles of ten million users, after some of them have read something.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use journal::{Journal, Keep};
use serde_json::Value;
use stdx::RealDisk;
use testkit::Client;

use super::Row;
use crate::measure::Measurement;
use crate::process::Server;
use crate::setup::{self, Setup};

pub(super) const ROW: Row = Row {
    name: "profile-builds",
    what: "profiles of ten million users built anew, after 100,000 new reads",
    notes: "The journal has one read of each of 10 million users (a million with `--quick`).\n\
        The first build reads all of it, and each round one of 100,000 new reads, as many users.\n\
        Its time is the `seconds` of `/status`: reading, building, and writing the changes.\n\
        The next build comes 15 s after the start of `serve`, and nobody sends requests.\n\
        By then it has verified the profiles that it loaded; beside that, a build takes 1.3 s.\n\
        CPU time and resident memory are those of the whole process from its start on.",
    peers: &["tidegate"],
    run,
};

const NEW_READS: u64 = 100_000;
const ITEMS: u64 = 1_000;
const CATEGORIES: u64 = 10;
const KEEP_BYTES: u64 = 100 << 30;
const LOOK: Duration = Duration::from_millis(50);
const WAIT_TIMEOUT: Duration = Duration::from_secs(900);
const CONFIG: &str = "
[journal]
dir = \"journal\"
keep = { bytes = \"100GB\" }

[profiles]
file = \"profiles.db\"
items = \"items.jsonl\"
every = \"2s\"
items_min = 1
";

/// How a process built profiles once.
struct Build {
    seconds: f64,
    profiles: u64,
    cpu_seconds: f64,
    megabytes: f64,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let users = if setup.quick { 1_000_000 } else { 10_000_000 };
    let dir = setup.dir("profile-builds")?;
    write_items(&dir.join("items.jsonl"))?;
    record(&dir, 0..users, 0)?;
    let whole = build(setup, &dir)?;
    ensure!(whole.profiles == users, "{} profiles of {users}", whole.profiles);
    let mut rounds = Vec::new();
    for round in 1..=setup.rounds as u64 {
        let stride = users / NEW_READS;
        record(&dir, (0..NEW_READS).map(|number| number * stride + round), round)?;
        let built = build(setup, &dir)?;
        ensure!(built.profiles == users, "{} profiles of {users}", built.profiles);
        rounds.push(built);
    }
    fs::remove_dir_all(&dir)?;
    let of = |figure: &str, value: fn(&Build) -> f64| {
        Measurement::new("Tidegate, new reads", figure, rounds.iter().map(value))
    };
    let first = |figure: &str, value: f64| Measurement::new("Tidegate, whole", figure, [value]);
    Ok(vec![
        of("seconds", |build| build.seconds).at_most(1.0, "under 1 s"),
        of("CPU seconds", |build| build.cpu_seconds),
        of("MB resident", |build| build.megabytes),
        first("seconds", whole.seconds),
        first("CPU seconds", whole.cpu_seconds),
        first("MB resident", whole.megabytes),
    ])
}

fn write_items(path: &Path) -> Result<()> {
    let mut file = fs::File::create(path)?;
    for item in 0..ITEMS {
        writeln!(file, "{{\"id\":\"{item}\",\"category\":\"c{}\"}}", item % CATEGORIES)?;
    }
    Ok(())
}

/// Records one read of each of these users.
fn record(dir: &Path, users: impl IntoIterator<Item = u64>, round: u64) -> Result<()> {
    let options = journal::Options::new(dir.join("journal"));
    let options = journal::Options { keep: Keep { bytes: KEEP_BYTES, ..options.keep }, ..options };
    let journal = Journal::open(options, Arc::new(RealDisk))?;
    let lane = journal.lane();
    let mut time = Vec::new();
    exchange::write_rfc3339(stdx::unix_micros(), &mut time);
    let time = String::from_utf8(time)?;
    for user in users {
        let item = (user * 31 + round) % ITEMS;
        let line = format!(
            "{{\"time\":\"{time}\",\"id\":\"{:032x}\",\"method\":\"POST\",\
             \"path\":\"/1/feedback/read\",\"query\":\"item={item}\",\"status\":204,\
             \"user\":\"user-{user:08}\",\"total_us\":12}}\n",
            u128::from(user) << 64 | u128::from(round)
        );
        // The journal's queue is bounded; its writer is given time.
        while lane.append(|out| out.extend_from_slice(line.as_bytes())).is_err() {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Starts `serve`, waits for its next build, and ends it.
fn build(setup: &Setup, dir: &Path) -> Result<Build> {
    let (public, admin) = (setup::free_address()?, setup::free_address()?);
    let config = format!("[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n{CONFIG}");
    let file = dir.join("tidegate.toml");
    fs::write(&file, config)?;
    let (binary, file) = (setup.tidegate()?, file.to_string_lossy().into_owned());
    let command = [&*binary.to_string_lossy(), "serve", "-c", &file];
    let server = Server::start("Tidegate", &command, dir, admin, "/health/live")?;
    let begun = Instant::now();
    let learned = loop {
        ensure!(begun.elapsed() < WAIT_TIMEOUT, "waited in vain for a build");
        thread::sleep(LOOK);
        if let Some(learned) = learned(admin) {
            break learned;
        }
    };
    if let Some(error) = learned["error"].as_str() {
        bail!("the build failed: {error}");
    }
    Ok(Build {
        seconds: learned["seconds"].as_f64().context("a build without `seconds`")?,
        profiles: learned["profiles"].as_u64().context("a build without `profiles`")?,
        cpu_seconds: server.cpu()?.total_us() / 1e6,
        megabytes: server.peak_bytes() as f64 / 1e6,
    })
}

/// What the process says of its last build; none before one has ended.
fn learned(admin: SocketAddr) -> Option<Value> {
    let reply = Client::get(admin, "/status").try_send().ok()?;
    let status: Value = serde_json::from_slice(&reply.body).ok()?;
    Some(status["learned"].clone()).filter(|learned| !learned.is_null())
}
