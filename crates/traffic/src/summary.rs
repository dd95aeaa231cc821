//! Says what the records of a request mean: who asked for what, what the cache did, how long.
//!
//! From 4.0 on the handling is what `varnishncsa -F '%{Varnish:handling}x'` prints. A `VCL_call` of
//! HIT, MISS, PASS or SYNTH says it, and one of RECV forgets it. A return of `pipe` makes a pipe. A
//! request that ends by a restart is no exchange: what it becomes is one.
//! Up to 3.0 a hit is what vlogdump calls so: `recv` looked it up, `hit` and `deliver` delivered
//! it, and there was no `fetch`. `ordered` logs join a call with its return, others do not.
//! As in varnishncsa the first method, URL, protocol and start count, and the last status. So the
//! URL is that of the client, whatever VCL made of it.
//! Never here: which transactions belong together.

use std::borrow::Cow;

use crate::seconds::{nanos, rounded, whole, words};
use crate::tag::{Tag, TagSet};
use crate::transaction::{Kind, Reason, Transaction};
use crate::view::{Headers, View, ViewIds};

/// Which of Varnish's logs it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2.1 and 3.0.
    Legacy,
    /// From 4.0 on.
    Modern,
}

/// The tags that a summary reads.
pub(crate) fn tags() -> TagSet {
    [
        Tag::HIT,
        Tag::PIPE_ACCT,
        Tag::REQ_ACCT,
        Tag::REQ_END,
        Tag::REQ_HEADER,
        Tag::REQ_METHOD,
        Tag::REQ_PROTOCOL,
        Tag::REQ_START,
        Tag::REQ_UNSET,
        Tag::REQ_URL,
        Tag::RESP_HEADER,
        Tag::RESP_REASON,
        Tag::RESP_STATUS,
        Tag::RESP_UNSET,
        Tag::TIMESTAMP,
        Tag::VCL_CALL,
        Tag::VCL_RETURN,
    ]
    .into_iter()
    .collect()
}

/// What a transaction shows; nothing if it is no exchange.
pub(crate) fn view(transaction: &Transaction, era: Era) -> Option<View<'_>> {
    if transaction.kind != Kind::Request {
        return None;
    }
    let mut view = View {
        ids: ViewIds {
            vxid: Some(transaction.vxid),
            parent: Some(transaction.parent).filter(|parent| *parent != 0),
            is_esi: transaction.reason == Reason::Esi,
        },
        headers: Headers::Records(transaction),
        ..View::default()
    };
    let mut times = Times::default();
    let mut calls = Calls::default();
    for (tag, data) in transaction.records() {
        match tag {
            Tag::VCL_CALL | Tag::VCL_RETURN if era == Era::Legacy => calls.legacy(tag, data),
            Tag::VCL_CALL => calls.call(data),
            Tag::VCL_RETURN if data.eq_ignore_ascii_case(b"restart") => return None,
            Tag::VCL_RETURN if data.eq_ignore_ascii_case(b"pipe") => calls.handling = Some("pipe"),
            Tag::TIMESTAMP => times.stamp(data),
            Tag::REQ_END => times.legacy(data),
            Tag::REQ_START => start(data, era, &mut view),
            Tag::REQ_METHOD => first(&mut view.method, data),
            Tag::REQ_URL => first(&mut view.url, data),
            Tag::REQ_PROTOCOL => first(&mut view.protocol, data),
            Tag::RESP_STATUS => view.status = whole(data).and_then(|code| code.try_into().ok()),
            Tag::RESP_REASON => view.reason = Cow::Borrowed(data),
            Tag::REQ_ACCT => accounted((data, 1, 4), &mut view),
            Tag::PIPE_ACCT => accounted((data, 2, 3), &mut view),
            _ => {}
        }
    }
    view.handling = if era == Era::Legacy { calls.of_legacy() } else { calls.handling };
    view.is_hit = calls.is_there.then(|| view.handling == Some("hit"));
    (view.times.time_us, view.times.total_us, view.times.ready_us) = times.summed();
    Some(view)
}

fn first<'a>(place: &mut Cow<'a, [u8]>, data: &'a [u8]) {
    if place.is_empty() {
        *place = Cow::Borrowed(data);
    }
}

