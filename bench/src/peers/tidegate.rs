//! Tidegate: the release binary, one core for I/O and one for work, both pinned to the same.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use load::{Ask, Plan, Request, RequestOutcome, Requests, Stop, Target};
use serde::Deserialize;

use crate::process::Server;
use crate::setup::{Setup, free_address};

/// A configuration to start Tidegate with.
pub(crate) struct Options<'a> {
    /// Name in the tables.
    pub name: &'a str,
    /// Record exchanges in a journal.
    pub journal: bool,
    /// Sections after those for listening, the journal and the origin as upstream `origin`.
    pub sections: &'a str,
    /// A path answered with 200 once it is ready.
    pub ready: &'a str,
}

/// A route that sends everything to the origin and caches by its headers.
pub(crate) const CACHE_ALL: &str = "
[[route]]
path = \"/{*rest}\"
to = \"upstream:origin\"
cache = {}
";

/// A running Tidegate.
pub(crate) struct Tidegate {
    /// The server.
    pub server: Server,
    /// Its admin listener.
    pub admin: SocketAddr,
    dir: PathBuf,
}

/// What the cache holds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct CacheStatus {
    /// Answers.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the tier on disk holds.
    pub disk: Option<DiskStatus>,
}

/// What the tier on disk holds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct DiskStatus {
    /// Answers.
    pub entries: u64,
}

/// Starts Tidegate before the origin.
pub(crate) fn start(setup: &Setup, options: &Options<'_>) -> Result<Tidegate> {
    let dir = setup.dir("tidegate")?;
    let (public, admin) = (free_address()?, free_address()?);
    let journal = if options.journal { "[journal]\ndir = \"journal\"\n" } else { "" };
    let config = format!(
        "cores = {{ edge = 1, work = 1 }}

[listen]
public = \"{public}\"
admin = \"{admin}\"

{journal}
[[upstream]]
name = \"origin\"
servers = [\"{origin}\"]
{sections}",
        origin = setup.origin.address,
        sections = options.sections,
    );
    let file = dir.join("tidegate.toml");
    fs::write(&file, config)?;
    let (binary, file) = (setup.tidegate()?, file.to_string_lossy().into_owned());
    let command = [&*binary.to_string_lossy(), "serve", "-c", &file];
    let server = Server::start(options.name, &command, &dir, public, options.ready)?;
    Ok(Tidegate { server, admin, dir })
}

impl Tidegate {
    /// The folder of its journal.
    pub(crate) fn journal(&self) -> PathBuf {
        self.dir.join("journal")
    }

    /// Asks `/status` what the cache holds.
    ///
    /// # Errors
    /// When the answer is not as documented.
    pub(crate) fn cache_status(&self) -> Result<CacheStatus> {
        let mut page = Page(Vec::new());
        load::run(&Plan::closed(Target::Tcp(self.admin), 1, Stop::Count(1)), &mut page)?;
        #[derive(Deserialize)]
        struct Status {
            cache: CacheStatus,
        }
        let status = serde_json::from_slice::<Status>(&page.0).context("read `/status`")?;
        Ok(status.cache)
    }

    /// Waits until a request with this cookie is answered as personalised: profiles are in use.
    ///
    /// # Errors
    /// When that has not come true after 60 s.
    pub(crate) fn wait_for_profiles(&self, path: &str, cookie: &str) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut probe = Probe { path, cookie, personalised: false };
        let plan = Plan::closed(self.server.target(), 1, Stop::Count(1));
        while Instant::now() < deadline {
            load::run(&plan, &mut probe)?;
            if probe.personalised {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        bail!("server `{}`: no personalised answer for `{cookie}`", self.server.name)
    }
}

/// The body of `/status`.
struct Page(Vec<u8>);

impl Requests for Page {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        Ask { keep: true, ..Request::get("/status").template().next(out) }
    }

    fn done(&mut self, _ticket: u64, outcome: RequestOutcome<'_>) {
        if let RequestOutcome::Reply(reply) = outcome {
            self.0 = reply.body.to_vec();
        }
    }
}

struct Probe<'a> {
    path: &'a str,
    cookie: &'a str,
    personalised: bool,
}

impl Requests for Probe<'_> {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        let request = Request::get(self.path).header("Cookie", self.cookie);
        Ask { keep: true, ..request.template().next(out) }
    }

    fn done(&mut self, _ticket: u64, outcome: RequestOutcome<'_>) {
        if let RequestOutcome::Reply(reply) = outcome {
            let head = String::from_utf8_lossy(reply.head).to_ascii_lowercase();
            self.personalised = head.contains("tidegate-decision: personalised");
        }
    }
}
