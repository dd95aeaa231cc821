//! Declares the arguments of `tidegate traffic`.
//!
//! Names are those of vlogdump and varnishlog, so that their users need no others. Each option of
//! vlogdump exists twice: as `-v NAME=VALUE`, and under its own name. The former are taken first.

use std::path::PathBuf;

use clap::Args;

use super::admin::AdminArgs;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate traffic --where 'status >= 500'      a running server, as it happens
          varnishlog | tidegate traffic -v only_misses=1
          varnishlog -g raw | tidegate traffic --only-slow 200 --show-req-headers
          tidegate traffic /var/log/nginx/access.log --follow --only-status '^5'
          tidegate traffic data/journal --where 'cache == \"miss\" and total > 50ms' --format ndjson
          tidegate traffic capture.txt -q 'ReqHeader:user-agent ~ \"iPod\" and RespStatus >= 500'
          tidegate traffic --save slow-misses 'Timestamp:Resp[2] > 0.5 and not Hit'
          varnishlog | tidegate traffic -Q slow-misses
          tidegate traffic --screen data/journal --follow
          tidegate traffic /var/log/nginx/access.log --report traffic.html
docs/operating/traffic.md has every option, and what differs from vlogdump.";

/// What to watch, and what of it to show.
#[derive(Debug, Args)]
pub(crate) struct TrafficArgs {
    /// A log, also a packed one, the directory of a journal, or `-` for standard input [default:
    /// what is piped in, else a running server].
    #[arg(value_name = "FILE", conflicts_with_all = ["admin", "config"])]
    pub file: Option<PathBuf>,
    /// Which running server.
    #[command(flatten)]
    pub server: AdminArgs,
    /// Show what comes from now on, also behind a rotation, until interrupted.
    #[arg(short, long, requires = "file")]
    pub follow: bool,
    /// With `--follow`: begin with what is there.
    #[arg(short = 'd', long, requires = "follow")]
    pub from_start: bool,
    /// How lines are written, instead of a guess by the first ones: tidegate, combined, ltsv,
    /// varnish, varnish3 or varnish-json.
    #[arg(long, value_name = "FORMAT")]
    pub input_format: Option<::traffic::InputFormat>,
    /// An option of vlogdump as it is written there, such as `only_misses=1`.
    #[arg(short = 'v', value_name = "NAME=VALUE")]
    pub assignments: Vec<String>,
    /// vlogdump's options.
    #[command(flatten)]
    pub vlogdump: VlogdumpArgs,
    /// Show only what a query of Varnish selects, such as `RespStatus >= 500` (vsl-query(7)). Of
    /// several, any.
    #[arg(short = 'q', long, value_name = "QUERY")]
    pub query: Vec<String>,
    /// A query that was saved under a name.
    #[arg(short = 'Q', long, value_name = "NAME")]
    pub named: Vec<String>,
    /// Let queries ignore upper and lower case.
    #[arg(short = 'C', long)]
    pub ignore_case: bool,
    /// Show only what a filter selects, such as `status >= 500 and total > 50ms`.
    #[arg(long = "where", value_name = "FILTER")]
    pub filter: Option<String>,
    /// What a query is asked of: a transaction, a request with all that it began, or a connection
    /// [default: vxid, or what the query needs]. With `raw` each record is asked and shown alone.
    #[arg(short = 'g', long, value_name = "vxid|request|session|raw",
          value_parser = ["vxid", "request", "session", "raw"])]
    pub group: Option<String>,
    /// At most so many transactions wait for their end.
    #[arg(short = 'L', long, value_name = "N", default_value_t = 1000)]
    pub incomplete_max: usize,
    /// They wait at most so many seconds of the log.
    #[arg(short = 'T', long, value_name = "SECONDS", default_value_t = 120)]
    pub timeout: u64,
    /// Show at most so many exchanges in a span of the log, such as `10/s` or `100/5m`.
    #[arg(short = 'R', long, value_name = "N/TIME")]
    pub rate: Option<::traffic::Rate>,
    /// In which form: as vlogdump, a JSON object a line, or an HTTP Archive.
    #[arg(long, value_parser = ["text", "ndjson", "har"], default_value = "text")]
    pub format: String,
    /// Whether text has colours.
    #[arg(long, alias = "colour", value_parser = ["auto", "always", "never"],
          default_value = "auto")]
    pub color: String,
    /// Show `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie` as they are.
    #[arg(long)]
    pub show_secrets: bool,
    /// Show exchanges on the whole terminal, to be looked through, with details, tables and
    /// charts; `?` there shows the keys.
    #[arg(long, conflicts_with_all = ["format", "color"])]
    pub screen: bool,
    /// Write one HTML page about what was seen, at the end, and no exchanges to stdout.
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["format", "color"])]
    pub report: Option<PathBuf>,
    /// Save a query or a filter under a name, and end.
    #[arg(long, num_args = 2, value_names = ["NAME", "QUERY"], exclusive = true)]
    pub save: Vec<String>,
    /// List the queries that were saved, and end.
    #[arg(long, exclusive = true)]
    pub queries: bool,
}

/// The options of vlogdump. `!` before a pattern negates it.
#[derive(Debug, Args)]
pub(crate) struct VlogdumpArgs {
    /// Show the headers of requests.
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub show_req_headers: Option<String>,
    /// Show the headers of answers.
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub show_resp_headers: Option<String>,
    /// Only clients like this, as a proxy's `rlnclientipaddr` or `X-Real-IP` names them, or by
    /// their address.
    #[arg(long, value_name = "[!]RE")]
    pub client_match: Option<String>,
    /// Only requests with headers like this.
    #[arg(long, value_name = "[!]RE")]
    pub req_headers_match: Option<String>,
    /// Only answers with headers like this.
    #[arg(long, value_name = "[!]RE")]
    pub resp_headers_match: Option<String>,
    /// Only methods like this.
    #[arg(long, value_name = "[!]RE")]
    pub req_method: Option<String>,
    /// Only URLs like this.
    #[arg(long, value_name = "[!]RE")]
    pub url_match: Option<String>,
    /// Only answers from the cache.
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub only_hits: Option<String>,
    /// Only answers that are not from the cache.
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub only_misses: Option<String>,
    /// Only answers whose status and reason are like this, such as `^5`.
    #[arg(long, value_name = "[!]RE")]
    pub only_status: Option<String>,
    /// Only answers that were ready after so many milliseconds; 1 is a second.
    #[arg(long, value_name = "MS")]
    pub only_slow: Option<String>,
}

impl VlogdumpArgs {
    /// The options that are there, by vlogdump's names.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let options = [
            ("show_req_headers", &self.show_req_headers),
            ("show_resp_headers", &self.show_resp_headers),
            ("client_match", &self.client_match),
            ("req_headers_match", &self.req_headers_match),
            ("resp_headers_match", &self.resp_headers_match),
            ("req_method", &self.req_method),
            ("url_match", &self.url_match),
            ("only_hits", &self.only_hits),
            ("only_misses", &self.only_misses),
            ("only_status", &self.only_status),
            ("only_slow", &self.only_slow),
        ];
        options.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}
