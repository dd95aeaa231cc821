//! Accepts the connections of Python processes: for control, and for what workers print.
//!
//! Invariant: the process number and the user come from the kernel (`SO_PEERCRED`, unix(7)). Role
//! and worker number are what the process says; `State::join` checks those of control connections.
//! Bounds: a control connection must say hello within 10 seconds, else it is closed. An output
//! connection names its worker in 256 bytes, else it is logged as of `a process`. That line is JSON
//! with `id`; `redirect_output` of `python/tidegate/workers/worker.py` writes it.
//! Also here: `Tails`, the last lines by process number. Refuses: processes of other users, and to
//! know what a message means.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::Sender;

use super::event::Event;
use crate::output::{self, Printer, Tail};
use crate::wire::{Message, MessageReader};

/// How long a connection may take to say whose it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// A listener that has no descriptor left tries again after this.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
const INTRODUCTION_BYTES_MAX: usize = 256;

/// The last lines of processes, by their number.
#[derive(Debug, Clone, Default)]
pub(super) struct Tails(Rc<parking_lot::Mutex<HashMap<i32, Rc<Tail>>>>);

impl Tails {
    pub(super) fn of(&self, pid: i32) -> Rc<Tail> {
        Rc::clone(self.0.lock().entry(pid).or_default())
    }

    pub(super) fn lines(&self, pid: i32) -> Vec<String> {
        self.0.lock().get(&pid).map(|tail| tail.lines()).unwrap_or_default()
    }

    pub(super) fn forget(&self, pid: i32) {
        self.0.lock().remove(&pid);
    }
}

/// Takes control connections for ever.
pub(super) async fn control(listener: UnixListener, events: Sender<Event>) {
    let mut connection = 0;
    loop {
        let Some((stream, pid)) = accept(&listener).await else { continue };
        connection += 1;
        tokio::task::spawn_local(read_messages(stream, pid, connection, events.clone()));
    }
}

/// Reads one process's messages until it hangs up.
async fn read_messages(stream: UnixStream, pid: i32, connection: u64, events: Sender<Event>) {
    let (reader, writer) = stream.into_split();
    let mut messages = MessageReader::new(reader);
    let hello = tokio::time::timeout(HELLO_TIMEOUT, messages.next()).await;
    let Ok(Ok(Some(Ok(Message::Hello(hello))))) = hello else {
        tracing::warn!(pid, ?hello, "the first message on the control socket is not a hello");
        return;
    };
    let joined = Event::Joined { connection, hello, pid, writer };
    // The supervisor outlives its tasks.
    let _ = events.send(joined).await;
    loop {
        match messages.next().await {
            Ok(Some(Ok(message))) => {
                let _ = events.send(Event::Message { connection, message }).await;
            }
            Ok(Some(Err(error))) => {
                tracing::warn!(pid, error, "a message is not understood");
            }
            Ok(None) | Err(_) => break,
        }
    }
    let _ = events.send(Event::HungUp { connection }).await;
}

/// Takes output connections for ever.
pub(super) async fn printed(listener: UnixListener, pool: Arc<str>, tails: Tails) {
    loop {
        let Some((stream, pid)) = accept(&listener).await else { continue };
        let (pool, tail) = (Arc::clone(&pool), tails.of(pid));
        tokio::task::spawn_local(async move {
            let mut stream = BufReader::new(stream);
            let id = introduction(&mut stream).await;
            let process =
                id.map_or_else(|_| "a process".into(), |id| format!("worker {id}").into());
            output::follow(stream, Printer { pool, process, pid }, tail).await;
        });
    }
}

/// Reads the line in front of what is printed, and not a byte more.
async fn introduction(stream: &mut BufReader<UnixStream>) -> io::Result<u64> {
    let mut line = Vec::new();
    while line.len() < INTRODUCTION_BYTES_MAX {
        match stream.read_u8().await? {
            b'\n' => break,
            byte => line.push(byte),
        }
    }
    let introduction: serde_json::Value = serde_json::from_slice(&line)?;
    introduction["id"].as_u64().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

async fn accept(listener: &UnixListener) -> Option<(UnixStream, i32)> {
    let stream = match listener.accept().await {
        Ok((stream, _)) => stream,
        Err(error) => {
            tracing::warn!(%error, "a connection of a Python process cannot be accepted");
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            return None;
        }
    };
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != rustix::process::getuid().as_raw() {
        tracing::warn!(uid = peer.uid(), "a process of another user is turned away");
        return None;
    }
    peer.pid().map(|pid| (stream, pid))
}
