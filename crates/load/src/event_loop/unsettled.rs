//! Holds replies that are whole and not booked: what comes with them may show that they were not
//! asked for.
//!
//! Invariant: all are of one connection, the one that is being read, in the order of their
//! requests. `event_loop` books them when its socket is empty, and fails them when more came than
//! was asked for. Refuses: to decide which.

use super::tally::Tally;
use crate::connection_slot::{ConnectionSlot, InFlight};
use crate::reply::ReplyReader;
use crate::{ReceivedReply, RequestOutcome, Requests};

/// The replies of the connection that is being read.
#[derive(Debug, Default)]
pub(super) struct Unsettled(Vec<UnsettledReply>);

/// A request and its reply.
#[derive(Debug)]
pub(super) struct UnsettledReply {
    pub(super) request: InFlight,
    pub(super) reader: ReplyReader,
    pub(super) ended_ns: u64,
}

impl Unsettled {
    pub(super) fn add(&mut self, reply: UnsettledReply) {
        self.0.push(reply);
    }

    /// Books all of them.
    pub(super) fn settle<R: Requests + ?Sized>(
        &mut self,
        connection: &mut ConnectionSlot,
        tally: &mut Tally,
        requests: &mut R,
    ) {
        for UnsettledReply { request, mut reader, ended_ns } in self.0.drain(..) {
            connection.answered += u64::from(tally.reply(&request, &reader, ended_ns));
            let (head, body) = reader.kept();
            let (status, body_bytes) = (reader.status, reader.body_bytes);
            let times = request.times(ended_ns);
            let latency_us = (times.ended_ns - times.intended_ns) / 1000;
            let reply = ReceivedReply { status, latency_us, times, body_bytes, head, body };
            requests.done(request.ask.ticket, RequestOutcome::Reply(reply));
            if connection.in_flight.is_empty() {
                // Its room serves the next reply.
                reader.reset();
                connection.reader = reader;
            }
        }
    }

    /// Takes the requests, whose replies are worth nothing.
    pub(super) fn take_requests(&mut self) -> Vec<InFlight> {
        self.0.drain(..).map(|reply| reply.request).collect()
    }
}
