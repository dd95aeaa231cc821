//! The gateway under siege: its configuration, its process, and what it says of itself.
//!
//! Invariant: its bounds are small, so that one machine can reach each of them. Never here: what
//! must hold of what it says.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use serde_json::Value;
use testkit::{Client, NameServer, Server, TempDir};

/// Token of the admin listener.
pub(super) const TOKEN: &str = "siege-token";
/// A name that the siege's name server has an address for.
const NAME: &str = "app.siege.test";
/// Time for profiles to be loaded and for answers to reach the disk.
const SETTLE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(20);

/// A share of 15 % keeps three attackers at a time below half of everything; what an attacker holds
/// may outlast its turn. Methods are named where entries are on disk, and on the last route, which
/// takes what another forbids. Any other method that succeeds removes what it names.
const CONFIG: &str = r#"
cores = { edge = 2, work = 1 }

[cache]
bytes = "20MB"
disk = { dir = "cache", bytes = "1GB" }

[profiles]
file = "profiles.db"

[journal]
dir = "journal"
user = "hash"
user_key = "of the siege"
keep = { bytes = "2GB" }

[limits]
inflight_bytes = "64MB"
client_share = "15%"
idle_timeout = "20s"
head_timeout = "8s"
receive_timeout = "8s"
body_timeout = "30s"
send_timeout = "10s"
rate_grace = "5s"

[[route]]
path = "/s/{*rest}"
to = "upstream:origin"
cache = { ttl = "10m" }

[[route]]
path = "/d/{*rest}"
to = "upstream:origin"
methods = ["GET", "POST"]
cache = { ttl = "2h", disk = true }

[[route]]
path = "/r/{*rest}"
to = "upstream:origin"
cache = {}

[[route]]
path = "/u/{*rest}"
to = "upstream:origin"
cache = { ttl = "10m", per_user = true }
personalise = { user = "cookie:user" }

[[route]]
path = "/q/{*rest}"
to = "upstream:origin"
personalise = { user = "query:uid" }

[[route]]
path = "/strict/{*rest}"
to = "upstream:origin"
cache = {}
coalesce = "strict"
hold = "2s"

[[route]]
path = "/up/{*rest}"
to = "upstream:origin"
methods = ["POST", "PUT"]

[[route]]
path = "/post/{*rest}"
to = "upstream:origin"

[[route]]
path = "/ws/{*rest}"
to = "upstream:origin"
upgrade = ["websocket"]
tunnel_idle_timeout = "30s"

[[route]]
path = "/named/{*rest}"
to = "upstream:named"

[[route]]
path = "/p/{*rest}"
to = "upstream:origin"

[[route]]
path = "/me/{*rest}"
to = "upstream:origin"

[[route]]
path = "/{*rest}"
to = "upstream:origin"
methods = ["GET"]
cache = { ttl = "10m" }
"#;

/// A running gateway with what it leans on.
#[derive(Debug)]
pub(super) struct Edge {
    /// Where clients go.
    pub public: SocketAddr,
    /// Where operators go.
    pub admin: SocketAddr,
    /// Who is asked for the addresses of one upstream.
    pub names: NameServer,
    /// Its process.
    pub server: Server,
    program: Program,
    dir: TempDir,
}

/// What is started.
#[derive(Debug)]
pub(super) struct Program {
    /// The program.
    pub binary: PathBuf,
    /// File descriptors that it may have; none: as many as this process.
    pub descriptors: Option<u64>,
}

/// What is open in it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    /// Shared fetches.
    pub flights: u64,
    /// Requests that wait for them.
    pub waiters: u64,
    /// Tunnels.
    pub tunnels: u64,
    /// Bytes that requests under way hold.
    pub inflight_bytes: u64,
}

/// Where it will listen, before it is started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listen {
    /// For clients.
    pub public: SocketAddr,
    /// For operators.
    pub admin: SocketAddr,
}

