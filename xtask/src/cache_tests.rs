//! Runs any checkout of the HTTP cache tests against the binary of this checkout, for a reader.
//!
//! It builds Tidegate, starts it on free ports with a cache and one upstream, and has Node.js run
//! the suite. A server that does not listen within 20 s is an error. It ends with the run.
//! `make test` holds the pinned npm package; the suite itself goes on, and lives on GitHub as
//! `http-tests/cache-tests`. Some of its tests need `npm install undici` in the checkout.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::checkout::{execute, root};

const RUNNER: &str = "crates/tidegate/tests/it/cache_tests/run.mjs";
const NO_SUITE: &str = "it is no checkout of the HTTP cache tests; \
    `git clone https://github.com/http-tests/cache-tests` makes one";
const START_MAX: Duration = Duration::from_secs(20);

/// Runs the suite; `mode` is passed on to the runner.
pub(crate) fn run(suite: &str, mode: &[&str]) -> Result<()> {
    let engine = ["test-engine/cli.mjs", "cli.mjs"].map(|file| Path::new(suite).join(file));
    ensure!(engine.iter().any(|file| file.is_file()), "run the suite `{suite}`: {NO_SUITE}");
    let mut build = Command::new("cargo");
    execute(build.args(["build", "--quiet", "-p", "tidegate"]).current_dir(root()))?;
    let [origin, public, admin] = free_ports()?;
    let _tidegate = Tidegate::start(origin, public, admin)?;
    let mut node = Command::new("node");
    node.arg("--no-warnings").arg(root().join(RUNNER)).arg(suite).arg(origin.to_string());
    execute(node.arg(format!("http://127.0.0.1:{public}")).args(mode))
}

/// A running server; ends with its value.
struct Tidegate(Child);

impl Tidegate {
    fn start(origin: u16, public: u16, admin: u16) -> Result<Tidegate> {
        let dir = root().join("target/cache-tests");
        let file = dir.join("tidegate.toml");
        fs::create_dir_all(&dir).with_context(|| format!("making `{}`", dir.display()))?;
        fs::write(&file, config(origin, public, admin))
            .with_context(|| format!("writing `{}`", file.display()))?;
        let mut command = Command::new(binary());
        command.arg("serve").arg("--config").arg(&file).stdout(Stdio::null());
        command.env("TIDEGATE_LOG", "error");
        let server = Tidegate(command.spawn().context("starting `tidegate`")?);
        let deadline = Instant::now() + START_MAX;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, public)).is_err() {
            if Instant::now() > deadline {
                bail!("`tidegate` does not listen on port {public}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Tidegate {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn config(origin: u16, public: u16, admin: u16) -> String {
    format!(
        "[listen]\npublic = \"127.0.0.1:{public}\"\nadmin = \"127.0.0.1:{admin}\"\n\n\
         [[upstream]]\nname = \"origin\"\nservers = [\"127.0.0.1:{origin}\"]\n\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:origin\"\ncache = {{}}\n"
    )
}

/// Beside this program's own: cargo puts both into one directory.
fn binary() -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name("tidegate")
}

fn free_ports() -> Result<[u16; 3]> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port");
    let (a, b, c) = (bind()?, bind()?, bind()?);
    Ok([a.local_addr()?.port(), b.local_addr()?.port(), c.local_addr()?.port()])
}

#[cfg(test)]
mod tests;
