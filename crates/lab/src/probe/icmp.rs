//! Sends one echo request and waits for its reply (RFC 792, RFC 4443).
//!
//! By a ping socket, or by a raw one where those are not allowed; if neither is, the caller is not
//! made. Phases: `resolve`, `connect`, `send`, `wait`. The socket is kept, as `ping` keeps its own.
//! So `connect` (opening it) is in the first call to a name only, and in none to an address.
//! Invariant: a reply counts for a call only when it has the sequence number and the 56 random
//! bytes of that call. A late reply, or one to another program, is waited past. Only a raw socket
//! tells "unreachable", which counts by identifier and sequence number.
//!
//! Never here: routes, and the loss of several requests. A lost reply is a time-out.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use stdx::Random;

use super::call::{CallDetails, CallFailure, Caller, Stopwatch};
use super::plan::AddressFamily;
use super::target::Endpoint;
use super::tcp;
use crate::LabError;
use load::LoadError;

/// As many as `ping` sends.
const PAYLOAD_BYTES: usize = 56;
const HEADER_BYTES: usize = 8;
const UNREACHABLE_V4: u8 = 3;
const UNREACHABLE_V6: u8 = 1;

/// Sends echo requests.
pub(crate) struct IcmpCaller {
    place: Endpoint,
    family: AddressFamily,
    random: Random,
    sequence: u16,
    /// The socket of the last call, and the host that it is connected to.
    open: Option<(IpAddr, Echo)>,
    /// Identifier and payload of the next request.
    identifier: u16,
    payload: [u8; PAYLOAD_BYTES],
}

/// A socket that may send echo requests.
#[derive(Debug)]
struct Echo {
    socket: Socket,
    is_raw: bool,
    is_v6: bool,
}

/// What a packet says about a request.
#[derive(Debug, PartialEq, Eq)]
enum Received {
    Reply,
    Unreachable,
    Other,
}

impl IcmpCaller {
    /// # Errors
    /// When neither kind of socket is allowed.
    pub(crate) fn new(host: &str, family: AddressFamily) -> Result<Self, LabError> {
        let is_v6 = host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
        Echo::open(is_v6 || family == AddressFamily::V6).map_err(|source| {
            match LoadError::is_of_descriptors(&source) {
                true => LabError::Descriptors,
                false => LabError::Echo { host: host.to_owned(), source },
            }
        })?;
        use std::hash::{BuildHasher, RandomState};
        Ok(Self {
            place: Endpoint { host: host.to_owned(), ..Endpoint::default() },
            family,
            random: Random::new(RandomState::new().hash_one(0)),
            sequence: 0,
            open: None,
            identifier: 0,
            payload: [0; PAYLOAD_BYTES],
        })
    }

    /// A socket that is connected to an address: the one that is open, or a new one.
    fn connected(&mut self, to: IpAddr) -> io::Result<Echo> {
        if let Some((_, echo)) = self.open.take().filter(|(address, _)| *address == to) {
            return Ok(echo);
        }
        let echo = Echo::open(to.is_ipv6())?;
        echo.socket.connect(&SocketAddr::new(to, 0).into())?;
        Ok(echo)
    }

    /// Sends the request, and waits for its reply.
    fn exchange(&self, echo: &mut Echo, watch: &mut Stopwatch) -> Result<(), CallFailure> {
        let failed = |step| move |error: io::Error| CallFailure::of(step, &error);
        let mut buffer = [0; 2048];
        echo.socket.set_read_timeout(Some(watch.left("wait")?)).map_err(failed("send"))?;
        echo.socket.send(&self.request(echo.is_v6)).map_err(failed("send"))?;
        watch.lap("send");
        loop {
            let read = echo.socket.read(&mut buffer).map_err(failed("wait"))?;
            match self.receive(&buffer[..read], echo) {
                Received::Reply => break,
                Received::Unreachable => return Err(CallFailure::new("host unreachable")),
                Received::Other => {}
            }
            let left = Some(watch.left("wait")?);
            echo.socket.set_read_timeout(left).map_err(failed("wait"))?;
        }
        watch.lap("wait");
        Ok(())
    }

