//! Reads the environment; no other Rust file of the product reads variables by name.
//!
//! `TIDEGATE_LOG` and `TIDEGATE_ADMIN_TOKEN` are Tidegate's own; the token wins over the
//! configuration. `LOG_LEVEL`, `JSON_LOGS` and those in capitals below are what images for Python
//! APIs use, gunicorn's among them. Over `LOG_LEVEL` `TIDEGATE_LOG` wins, and over the others the
//! configuration. `COLUMNS`, `NO_COLOR`, `TERM` and the locale say how to draw. `XDG_CONFIG_HOME`
//! and `HOME` say where a user keeps configurations. The host's name is here, too. `NOTIFY_SOCKET`,
//! `WATCHDOG_USEC`, `LISTEN_FDS` and `CREDENTIALS_DIRECTORY` come from a service manager.
//! Invariant: an empty value is as none, and one of an image that cannot be read is an error. Only
//! `TIDEGATE_LOG` is taken as it is; an unknown `LOG_LEVEL` is as none.
//! What wins between variable and configuration, `config.rs` and the role's crate decide. A new
//! variable also goes into docs/operating/start-and-stop.md, which has all but those for drawing.
//! Tidegate's own two stand in the help (`cli.rs`), too. By its name, `workers`
//! (`supervise/spawn.rs`) keeps the token from Python processes, and a hint of `commands.rs` asks
//! for it.
//! Never here: arguments, and the system's directory for temporary files. Clippy forbids
//! `std::env::var` elsewhere (`clippy.toml`).

#![expect(clippy::disallowed_methods, reason = "this is the file that may")]

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Variables of the image of FastAPI's author, of gunicorn and uvicorn that mean nothing here; each
/// with what does the same.
const UNUSED: [(&str, &str); 15] = [
    ("ACCESS_LOG", "the journal has every request"),
    ("APP_MODULE", "set `python` of the pool"),
    ("ERROR_LOG", "the log goes to stderr"),
    ("FORWARDED_ALLOW_IPS", "set `listen.trusted`"),
    ("GUNICORN_CMD_ARGS", "set keys of the pool"),
    ("GUNICORN_CONF", "set keys of the pool"),
    ("MAX_REQUESTS", "set `requests_max` of the pool"),
    ("MAX_REQUESTS_JITTER", "`requests_max` varies by a tenth"),
    ("MODULE_NAME", "set `python` of the pool"),
    ("PRE_START_PATH", "run it before `tidegate serve`"),
    ("ROOT_PATH", "set `root_path` of the pool"),
    ("THREADS", "set `threads` of the pool"),
    ("VARIABLE_NAME", "set `python` of the pool"),
    ("WORKERS_PER_CORE", "set `workers` of the pool"),
    ("WORKER_CLASS", "set `server` of the pool"),
];

/// A variable whose value is not what it must be.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) name: &'static str,
    text: String,
    wanted: &'static str,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of the environment is not {}", self.text, self.wanted)
    }
}

/// Which log lines are shown, in `tracing`'s filter syntax (`TIDEGATE_LOG`), or from which level on
/// in Python's words (`LOG_LEVEL`).
pub(crate) fn log_filter(usual: &str) -> String {
    if let Ok(filter) = std::env::var("TIDEGATE_LOG") {
        return filter;
    }
    let level = match text("LOG_LEVEL").unwrap_or_default().to_ascii_lowercase().as_str() {
        "trace" => "trace",
        "debug" => "debug",
        "info" => "info",
        "warn" | "warning" => "warn",
        "error" | "critical" | "fatal" => "error",
        _ => usual,
    };
    level.to_owned()
}

/// Whether log lines are JSON documents (`JSON_LOGS`).
pub(crate) fn has_json_logs() -> bool {
    let value = text("JSON_LOGS").unwrap_or_default().to_ascii_lowercase();
    matches!(value.as_str(), "1" | "true" | "yes" | "on")
}

/// Where the public listener stands: `BIND`, or all addresses at `PORT`.
///
/// # Errors
/// The variable, and why it is none.
pub(crate) fn public() -> Result<Option<String>, Unreadable> {
    let Some(bind) = text("BIND") else {
        let port: Option<u16> = number("PORT")?;
        return Ok(port.map(|port| format!("0.0.0.0:{port}")));
    };
    // gunicorn takes a port alone for all addresses.
    let address = if bind.starts_with(':') { format!("0.0.0.0{bind}") } else { bind.clone() };
    match address.parse::<SocketAddr>() {
        Ok(_) => Ok(Some(address)),
        Err(_) => Err(Unreadable { name: "BIND", text: bind, wanted: "IP:PORT" }),
    }
}

/// Workers of a pool (`WEB_CONCURRENCY`, else `MAX_WORKERS`).
pub(crate) fn workers() -> Result<Option<usize>, Unreadable> {
    match count("WEB_CONCURRENCY")? {
        Some(workers) => Ok(Some(workers)),
        None => count("MAX_WORKERS"),
    }
}

/// Time for a worker to boot, and for a request, in seconds (`TIMEOUT`). 0, which is for ever in
/// gunicorn, is not taken over: what hangs for ever is what pools are there to end.
pub(crate) fn timeout() -> Result<Option<Duration>, Unreadable> {
    Ok(seconds("TIMEOUT")?.filter(|timeout| !timeout.is_zero()))
}

