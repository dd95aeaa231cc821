//! The server under soak: its apps, its pools, its processes, and what it says of them.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, Server, TempDir, free_port};

/// Time for a request; requests that hang are killed after it.
pub(super) const TIMEOUT: Duration = Duration::from_secs(4);
/// The pools' names, which paths begin with, and the files of their apps.
pub(super) const POOLS: [(&str, &str); 2] = [("asgi", "app.py"), ("wsgi", "plain.py")];
/// Memory that a worker may have before it is replaced.
pub(super) const MEMORY_BYTES_MAX: u64 = 60_000_000;

const APPS: [&str; 2] = [include_str!("app.py"), include_str!("plain.py")];
const FAULTS: &str = include_str!("faults.py");
const MODELS: &str = "def load():\n    return \"model\"\n";
const GLANCE: Duration = Duration::from_millis(20);

/// A running server with two pools.
#[derive(Debug)]
pub(super) struct World {
    /// Where clients go.
    pub public: SocketAddr,
    /// Where operators go.
    pub admin: SocketAddr,
    /// Which pools hold their code for new workers.
    pub shares: [bool; POOLS.len()],
    /// Its process.
    pub server: Server,
    dir: TempDir,
}

/// Processes of a pool that hold something for its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holders {
    /// Holds what is preloaded.
    pub preload_process: u32,
    /// Holds the app.
    pub parent: u32,
}

impl World {
    /// Starts `binary`; the second pool shares memory if `shares`.
    ///
    /// # Errors
    /// When it does not listen, or its pools do not come into service.
    pub(super) fn start(binary: &Path, shares: bool) -> Result<Self> {
        let dir = TempDir::new().context("making a directory")?;
        let public = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
        fs::write(dir.path().join("models.py"), MODELS)?;
        fs::write(dir.path().join("faults.py"), FAULTS)?;
        let shares = [true, shares];
        let mut config = format!(
            "cores = {{ edge = 2, work = 1 }}\n[listen]\npublic = \"{public}\"\n\
             admin = \"{admin}\"\n"
        );
        for (pool, (name, file)) in POOLS.iter().enumerate() {
            fs::write(dir.path().join(file), APPS[pool])?;
            let module = file.trim_end_matches(".py");
            let share = if shares[pool] { "on" } else { "off" };
            config += &format!(
                "\n[[upstream]]\nname = \"{name}\"\npython = \"{module}:app\"\n\
                 preload = \"models:load\"\ninterpreter = \"{interpreter}\"\nworkers = 4\n\
                 requests_max = 60\nmemory_bytes_max = \"{MEMORY_BYTES_MAX}B\"\n\
                 boot_timeout = \"20s\"\n\
                 timeout = \"{timeout}s\"\npiece_timeout = \"10s\"\n\
                 drain_timeout = \"6s\"\nshare_memory = \"{share}\"\n\
                 canary = {{ path = \"/{name}/fill/canary/10\", status = 200 }}\n\
                 \n[[route]]\npath = \"/{name}/{{*rest}}\"\nto = \"upstream:{name}\"\n",
                interpreter = interpreter()?,
                timeout = TIMEOUT.as_secs(),
            );
        }
        let file = dir.path().join("tidegate.toml");
        fs::write(&file, config).context("writing the configuration")?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("-c").arg(&file);
        let server = Server::spawn(command, public).context("starting the server")?;
        let world = Self { public, admin, shares, server, dir };
        for pool in 0..POOLS.len() {
            world.wait(pool, "in service", is_whole)?;
        }
        Ok(world)
    }

    /// What the server says of a pool.
    ///
    /// # Errors
    /// When the page cannot be read.
    pub(super) fn pool(&self, pool: usize) -> Result<Value> {
        let reply = Client::get(self.admin, "/workers").try_send().context("reading `/workers`")?;
        let mut all: Vec<Value> = serde_json::from_slice(&reply.body)?;
        ensure!(all.len() == POOLS.len(), "there are {} pools", all.len());
        Ok(all.swap_remove(pool))
    }

