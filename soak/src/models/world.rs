//! The server under soak: five models, its configuration, and what it shows of them.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::{Client, Reply, Server, TempDir, free_port};

use super::damage::put;
use super::judge::VersionLog;
use super::kind::{KINDS, Kind, VERSIONS, items};
use super::texts::{Library, TEXT_VERSIONS, TEXTS};

/// Rows that a body may bring.
pub(super) const ROWS_MAX: u64 = 5_000;
/// Texts that a body may bring.
pub(super) const TEXTS_MAX: usize = 512;
/// Models: [`KINDS`], then that of texts.
pub(super) const MODELS: usize = KINDS.len() + 1;

/// A file is looked at five times a second; reading a large one with a debug binary takes seconds.
const TIMEOUT: Duration = Duration::from_secs(40);
const GLANCE: Duration = Duration::from_millis(40);

/// A running server, and what may be known of its models.
#[derive(Debug)]
pub(super) struct World {
    /// Where clients go.
    pub public: SocketAddr,
    /// Its process.
    pub server: Server,
    /// The model of texts on disk.
    pub library: Library,
    /// Which version of each model could answer when.
    pub logs: [VersionLog; MODELS],
    /// What each version of each model is called.
    pub names: [Vec<String>; MODELS],
    admin: SocketAddr,
    dir: TempDir,
}

impl World {
    /// Starts `binary` with the first version of each model, and learns what all are called.
    ///
    /// # Errors
    /// When it does not listen, or refuses a good model.
    pub(super) fn start(binary: &Path, seed: u64) -> Result<Self> {
        let dir = TempDir::new().context("making a directory")?;
        let public = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let library = Library::make(binary, dir.path(), seed)?;
        library.show(0)?;
        let mut config = format!(
            "cores = {{ edge = 2, work = 1 }}\n[listen]\npublic = \"{public}\"\n\
             admin = \"{admin}\"\n[limits]\nclient_share = \"100%\"\n\
             [[route]]\npath = \"/{{*rest}}\"\nto = \"models\"\nlease = \"2m\"\n\
             wait_timeout = \"2m\"\n"
        );
        fs::write(dir.path().join("items.jsonl"), items())?;
        for kind in KINDS {
            let (name, file) = (kind.name(), kind.file());
            fs::write(dir.path().join(file), kind.bytes(0))?;
            config += &format!("[[model]]\nname = \"{name}\"\nfile = \"{file}\"\n");
            config += match kind {
                Kind::Ranks => "items = \"items.jsonl\"\n",
                _ => "rows_max = 5000\n",
            };
            if let Some(golden) = kind.golden() {
                fs::write(dir.path().join(format!("{name}.golden.json")), golden.to_string())?;
                config += &format!("golden = \"{name}.golden.json\"\n");
            }
        }
        config += &format!(
            "[[model]]\nname = \"{TEXTS}\"\nfile = \"{TEXTS}\"\ntexts_max = {TEXTS_MAX}\n\
             embedding_cache_bytes_max = \"0B\"\n"
        );
        let file = dir.path().join("tidegate.toml");
        fs::write(&file, config).context("writing the configuration")?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("-c").arg(&file);
        let server = Server::spawn(command, public).context("starting the server")?;
        let (logs, names) = Default::default();
        let mut world = Self { public, server, library, logs, names, admin, dir };
        world.learn_names()?;
        Ok(world)
    }

    /// Has each version of each model in use once; the first version is in use again at the end.
    fn learn_names(&mut self) -> Result<()> {
        for model in 0..MODELS {
            let versions = if model == KINDS.len() { TEXT_VERSIONS } else { VERSIONS };
            for version in 0..versions {
                if version > 0 {
                    self.show(model, version)?;
                }
                let is_new = |status: &Value| {
                    let name = status["version"].as_str().unwrap_or_default();
                    !name.is_empty() && self.names[model].iter().all(|known| known != name)
                };
                let status = self.wait(model, "of a new name", is_new)?;
                let name = status["version"].as_str().unwrap_or_default().to_owned();
                self.names[model].push(name);
            }
            self.show(model, 0)?;
            self.wait_for(model, 0)?;
            self.logs[model].begin(Some(0));
        }
        Ok(())
    }

    fn show(&self, model: usize, version: usize) -> Result<()> {
        match KINDS.get(model) {
            Some(kind) => Ok(put(&self.file(*kind), &kind.bytes(version), None)?),
            None => self.library.show(version),
        }
    }

    /// Where the file of a model is.
    pub(super) fn file(&self, kind: Kind) -> PathBuf {
        self.dir.path().join(kind.file())
    }

    /// What the server shows of a model.
    ///
    /// # Errors
    /// When the page cannot be read.
    pub(super) fn status(&self, model: usize) -> Result<Value> {
        let reply = Client::get(self.admin, "/status").try_send().context("reading `/status`")?;
        let mut status: Value = serde_json::from_slice(&reply.body)?;
        let models = status["models"].as_array_mut().context("it shows no models")?;
        let name = name(model);
        let one = models.iter_mut().find(|it| it["name"] == name);
        Ok(one.with_context(|| format!("it does not show `{name}`"))?.take())
    }

    /// Asks for `load` or `unload` of a model.
    ///
    /// # Errors
    /// When no answer comes.
    pub(super) fn tell(&self, model: usize, what: &str) -> Result<Reply> {
        let target = format!("/v2/repository/models/{}/{what}", name(model));
        Client::post(self.admin, &target, "").try_send().with_context(|| target)
    }

    /// Waits until a version is in use, and its file without a problem.
    ///
    /// # Errors
    /// When it is not within 40 seconds.
    pub(super) fn wait_for(&self, model: usize, version: usize) -> Result<()> {
        let name = self.names[model][version].as_str();
        let is_it = |status: &Value| status["version"] == name && status["error"].is_null();
        self.wait(model, name, is_it).map(drop)
    }

    /// Waits until a model is as it should be.
    ///
    /// # Errors
    /// When it is not within 40 seconds.
    pub(super) fn wait(
        &self,
        model: usize,
        what: &str,
        is_it: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let status = self.status(model)?;
            if is_it(&status) {
                return Ok(status);
            }
            ensure!(Instant::now() < deadline, "`{}` is not {what}: {status}", name(model));
            sleep(GLANCE);
        }
    }
}

/// The name of a model.
pub(super) fn name(model: usize) -> &'static str {
    KINDS.get(model).map_or(TEXTS, |kind| kind.name())
}