    fn request(&self, is_v6: bool) -> Vec<u8> {
        let kind = if is_v6 { 128 } else { 8 };
        let mut packet = vec![kind, 0, 0, 0];
        packet.extend_from_slice(&self.identifier.to_be_bytes());
        packet.extend_from_slice(&self.sequence.to_be_bytes());
        packet.extend_from_slice(&self.payload);
        if !is_v6 {
            // Of IPv6 the kernel makes it, since it covers addresses.
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    fn receive(&self, packet: &[u8], echo: &Echo) -> Received {
        let packet = match echo.is_raw && !echo.is_v6 {
            // Behind the IP header, whose length is counted in words.
            true => match packet.first() {
                Some(first) => packet.get(usize::from(first & 15) * 4..).unwrap_or_default(),
                None => return Received::Other,
            },
            false => packet,
        };
        let is_ours = |packet: &[u8]| {
            // A ping socket has an identifier of its own, and gets only what it sent.
            packet.len() >= HEADER_BYTES
                && (!echo.is_raw || packet[4..6] == self.identifier.to_be_bytes())
                && packet[6..8] == self.sequence.to_be_bytes()
        };
        let reply = if echo.is_v6 { 129 } else { 0 };
        match packet.first() {
            Some(kind) if *kind == reply => {
                match is_ours(packet) && packet[HEADER_BYTES..] == self.payload {
                    true => Received::Reply,
                    false => Received::Other,
                }
            }
            // It quotes the packet that did not arrive, with its IP header.
            Some(&kind) if echo.is_raw && kind == unreachable(echo.is_v6) => {
                let quoted = packet.get(HEADER_BYTES..).unwrap_or_default();
                let header = match quoted.first() {
                    Some(_) if echo.is_v6 => 40,
                    Some(first) => usize::from(first & 15) * 4,
                    None => return Received::Other,
                };
                match quoted.get(header..).is_some_and(is_ours) {
                    true => Received::Unreachable,
                    false => Received::Other,
                }
            }
            _ => Received::Other,
        }
    }
}

impl Caller for IcmpCaller {
    fn prepare(&mut self, _: u64) {
        self.sequence = self.sequence.wrapping_add(1);
        self.identifier = (self.random.bits() >> 48) as u16;
        for bytes in self.payload.chunks_mut(8) {
            bytes.copy_from_slice(&self.random.bits().to_be_bytes()[..bytes.len()]);
        }
        // Of an address the socket is no part of the call; a name has to be looked up first.
        if let Ok(address) = self.place.host.parse() {
            self.open = self.connected(address).ok().map(|echo| (address, echo));
        }
    }

    fn call(&mut self, watch: &mut Stopwatch) -> Result<CallDetails, CallFailure> {
        let address = tcp::resolve(&self.place, self.family, watch)?[0].ip();
        let is_open = self.open.as_ref().is_some_and(|(to, _)| *to == address);
        let echo = self.connected(address);
        let mut echo = echo.map_err(|error| CallFailure::of("connect", &error))?;
        if !is_open {
            watch.lap("connect");
        }
        let outcome = self.exchange(&mut echo, watch);
        // A late reply is waited past by its sequence number.
        self.open = Some((address, echo));
        outcome?;
        let mut made = CallDetails::default();
        made.name("address", address.to_string());
        Ok(made)
    }
}

impl Echo {
    fn open(is_v6: bool) -> io::Result<Self> {
        let (domain, protocol) = match is_v6 {
            true => (Domain::IPV6, Protocol::ICMPV6),
            false => (Domain::IPV4, Protocol::ICMPV4),
        };
        let ping = Socket::new(domain, Type::DGRAM, Some(protocol));
        let is_raw = ping.is_err();
        let socket = ping.or_else(|_| Socket::new(domain, Type::RAW, Some(protocol)))?;
        Ok(Self { socket, is_raw, is_v6 })
    }
}

const fn unreachable(is_v6: bool) -> u8 {
    if is_v6 { UNREACHABLE_V6 } else { UNREACHABLE_V4 }
}

/// The Internet checksum (RFC 1071).
fn checksum(packet: &[u8]) -> u16 {
    let words = packet
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or_default()));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests;
