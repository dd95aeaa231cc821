//! Declares the arguments of `tidegate audit`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate audit --since 2h
          tidegate audit --action purge --user alice
          tidegate audit --verify --against /var/log/auth.log
          tidegate audit --shell bash > /etc/profile.d/audit.sh
Exit codes: 0 the chain holds, 1 it breaks or cannot be read, 2 wrong usage, 78 wrong configuration.
docs/operating/audit.md says what is recorded, and what the chain proves.";

/// Which trail, and what of it.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The configuration, whose `[audit]` says where the trail is.
    #[arg(short, long, value_name = "FILE", default_value = "tidegate.toml")]
    pub config: PathBuf,
    /// The directory of a trail, such as a copy; no configuration is read then.
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    pub dir: Option<PathBuf>,
    /// Actions from then on: a time, or how long ago it was, such as `2h`.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Actions before then.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Actions of this name, such as `purge`, or of names that begin with this word.
    #[arg(long, value_name = "NAME")]
    pub action: Option<String>,
    /// Actions of this user, by name or number.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Print only whether the chain holds.
    #[arg(long)]
    pub verify: bool,
    /// Compare with the lines that syslog has kept in this file.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// How the result reads.
    #[arg(long, value_parser = ["text", "json"], default_value = "text")]
    pub format: String,
    /// Print instead how commands of a shell, or of Nagios' NRPE, are recorded at syslog.
    #[arg(long, value_name = "bash|nrpe", value_parser = ["bash", "nrpe"], exclusive = true)]
    pub shell: Option<String>,
}