impl Edge {
    /// Starts `program` before the origin, in a directory of its own; `users` have profiles.
    ///
    /// # Errors
    /// When it does not listen; the error has what it wrote.
    pub(super) fn start(
        program: Program,
        listen: Listen,
        origin: SocketAddr,
        users: &[String],
    ) -> Result<Self> {
        let dir = TempDir::new().context("making a directory")?;
        let names = NameServer::start();
        names.set(NAME, 1, &["127.0.0.1"]);
        let Listen { public, admin } = listen;
        let upstream = "connections_max = 32\ntunnels_max = 48\nidle_timeout = \"5s\"\n\
                        answer_timeout = \"20s\"\n";
        let config = format!(
            "{CONFIG}\n[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n\
             admin_token = \"{TOKEN}\"\ndrain_timeout = \"5s\"\n\n[resolver]\nservers = [\"{}\"]\n\
             \n[[upstream]]\nname = \"origin\"\nservers = [\"{origin}\"]\n{upstream}\n\
             [[upstream]]\nname = \"named\"\nservers = [\"{NAME}:{}\"]\n{upstream}",
            names.address(),
            origin.port(),
        );
        fs::write(dir.path().join("tidegate.toml"), config).context("writing the configuration")?;
        let server = program.spawn(dir.path(), public)?;
        let mut edge = Self { public, admin, names, server, program, dir };
        edge.learn(users)?;
        edge.wait("loaded the profiles", |edge| Ok(edge.alarms()?.is_empty()))?;
        Ok(edge)
    }

    /// Gives each user a profile. Profiles stand under hashed ids, which the journal has.
    fn learn(&mut self, users: &[String]) -> Result<()> {
        for (number, user) in users.iter().enumerate() {
            let target = format!("{}?uid={user}", learned_path(number as u64));
            let reply = Client::get(self.public, &target).try_send().context("naming a user")?;
            ensure!(reply.status == 200, "`{target}` was answered {}", reply.status);
        }
        self.stop()?;
        let recorded = String::from_utf8_lossy(&self.recorded()?).into_owned();
        let hash = |number: usize| {
            let mark = learned_path(number as u64);
            let line = recorded.lines().find(|line| line.contains(&mark));
            let rest = line?.split_once("\"user\":\"")?.1;
            rest.split_once('"').map(|(hash, _)| hash.to_owned())
        };
        let hashes: Option<Vec<String>> = (0..users.len()).map(hash).collect();
        let hashes = hashes.with_context(|| format!("users are not recorded: {recorded}"))?;
        write_profiles(&self.dir.path().join("profiles.db"), &hashes)?;
        self.resume()
    }

    /// Ends it as an operator would, and starts it anew on what it has stored.
    ///
    /// # Errors
    /// When it does not end, or not well, or does not listen again.
    pub(super) fn restart(&mut self) -> Result<()> {
        self.stop()?;
        self.resume()
    }

    fn stop(&mut self) -> Result<()> {
        self.server.signal("TERM")?;
        let status = self.server.wait().context("waiting for the end of the gateway")?;
        ensure!(status.success(), "the gateway ended with {status}: {}", self.server.stderr());
        Ok(())
    }

    fn resume(&mut self) -> Result<()> {
        self.server = self.program.spawn(self.dir.path(), self.public)?;
        Ok(())
    }

    /// What is open.
    ///
    /// # Errors
    /// When operators do not get in.
    pub(super) fn open(&self) -> Result<Open> {
        let status = self.status()?;
        let number = |section: &str, name: &str| {
            let number = status[section][name].as_u64();
            number.with_context(|| format!("`/status` has no `{section}.{name}`"))
        };
        Ok(Open {
            flights: number("flights", "count")?,
            waiters: number("flights", "waiters")?,
            tunnels: self.metric("tidegate_tunnels")?,
            inflight_bytes: number("inflight", "bytes")?,
        })
    }

