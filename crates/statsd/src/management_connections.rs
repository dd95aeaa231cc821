//! Counts the connections to the management port, and makes room for one more.
//!
//! Invariant: at most [`CONNECTIONS_MAX`] are open, and a newcomer is always let in. In its place
//! the one that has been idle longest is told so and closed. One that is being answered counts as
//! idle only if all are. So idle connections, however many, keep no operator out.
//! Closing is what ends the thread of a connection, wherever it waits.
//! Never here: who may come at all, and what is answered (`manage.rs`).

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use socket2::SockRef;

/// Connections that are open at once.
pub(crate) const CONNECTIONS_MAX: usize = 64;
/// What a client is told whose connection is closed.
const TOO_MANY: &[u8] = b"ERROR: too many connections\n";

/// The connections that are open.
#[derive(Debug, Default)]
pub(crate) struct ManagementConnections {
    open: Mutex<Vec<Arc<ManagementConnection>>>,
    displaced: AtomicU64,
}

/// One connection, which its thread reads and anybody may close.
#[derive(Debug)]
pub(crate) struct ManagementConnection {
    pub(crate) stream: TcpStream,
    activity: Mutex<Activity>,
}

/// What a connection does, and since when; the least is closed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Activity {
    is_answered: bool,
    since: Instant,
}

impl ManagementConnections {
    /// Lets a connection in; where there is no room, another one is closed.
    pub(crate) fn admit(&self, stream: TcpStream) -> Arc<ManagementConnection> {
        let activity = Activity { is_answered: false, since: Instant::now() };
        let activity = Mutex::new(activity);
        let connection = Arc::new(ManagementConnection { stream, activity });
        let mut open = self.open.lock();
        if open.len() >= CONNECTIONS_MAX {
            let activities = open.iter().map(|other| *other.activity.lock()).enumerate();
            if let Some((at, _)) = activities.min_by_key(|(_, activity)| *activity) {
                open.swap_remove(at).displace();
                self.displaced.fetch_add(1, Ordering::Relaxed);
            }
        }
        open.push(Arc::clone(&connection));
        connection
    }

    /// Notes that a connection has ended.
    pub(crate) fn leave(&self, connection: &Arc<ManagementConnection>) {
        self.open.lock().retain(|other| !Arc::ptr_eq(other, connection));
    }

    /// Connections that were closed to make room.
    pub(crate) fn displaced(&self) -> u64 {
        self.displaced.load(Ordering::Relaxed)
    }
}

impl ManagementConnection {
    /// Notes that it is being answered from now on, or idle.
    pub(crate) fn note(&self, is_answered: bool) {
        *self.activity.lock() = Activity { is_answered, since: Instant::now() };
    }

    fn displace(&self) {
        if !self.activity.lock().is_answered {
            // A client that takes nothing is not waited for.
            let _ = SockRef::from(&self.stream).send_with_flags(TOO_MANY, libc::MSG_DONTWAIT);
        }
        let peer = self.stream.peer_addr().ok();
        tracing::warn!(?peer, "an idle connection to the management port makes room for another");
        // One that the client has closed meanwhile is closed.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
