//! What every row needs: where things are, how many rounds, the origin, free ports.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::origin::Origin;

/// The surroundings of a run.
pub(crate) struct Setup {
    /// Rounds per case; the median of them counts.
    pub rounds: usize,
    /// How long one trial measures.
    pub trial: Duration,
    /// Three short rounds.
    pub quick: bool,
    /// The server behind all gateways.
    pub origin: Origin,
    /// The binary under test, where it is not the one that was built last.
    pub other_binary: Option<PathBuf>,
    root: PathBuf,
    dir: TempDir,
    memory: TempDir,
}

impl Setup {
    /// Starts the origin and makes the temporary folders.
    pub(crate) fn new(quick: bool) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("bench/ has a parent")?;
        let prefix = "tidegate-bench-";
        Ok(Self {
            rounds: if quick { 3 } else { 5 },
            trial: Duration::from_millis(if quick { 1000 } else { 3000 }),
            quick,
            origin: Origin::start()?,
            other_binary: None,
            root: root.to_owned(),
            dir: tempfile::Builder::new().prefix(prefix).tempdir()?,
            memory: tempfile::Builder::new().prefix(prefix).tempdir_in("/dev/shm")?,
        })
    }

    /// The checkout.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A fresh folder on disk, gone when the run ends.
    pub(crate) fn dir(&self, name: &str) -> Result<PathBuf> {
        fresh(self.dir.path(), name)
    }

    /// A fresh folder in memory, gone when the run ends.
    pub(crate) fn memory_dir(&self, name: &str) -> Result<PathBuf> {
        fresh(self.memory.path(), name)
    }

    /// A file of the build folder that is kept between runs because it is dear to make.
    pub(crate) fn cached(&self, name: &str) -> Result<PathBuf> {
        let dir = self.root.join("target/bench");
        std::fs::create_dir_all(&dir)?;
        Ok(dir.join(name))
    }

    /// The release binary under test.
    pub(crate) fn tidegate(&self) -> Result<PathBuf> {
        let built = || self.root.join("target/release/tidegate");
        let path = self.other_binary.clone().unwrap_or_else(built);
        ensure!(
            path.exists(),
            "binary `{}`: missing; hint: cargo build --release --bin tidegate",
            path.display()
        );
        Ok(path)
    }

    /// The Python of the peers' virtual environment, which is made when it is missing or other
    /// packages are required than it has.
    pub(crate) fn python(&self) -> Result<PathBuf> {
        let venv = self.root.join("target/bench-venv");
        let python = venv.join("bin/python");
        let file = self.root.join("bench/peers/requirements.txt");
        let required = std::fs::read_to_string(&file)?;
        let stamp = venv.join("requirements.txt");
        if !std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == required) {
            succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
            let install = ["-m", "pip", "install", "--quiet", "-r"];
            succeed(Command::new(&python).args(install).arg(&file))?;
            std::fs::write(&stamp, required)?;
        }
        Ok(python)
    }
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("run `{command:?}`"))?;
    ensure!(status.success(), "run `{command:?}`: {status}");
    Ok(())
}

/// Returns a loopback address that nobody listens on.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn fresh(parent: &Path, name: &str) -> Result<PathBuf> {
    for attempt in 0.. {
        let path = parent.join(format!("{name}-{attempt}"));
        if !path.exists() {
            std::fs::create_dir_all(&path)?;
            return Ok(path);
        }
    }
    unreachable!("the range has no end")
}
