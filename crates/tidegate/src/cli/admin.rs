//! Declares which running server a command asks.

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
