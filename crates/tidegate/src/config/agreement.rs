//! Checks what sections of a configuration must agree on: addresses, directories, the token.
//!
//! Invariant: an error names the key at which it can be mended, and the other one. Each section is
//! sound by itself (`config.rs`). Names of machines are not looked up here, only `localhost` is
//! known. `serve.rs` asks `is_listener` of each address that a look-up finds. A server that is this
//! process under another address is not found. Requests that go round in a circle are refused by
//! `gateway/src/via.rs`.
//! Also here: the bounds of threads. Never here: files that may come later (`commands/notes.rs`).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use chassis::config::Document;
use gateway::ServerPlan;

/// Bytes of a token for clients that are not on this machine; a shorter one can be guessed.
const TOKEN_BYTES_MIN: usize = 16;
/// Threads of one kind; more are a mistake on any machine of today.
const THREADS_MAX: usize = 1024;

/// Whether a listener at `one` takes what is meant for `other`. An address of all interfaces has
/// every other address of its port.
fn meets(one: SocketAddr, other: SocketAddr) -> bool {
    let is_any = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && (is_any || one.ip() == other.ip())
}

/// Checks that no two listeners want one address.
pub(super) fn listeners(
    listeners: &[(&'static str, Option<SocketAddr>)],
    document: &mut Document<'_>,
) {
    let known = listeners.iter().filter_map(|(key, address)| Some((*key, (*address)?)));
    let known: Vec<(&str, SocketAddr)> = known.collect();
    for (at, (key, address)) in known.iter().enumerate() {
        if let Some((first, earlier)) =
            known[..at].iter().find(|(_, earlier)| meets(*address, *earlier))
        {
            let reason = format!("is {address}, but `{first}` is {earlier}; write another port");
            document.wrong(key, reason);
        }
    }
}

/// Checks that no upstream is a listener of this process. Requests to the public one would ask for
/// themselves; to the admin one, they would come from this machine.
pub(super) fn upstreams(
    upstreams: &[gateway::UpstreamPlan],
    (key, listener): (&str, SocketAddr),
    document: &mut Document<'_>,
) {
    for upstream in upstreams {
        let mut servers = upstream.servers.iter().filter_map(known_address);
        if let Some(server) = servers.find(|server| is_listener(*server, listener)) {
            let name = &upstream.name;
            let reason =
                format!("is {listener}, where the upstream `{name}` has its server {server}");
            document.wrong(key, reason);
        }
    }
}

/// Whether a server at an address is a listener of this process.
pub(crate) fn is_listener(server: SocketAddr, listener: SocketAddr) -> bool {
    let ip = server.ip().to_canonical();
    if server.port() != listener.port() {
        return false;
    }
    let is_local = ip.is_loopback() || ip.is_unspecified() || ip == listener.ip();
    is_local && meets(SocketAddr::new(ip, server.port()), listener)
        || listener.ip().is_unspecified() && is_of_this_machine(ip)
}

/// Whether an address is one of this machine: only to those a socket can be bound.
fn is_of_this_machine(ip: IpAddr) -> bool {
    std::net::UdpSocket::bind((ip, 0)).is_ok()
}

/// Returns the address of a server, where nobody need be asked for it.
fn known_address(server: &ServerPlan) -> Option<SocketAddr> {
    match server {
        ServerPlan::Address(address) => Some(*address),
        ServerPlan::Name { host, port } => {
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            let is_here = host == "localhost" || host.ends_with(".localhost");
            is_here.then(|| SocketAddr::from((Ipv4Addr::LOCALHOST, *port)))
        }
    }
}

/// Checks that journal and cache have directories of their own: each removes what it does not know.
pub(super) fn directories(
    journal: Option<&Path>,
    cache: Option<&Path>,
    document: &mut Document<'_>,
) {
    let (Some(journal), Some(cache)) = (journal, cache) else { return };
    if journal.components().eq(cache.components()) {
        let dir = cache.display();
        let reason = format!("is `{dir}`, which `journal.dir` has; each needs one of its own");
        document.wrong("cache.disk.dir", reason);
    }
}

/// Checks that a header can carry the admin token, and that it is no guess away where other
/// machines reach the listener.
pub(super) fn token(admin: SocketAddr, token: Option<&str>, document: &mut Document<'_>) {
    let is_odd = |token: &str| token.trim() != token || !token.bytes().all(is_printable);
    if token.is_some_and(is_odd) {
        let reason = "has characters beyond ASCII, or blanks at an end, which no header carries; \
                      `openssl rand -hex 16` makes a better one";
        document.wrong("listen.admin_token", reason);
    }
    let is_short = token.is_some_and(|token| token.len() < TOKEN_BYTES_MIN);
    if is_short && !admin.ip().is_loopback() {
        let reason = format!(
            "is too short for {admin}, which other machines reach; write at least \
             {TOKEN_BYTES_MIN} characters"
        );
        document.wrong("listen.admin_token", reason);
    }
}

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

/// Returns a number of threads, if there is one.
pub(super) fn threads(
    key: &str,
    count: Option<usize>,
    document: &mut Document<'_>,
) -> Option<usize> {
    match count {
        Some(0) => document.wrong(key, "is 0; write at least 1"),
        Some(count) if count > THREADS_MAX => {
            document.wrong(key, format!("is {count}; write at most {THREADS_MAX}"));
        }
        _ => {}
    }
    count
}
