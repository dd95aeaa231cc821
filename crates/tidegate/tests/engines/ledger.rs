//! A log that grows, a record process that is killed, and what must come out of it.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::TempDir;

const PATHS: u64 = 37;
/// Many, and so few rows: FerretDB looks through all of a collection to update one document.
const LINES_PER_MINUTE: u64 = 50_000;
/// How long the last run may take to deliver what is left.
const CATCH_UP: Duration = Duration::from_secs(180);

/// Count and sum of bytes for each path.
pub(crate) type Totals = BTreeMap<String, (i64, i64)>;

/// An engine under test.
pub(crate) trait Engine {
    fn url(&self) -> String;
    fn totals(&self) -> Totals;
    /// Kills it at once and starts it again.
    fn crash(&mut self);
}

/// Kills the record process `kills` times and the engine `crashes` times; panics unless the
/// engine then holds each line once.
pub(crate) fn prove(engine: &mut dyn Engine, kills: u64, crashes: u64) {
    let folder = TempDir::new().unwrap();
    configure(folder.path(), &engine.url());
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut written = 0;
    for kill in 0..kills {
        let process = start(folder.path(), &[]);
        let end = Instant::now() + Duration::from_millis(dice.below(3000));
        while Instant::now() < end {
            written = append(folder.path(), written, 1 + dice.below(200));
            pause();
        }
        if crashes > 0 && kill % (kills / crashes) == 0 {
            engine.crash();
        }
        drop(process);
    }
    written = append(folder.path(), written, 5000);
    catch_up(folder.path());
    assert_eq!(engine.totals(), expected(written), "of {written} lines");
    testkit::notice(&format!(
        "{written} lines, record process killed {kills} times, engine {crashes} times: \
         lost 0, doubled 0"
    ));
}

/// Paces the writer, and how often an end is looked for: nothing else depends on it.
fn pause() {
    std::thread::park_timeout(Duration::from_millis(20));
}

fn configure(folder: &Path, url: &str) {
    let text = format!(
        "node = \"n.1\"\n\
         [[source]]\nname = \"web\"\nfiles = [\"access.log\"]\n\
         [[rollup]]\nname = \"hits\"\nby = [\"path\", \"minute\"]\nsum = [\"bytes_out\"]\n\
         [[sink]]\nname = \"main\"\nurl = \"{url}\"\nflush = \"30ms\"\n"
    );
    std::fs::write(folder.join("tidegate.toml"), text).unwrap();
    append(folder, 0, 0);
}

fn start(folder: &Path, arguments: &[&str]) -> Process {
    let log = OpenOptions::new().create(true).append(true).open(folder.join("stderr")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(["events", "run", "-c"]).arg(folder.join("tidegate.toml")).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Process(command.spawn().unwrap())
}

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn catch_up(folder: &Path) {
    let mut process = start(folder, &["--once"]);
    let end = Instant::now() + CATCH_UP;
    let status = loop {
        if let Some(status) = process.0.try_wait().unwrap() {
            break Some(status);
        }
        if Instant::now() > end {
            break None;
        }
        pause();
    };
    let said = std::fs::read_to_string(folder.join("stderr")).unwrap();
    let start = said.len().saturating_sub(5000);
    let is_done = status.is_some_and(|status| status.success());
    assert!(is_done, "the last run ended with {status:?}: {}", &said[start..]);
}

/// Appends lines at once; returns how many there are.
fn append(folder: &Path, from: u64, count: u64) -> u64 {
    let mut file =
        OpenOptions::new().create(true).append(true).open(folder.join("access.log")).unwrap();
    let lines = (from..from + count).map(|id| {
        format!(
            "192.0.2.7 - - [21/Nov/2026:10:{:02}:00 +0000] \"GET /p{} HTTP/1.1\" 200 {id} \"-\" \
             \"-\"\n",
            id / LINES_PER_MINUTE % 60,
            id % PATHS
        )
    });
    file.write_all(lines.collect::<String>().as_bytes()).unwrap();
    from + count
}

fn expected(written: u64) -> Totals {
    let mut totals = Totals::new();
    for id in 0..written {
        let total = totals.entry(format!("/p{}", id % PATHS)).or_default();
        total.0 += 1;
        total.1 += i64::try_from(id).unwrap();
    }
    totals
}

/// Chance that is the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
