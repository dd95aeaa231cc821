//! statsd servers: ours, collectd's, the original on Node, and a loop that only receives.
//!
//! Ours and the loop report what they received. For the others it is what was sent, less what the
//! kernel dropped at their socket.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{Cpu, Server};
use crate::setup::{Setup, free_address};

/// How Tidegate is set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'a> {
    /// Name in the tables.
    pub name: &'a str,
    /// Buffer of the socket; its own default without.
    pub buffer_bytes: Option<usize>,
    /// Takes datagrams of one sender together (`UDP_GRO`).
    pub trains: bool,
    /// Time between flushes.
    pub flush: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { name: "Tidegate", buffer_bytes: None, trains: false, flush: "1h" }
    }
}

/// A running statsd server.
pub(crate) struct Statsd {
    /// The server; its address is where datagrams go.
    pub server: Server,
    source: CountSource,
}

/// How a server says what it received.
enum CountSource {
    /// Nothing: the kernel knows what did not get through.
    Nothing,
    /// Asked at its management port; the kernel's drops are of datagrams, or of whole trains.
    Stats { management: SocketAddr, are_drops_exact: bool },
    /// Bytes so far, as the last line of a file.
    Bytes(PathBuf),
}

/// What came of datagrams since the server's start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    /// Received, as the server counts; of a server that does not say, none.
    pub received: u64,
    /// Lines in them, likewise.
    pub lines: u64,
    /// Bytes in them, likewise.
    pub bytes: u64,
    /// Dropped by the kernel, as the server says.
    pub dropped: u64,
    /// Dropped by the kernel, as it says itself.
    pub dropped_by_kernel: u64,
    /// CPU time of the server.
    pub cpu: Cpu,
}

/// Tidegate with one receiver.
pub(crate) fn tidegate(setup: &Setup, options: &Options<'_>) -> Result<Statsd> {
    let dir = setup.dir("statsd")?;
    let (address, management) = (free_port()?, free_address()?);
    let buffer = options
        .buffer_bytes
        .map_or_else(String::new, |bytes| format!("receive_buffer_bytes = \"{bytes}\"\n"));
    let config = format!(
        "[statsd]\nlisten = [\"udp:{address}\"]\nmanagement = \"{management}\"\nreceivers = 1\n\
         trains = {}\nflush = \"{}\"\n{buffer}\
         backend = [{{ kind = \"file\", to = \"/dev/null\" }}]\n",
        options.trains, options.flush
    );
    let file = dir.join("tidegate.toml");
    fs::write(&file, config)?;
    let words = [&*shown(&setup.tidegate()?), "statsd", "--config", &shown(&file)];
    let source = CountSource::Stats { management, are_drops_exact: !options.trains };
    start(options.name, &words, &dir, address, source)
}

/// collectd with its statsd plugin alone; it has no setting for the buffer.
pub(crate) fn collectd(setup: &Setup) -> Result<Statsd> {
    let dir = setup.dir("collectd")?;
    let address = free_port()?;
    let config = format!(
        "Hostname \"bench\"\nBaseDir \"{dir}\"\nPIDFile \"{dir}/pid\"\n\
         PluginDir \"/usr/lib/collectd\"\nTypesDB \"/usr/share/collectd/types.db\"\n\
         LoadPlugin statsd\n\
         <Plugin statsd>\n  Host \"{}\"\n  Port \"{}\"\n</Plugin>\n",
        address.ip(),
        address.port(),
        dir = dir.display(),
    );
    let file = dir.join("collectd.conf");
    fs::write(&file, config)?;
    let words = ["collectd", "-f", "-C", &shown(&file)];
    let started = start("collectd", &words, &dir, address, CountSource::Nothing);
    started.context("hint: apt-get install collectd-core")
}

/// The original; it has no setting for the buffer.
pub(crate) fn node(setup: &Setup) -> Result<Statsd> {
    let dir = setup.dir("node")?;
    let (address, management) = (free_port()?, free_address()?);
    let config = format!(
        "{{ address: '{}', port: {}, mgmt_address: '{}', mgmt_port: {}, backends: [],\n  \
         flushInterval: 3600000 }}\n",
        address.ip(),
        address.port(),
        management.ip(),
        management.port(),
    );
    let file = dir.join("config.js");
    fs::write(&file, config)?;
    let program = node_program(setup);
    ensure!(
        program.exists(),
        "statsd `{}`: missing; hint: cargo xtask setup --test",
        program.display()
    );
    let words = ["node", &shown(&program), &shown(&file)];
    start("Node statsd", &words, &dir, address, CountSource::Nothing)
}

/// The original's program.
pub(crate) fn node_program(setup: &Setup) -> PathBuf {
    setup.root().join("target/statsd-suite/node_modules/statsd/stats.js")
}

