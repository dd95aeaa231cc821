//! Binds the inputs of a server before anything else starts, and shows how they do while they are
//! read.
//!
//! Invariant: all inputs are bound, or the start fails. A UDP port that several sockets are to
//! share must be free before. Another server could share it, too, and would get some of the
//! samples.
//! [`BoundInputs`] is split in two: [`Inputs`] for those who look, `Streams` for the thread that
//! reads.
//! Tables belong to sockets in this order, and the last one to streams: `server.rs` and `state.rs`
//! rely on that. The order is also the label `receiver` on the page for Prometheus.
//! Never here: reading (`datagrams.rs`, `streams.rs`).

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::datagrams::Socket;
use super::last_received::LastReceived;
use super::streams::{StreamCounts, Streams};
use crate::error::StatsdError;
use crate::plan::{InputPlan, Plan};
use crate::status::{ConnectionCounts, SocketStatus};

/// The inputs as the status page sees them: their sockets and counts.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// Datagram sockets.
    pub sockets: Vec<Arc<Socket>>,
    /// When something last came.
    pub last_received: Arc<LastReceived>,
    streams: Arc<StreamCounts>,
}

impl Inputs {
    /// One for each socket, and one for all connections.
    pub(crate) fn receivers(&self) -> usize {
        self.sockets.len() + 1
    }

    /// How datagram sockets do.
    pub(crate) fn sockets(&self) -> Vec<SocketStatus> {
        let status = |socket: &Arc<Socket>| SocketStatus {
            address: socket.address().to_owned(),
            buffer_bytes: socket.buffer_bytes(),
            dropped_by_kernel: socket.dropped(),
        };
        self.sockets.iter().map(status).collect()
    }

    /// How connections do.
    pub(crate) fn connections(&self) -> ConnectionCounts {
        ConnectionCounts {
            open: self.streams.open.load(Ordering::Relaxed),
            displaced: self.streams.displaced.load(Ordering::Relaxed),
            endless: self.streams.endless.load(Ordering::Relaxed),
        }
    }
}

/// Inputs that are bound, and not read yet.
pub(crate) struct BoundInputs {
    /// Datagram sockets.
    pub sockets: Vec<Arc<Socket>>,
    /// Listeners for streams.
    pub streams: Streams,
}

impl BoundInputs {
    /// Binds every input of a plan, so that a port that is taken is an error of the start.
    ///
    /// # Errors
    /// When an address or a path cannot be bound.
    pub(crate) fn bind(plan: &Plan) -> Result<Self, StatsdError> {
        let streams = Streams::new().map_err(StatsdError::bind("connections"))?;
        let mut bound = Self { sockets: Vec::new(), streams };
        for input in &plan.inputs {
            bound.add(input, plan)?;
        }
        Ok(bound)
    }

    fn add(&mut self, input: &InputPlan, plan: &Plan) -> Result<(), StatsdError> {
        let (bytes, trains) = (plan.receive_buffer_bytes, plan.takes_trains);
        let wrong = |source| StatsdError::Bind { what: input.to_string(), source };
        match input {
            InputPlan::Udp(address) => {
                let mut address = *address;
                let is_shared = plan.receivers > 1;
                if is_shared && address.port() != 0 {
                    // Sockets that share a port share it with another server, too, and then each
                    // would get some of the samples: so it must be free before.
                    drop(UdpSocket::bind(address).map_err(wrong)?);
                }
                for _ in 0..plan.receivers {
                    let socket = Socket::udp(address, is_shared, trains, bytes).map_err(wrong)?;
                    // Port 0 is one port for all of them.
                    address.set_port(socket.port());
                    self.sockets.push(Arc::new(socket));
                }
            }
            InputPlan::Tcp(address) => drop(self.streams.listen_tcp(*address).map_err(wrong)?),
            InputPlan::Unix(path, mode) => self.streams.listen_unix(path, *mode).map_err(wrong)?,
            InputPlan::UnixDatagram(path, mode) => {
                let socket = Socket::unix(path, *mode, bytes).map_err(wrong)?;
                self.sockets.push(Arc::new(socket));
            }
        }
        Ok(())
    }

    /// Inputs to look at, and the listeners for streams, which one thread is to read.
    pub(crate) fn split(self) -> (Inputs, Streams) {
        let Self { sockets, streams } = self;
        let last_received = Arc::new(LastReceived::new());
        (Inputs { sockets, last_received, streams: streams.counts() }, streams)
    }
}
