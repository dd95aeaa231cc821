//! The day of a client, and what of it presses on workers: many quick requests at once, and long
//! answers that are read slowly.
//!
//! Many at once make workers get requests ahead of their turn, beside handlers that hang and die.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use super::client::{Ask, Visitor, filler};
use super::world::POOLS;
use crate::dice::Dice;

/// Connections of a rush, and requests on each.
const RUSHING: u64 = 12;
const RUSH_REQUESTS: usize = 40;
/// Bytes of a long answer, and how many of them a slow reader takes at a time.
const LONG_BYTES: usize = 6_000_000;
const READ_BYTES: usize = 100_000;
const PAUSE: Duration = Duration::from_millis(10);
/// A reader that gets nothing for so long gives up.
const SILENCE_MAX: Duration = Duration::from_secs(30);

impl Visitor<'_> {
    /// Asks until the time is over.
    pub(super) fn run(mut self) {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            self.pool = self.dice.below(POOLS.len() as u64) as usize;
            match self.dice.below(100) {
                0..5 => self.provoke(),
                5..9 => self.leave(),
                9..11 => self.rush(),
                11..14 => self.read_slowly(),
                _ => self.converse(),
            }
            sleep(Duration::from_millis(self.dice.below(60)));
        }
    }

    /// Many connections that ask for little, one request after the other.
    pub(super) fn rush(&mut self) {
        self.shared.tally.fault("rush");
        let seed = self.dice.number();
        scope(|threads| {
            for number in 0..RUSHING {
                let dice = Dice::new(seed, number);
                let mut visitor = Visitor { shared: self.shared, dice, pool: self.pool };
                threads.spawn(move || {
                    visitor.ask_on_one_connection(RUSH_REQUESTS, |visitor| {
                        let number = visitor.dice.number();
                        visitor.filled("GET, in a rush", "GET", number, 40)
                    });
                });
            }
        });
    }

    /// Reads a long answer more slowly than it is written.
    pub(super) fn read_slowly(&mut self) {
        let number = self.dice.number();
        let target = format!("/{}/fill/{number}/{LONG_BYTES}", POOLS[self.pool].0);
        let answer = filler(number, LONG_BYTES);
        let kind = "GET, long, read slowly";
        let ask = Ask { kind, method: "GET", target, body: Vec::new(), answer };
        let begun = Instant::now();
        let newest = self.shared.versions[self.pool].load(Ordering::SeqCst);
        match self.slow_answer(&ask) {
            Ok(got) if got.ends_with(&ask.answer) && got.starts_with(b"HTTP/1.1 200 ") => {
                self.shared.tally.request(kind, "right", false);
            }
            Ok(got) => {
                let head = String::from_utf8_lossy(&got[..got.len().min(300)]).into_owned();
                let error = io::Error::other(format!("{} bytes, {newest}: {head}", got.len()));
                self.judge(&ask, Err(error), begun);
            }
            Err(error) => self.judge(&ask, Err(error), begun),
        }
    }

    fn slow_answer(&self, ask: &Ask) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.shared.world.public)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        let head =
            format!("GET {} HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n\r\n", ask.target);
        stream.write_all(head.as_bytes())?;
        let (mut got, mut space) = (Vec::new(), vec![0; READ_BYTES]);
        loop {
            match stream.read(&mut space)? {
                0 => return Ok(got),
                bytes => got.extend_from_slice(&space[..bytes]),
            }
            sleep(PAUSE);
        }
    }
}
