//! Holds pieces of a response that were read before its consumer asked for them.
//!
//! A piece is a part of a read buffer, and keeps all of that in memory. So a short one is copied,
//! and a long one is charged with the buffer. Invariant: each piece is charged to the budget of the
//! client that the response is for, until it is taken. The charge is made with the first piece, so
//! most responses need none. A piece that has come is kept in any case; what the budget decides is
//! whether another one may be read. Never here: reading (`body`), why one reads ahead (its
//! callers).

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use chassis::Charge;

use chassis::ClientId;

use super::connection::READ_BYTES_MAX;
use crate::clients::Clients;

/// Bytes below which a piece is copied.
const COPIED_BYTES_MAX: usize = READ_BYTES_MAX / 2;

/// Bytes that a piece takes besides.
const PIECE_BYTES: usize = 64;

/// Pieces that were read ahead.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// Each with the bytes that are charged for it.
    pieces: VecDeque<(Bytes, usize)>,
    bytes: usize,
    /// Whether there was no budget for the last piece, and none was taken since.
    is_full: bool,
    charge: Option<Charge>,
    clients: Arc<Clients>,
    client: ClientId,
}

impl ReadAhead {
    /// Returns no pieces, of a response for this client.
    pub(super) fn new((clients, client): (&Arc<Clients>, ClientId)) -> Self {
        let clients = Arc::clone(clients);
        Self { pieces: VecDeque::new(), bytes: 0, is_full: false, charge: None, clients, client }
    }

    /// Returns the bytes of the pieces.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there was no budget for the last piece, and all are still here.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Adds a piece that the request needs; returns whether there was budget for it.
    pub(super) fn push_needed(&mut self, piece: Bytes) -> bool {
        self.push(piece, Charge::try_add)
    }

    /// Adds a piece that frees a connection earlier; returns whether there was budget for it.
    pub(super) fn push_spare(&mut self, piece: Bytes) -> bool {
        self.push(piece, Charge::try_add_spare)
    }

    fn push(&mut self, piece: Bytes, try_add: fn(&mut Charge, usize) -> bool) -> bool {
        let (piece, memory) = match piece.len() < COPIED_BYTES_MAX {
            true => (Bytes::copy_from_slice(&piece), piece.len() + PIECE_BYTES),
            false => (piece, READ_BYTES_MAX),
        };
        let charge = self.charge.get_or_insert_with(|| self.clients.charge(self.client));
        let fits = try_add(charge, memory);
        if !fits {
            charge.add(memory);
        }
        self.is_full = !fits;
        self.bytes += piece.len();
        self.pieces.push_back((piece, memory));
        fits
    }

    /// Takes the next piece.
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let (piece, memory) = self.pieces.pop_front()?;
        self.bytes -= piece.len();
        self.is_full = false;
        if let Some(charge) = &mut self.charge {
            charge.remove(memory);
        }
        Some(piece)
    }

    /// Takes the piece, if it is the only one.
    pub(super) fn pop_only(&mut self) -> Option<Bytes> {
        if self.pieces.len() == 1 { self.pop() } else { None }
    }

    /// Takes all pieces, with their charge.
    pub(super) fn take_all(&mut self) -> (Vec<Bytes>, Option<Charge>) {
        self.bytes = 0;
        let pieces = self.pieces.drain(..).map(|(piece, _)| piece);
        (pieces.collect(), self.charge.take())
    }
}
