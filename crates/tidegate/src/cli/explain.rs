//! Declares the arguments of `tidegate explain`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate explain /1/recommendations.json --user 17
          tidegate explain http://shop.example/news?page=2 -H 'Accept-Language: de'
          tidegate explain --user 17 --since 15m          lists this user's recorded requests
          tidegate explain --request 0af7651916cd43dd8448eb211c80319c
It asks the server of the configuration. If none runs, it answers from the files alone: then \
nothing is known of what is cached. No request reaches an upstream.";

/// What to explain.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// `http://HOST/PATH?QUERY`, or `/PATH?QUERY`; a recorded request has one already.
    #[arg(value_name = "URL", required_unless_present_any = ["request", "since", "until"])]
    pub url: Option<String>,
    /// The user's id; it is put where the route looks for it.
    #[arg(long, value_name = "ID")]
    pub user: Option<String>,
    /// A recorded request, by its `id` (or the `request_id` of its ranking), 32 hexadecimal digits.
    #[arg(long, value_name = "ID")]
    pub request: Option<String>,
    /// List recorded requests from then on, of the user or of the URL's path: a time, or how long
    /// ago it was, such as `15m`.
    #[arg(long, value_name = "TIME", conflicts_with = "request")]
    pub since: Option<String>,
    /// List recorded requests before then.
    #[arg(long, value_name = "TIME", conflicts_with = "request")]
    pub until: Option<String>,
    /// The method [default: GET].
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header of the request; may be repeated.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// The address that the request comes from [default: 127.0.0.1].
    #[arg(long, value_name = "IP")]
    pub from: Option<std::net::IpAddr>,
    /// The configuration; it names the server's admin listener, the journal, models and profiles.
    #[arg(short, long, value_name = "FILE", default_value = "tidegate.toml")]
    pub config: PathBuf,
    /// Ask the server with this admin listener, which may be on another machine.
    #[arg(long, value_name = "IP:PORT")]
    pub admin: Option<std::net::SocketAddr>,
    /// Ask no server, only the files.
    #[arg(long, conflicts_with = "admin")]
    pub offline: bool,
    /// How the answer reads.
    #[arg(long, value_parser = ["text", "json"], default_value = "text")]
    pub format: String,
}