/// Whether `TIMEOUT` asks for no bound at all.
pub(crate) fn has_endless_timeout() -> bool {
    text("TIMEOUT").is_some_and(|text| text.parse() == Ok(0))
}

/// Time to finish requests before an end (`GRACEFUL_TIMEOUT`).
pub(crate) fn graceful_timeout() -> Result<Option<Duration>, Unreadable> {
    seconds("GRACEFUL_TIMEOUT")
}

/// Time for the next request of a connection (`KEEP_ALIVE`).
pub(crate) fn keep_alive() -> Result<Option<Duration>, Unreadable> {
    Ok(seconds("KEEP_ALIVE")?.filter(|timeout| !timeout.is_zero()))
}

/// Returns those variables of images for Python APIs that are set and mean nothing here, each with
/// what does the same.
pub(crate) fn unused() -> Vec<(&'static str, &'static str)> {
    UNUSED.into_iter().filter(|(name, _)| text(name).is_some()).collect()
}

fn seconds(name: &'static str) -> Result<Option<Duration>, Unreadable> {
    Ok(number(name)?.map(Duration::from_secs))
}

/// A number from 1 on.
fn count(name: &'static str) -> Result<Option<usize>, Unreadable> {
    match number(name)? {
        Some(0) => Err(Unreadable { name, text: "0".to_owned(), wanted: "a number from 1 on" }),
        count => Ok(count),
    }
}

fn number<T: FromStr>(name: &'static str) -> Result<Option<T>, Unreadable> {
    let Some(text) = text(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(Unreadable { name, text, wanted: "a whole number" }),
    }
}

/// Columns to draw in, where the user says so (`COLUMNS`).
pub(crate) fn columns() -> Option<usize> {
    text("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

/// Whether the user wants no colours (`NO_COLOR`, no-color.org).
pub(crate) fn has_no_colour() -> bool {
    text("NO_COLOR").is_some() || text("TERM").is_some_and(|term| term == "dumb")
}

/// Whether the user's terminal has ASCII only, by the first of `LC_ALL`, `LC_CTYPE` and `LANG`
/// that is set (POSIX, XBD 8.2). Where none is, it has UTF-8.
pub(crate) fn has_only_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    !locale.is_empty() && !locale.contains("utf-8") && !locale.contains("utf8")
}

/// The folder of the user's configurations (`XDG_CONFIG_HOME`, else `.config` in `HOME`), as the
/// XDG Base Directory Specification has it: a relative one counts as none.
pub(crate) fn config_dir() -> Option<PathBuf> {
    let dir = |name: &str| text(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    dir("XDG_CONFIG_HOME").or_else(|| dir("HOME").map(|home| home.join(".config")))
}

/// The socket of the service manager (`NOTIFY_SOCKET`, sd_notify(3)).
pub(crate) fn notify_socket() -> Option<String> {
    text("NOTIFY_SOCKET")
}

/// How often the service manager wants to hear from this process (`WATCHDOG_USEC`).
pub(crate) fn watchdog() -> Option<Duration> {
    let is_meant = text("WATCHDOG_PID").is_none_or(|pid| is_this_process(&pid));
    let interval = text("WATCHDOG_USEC")?.parse().ok().map(Duration::from_micros);
    interval.filter(|interval| is_meant && !interval.is_zero())
}

/// How many descriptors the service manager has passed to this process, and their names
/// (`LISTEN_FDS`, `LISTEN_FDNAMES`, sd_listen_fds(3)).
pub(crate) fn passed_descriptors() -> Option<(usize, Vec<String>)> {
    let is_meant = text("LISTEN_PID").is_some_and(|pid| is_this_process(&pid));
    let count = text("LISTEN_FDS")?.parse().ok().filter(|count| is_meant && *count > 0)?;
    let names = text("LISTEN_FDNAMES").unwrap_or_default();
    Some((count, names.split(':').filter(|name| !name.is_empty()).map(str::to_owned).collect()))
}

/// The folder of the secrets that the service manager hands over (`CREDENTIALS_DIRECTORY`).
pub(crate) fn credentials_dir() -> Option<PathBuf> {
    text("CREDENTIALS_DIRECTORY").map(PathBuf::from)
}

fn is_this_process(pid: &str) -> bool {
    pid.parse() == Ok(std::process::id())
}

fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The name of this machine, as the system knows it.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A variable of libpq by its name (`PGHOST`, `PGSERVICE` and others), or `HOME`, where its files
/// are.
pub(crate) fn of_postgres(name: &str) -> Option<String> {
    text(name)
}

/// The variable with the arguments of `tidegate pgtop`, when its list of arguments has `***` for
/// secrets.
pub(crate) const PGTOP_ARGUMENTS: &str = "TIDEGATE_PGTOP_ARGUMENTS";

/// The arguments of `tidegate pgtop` with their secrets, as JSON (`pgtop/secrecy.rs`).
pub(crate) fn pgtop_arguments() -> Option<String> {
    text(PGTOP_ARGUMENTS)
}

/// Who ran `sudo`, as the environment claims (`SUDO_USER`).
pub(crate) fn sudo_user() -> Option<String> {
    text("SUDO_USER")
}

/// The admin token (`TIDEGATE_ADMIN_TOKEN`), which wins over the configuration's.
pub(crate) fn admin_token() -> Option<String> {
    text("TIDEGATE_ADMIN_TOKEN")
}
