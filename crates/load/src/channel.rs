//! Defines what may stand between requests and the wire: a channel, such as one of TLS.
//!
//! A [`ChannelSource`] opens a [`Channel`] for each new connection. The loop hands it bytes of the
//! socket and takes from it what is to be sent; requests go out once its handshake is over.
//! Invariant: a channel does no input or output, and never waits. Its handshake belongs to the
//! opening of a connection: no request is on it meanwhile, and the plan's time-out bounds it.
//!
//! Without a source, bytes go to the socket as they are. `lab` has one for TLS
//! (`load_test/tls.rs`), so that this crate builds on no cryptography.

use std::fmt::Debug;
use std::io;

/// Opens channels, one for each connection.
pub trait ChannelSource: Debug + Send + Sync {
    /// Opens a channel, as a client.
    ///
    /// # Errors
    /// When there can be none; the connection is given up.
    fn open(&self) -> io::Result<Box<dyn Channel>>;
}

/// One connection's channel.
pub trait Channel: Debug + Send {
    /// Takes bytes that came from the wire, and appends to `plain` what they say.
    ///
    /// # Errors
    /// When they break the channel; it is of no more use.
    fn receive(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> io::Result<()>;

    /// Takes bytes that are to be said.
    ///
    /// # Errors
    /// When the channel has ended.
    fn send(&mut self, plain: &[u8]) -> io::Result<()>;

    /// Appends to `wire` what is to be sent now.
    ///
    /// # Errors
    /// When the channel is broken.
    fn take_wire(&mut self, wire: &mut Vec<u8>) -> io::Result<()>;

    /// Returns whether the handshake is over.
    fn is_ready(&self) -> bool;

    /// Returns whether the other side has said that nothing more comes. Where it has not, the end
    /// of the socket may have cut a reply off.
    fn has_ended(&self) -> bool;
}
