//! The section `[listen]`: addresses, and what is believed of who connects.
//!
//! The addresses themselves are read with those of other listeners (`config.rs`). Doc comments are
//! the printed reference, with the defaults. Who may be trusted is in `trusted.rs`.

use chassis::Underscores;
use chassis::config::Document;
use schemars::JsonSchema;
use serde::Deserialize;

use super::trusted;

/// Addresses.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ListenConfig {
    /// Where the routes are served; default `127.0.0.1:8080`, or the environment's `PORT` on all
    /// addresses.
    pub public: Option<String>,
    /// Where metrics, status and actions are served; default `127.0.0.1:8081`. Loopback only,
    /// unless there is a token.
    pub admin: Option<String>,
    /// Token that admin requests must carry as `Authorization: Bearer …`; the environment variable
    /// `TIDEGATE_ADMIN_TOKEN` wins.
    pub admin_token: Option<String>,
    /// Time that connections get to finish when the process is told to end; default `30s`, and `0s`
    /// closes them at once.
    pub drain_timeout: Option<String>,
    /// What becomes of request headers with `_` in their name: `drop` (default) or `keep`. CGI,
    /// WSGI, PHP and Rack read `X_User` as `X-User`. What is fetched for several clients never
    /// carries them.
    pub underscores: Option<String>,
    /// Proxies in front whose word about a client is taken: addresses and networks, such as
    /// `["10.0.0.0/8", "2001:db8::/32"]`, at most 1024. Then the client is the last address of
    /// their chain that is not in the list. Of any other peer nothing is believed. Default: none.
    pub trusted: Option<Vec<String>>,
    /// What these proxies write: `x-forwarded` (default: `X-Forwarded-For`, `-Proto` and `-Host`),
    /// or `forwarded` (RFC 7239). The other one is not looked at, because a client may have sent
    /// it.
    pub trusted_headers: Option<String>,
}

/// What `[listen]` says about the connections of clients.
pub(super) fn connections(
    listen: &ListenConfig,
    limits: &mut chassis::Limits,
    document: &mut Document<'_>,
) {
    let (trusted, headers) = (listen.trusted.as_deref(), listen.trusted_headers.as_deref());
    limits.underscores = underscores(listen.underscores.as_deref(), document);
    limits.trusted = trusted::proxies(trusted, headers, document);
}

fn underscores(text: Option<&str>, document: &mut Document<'_>) -> Underscores {
    match text {
        None | Some("drop") => Underscores::Drop,
        Some("keep") => Underscores::Keep,
        Some(other) => {
            document.wrong("listen.underscores", format!("`{other}` is none of drop, keep"));
            Underscores::Drop
        }
    }
}
