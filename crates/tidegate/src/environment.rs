//! The only place where the environment is read.

#![expect(clippy::disallowed_methods, reason = "this is the file that may")]

/// Which log lines are shown, in `tracing`'s filter syntax (`TIDEGATE_LOG`).
pub fn log_filter(usual: &str) -> String {
    std::env::var("TIDEGATE_LOG").unwrap_or_else(|_| usual.to_owned())
}

/// The name of this machine, as the system knows it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The admin token (`TIDEGATE_ADMIN_TOKEN`), which wins over the configuration's.
pub fn admin_token() -> Option<String> {
    std::env::var("TIDEGATE_ADMIN_TOKEN").ok().filter(|token| !token.is_empty())
}
