//! Serves the management port: text commands over TCP, as both references answer them.
//!
//! A command is a line. Except in Perl, what comes without a line feed counts as one too, because
//! statsd reads it so. What each command answers is in `manage/commands.rs`.
//! Bounds: 64 connections; for one more the one that is idle longest is closed
//! (`management_connections.rs`). [`LINE_BYTES_MAX`] bytes of a line that does not end (in Perl),
//! beyond which the connection is closed. A connection from an address that is not in `allow` is
//! closed at once and logged; a reload changes `allow` for new connections.
//! The port is open until the process ends, not only until the server does. There is no password:
//! whoever reaches it may delete names.

mod commands;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use crate::error::StatsdError;
use crate::flavour::Flavour;
use crate::management_connections::ManagementConnection;
use crate::plan::Plan;
use crate::state::ServerState;
pub(crate) use commands::{deleted, matching};

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
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => serve(stream, &state),
                Err(error) => tracing::warn!(%error, "a connection to the management port failed"),
            }
        }
    });
    thread.map(drop).map_err(|source| StatsdError::Thread { name, source })
}

fn serve(stream: TcpStream, state: &Arc<ServerState>) {
    let plan = state.plan();
    let allow = plan.management.as_ref().map_or(&[][..], |m| &m.allow);
    let peer = stream.peer_addr().map(|peer| peer.ip());
    let is_allowed = allow.is_empty()
        || peer.as_ref().is_ok_and(|peer| allow.iter().any(|network| network.has(*peer)));
    if !is_allowed {
        tracing::warn!(?peer, "a connection to the management port was refused");
        return;
    }
    let connection = state.management.admit(stream);
    let (shared, served) = (Arc::clone(state), Arc::clone(&connection));
    let thread = std::thread::Builder::new().name("statsd management".to_owned());
    let started = thread.spawn(move || {
        // A client that went away needs no answer.
        let _ = answer(&served, &shared);
        shared.management.leave(&served);
    });
    if let Err(error) = started {
        tracing::warn!(?peer, %error, "no thread for a connection to the management port");
        state.management.leave(&connection);
    }
}

fn answer(connection: &ManagementConnection, state: &ServerState) -> io::Result<()> {
    let mut stream = &connection.stream;
    let mut waiting = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        connection.note(true);
        waiting.extend_from_slice(&buffer[..length]);
        while let Some(line) = next_line(&mut waiting, state.plan().flavour) {
            let Some(reply) = commands::answer(state, &line) else {
                return stream.shutdown(std::net::Shutdown::Both);
            };
            stream.write_all(reply.as_bytes())?;
        }
        connection.note(false);
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

#[cfg(test)]
mod tests;
