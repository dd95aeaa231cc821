//! Follows names on a thread of its own, and reports what each look-up found.
//!
//! Invariant: each name is looked up at once, and then whenever its next look-up is due. One report
//! follows each look-up, on this thread, and must not block. Names do not wait for each other. A
//! `Resolver` that is dropped ends its thread. Never here: what a report means (`known`).

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::known::{Family, Found, Known, Report};
use crate::lookup::look_up;
use crate::options::Options;
use crate::route::{has_route, reachable};
use crate::system::System;

/// A name, and who is told of its addresses.
pub struct Followed {
    /// The name; a dot at its end keeps the search list away.
    pub host: String,
    /// Called after each look-up.
    pub report: Box<dyn Fn(&Report<'_>) + Send>,
}

/// Looks names up as long as it lives.
#[derive(Debug)]
pub struct Resolver {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Gets a message after the first look-up of each name.
    first: Mutex<mpsc::Receiver<()>>,
    count: usize,
}

impl Resolver {
    /// Starts to follow names.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(options: Options, names: Vec<Followed>) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (looked_up, first) = mpsc::channel();
        let count = names.len();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("resolver".to_owned()).spawn(move || {
            let tasks = LocalSet::new();
            let shared = Rc::new(Shared { options, system: RefCell::default() });
            for (name, seed) in names.into_iter().zip(seed() >> 1..) {
                tasks.spawn_local(follow(Rc::clone(&shared), name, seed, looked_up.clone()));
            }
            // A sender that is dropped ends it as well.
            let _ = tasks.block_on(&runtime, stopped);
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread), first: Mutex::new(first), count })
    }

    /// Waits until each name was looked up once, but no longer than `timeout`. Returns whether they
    /// were.
    pub fn wait_for_first(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let left = || deadline.saturating_duration_since(Instant::now());
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        (0..self.count).all(|_| first.recv_timeout(left()).is_ok())
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic in there has already been printed.
        self.thread.take().map(JoinHandle::join);
    }
}

/// What all names share.
struct Shared {
    options: Options,
    system: RefCell<Option<Rc<System>>>,
}

impl Shared {
    /// Returns what is known of this machine; reads it anew if its files have changed.
    fn system(&self) -> Result<Rc<System>, String> {
        let mut system = self.system.borrow_mut();
        if let Some(system) = system.as_ref().filter(|system| system.is_current()) {
            return Ok(Rc::clone(system));
        }
        let read = Rc::new(System::read(&self.options).map_err(|error| error.to_string())?);
        *system = Some(Rc::clone(&read));
        Ok(read)
    }
}

async fn follow(shared: Rc<Shared>, name: Followed, seed: u64, looked_up: mpsc::Sender<()>) {
    let mut known = Known::new(shared.options.times.clone(), seed);
    let mut looked_up = Some(looked_up);
    loop {
        let found = match shared.system() {
            Ok(system) => {
                let found = look_up(&system, &name.host, shared.options.times.hosts).await;
                reachable(found, has_route)
            }
            Err(reason) => Found(Family::Failed(reason), Family::Empty),
        };
        let due = known.take(found, &name.report);
        // Nobody may be waiting any more.
        let _ = looked_up.take().map(|looked_up| looked_up.send(()));
        sleep(due).await;
    }
}

/// Returns a number that other processes do not have, to spread their retries.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}
