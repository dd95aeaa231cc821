//! The gateway under soak: its configuration, its profiles, its process.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use rusqlite::Connection;
use testkit::{Client, Server, TempDir, free_port};

use crate::origin::Origin;
use crate::request_spec::USERS;

/// A running gateway.
#[derive(Debug)]
pub(crate) struct Gateway {
    /// Where clients go.
    pub public: SocketAddr,
    /// Where operators go.
    pub admin: SocketAddr,
    /// Its process.
    pub server: Server,
    _dir: TempDir,
}

/// Time limits are short, so that every fault meets one within a second or two; the waiting time
/// is longer than two leases. Memory is short too, so that entries leave it.
const CONFIG: &str = r#"
cores = { edge = 2, work = 1 }

[cache]
bytes = "8MB"
disk = { dir = "cache", bytes = "256MB" }

[profiles]
file = "profiles.db"

[[route]]
path = "/on/{*rest}"
to = "upstream:origin"
cache = { body_bytes_max = "256kB" }
lease = "3s"
wait_timeout = "7s"

[[route]]
path = "/disk/{*rest}"
to = "upstream:origin"
cache = { body_bytes_max = "256kB", disk = true }
lease = "3s"
wait_timeout = "7s"

[[route]]
path = "/off/{*rest}"
to = "upstream:origin"
cache = { body_bytes_max = "256kB" }
coalesce = "off"
lease = "3s"

[[route]]
path = "/strict/{*rest}"
to = "upstream:origin"
cache = { body_bytes_max = "256kB" }
coalesce = "strict"
hold = "1s"
lease = "3s"
wait_timeout = "7s"

[[route]]
path = "/ttl/{*rest}"
to = "upstream:origin"
cache = { ttl = "1s", stale = "2s", body_bytes_max = "256kB" }
lease = "3s"
wait_timeout = "7s"

[[route]]
path = "/me/{*rest}"
to = "upstream:origin"
cache = { body_bytes_max = "256kB" }
personalise = { user = "cookie:userId" }
lease = "3s"
wait_timeout = "7s"

[[route]]
path = "/pass/{*rest}"
to = "upstream:origin"
lease = "3s"
"#;

impl Gateway {
    /// Starts `binary` before the origin, in a directory of its own.
    ///
    /// # Errors
    /// When it does not listen; the error holds what it wrote.
    pub(crate) fn start(binary: &Path, origin: &Origin) -> Result<Self> {
        let dir = TempDir::new().context("making a directory")?;
        write_profiles(&dir.path().join("profiles.db")).context("writing the profiles")?;
        let public = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let servers: Vec<String> =
            origin.addresses.iter().map(|address| format!("\"{address}\"")).collect();
        let config = format!(
            "{CONFIG}\n[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n\n[[upstream]]\n\
             name = \"origin\"\nservers = [{}]\nconnect_timeout = \"500ms\"\n\
             answer_timeout = \"1s\"\npiece_timeout = \"1s\"\nretry = {{}}\n",
            servers.join(", ")
        );
        let file = dir.path().join("tidegate.toml");
        fs::write(&file, config).context("writing the configuration")?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("-c").arg(&file);
        let server = Server::spawn(command, public).context("starting the gateway")?;
        Ok(Self { public, admin, server, _dir: dir })
    }

    /// Flights under way and requests that wait, as the status page says.
    ///
    /// # Errors
    /// When the page cannot be read.
    pub(crate) fn flights(&self) -> Result<(u64, u64)> {
        let reply = Client::get(self.admin, "/status").try_send().context("reading `/status`")?;
        let status: serde_json::Value = serde_json::from_slice(&reply.body)?;
        let number = |name: &str| status["flights"][name].as_u64().context("no flights in it");
        Ok((number("count")?, number("waiters")?))
    }
}

fn write_profiles(path: &Path) -> Result<()> {
    let database = Connection::open(path)?;
    database.execute_batch(
        "create table user_profiles (profile_id char(100) primary key not null, data text)",
    )?;
    for user in USERS {
        let data = r#"{"affinity":{"a":1.0},"reads":9,"recent":[]}"#;
        database.execute("insert into user_profiles values (?1, ?2)", [user, data])?;
    }
    database.close().map_err(|(_, error)| error)?;
    Ok(())
}
