//! Checks the proxies of `[listen]` whose word about a client is taken.
//!
//! Invariant: every wrong member of the list is reported, with the line it stands in. Nothing is
//! trusted by default. What is trusted, and for what, is in `http1::forwarded`; that everybody is
//! trusted is a note (`commands/notes.rs`), for a private network may mean it.
//! Never here: the admin listener, which goes by the peer.

use chassis::config::Document;
use chassis::{ClientHeaders, TrustedProxies};
use stdx::Network;

/// Networks in the list. A request is compared with one after the other.
const NETWORKS_MAX: usize = 1024;

/// Returns the proxies of `listen.trusted`, which write `listen.trusted_headers`.
pub(super) fn proxies(
    trusted: Option<&[String]>,
    headers: Option<&str>,
    document: &mut Document<'_>,
) -> TrustedProxies {
    let headers = match headers {
        None | Some("x-forwarded") => ClientHeaders::XForwarded,
        Some("forwarded") => ClientHeaders::Forwarded,
        Some(other) => {
            let reason = format!("`{other}` is none of x-forwarded, forwarded");
            document.wrong("listen.trusted_headers", reason);
            ClientHeaders::XForwarded
        }
    };
    let texts = trusted.unwrap_or_default();
    if texts.len() > NETWORKS_MAX {
        let reason = format!("has {} networks; at most {NETWORKS_MAX} fit", texts.len());
        document.wrong("listen.trusted", reason);
    }
    let mut networks = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        match Network::parse(text) {
            Ok(network) => networks.push(network),
            Err(error) => {
                document.wrong(&format!("listen.trusted[{place}]"), format!("`{text}` {error}"));
            }
        }
    }
    TrustedProxies::new(&networks, headers)
}
