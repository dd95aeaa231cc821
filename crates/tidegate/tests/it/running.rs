//! A running `tidegate serve` in a folder of its own, on free ports.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use testkit::{Client, FIXTURE_TIMEOUT, Reply, Server, TempDir, free_port};

/// The built binary.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tidegate");

/// A server; ends with its value.
pub(crate) struct Running {
    pub public: SocketAddr,
    pub admin: SocketAddr,
    pub folder: TempDir,
    pub server: Server,
}

impl Running {
    /// Starts with `config` behind a `[listen]` section of free ports; `prepare` fills the folder.
    pub(crate) fn start(config: &str, prepare: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::new().unwrap();
        prepare(folder.path());
        Self::start_in(folder, config)
    }

    /// Starts with these keys in the section `[listen]`, too.
    pub(crate) fn start_listening(listen: &str, config: &str) -> Self {
        Self::start_with(TempDir::new().unwrap(), listen, config)
    }

    /// Starts in a folder that is there.
    pub(crate) fn start_in(folder: TempDir, config: &str) -> Self {
        Self::start_with(folder, "", config)
    }

    fn start_with(folder: TempDir, listen: &str, config: &str) -> Self {
        let public = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let file = folder.path().join("tidegate.toml");
        let cores =
            if config.contains("cores =") { "" } else { "cores = { edge = 2, work = 1 }\n" };
        let text = format!(
            "{cores}{config}\n[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n{listen}\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(BINARY);
        // Where it is set, workers could not meet bytecode that is older than its source.
        command.arg("serve").arg("--config").arg(&file).env_remove("PYTHONDONTWRITEBYTECODE");
        let server = Server::spawn(command, admin).unwrap();
        Self { public, admin, folder, server }
    }

    /// Kills the process with SIGKILL and starts it anew in the same folder.
    pub(crate) fn crash_and_restart(mut self, config: &str) -> Self {
        self.server.signal("KILL").unwrap();
        self.server.wait().unwrap();
        Self::start_in(self.folder, config)
    }

    /// GETs a path.
    pub(crate) fn get(&self, target: &str) -> Reply {
        Client::get(self.public, target).send()
    }

    /// GETs a path as a user.
    pub(crate) fn get_as(&self, user: &str, target: &str) -> Reply {
        Client::get(self.public, target).header("cookie", &format!("userId={user}")).send()
    }

    /// The status page.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(Client::get(self.admin, "/status").send().text()).unwrap()
    }

    /// Every line of the journal.
    pub(crate) fn journal(&self) -> Vec<Value> {
        journal_in(&self.folder.path().join("data/journal"))
    }

    /// Waits until the journal's lines satisfy `enough`.
    pub(crate) fn wait_for_journal(&self, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let mut lines = Vec::new();
        until("the journal's lines", || {
            lines = self.journal();
            enough(&lines)
        });
        lines
    }
}

/// Every complete line of the uncompressed segments of a journal.
pub(crate) fn journal_in(dir: &Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|end| end == "log"));
    files.sort();
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let text: String = texts.collect();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete.lines().filter(|l| !l.is_empty()).map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Polls until `done`; panics when patience runs out.
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < FIXTURE_TIMEOUT, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// The body as JSON.
pub(crate) fn json(reply: &Reply) -> Value {
    serde_json::from_str(reply.text()).unwrap()
}

/// Runs the binary to its end: status code, stdout, stderr.
pub(crate) fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let output = Command::new(BINARY).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}
