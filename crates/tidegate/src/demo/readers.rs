//! Simulates readers: each asks for recommendations and reads what it likes, at a bounded rate.
//!
//! The first 400 lines of `readers.tsv` are the readers, and say how much each likes which
//! category. A reader goes down the list, and reads an item with 15 % times that liking as
//! probability. It reads nothing twice. So readers read more of a list that fits, and the figures
//! show it.
//! The figures compare only readers with a profile: lists that were personalised against lists that
//! the rollout held back. Three visits in ten are without a user id.
//! Invariant: one thread sends at most `rate` requests a second for all readers, one after the
//! other. After a failure it goes on 200 ms later, with a new connection. Draws have a fixed seed.
//! Paths and the cookie's name must be those of `examples/news/tidegate.toml`, keys those of
//! `serving`'s answer, decisions those of `exchange::Decision`, and columns those of
//! `examples/news/prepare.py`. The README there states the 15 %.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde_json::Value;
use stdx::Random;

use crate::client::{Client, ClientRequest};

/// Readers who come back often; the rest of the file is not needed to see the loop close.
const READERS_MAX: usize = 400;
/// Share of visits without a user id.
const ANONYMOUS: f64 = 0.3;
/// A reader reads an item it likes fully with this probability, when it comes to it.
const READS: f64 = 0.15;

/// The thread that plays all readers.
pub(super) struct Readers {
    stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Lists shown to readers with a profile and lists read from: generic ones (held back by the
    /// rollout), then personalised ones.
    pub seen: Arc<[ListCounts; 2]>,
}

/// How lists were received.
#[derive(Debug, Default)]
pub(super) struct ListCounts {
    /// Lists shown.
    pub shown: AtomicU64,
    /// Lists of which something was read.
    pub read: AtomicU64,
}

struct Reader {
    id: String,
    likes: HashMap<String, f64>,
    has_read: HashSet<String>,
}

impl Readers {
    /// Starts at `rate` requests a second.
    ///
    /// # Errors
    /// When the readers' file is not as expected, or there is no thread.
    pub(super) fn start(address: SocketAddr, text: &str, rate: u32) -> Result<Self> {
        let readers: Option<Vec<Reader>> = text.lines().take(READERS_MAX).map(parse).collect();
        let readers = readers.context("read the readers' file")?;
        let stopped = Arc::new(AtomicBool::new(false));
        let seen: Arc<[ListCounts; 2]> = Arc::default();
        let mut play = Simulation {
            address,
            readers,
            seen: Arc::clone(&seen),
            dice: Random::new(0x5eed),
            pause: Duration::from_secs(1) / rate.max(1),
            next: Instant::now(),
        };
        let ends = Arc::clone(&stopped);
        let thread = std::thread::Builder::new().name("readers".to_owned()).spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                if let Err(error) = play.visit_until(&ends) {
                    tracing::debug!(%error, "readers come back");
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
        })?;
        Ok(Self { stopped, thread: Mutex::new(Some(thread)), seen })
    }

    /// Ends the visits.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().take() {
            // A reader that panicked said so itself.
            let _ = thread.join();
        }
    }
}

/// What the thread of the readers works on.
struct Simulation {
    address: SocketAddr,
    readers: Vec<Reader>,
    seen: Arc<[ListCounts; 2]>,
    dice: Random,
    pause: Duration,
    next: Instant,
}

impl Simulation {
    fn visit_until(&mut self, stopped: &AtomicBool) -> Result<()> {
        let client = Client::new(self.address);
        while !stopped.load(Ordering::Relaxed) {
            self.visit(&client)?;
        }
        Ok(())
    }

    fn visit(&mut self, client: &Client) -> Result<()> {
        let anonymous = self.dice.fraction() < ANONYMOUS;
        // Squared, so that some readers come much more often than others.
        let place = self.dice.fraction() * self.dice.fraction() * self.readers.len() as f64;
        let reader = place as usize;
        let cookie = match anonymous {
            true => None,
            false => Some(("cookie", format!("userId={}", self.readers[reader].id))),
        };
        let fields = cookie.as_slice();
        self.wait();
        let reply = client.send(ClientRequest {
            method: "GET",
            target: "/1/recommendations.json",
            fields,
            body: b"",
        })?;
        let list: Value = serde_json::from_slice(&reply.body).context("read the list")?;
        if anonymous {
            return Ok(());
        }
        let request = list["request_id"].as_str().unwrap_or("");
        let mut any = false;
        for item in list["items"].as_array().map_or(&[][..], Vec::as_slice) {
            let id = item["id"].as_str().unwrap_or("");
            if self.reads(reader, id, item["category"].as_str().unwrap_or("")) {
                let target = format!("/1/feedback/read?item={id}&request={request}");
                self.wait();
                client.send(ClientRequest {
                    method: "POST",
                    target: &target,
                    fields,
                    body: b"",
                })?;
                any = true;
            }
        }
        let decision = reply.field("tidegate-decision").and_then(|value| value.split(';').next());
        let group = match decision {
            Some("held-out" | "outside-rollout") => 0,
            Some("personalised") => 1,
            _ => return Ok(()),
        };
        self.seen[group].shown.fetch_add(1, Ordering::Relaxed);
        self.seen[group].read.fetch_add(u64::from(any), Ordering::Relaxed);
        Ok(())
    }

    fn reads(&mut self, reader: usize, id: &str, category: &str) -> bool {
        let reader = &mut self.readers[reader];
        let liking = reader.likes.get(category).copied().unwrap_or(0.0);
        self.dice.fraction() < READS * liking && reader.has_read.insert(id.to_owned())
    }

    fn wait(&mut self) {
        self.next += self.pause;
        let now = Instant::now();
        match self.next.checked_duration_since(now) {
            Some(early) => std::thread::sleep(early),
            // Behind: do not catch up in a burst.
            None => self.next = now,
        }
    }
}

/// `ID <tab> CATEGORY:SHARE,… <tab> ITEM …`
fn parse(line: &str) -> Option<Reader> {
    let mut columns = line.split('\t');
    let id = columns.next()?.to_owned();
    let likes = columns.next()?.split(',').map(|pair| {
        let (category, share) = pair.split_once(':')?;
        Some((category.to_owned(), share.parse().ok()?))
    });
    Some(Reader { id, likes: likes.collect::<Option<_>>()?, has_read: HashSet::new() })
}
