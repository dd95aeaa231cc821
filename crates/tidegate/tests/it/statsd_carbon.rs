//! Flushes to a real carbon (Debian's `graphite-carbon`), by text and by pickle, read back from its
//! whisper files.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::{Absent, Server, TempDir, free_port, require, skip};

use crate::running::{BINARY, until};

/// The Python that Debian's whisper belongs to.
const PYTHON: &str = "/usr/bin/python3";

/// Values by time, in seconds since the Unix epoch, of each series.
type Stored = BTreeMap<String, BTreeMap<u64, f64>>;

struct Carbon {
    _server: Server,
    text: u16,
    pickle: u16,
    folder: TempDir,
}

impl Carbon {
    /// Starts with a value a second; `None`, with the reason printed, where it is not installed.
    fn start() -> Option<Self> {
        let carbon = require("carbon-cache", Absent::Skip)?;
        let has_whisper = Command::new(PYTHON).args(["-c", "import whisper"]).status();
        if !has_whisper.is_ok_and(|status| status.success()) {
            skip("whisper is not installed; `cargo xtask setup --test` installs it");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let (text, pickle, query) = (free_port(), free_port(), free_port());
        let path = folder.path();
        let schemas = "[all]\npattern = .*\nretentions = 1s:10m\n";
        std::fs::write(path.join("storage-schemas.conf"), schemas).unwrap();
        let config = path.join("carbon.conf");
        std::fs::write(&config, configuration(path, [text, pickle, query])).unwrap();
        let mut command = Command::new(carbon);
        command.arg(format!("--config={}", config.display())).args(["--nodaemon", "start"]);
        let server = Server::spawn(command, SocketAddr::from(([127, 0, 0, 1], pickle))).unwrap();
        Some(Self { _server: server, text, pickle, folder })
    }

    /// A statsd that flushes here each second, in both ways.
    fn flushed_to(&self, udp: u16, management: SocketAddr) -> String {
        let (folder, text, pickle) = (self.folder.path().display(), self.text, self.pickle);
        format!(
            "[statsd]\nlisten = [\"udp:127.0.0.1:{udp}\"]\nmanagement = \"{management}\"\n\
             flush = \"1s\"\nspool_dir = \"{folder}/spool\"\n\
             [[statsd.backend]]\nkind = \"graphite\"\nto = \"127.0.0.1:{text}\"\n\
             global_prefix = \"text\"\n\
             [[statsd.backend]]\nkind = \"graphite\"\nto = \"127.0.0.1:{pickle}\"\n\
             global_prefix = \"pickle\"\nprotocol = \"pickle\"\n"
        )
    }

    /// What is stored of the series that are.
    fn stored(&self, names: &[String]) -> Stored {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/statsd_carbon/read_whisper.py");
        let mut reader = Command::new(PYTHON);
        reader.arg(script).arg(self.folder.path().join("whisper"));
        let mut reader = reader.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        reader.stdin.take().unwrap().write_all(names.join("\n").as_bytes()).unwrap();
        let output = reader.wait_with_output().unwrap();
        assert!(output.status.success(), "whisper's files cannot be read");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn configuration(folder: &Path, [text, pickle, query]: [u16; 3]) -> String {
    let at = folder.display();
    format!(
        "[cache]\nSTORAGE_DIR = {at}\nCONF_DIR = {at}\nLOG_DIR = {at}\nPID_DIR = {at}\n\
         LOCAL_DATA_DIR = {at}/whisper\nUSER =\nENABLE_LOGROTATION = False\nENABLE_TAGS = False\n\
         MAX_CACHE_SIZE = inf\nMAX_UPDATES_PER_SECOND = inf\nMAX_CREATES_PER_MINUTE = inf\n\
         WHISPER_AUTOFLUSH = True\nENABLE_UDP_LISTENER = False\n\
         LINE_RECEIVER_INTERFACE = 127.0.0.1\nLINE_RECEIVER_PORT = {text}\n\
         PICKLE_RECEIVER_INTERFACE = 127.0.0.1\nPICKLE_RECEIVER_PORT = {pickle}\n\
         CACHE_QUERY_INTERFACE = 127.0.0.1\nCACHE_QUERY_PORT = {query}\n"
    )
}

#[test]
fn carbon_stores_what_was_sent_by_text_and_by_pickle_alike() {
    let Some(carbon) = Carbon::start() else { return };
    let (udp, management) = (free_port(), SocketAddr::from(([127, 0, 0, 1], free_port())));
    let config = carbon.flushed_to(udp, management);
    let path = carbon.folder.path().join("t.toml");
    std::fs::write(&path, config).unwrap();
    let _statsd = start(&path, management);

    let tagged = "hits.KIND;path=/a\"'b;who=J\u{fc}rgen_\u{2603}";
    let line = "hits:KIND|c|#who:J\u{fc}rgen \u{2603},path:/a\"'b";
    let names = |prefix: &str| -> Vec<String> {
        let names = ["counters.a.count", "counters.a.rate", "gauges.g", "sets.s.count"];
        let timers = ["upper_90", "sum", "mean", "count"].map(|stat| format!("timers.t.{stat}"));
        let tagged = format!("counters.{}", tagged.replace("KIND", "count"));
        let names = names.iter().map(|name| (*name).to_owned()).chain(timers).chain([tagged]);
        names.map(|name| format!("{prefix}.{name}")).collect()
    };
    let (text, pickle) = (names("text"), names("pickle"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for round in 1..=3 {
        let samples = format!(
            "a:{round}|c\ng:-{round}.25|g\ng:0|g\ng:-{round}.25|g\ns:x|s\ns:y|s\n\
             t:320:450:{round}|ms\n{}",
            line.replace("KIND", "0.5")
        );
        socket.send_to(samples.as_bytes(), ("127.0.0.1", udp)).unwrap();
        let sum = f64::from(round * (round + 1) / 2);
        until("the round's sum in both", || {
            let stored = carbon.stored(&[text.clone(), pickle.clone()].concat());
            let sums = [&text[0], &pickle[0]].map(|name| stored.get(name).map(total));
            sums == [Some(sum); 2]
        });
    }
    let mut stored = Stored::new();
    until("the rounds of all series, alike in both", || {
        stored = carbon.stored(&[text.clone(), pickle.clone()].concat());
        let rounds = |name: &String| -> Vec<(u64, f64)> {
            let values = stored.get(name).into_iter().flatten();
            values.take(3).map(|(time, value)| (*time, *value)).collect()
        };
        text.iter().zip(&pickle).all(|(text, pickle)| {
            let (text, pickle) = (rounds(text), rounds(pickle));
            text.len() == 3 && text == pickle
        })
    });
    let has = |name: &str, value: f64| {
        let values = stored.get(name).unwrap_or_else(|| panic!("no `{name}`: {stored:?}"));
        assert!(values.values().any(|stored| *stored == value), "{name}: {values:?}");
    };
    for prefix in ["text", "pickle"] {
        has(&format!("{prefix}.sets.s.count"), 2.0);
        has(&format!("{prefix}.timers.t.sum"), 773.0);
        has(&format!("{prefix}.timers.t.upper_90"), 450.0);
        has(&format!("{prefix}.counters.{}", tagged.replace("KIND", "count")), 0.5);
    }
}

#[test]
fn carbon_stores_each_count_once_whenever_the_server_is_started_again() {
    let Some(carbon) = Carbon::start() else { return };
    let (udp, management) = (free_port(), SocketAddr::from(([127, 0, 0, 1], free_port())));
    let path = carbon.folder.path().join("t.toml");
    std::fs::write(&path, carbon.flushed_to(udp, management)).unwrap();
    let names = ["text", "pickle"].map(|prefix| format!("{prefix}.counters.a.count"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut statsd = start(&path, management);
    // Ends within an interval: what came before and after is stored, in one value for each second.
    for samples in ["a:1|c", "a:5|c", "a:6|c"] {
        socket.send_to(samples.as_bytes(), ("127.0.0.1", udp)).unwrap();
        statsd.signal("TERM").unwrap();
        assert!(statsd.wait().unwrap().success());
        statsd = start(&path, management);
    }
    until("the sum of everything", || {
        let stored = carbon.stored(&names);
        stored.values().map(total).collect::<Vec<_>>() == [12.0, 12.0]
    });
    // A start that comes later than the interval stores it at its own time.
    socket.send_to(b"a:7|c", ("127.0.0.1", udp)).unwrap();
    statsd.signal("TERM").unwrap();
    assert!(statsd.wait().unwrap().success());
    let ended_s = unix_s();
    until("a second slot", || unix_s() > ended_s + 2);
    let _statsd = start(&path, management);
    until("the sum with what was left", || {
        let stored = carbon.stored(&names[..1]);
        stored.values().map(total).collect::<Vec<_>>() == [19.0]
    });
    let late = carbon.stored(&names[..1])[&names[0]].clone();
    let (time, _) = late.iter().find(|(_, value)| **value == 7.0).expect("it is there alone");
    assert!(*time <= ended_s + 2, "{time} is not of the interval that ended by {ended_s}");
}

fn start(config: &Path, management: SocketAddr) -> Server {
    let mut command = Command::new(BINARY);
    command.arg("statsd").arg("--config").arg(config);
    Server::spawn(command, management).unwrap()
}

fn unix_s() -> u64 {
    stdx::unix_micros() / 1_000_000
}

fn total(values: &BTreeMap<u64, f64>) -> f64 {
    values.values().sum()
}
