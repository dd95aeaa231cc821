//! Finds the names of clients' addresses for `--resolve`, on a thread of its own.
//!
//! A frame is shown at once, with the names that are known by then; the next frame has more.
//! Invariants: no frame waits for a name server. An address is asked for once.
//! Bounds: `QUEUE_MAX` addresses wait, and what comes then is asked for with a later frame. Of
//! `KEPT_MAX` addresses the answers are kept; then all are forgotten.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ::pgtop::PgFrame;
use anyhow::{Context, Result};
use resolver::{AddressNames, Options};

const QUEUE_MAX: usize = 1000;
const KEPT_MAX: usize = 10_000;

/// The names of clients' addresses, as far as they are known.
pub(super) struct ClientNames {
    queue: SyncSender<IpAddr>,
    /// Empty where there is none, or none yet.
    known: Arc<Mutex<HashMap<String, String>>>,
}

impl ClientNames {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there is no thread, or no client for name servers, to be had.
    pub(super) fn start() -> Result<Self> {
        let names = AddressNames::open(&Options::default()).context("ask name servers")?;
        let (queue, queued) = mpsc::sync_channel::<IpAddr>(QUEUE_MAX);
        let known = Arc::new(Mutex::new(HashMap::new()));
        let found = Arc::clone(&known);
        let builder = thread::Builder::new().name("names".to_owned());
        let look_up = move || {
            while let Ok(address) = queued.recv() {
                if let Some(name) = names.name_of(address) {
                    lock(&found).insert(address.to_string(), name);
                }
            }
        };
        builder.spawn(look_up).context("start a thread")?;
        Ok(Self { queue, known })
    }

    /// Puts the names that are known into a frame, and has the others looked up.
    pub(super) fn put_into(&self, frame: &mut PgFrame) {
        let mut known = lock(&self.known);
        for client in frame.sessions.iter_mut().map(|session| &mut session.client) {
            if let Some(name) = known.get(&client.address) {
                client.host_name.clone_from(name);
                continue;
            }
            let Ok(address) = client.address.parse() else { continue };
            if known.len() >= KEPT_MAX {
                known.clear();
            }
            if self.queue.try_send(address).is_ok() {
                known.insert(client.address.clone(), String::new());
            }
        }
    }
}

fn lock(known: &Mutex<HashMap<String, String>>) -> MutexGuard<'_, HashMap<String, String>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