/// This program's own loop, which receives as Tidegate does and looks at nothing.
pub(crate) fn bare(setup: &Setup, name: &str, trains: bool) -> Result<Statsd> {
    let dir = setup.dir("bare")?;
    let address = free_port()?;
    let (program, to) = (std::env::current_exe()?, address.to_string());
    let mut words = vec![shown(&program), "--receive".to_owned(), to];
    words.extend(trains.then(|| "--trains".to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    start(name, &words, &dir, address, CountSource::Bytes(dir.join("output.log")))
}

fn start(
    name: &str,
    words: &[&str],
    dir: &Path,
    address: SocketAddr,
    source: CountSource,
) -> Result<Statsd> {
    let mut is_bound = || socket(address).is_ok();
    let server = Server::start_until(name, words, dir, address, &mut is_bound)?;
    Ok(Statsd { server, source })
}

impl Statsd {
    /// What came of all datagrams so far, once none waits at the socket any more.
    ///
    /// # Errors
    /// When datagrams still wait after a minute, or the server does not answer.
    pub(crate) fn count(&self) -> Result<Count> {
        self.wait()?;
        let dropped_by_kernel = socket(self.server.address)?.dropped;
        let cpu = self.server.cpu()?;
        let count =
            Count { dropped_by_kernel, dropped: dropped_by_kernel, cpu, ..Count::default() };
        match &self.source {
            CountSource::Nothing => Ok(count),
            CountSource::Stats { management, .. } => {
                let page = stats(*management)?;
                let number = |name: &str| number(&page, name);
                Ok(Count {
                    received: number("statsd.packets: ")?,
                    lines: number("statsd.lines: ")?,
                    bytes: number("statsd.bytes: ")?,
                    dropped: number(".dropped_by_kernel: ")?,
                    ..count
                })
            }
            CountSource::Bytes(file) => {
                let text = fs::read_to_string(file)?;
                let bytes = text.lines().last().and_then(|line| line.parse().ok()).unwrap_or(0);
                Ok(Count { bytes, ..count })
            }
        }
    }

    /// Whether it counts every datagram that the kernel drops.
    pub(crate) fn counts_drops(&self) -> bool {
        matches!(self.source, CountSource::Stats { are_drops_exact: true, .. })
    }

    /// How many datagrams of those `sent`, each of `bytes`, came through between two counts.
    pub(crate) fn received(
        &self,
        (before, after): (&Count, &Count),
        sent: u64,
        bytes: usize,
    ) -> u64 {
        match &self.source {
            CountSource::Nothing => sent - (after.dropped - before.dropped),
            CountSource::Stats { .. } => after.received - before.received,
            CountSource::Bytes(_) => (after.bytes - before.bytes) / bytes as u64,
        }
    }

    /// Waits until the socket is empty and what was taken from it is counted.
    fn wait(&self) -> Result<()> {
        const COUNTED: Duration = Duration::from_millis(250);
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if socket(self.server.address)?.waiting_bytes == 0 {
                thread::sleep(COUNTED);
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("server `{}`: datagrams still wait", self.server.name)
    }
}

/// What the kernel says of a UDP socket.
struct Udp {
    waiting_bytes: u64,
    dropped: u64,
}

/// Reads /proc/net/udp (proc_pid_net(5)): the local address in hexadecimal is the second field,
/// the queues are the fifth, drops the last.
fn socket(address: SocketAddr) -> Result<Udp> {
    let table = fs::read_to_string("/proc/net/udp").context("read `/proc/net/udp`")?;
    let port = format!(":{:04X}", address.port());
    let line = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| fields.get(1).is_some_and(|local| local.ends_with(&port)))
        .with_context(|| format!("no socket is bound to `{address}`"))?;
    let queues = line.get(4).and_then(|queues| queues.split_once(':'));
    let waiting = queues.and_then(|(_, waiting)| u64::from_str_radix(waiting, 16).ok());
    let dropped = line.last().and_then(|dropped| dropped.parse().ok());
    let fields =
        waiting.zip(dropped).context("read `/proc/net/udp`: other fields than expected")?;
    Ok(Udp { waiting_bytes: fields.0, dropped: fields.1 })
}

/// The management port's answer to `stats`.
fn stats(management: SocketAddr) -> Result<String> {
    let mut stream = TcpStream::connect(management)?;
    stream.write_all(b"stats\nquit\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn number(page: &str, name: &str) -> Result<u64> {
    let number = page.lines().find_map(|line| line.split_once(name)?.1.parse().ok());
    number.with_context(|| format!("management port: no `{name}` in\n{page}"))
}

/// A port for datagrams that nobody is bound to.
fn free_port() -> Result<SocketAddr> {
    Ok(std::net::UdpSocket::bind("127.0.0.1:0")?.local_addr()?)
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
