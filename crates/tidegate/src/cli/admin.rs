//! Declares which running server a command asks, and the arguments of `tidegate health`.

use std::path::PathBuf;

use clap::Args;

/// Which running server.
#[derive(Debug, Args)]
pub(crate) struct AdminArgs {
    /// The server's admin address (`listen.admin`) [default: that of `tidegate.toml` here, else
    /// 127.0.0.1:8081].
    #[arg(long, value_name = "IP:PORT")]
    pub admin: Option<std::net::SocketAddr>,
    /// The server's configuration, which has its admin address and token.
    #[arg(short, long, value_name = "FILE", conflicts_with = "admin")]
    pub config: Option<PathBuf>,
}

/// What of a server's health is asked.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// `live`: the process answers. `ready`: everybody can be answered; else the reasons.
    #[arg(value_name = "live|ready", value_parser = ["live", "ready"])]
    #[arg(hide_possible_values = true)]
    pub page: String,
    /// Which server.
    #[command(flatten)]
    pub admin: AdminArgs,
}