/// `192.0.2.24 39698 a1`, up to 3.0 with the XID in third place.
fn start<'a>(data: &'a [u8], era: Era, view: &mut View<'a>) {
    let mut words = words(data);
    first(&mut view.client, words.next().unwrap_or_default());
    if era == Era::Legacy {
        view.ids.vxid = words.nth(1).and_then(whole).or(view.ids.vxid);
    }
}

/// Bytes of the bodies from a record of counters, by their places.
fn accounted((data, received, sent): (&[u8], usize, usize), view: &mut View<'_>) {
    view.bytes.bytes_in = words(data).nth(received).and_then(whole);
    view.bytes.bytes_out = words(data).nth(sent).and_then(whole);
}

/// When things happened, in nanoseconds.
#[derive(Default)]
struct Times {
    began: Option<u64>,
    ended: Option<u64>,
    /// From the beginning until the answer was ready.
    ready: Option<u64>,
}

impl Times {
    /// `Resp: 1473174473.456773 0.001251 0.000108`: when, since the beginning, since the last.
    fn stamp(&mut self, data: &[u8]) {
        let mut words = words(data);
        let label = words.next();
        let at = words.next();
        match label {
            Some(b"Start:") if self.began.is_none() => self.began = at.and_then(nanos),
            Some(b"Resp:" | b"PipeSess:" | b"ConnectSess:") if self.ended.is_none() => {
                self.ended = at.and_then(nanos);
            }
            Some(b"Process:" | b"Pipe:" | b"Connect:") if self.ready.is_none() => {
                self.ready = words.next().and_then(nanos);
            }
            _ => {}
        }
    }

    /// `933976005 1365603497.937 1365603497.937 2.2056311 0.056505 …`
    fn legacy(&mut self, data: &[u8]) {
        let mut words = words(data).skip(1).map(nanos);
        self.began = words.next().flatten();
        self.ended = words.next().flatten();
        self.ready = words.nth(1).flatten();
    }

    /// When it began, how long it took, how long until the answer was ready, in microseconds.
    fn summed(&self) -> (Option<u64>, Option<u64>, Option<u64>) {
        let total = match (self.began, self.ended) {
            (Some(began), Some(ended)) => Some(rounded(ended.saturating_sub(began))),
            _ => None,
        };
        (self.began.map(rounded), total, self.ready.map(rounded).or(total))
    }
}

/// What VCL did.
#[derive(Default)]
struct Calls<'a> {
    handling: Option<&'static str>,
    /// Whether the log has what the cache did.
    is_there: bool,
    /// Up to 3.0: the call whose return comes on a line of its own.
    open: &'a [u8],
    /// Up to 3.0: what `recv`, `hit` and `deliver` returned last.
    looked_up: bool,
    hit_delivered: bool,
    delivered: bool,
    fetched: bool,
}

impl<'a> Calls<'a> {
    fn call(&mut self, name: &[u8]) {
        let known = ["recv", "hit", "miss", "pass", "synth", "pipe", "error"];
        let found = known.into_iter().find(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        self.is_there = true;
        match found {
            Some("recv") => self.handling = None,
            Some("pipe") | None => {}
            Some("error") => self.handling = Some("synth"),
            Some(known) => self.handling = Some(known),
        }
    }

    /// `VCL_call` with its return on the same line or on the next one, `VCL_return`.
    fn legacy(&mut self, tag: Tag, data: &'a [u8]) {
        let mut words = words(data);
        let (call, returned) = if tag == Tag::VCL_CALL {
            let call = words.next().unwrap_or_default();
            self.call(call);
            self.fetched |= call == b"fetch";
            (call, words.last())
        } else {
            (self.open, words.next())
        };
        self.open = if returned.is_some() { b"" } else { call };
        let Some(returned) = returned else { return };
        match call {
            b"recv" => {
                self.looked_up = returned == b"lookup";
                (self.hit_delivered, self.delivered) = (false, false);
                if returned == b"pipe" {
                    self.handling = Some("pipe");
                }
            }
            b"hit" => self.hit_delivered = returned == b"deliver",
            b"deliver" => self.delivered = returned == b"deliver",
            _ => {}
        }
    }

    fn of_legacy(&self) -> Option<&'static str> {
        let is_hit = self.looked_up && !self.fetched && self.hit_delivered && self.delivered;
        match self.handling {
            Some("hit") if !is_hit => Some("miss"),
            handling => handling,
        }
    }
}

#[cfg(test)]
mod tests;
