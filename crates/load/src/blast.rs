//! Sends datagrams to one address over UDP, as fast as a core can or at a rate.
//!
//! Nobody answers, so a run reports what was handed to the kernel, and how long that took. Plain
//! datagrams go up to 64 to a system call (`sendmmsg`). In trains (`UDP_SEGMENT`, udp(7)) the
//! kernel is handed up to 64 datagrams, or 65,507 bytes, as one. It cuts them itself, several times
//! as many a second.
//! Invariant: datagrams go in the order given, again from the first after the last, and none is
//! passed over. A count is met exactly without trains; with them it is rounded up to whole trains.
//! `ENOBUFS` and an interrupted call are tried again at once. Any other refusal ends the run with
//! an error, also when nobody listens.
//! Never here: what datagrams say, and who receives them.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};

use crate::{LoadError, Stop};

/// Datagrams of one system call, and of one train.
const AT_ONCE: usize = 64;
/// The longest train.
const TRAIN_BYTES_MAX: usize = 65_507;

/// What is sent, and how.
#[derive(Debug, Clone)]
pub struct Blast {
    /// Where to.
    pub target: SocketAddr,
    /// The datagrams, in turn.
    pub datagrams: Vec<Vec<u8>>,
    /// In trains, which takes datagrams of one length.
    pub in_trains: bool,
    /// Datagrams a second, in bursts of [`Blast::burst`]; as fast as possible without.
    pub rate: Option<f64>,
    /// Datagrams that are sent in one go, then comes the pause.
    pub burst: usize,
    /// When to stop. A count is met exactly; in trains it is rounded up to whole ones.
    pub stop: Stop,
}

/// What was sent.
#[derive(Debug, Clone, Copy)]
pub struct BlastResult {
    /// Datagrams.
    pub datagrams: u64,
    /// How long that took.
    pub elapsed: Duration,
}

impl BlastResult {
    /// Datagrams a second.
    pub fn rate(&self) -> f64 {
        self.datagrams as f64 / self.elapsed.as_secs_f64()
    }
}

impl Blast {
    /// As fast as possible, without trains.
    pub fn new(target: SocketAddr, datagrams: Vec<Vec<u8>>, stop: Stop) -> Self {
        Self { target, datagrams, in_trains: false, rate: None, burst: AT_ONCE, stop }
    }

    /// Sends from the calling thread.
    ///
    /// # Errors
    /// When there is nothing to send, datagrams of trains differ in length, or nobody listens.
    pub fn run(&self) -> Result<BlastResult, LoadError> {
        let socket = self.socket()?;
        let (messages, per_message) = self.messages();
        let slices: Vec<[IoSlice<'_>; 1]> =
            messages.iter().map(|message| [IoSlice::new(message)]).collect();
        let mut controls: Vec<_> = slices.iter().map(|_| SendAncillaryBuffer::default()).collect();
        let pairs = slices.iter().zip(&mut controls);
        let mut headers: Vec<_> = pairs.map(|(slice, none)| MMsgHdr::new(slice, none)).collect();

        let begun = Instant::now();
        let (mut at, mut sent) = (0, 0u64);
        while let Some(left) = self.left(sent, begun) {
            self.wait(sent, begun);
            let room = (left / per_message as u64).max(1).min(self.burst_messages(per_message));
            let end = headers.len().min(at + room as usize);
            let done = match sendmmsg(&socket, &mut headers[at..end], SendFlags::empty()) {
                Ok(done) => done,
                Err(rustix::io::Errno::NOBUFS | rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(system("sendmmsg", error.into())),
            };
            sent += (done * per_message) as u64;
            at = (at + done) % headers.len();
        }
        Ok(BlastResult { datagrams: sent, elapsed: begun.elapsed() })
    }

    fn socket(&self) -> Result<UdpSocket, LoadError> {
        let first = self.datagrams.first().ok_or(LoadError::Plan("no datagrams"))?;
        let any: SocketAddr =
            if self.target.is_ipv4() { ([0; 4], 0).into() } else { ([0; 16], 0).into() };
        let socket = UdpSocket::bind(any).map_err(|error| system("bind", error))?;
        socket.connect(self.target).map_err(|error| system("connect", error))?;
        if self.in_trains {
            let bytes = first.len();
            if bytes == 0 || self.datagrams.iter().any(|datagram| datagram.len() != bytes) {
                return Err(LoadError::Plan("datagrams of trains must be of one length"));
            }
            stdx::cut_trains(socket.as_fd(), bytes as u16)
                .map_err(|error| system("setsockopt(UDP_SEGMENT)", error))?;
        }
        Ok(socket)
    }

    /// What single sends are made of, and how many datagrams each of them is.
    fn messages(&self) -> (Vec<Vec<u8>>, usize) {
        if !self.in_trains {
            return (self.datagrams.clone(), 1);
        }
        let bytes = self.datagrams[0].len();
        let length = AT_ONCE.min(TRAIN_BYTES_MAX / bytes).max(1);
        // As many trains as it takes for the last one to be as long as the others.
        let trains = self.datagrams.len() / greatest_common_divisor(length, self.datagrams.len());
        let mut in_turn = self.datagrams.iter().cycle();
        let train = |_| in_turn.by_ref().take(length).flatten().copied().collect();
        ((0..trains).map(train).collect(), length)
    }

    /// How many datagrams may still be sent.
    fn left(&self, sent: u64, begun: Instant) -> Option<u64> {
        match self.stop {
            Stop::Count(count) => Some(count.saturating_sub(sent)).filter(|left| *left > 0),
            Stop::After(time) => (begun.elapsed() < time).then_some(u64::MAX),
        }
    }

    fn burst_messages(&self, per_message: usize) -> u64 {
        let most = (AT_ONCE / per_message).max(1);
        (self.burst / per_message).clamp(1, most) as u64
    }

    /// Waits until the next datagram is due: those of a burst all are with its first.
    fn wait(&self, sent: u64, begun: Instant) {
        let Some(rate) = self.rate else { return };
        let burst = self.burst.max(1) as u64;
        let due = Duration::from_secs_f64((sent / burst * burst) as f64 / rate);
        let early = due.saturating_sub(begun.elapsed());
        if !early.is_zero() {
            thread::sleep(early);
        }
    }
}

fn system(call: &'static str, source: io::Error) -> LoadError {
    LoadError::System { call, source }
}

fn greatest_common_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests;
