//! Reads the environment; no other Rust file of the product reads variables by name.
//!
//! `TIDEGATE_LOG` and `TIDEGATE_ADMIN_TOKEN` are Tidegate's own; the token wins over the
//! configuration. `LOG_LEVEL`, `JSON_LOGS`, `PORT`, `MAX_WORKERS` and `TIMEOUT` are those that
//! images for Python APIs use. Over `LOG_LEVEL` `TIDEGATE_LOG` wins, and over the last three the
//! configuration. `COLUMNS`, `NO_COLOR` and `TERM` say how to draw. The host's name is here, too.
//! Invariant: an empty value is as none, and so is one that cannot be read, without a message. Only
//! `TIDEGATE_LOG` is taken as it is.
//! What wins between variable and configuration, `config.rs` and the role's crate decide. A new
//! variable also goes into docs/operating/start-and-stop.md, which has all but those for drawing.
//! Tidegate's own two stand in the help (`cli.rs`), too. By its name, `workers`
//! (`supervise/spawn.rs`) keeps the token from Python processes, and a hint of `commands.rs` asks
//! for it.
//! Never here: arguments, and the system's directory for temporary files. Clippy forbids
//! `std::env::var` elsewhere (`clippy.toml`).

#![expect(clippy::disallowed_methods, reason = "this is the file that may")]

use std::time::Duration;

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

/// The port of the public listener, on all addresses (`PORT`).
pub(crate) fn port() -> Option<u16> {
    text("PORT")?.parse().ok()
}

/// Workers of a pool (`MAX_WORKERS`).
pub(crate) fn workers() -> Option<usize> {
    text("MAX_WORKERS")?.parse().ok()
}

/// Time for a worker to boot, and for a request, in seconds (`TIMEOUT`). 0, which is for ever in
/// gunicorn, is not taken over: what hangs for ever is what pools are there to end.
pub(crate) fn timeout() -> Option<Duration> {
    text("TIMEOUT")?.parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// Columns to draw in, where the user says so (`COLUMNS`).
pub(crate) fn columns() -> Option<usize> {
    text("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

/// Whether the user wants no colours (`NO_COLOR`, no-color.org).
pub(crate) fn has_no_colour() -> bool {
    text("NO_COLOR").is_some() || text("TERM").is_some_and(|term| term == "dumb")
}

fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The name of this machine, as the system knows it.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The admin token (`TIDEGATE_ADMIN_TOKEN`), which wins over the configuration's.
pub(crate) fn admin_token() -> Option<String> {
    text("TIDEGATE_ADMIN_TOKEN")
}
