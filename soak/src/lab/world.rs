//! The servers of an arm, on free ports, until it is dropped.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use testkit::{Absent, Server, TempDir, free_port, require};

use super::cause::{Delays, Quota, Stops};
use super::options::Options;
use crate::dice::Dice;

const PROGRAM: &str = include_str!("server.py");
const STOP: Duration = Duration::from_millis(200);
const STOP_GAP: Duration = Duration::from_secs(2);

/// Which server there is, and what slows it down.
#[derive(Debug)]
pub(super) enum Scene {
    /// A cache before an origin that takes up to 2.2 s; every burst asks for a new page.
    CacheLock(Shield),
    /// The program, in one of its kinds.
    Plain { kind: &'static str, options: &'static str },
    /// Calls of 50 ms of processor time, of which it gets 20 ms in 100 if set.
    Quota { is_set: bool },
    /// System calls that take longer, if told so.
    Delays { delay_ms: Option<u64> },
    /// The whole process is stopped for 200 ms now and then.
    Stops,
}

/// What stands before an origin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shield {
    Nginx,
    Varnish,
    Tidegate,
}

/// A scene that runs; the causes end before the servers.
#[derive(Debug)]
pub(super) struct World {
    /// What is to be called.
    pub url: String,
    _quota: Option<Quota>,
    _stops: Option<Stops>,
    _delays: Option<Delays>,
    _shield: Option<Server>,
    _server: Server,
    _dir: TempDir,
}

impl World {
    /// The folder that the servers run in.
    pub(super) fn dir(&self) -> &Path {
        self._dir.path()
    }

    /// Starts what a scene needs; inside, why this machine cannot have it.
    ///
    /// # Errors
    /// When a server does not listen.
    pub(super) fn start(scene: &Scene, options: &Options) -> Result<Result<Self, String>> {
        let dir = TempDir::new().context("making a directory")?;
        let (kind, words) = match scene {
            Scene::CacheLock(_) => ("origin", ""),
            Scene::Plain { kind, options } => (*kind, *options),
            Scene::Quota { .. } => ("burn", "cpu_ms=50"),
            Scene::Delays { .. } => ("reads", ""),
            Scene::Stops => ("steps", ""),
        };
        let address = loopback();
        let file = dir.path().join("server.py");
        fs::write(&file, PROGRAM)?;
        let mut program = Command::new(crate::workers::interpreter()?);
        program.arg(&file).arg(address.port().to_string()).arg(kind).args(words.split_whitespace());
        program.arg(format!("seed={}", options.seed)).current_dir(dir.path());
        let server = Server::spawn(program, address).context("starting the server")?;
        let mut world = Self {
            url: format!("http://{address}/"),
            _quota: None,
            _stops: None,
            _delays: None,
            _shield: None,
            _server: server,
            _dir: dir,
        };
        let process = world._server.process_id();
        match scene {
            Scene::CacheLock(shield) => {
                let Some((command, before)) = shield.command(&world, options, address)? else {
                    return Ok(Err(format!("{shield:?} is not installed")));
                };
                world._shield = Some(Server::spawn(command, before).context("starting a cache")?);
                world.url = format!("http://{before}/{{n}}");
            }
            Scene::Quota { is_set: true } => {
                match Quota::put(process, Duration::from_millis(20), Duration::from_millis(100)) {
                    Ok(quota) => world._quota = Some(quota),
                    Err(error) => return Ok(Err(format!("control groups are not ours: {error}"))),
                }
            }
            Scene::Delays { delay_ms } => {
                match Delays::attach(process, delay_ms.map(Duration::from_millis)) {
                    Ok(Some(delays)) => world._delays = Some(delays),
                    Ok(None) => return Ok(Err("strace is not installed".to_owned())),
                    Err(error) => return Ok(Err(format!("processes may not be traced: {error}"))),
                }
            }
            Scene::Stops => {
                let dice = Dice::new(options.seed, 1);
                world._stops = Some(Stops::begin(process, STOP, STOP_GAP, dice));
            }
            Scene::Plain { .. } | Scene::Quota { is_set: false } => {}
        }
        Ok(Ok(world))
    }
}

impl Shield {
    /// The command that starts it before `origin`, and where it listens; `None` where it is not
    /// installed.
    fn command(
        self,
        world: &World,
        options: &Options,
        origin: SocketAddr,
    ) -> Result<Option<(Command, SocketAddr)>> {
        let before = loopback();
        let dir = world._dir.path();
        let command = match self {
            Self::Nginx => {
                let Some(program) = require("nginx", Absent::Skip) else { return Ok(None) };
                let config = format!(
                    "daemon off; pid nginx.pid; error_log error.log; user root root;\n\
                     events {{ worker_connections 1024; }}\n\
                     http {{ access_log off; proxy_cache_path cache keys_zone=kept:10m;\n\
                     proxy_temp_path temp; client_body_temp_path body; fastcgi_temp_path fast;\n\
                     uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n\
                     server {{ listen {before}; location / {{ proxy_pass http://{origin};\n\
                     proxy_cache kept; proxy_cache_lock on; proxy_cache_lock_age 30s;\n\
                     proxy_cache_lock_timeout 30s; }} }} }}\n"
                );
                fs::write(dir.join("nginx.conf"), config)?;
                let mut nginx = Command::new(program);
                nginx.arg("-p").arg(dir).args(["-c", "nginx.conf", "-e", "error.log"]);
                nginx
            }
            Self::Varnish => {
                let Some(program) = require("varnishd", Absent::Skip) else { return Ok(None) };
                let mut varnish = Command::new(program);
                varnish.args(["-F", "-a", &before.to_string(), "-b", &origin.to_string()]);
                varnish.arg("-n").arg(dir.join("varnish"));
                varnish
            }
            Self::Tidegate => {
                let config = format!(
                    "[listen]\npublic = \"{before}\"\nadmin = \"{}\"\n\
                     [[upstream]]\nname = \"origin\"\nservers = [\"{origin}\"]\n\
                     [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:origin\"\ncache = {{}}\n",
                    loopback()
                );
                let file = dir.join("tidegate.toml");
                fs::write(&file, config)?;
                let mut tidegate = Command::new(&options.binary);
                tidegate.arg("serve").arg("-c").arg(file);
                tidegate
            }
        };
        Ok(Some((command, before)))
    }
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}
