//! Finds a host and connects to it. A target `tcp://…` is called by that alone.
//!
//! Phases: `resolve`, which an address or a pinned host does not have, and `connect`.
//! Invariant: each address of a host gets an even share of the time that is left, so a silent one
//! does not use it up. The first that accepts is taken; the failure told is that of the last. The
//! system's resolver keeps its own time-outs: nothing here bounds it.
//!
//! TLS is in `tls.rs`, the choice of addresses by hand in `pin.rs`.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};

use load::LoadError;

use super::call::{CallDetails, CallFailure, Caller, Stopwatch};
use super::plan::AddressFamily;
use super::target::Endpoint;

/// Opens and closes a connection.
pub(crate) struct TcpCaller {
    pub(crate) place: Endpoint,
    pub(crate) family: AddressFamily,
}

impl Caller for TcpCaller {
    fn prepare(&mut self, _: u64) {}

    fn call(&mut self, watch: &mut Stopwatch) -> Result<CallDetails, CallFailure> {
        let (_, address) = connect(&self.place, self.family, watch)?;
        let mut made = CallDetails::default();
        made.name("address", address.to_string());
        Ok(made)
    }
}

/// Connects to the first address of a host that lets it, each in its share of the time that is
/// left. Phases: `resolve`, of which an address has none, nor a place that is held at one, and
/// `connect`.
pub(crate) fn connect(
    place: &Endpoint,
    family: AddressFamily,
    watch: &mut Stopwatch,
) -> Result<(TcpStream, SocketAddr), CallFailure> {
    let addresses = resolve(place, family, watch)?;
    let mut last = CallFailure::new("connect: there is no address");
    for (at, address) in addresses.iter().enumerate() {
        let share = u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
        match TcpStream::connect_timeout(address, watch.left("connect")? / share) {
            Ok(stream) => {
                watch.lap("connect");
                let set = stream.set_nodelay(true);
                set.map_err(|error| CallFailure::of("connect", &error))?;
                return Ok((stream, *address));
            }
            Err(error) => last = CallFailure::of("connect", &error),
        }
    }
    Err(last)
}

/// Asks the system's resolver, whose own time-outs hold: nothing can hurry it.
pub(crate) fn resolve(
    place: &Endpoint,
    family: AddressFamily,
    watch: &mut Stopwatch,
) -> Result<Vec<SocketAddr>, CallFailure> {
    let found = if place.addresses.is_empty() {
        let found = (place.host.as_str(), place.port).to_socket_addrs();
        let found: Vec<SocketAddr> = found.map_err(|error| not_found(&error))?.collect();
        if place.host.parse::<IpAddr>().is_err() {
            watch.lap("resolve");
        }
        found
    } else {
        place.addresses.iter().map(|address| (*address, place.port).into()).collect()
    };
    let fits = |address: &SocketAddr| family.has(address.ip());
    let fitting: Vec<SocketAddr> = found.into_iter().filter(fits).collect();
    match fitting.is_empty() {
        true => Err(CallFailure::new(format!("no address of {family}"))),
        false => Ok(fitting),
    }
}

fn not_found(error: &io::Error) -> CallFailure {
    if LoadError::is_of_descriptors(error) {
        return CallFailure::of("resolve", error);
    }
    let text = error.to_string();
    let reason = text.rsplit(": ").next().unwrap_or(&text);
    CallFailure::new(format!("name not found ({})", reason.to_ascii_lowercase()))
}