    /// Tells a pool to `recycle` or to `reload`.
    ///
    /// # Errors
    /// When that is refused.
    pub(super) fn tell(&self, pool: usize, what: &str) -> Result<()> {
        let body = json!({ "name": POOLS[pool].0 }).to_string();
        let reply = Client::post(self.admin, &format!("/workers/{what}"), body).try_send()?;
        ensure!(reply.status == 200, "`{what}` was answered {}", reply.status);
        Ok(())
    }

    /// Waits until a pool is as it should be.
    ///
    /// # Errors
    /// When it is not within 40 seconds.
    pub(super) fn wait(
        &self,
        pool: usize,
        what: &str,
        is_it: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let deadline = Instant::now() + 10 * TIMEOUT;
        loop {
            let status = self.pool(pool)?;
            if is_it(&status) {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "`{}` is not {what}: {status:#}", POOLS[pool].0);
            std::thread::sleep(GLANCE);
        }
    }

    /// Writes the app of a pool with another version.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn write_version(&self, pool: usize, version: u64) -> Result<()> {
        let text = APPS[pool].replace("VERSION = 0", &format!("VERSION = {version}"));
        self.write_app(pool, &text)
    }

    /// Writes the app of a pool, whole at any moment.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn write_app(&self, pool: usize, text: &str) -> Result<()> {
        let file = self.dir.path().join(POOLS[pool].1);
        let new = file.with_extension("new");
        fs::write(&new, text)?;
        Ok(fs::rename(new, file)?)
    }

    /// Every process that one of the pools has started, by whatever way.
    pub(super) fn processes(&self) -> BTreeSet<u32> {
        let marker = format!("TIDEGATE_CONTROL={}", self.dir.path().display());
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|it| it.starts_with(marker.as_bytes()))
        };
        all_processes().into_iter().filter(is_ours).collect()
    }

    /// Processes that have ended and whose end nobody of the server's has looked at.
    pub(super) fn zombies(&self) -> usize {
        let mut family = self.processes();
        family.insert(self.server.process_id());
        let is_zombie = |pid: u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            let mut words = rest.split(' ');
            let state = words.next();
            let parent = words.next().and_then(|word| word.parse().ok());
            state == Some("Z") && parent.is_some_and(|parent| family.contains(&parent))
        };
        all_processes().into_iter().filter(|pid| is_zombie(*pid)).count()
    }
}

/// Whether a pool has its workers, all free, and nothing else to do.
pub(super) fn is_whole(pool: &Value) -> bool {
    let workers = pool["workers"].as_array().map_or(&[][..], Vec::as_slice);
    pool["state"] == "serving"
        && workers.len() as u64 == pool["planned"].as_u64().unwrap_or(0)
        && workers.iter().all(|worker| worker["state"] == "free")
        && pool["alarms"].as_array().is_some_and(Vec::is_empty)
        && pool["queue"] == 0
        && pool["in_flight"] == 0
}

/// Whether it has all its workers, busy ones too.
pub(super) fn is_full(pool: &Value) -> bool {
    pool["state"] == "serving"
        && serving(pool).len() as u64 == pool["planned"].as_u64().unwrap_or(0)
}

/// The processes of the workers in service.
pub(super) fn serving(pool: &Value) -> Vec<u32> {
    let workers = pool["workers"].as_array().into_iter().flatten();
    let serving = workers.filter(|it| it["state"] == "free" || it["state"] == "busy");
    serving.filter_map(|it| u32::try_from(it["pid"].as_u64()?).ok()).collect()
}

/// Preload process and parent, where there is one of each.
pub(super) fn holders(pool: &Value) -> Option<Holders> {
    let all = pool["holders"].as_array()?;
    let pid = |at: usize| u32::try_from(all[at].as_u64()?).ok();
    if all.len() != 2 {
        return None;
    }
    Some(Holders { preload_process: pid(0)?, parent: pid(1)? })
}

/// Sends a signal; one that has ended gets none.
pub(super) fn signal(pid: u32, name: &str) {
    let mut kill = Command::new("kill");
    // It may have ended by itself.
    let _ = kill.args(["-s", name, &pid.to_string()]).stderr(Stdio::null()).status();
}

fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The Python itself: what is in `PATH` may be a script that looks for it.
///
/// # Errors
/// When there is none.
pub(crate) fn interpreter() -> Result<String> {
    let mut command = Command::new("python3");
    let output = command.args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.context("looking for `python3`")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