    /// What an operator should look at.
    ///
    /// # Errors
    /// When operators do not get in.
    pub(super) fn alarms(&self) -> Result<Vec<String>> {
        let status = self.status()?;
        let alarms = status["alarms"].as_array().context("`/status` has no alarms")?;
        Ok(alarms.iter().map(Value::to_string).collect())
    }

    /// The value of a metric without labels.
    ///
    /// # Errors
    /// When operators do not get in, or there is no such metric.
    pub(super) fn metric(&self, name: &str) -> Result<u64> {
        let page = self.page("/metrics")?;
        let page = String::from_utf8(page)?;
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = line.and_then(|value| value.parse::<f64>().ok());
        Ok(value.with_context(|| format!("`/metrics` has no `{name}`"))? as u64)
    }

    /// Waits until something holds.
    ///
    /// # Errors
    /// When it does not within a minute.
    pub(super) fn wait(&self, what: &str, is_so: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + SETTLE;
        while !is_so(self)? {
            ensure!(Instant::now() < deadline, "the gateway has not {what}: {}", self.status()?);
            std::thread::sleep(GLANCE);
        }
        Ok(())
    }

    /// Sockets that the process has.
    pub(super) fn sockets(&self) -> usize {
        let dir = format!("/proc/{}/fd", self.server.process_id());
        let files = fs::read_dir(dir).into_iter().flatten().flatten();
        let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// The recorded lines, unpacked; to be read when the process has ended or rests.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub(super) fn recorded(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        for file in fs::read_dir(self.dir.path().join("journal"))? {
            let path = file?.path();
            if path.is_file() {
                let bytes = fs::read(&path)?;
                let is_packed = path.extension().is_some_and(|extension| extension == "zst");
                all.extend(if is_packed { zstd::decode_all(&*bytes)? } else { bytes });
            }
        }
        Ok(all)
    }

    /// Files and directories of journal and cache that others than user and group may read.
    ///
    /// # Errors
    /// When the directories cannot be read.
    pub(super) fn readable_by_others(&self) -> Result<Vec<PathBuf>> {
        let mut left = vec![self.dir.path().join("journal"), self.dir.path().join("cache")];
        let mut found = Vec::new();
        while let Some(path) = left.pop() {
            let metadata = fs::metadata(&path)?;
            if metadata.permissions().mode() & 0o007 != 0 {
                found.push(path.clone());
            }
            if metadata.is_dir() {
                left.extend(fs::read_dir(&path)?.flatten().map(|file| file.path()));
            }
        }
        Ok(found)
    }

    fn status(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.page("/status")?)?)
    }

    fn page(&self, path: &str) -> Result<Vec<u8>> {
        let call = Client::get(self.admin, path).header("authorization", &bearer());
        let reply = call.try_send().with_context(|| format!("reading `{path}`"))?;
        ensure!(reply.status == 200, "`{path}` was answered {}", reply.status);
        Ok(reply.body)
    }
}

/// The path by which a user was named before the siege; its end keeps it apart from others.
pub(super) fn learned_path(number: u64) -> String {
    format!("/q/learn-{number}-")
}

/// The operator's credentials.
pub(super) fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

impl Program {
    fn spawn(&self, dir: &Path, public: SocketAddr) -> Result<Server> {
        let mut command = Command::new("prlimit");
        command.args(self.descriptors.map(|count| format!("--nofile={count}")));
        command.arg(&self.binary).arg("serve").arg("-c").arg(dir.join("tidegate.toml"));
        Server::spawn(command, public).context("starting the gateway")
    }
}

fn write_profiles(path: &Path, users: &[String]) -> Result<()> {
    let database = Connection::open(path)?;
    database.execute_batch(
        "create table user_profiles (profile_id char(100) primary key not null, data text)",
    )?;
    for user in users {
        let data = r#"{"affinity":{"a":1.0},"reads":9,"recent":[]}"#;
        database.execute("insert into user_profiles values (?1, ?2)", [user.as_str(), data])?;
    }
    database.close().map_err(|(_, error)| error)?;
    Ok(())
}
