//! Sends counts of sessions and slow queries to a statsd, a datagram for each frame.
//!
//! Names are `pgtop.SERVER.…`, where dots and colons of the server's name become `_`. A datagram
//! that is lost is lost: nobody waits for it.

use std::fmt::Write as _;
use std::net::{ToSocketAddrs, UdpSocket};

use ::pgtop::{HeaderFigures, PgFrame};
use anyhow::{Context, Result};

/// Where counts go.
pub(super) struct CountSender {
    socket: UdpSocket,
    prefix: String,
}

impl CountSender {
    /// Sends to `HOST:PORT`, for a server by its name.
    ///
    /// # Errors
    /// When the address is none, or there is no socket.
    pub(super) fn open(address: &str, server: &str) -> Result<Self> {
        let what = || format!("send to statsd `{address}`");
        let mut found = address.to_socket_addrs().with_context(what)?;
        let found = found.next().context("no address").with_context(what)?;
        let any = if found.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
        let socket = UdpSocket::bind(any).with_context(what)?;
        socket.connect(found).with_context(what)?;
        let name = server.replace(|it: char| !it.is_ascii_alphanumeric() && it != '-', "_");
        Ok(Self { socket, prefix: format!("pgtop.{name}") })
    }

    /// Sends the counts of a frame, and how many queries have become slow.
    pub(super) fn send(&self, frame: &PgFrame, slow_threshold_s: f64, crossings: usize) {
        let it = HeaderFigures::of(frame, None, slow_threshold_s).sessions;
        let mut text = String::new();
        let gauges = [
            ("total", Some(it.total)),
            ("active", it.active),
            ("idle", it.idle),
            ("idle_in_transaction", it.idle_in_transaction),
            ("waiting", it.waiting),
            ("slow", it.slow),
        ];
        // What the role may not see is no zero.
        for (name, value) in gauges.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            let _ = writeln!(text, "{}.sessions.{name}:{value}|g", self.prefix);
        }
        if crossings > 0 {
            let _ = writeln!(text, "{}.slow_queries:{crossings}|c", self.prefix);
        }
        // Whether somebody listens there is not known, and not our matter.
        let _ = self.socket.send(text.trim_end().as_bytes());
    }
}
