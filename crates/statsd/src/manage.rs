//! Serves the management port: text commands over TCP, as both references answer them.
//!
//! A command is a line. Except in Perl, what comes without a line feed counts as one too, because
//! statsd reads it so. What each command answers is in `manage/commands.rs`.
//! Bounds: [`CONNECTIONS_MAX`] connections; one more is closed and logged. [`LINE_BYTES_MAX`] bytes
//! of a line that does not end (in Perl), beyond which the connection is closed. Silent connections
//! are kept. A connection from an address that is not in `allow` is closed at once and logged; a
//! reload changes `allow` for new connections.
//! The port is open until the process ends, not only until the server does. There is no password:
//! whoever reaches it may delete names.

mod commands;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::StatsdError;
use crate::flavour::Flavour;
use crate::plan::Plan;
use crate::state::ServerState;
pub(crate) use commands::{deleted, matching};

const CONNECTIONS_MAX: usize = 64;
const LINE_BYTES_MAX: usize = 65_536;

/// Binds the management port, when there is to be one.
///
/// # Errors
/// When the address is taken or not ours.
pub(crate) fn bind(plan: &Plan) -> Result<Option<TcpListener>, StatsdError> {
    let Some(management) = &plan.management else { return Ok(None) };
    let address = management.address;
    TcpListener::bind(address).map(Some).map_err(StatsdError::bind(format!("tcp:{address}")))
}

/// Answers connections until the process ends.
///
/// # Errors
/// When there is no thread left.
pub(crate) fn start(listener: TcpListener, state: &Arc<ServerState>) -> Result<(), StatsdError> {
    let state = Arc::clone(state);
    let name = "statsd management";
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let open = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => serve(stream, &state, &open),
                Err(error) => tracing::warn!(%error, "a connection to the management port failed"),
            }
        }
    });
    thread.map(drop).map_err(|source| StatsdError::Thread { name, source })
}

fn serve(stream: TcpStream, state: &Arc<ServerState>, open: &Arc<AtomicUsize>) {
    let plan = state.plan();
    let allow = plan.management.as_ref().map_or(&[][..], |m| &m.allow);
    let peer = stream.peer_addr().map(|peer| peer.ip());
    let is_allowed = allow.is_empty()
        || peer.as_ref().is_ok_and(|peer| allow.iter().any(|network| network.has(*peer)));
    if !is_allowed || open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
        tracing::warn!(?peer, is_allowed, "a connection to the management port was refused");
        return;
    }
    open.fetch_add(1, Ordering::Relaxed);
    let (state, counted) = (Arc::clone(state), Arc::clone(open));
    let thread = std::thread::Builder::new().name("statsd management".to_owned());
    let started = thread.spawn(move || {
        // A client that went away needs no answer.
        let _ = answer(stream, &state);
        counted.fetch_sub(1, Ordering::Relaxed);
    });
    if started.is_err() {
        open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer(mut stream: TcpStream, state: &ServerState) -> io::Result<()> {
    let mut waiting = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        waiting.extend_from_slice(&buffer[..length]);
        while let Some(line) = next_line(&mut waiting, state.plan().flavour) {
            let Some(reply) = commands::answer(state, &line) else {
                return stream.shutdown(std::net::Shutdown::Both);
            };
            stream.write_all(reply.as_bytes())?;
        }
        if waiting.len() > LINE_BYTES_MAX {
            return Ok(());
        }
    }
}

/// The next command; statsd takes what came without a line feed for one as well.
fn next_line(waiting: &mut Vec<u8>, flavour: Flavour) -> Option<String> {
    let end = match memchr::memchr(b'\n', waiting) {
        Some(at) => at + 1,
        None if flavour == Flavour::Perl || waiting.is_empty() => return None,
        None => waiting.len(),
    };
    let line: Vec<u8> = waiting.drain(..end).collect();
    Some(String::from_utf8_lossy(&line).trim().to_owned())
}
