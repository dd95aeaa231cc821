//! How an origin goes wrong, in bytes.
//!
//! There are two kinds. Some faults cost the answer, which then must reach no client as if it were
//! whole. Others are strange ways to send a right answer. Neither may harm any other request.

use std::io::{self, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use crate::dice::Dice;
use crate::fact::{FIELD, POISON};

/// Longer than the gateway waits for an answer or a piece of one (a second).
const TOO_LONG: Duration = Duration::from_millis(1_500);

/// An answer to be written.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Its status.
    pub status: u16,
    /// Its fields, without framing.
    pub fields: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Only the head was asked for.
    pub head_only: bool,
}

/// A way to write an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// As it should be, with its length.
    None,
    /// As it should be, in chunks.
    Chunked,
    /// In pieces with pauses that the gateway allows.
    Slow,
    /// After informational answers (RFC 9110 §15.2).
    Informed,
    /// Chunked, and with a length that must be ignored (RFC 9112 §6.3).
    BothFramings,
    /// As HTTP/1.0 does: the body ends with the connection.
    UntilClose,
    /// Silence instead of an answer.
    StallHead,
    /// Silence in the middle of the body.
    StallBody,
    /// The rest of the body comes too late.
    LateRest,
    /// Closed in the middle of the body.
    CutBody,
    /// Closed in the middle of the chunks.
    CutChunks,
    /// Fewer bytes than announced, then closed.
    LongLength,
    /// Right, then the bytes of an answer that nobody asked for.
    TwoAnswers,
    /// Closed before the first byte.
    CloseEarly,
    /// Closed in the middle of the head.
    HalfHead,
    /// Not HTTP.
    Garbage,
    /// Another answer's bytes behind a chunk size that is none.
    BadChunk,
    /// Two lengths that differ.
    TwoLengths,
    /// A head of half a megabyte.
    HugeHead,
    /// 500, 502, 503 or 504.
    Error,
    /// This server takes no requests for a while.
    Flap,
}

/// Every fault that costs the answer or may, with its name in the report.
const FAULTS: [(Fault, &str); 15] = [
    (Fault::StallHead, "stall before the head"),
    (Fault::StallBody, "stall in the body"),
    (Fault::LateRest, "rest of the body too late"),
    (Fault::CutBody, "body cut"),
    (Fault::CutChunks, "chunks cut"),
    (Fault::LongLength, "length too long"),
    (Fault::TwoAnswers, "second answer unasked"),
    (Fault::CloseEarly, "closed without a byte"),
    (Fault::HalfHead, "head cut"),
    (Fault::Garbage, "garbage"),
    (Fault::BadChunk, "bad chunk"),
    (Fault::TwoLengths, "two lengths"),
    (Fault::HugeHead, "huge head"),
    (Fault::Error, "5xx"),
    (Fault::Flap, "server flaps"),
];

const STRANGE: [Fault; 5] =
    [Fault::Chunked, Fault::Slow, Fault::Informed, Fault::BothFramings, Fault::UntilClose];

impl Fault {
    /// Draws one; the name of what must be counted comes with it.
    pub(crate) fn draw(dice: &mut Dice, percent: u64) -> (Self, Option<&'static str>) {
        if dice.chance(percent) {
            let (fault, name) = dice.pick(&FAULTS);
            // A server that is gone takes every other fault with it.
            if fault == Fault::Flap && dice.chance(80) {
                return (Fault::CloseEarly, Some("closed without a byte"));
            }
            return (fault, Some(name));
        }
        (if dice.chance(40) { dice.pick(&STRANGE) } else { Self::None }, None)
    }
}

impl Answer {
    /// Writes it as the fault has it; returns whether the connection may be used again.
    ///
    /// # Errors
    /// When the gateway closed the connection.
    pub(crate) fn write(
        &self,
        fault: Fault,
        to: &mut TcpStream,
        dice: &mut Dice,
    ) -> io::Result<bool> {
        let bodiless = self.head_only || matches!(self.status, 304 | 204);
        let body: &[u8] = if bodiless { &[] } else { &self.body };
        let cut = dice.below(body.len() as u64 + 1) as usize;
        let length = self.body.len();
        match fault {
            Fault::None | Fault::Flap => {
                to.write_all(&[&self.sized(length), body].concat())?;
                return Ok(true);
            }
            Fault::Chunked if bodiless => to.write_all(&self.sized(length))?,
            Fault::Chunked => to.write_all(&[self.chunked(), chunks(body, dice)].concat())?,
            Fault::Slow => {
                to.write_all(&self.sized(length))?;
                for piece in body.chunks(body.len() / 3 + 1) {
                    sleep(Duration::from_millis(dice.below(60)));
                    to.write_all(piece)?;
                }
            }
            Fault::Informed => {
                let inform = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
                to.write_all(&[&inform[..], &self.sized(length), body].concat())?;
            }
            Fault::BothFramings if bodiless => to.write_all(&self.sized(length))?,
            Fault::BothFramings => {
                let wrong = format!("transfer-encoding: chunked\r\ncontent-length: {cut}\r\n\r\n");
                let head = self.head("HTTP/1.1", &wrong);
                to.write_all(&[head, chunks(body, dice)].concat())?;
                return Ok(false);
            }
            Fault::UntilClose => {
                to.write_all(&[&self.head("HTTP/1.0", "\r\n"), body].concat())?;
                return Ok(false);
            }
            _ => return self.fail(fault, to, dice, (body, cut)),
        }
        Ok(true)
    }

    fn fail(
        &self,
        fault: Fault,
        to: &mut TcpStream,
        dice: &mut Dice,
        (body, cut): (&[u8], usize),
    ) -> io::Result<bool> {
        let length = self.body.len();
        let first = &body[..cut];
        match fault {
            Fault::StallHead => sleep(TOO_LONG),
            Fault::StallBody | Fault::LateRest => {
                to.write_all(&[&self.sized(length), first].concat())?;
                sleep(TOO_LONG);
                if fault == Fault::LateRest {
                    to.write_all(&body[cut..])?;
                    return Ok(true);
                }
            }
            Fault::CutBody => to.write_all(&[&self.sized(length.max(cut + 1)), first].concat())?,
            Fault::CutChunks => {
                let mut sent = chunks(first, dice);
                sent.truncate(sent.len() - 5);
                to.write_all(&[self.chunked(), sent].concat())?;
            }
            Fault::LongLength => {
                let more = length + 1 + dice.below(1_000) as usize;
                to.write_all(&[&self.sized(more), body].concat())?;
            }
            Fault::TwoAnswers => {
                to.write_all(&[&self.sized(length), body, &poison()].concat())?;
                return Ok(true);
            }
            Fault::HalfHead => {
                let head = self.sized(length);
                to.write_all(&head[..dice.below(head.len() as u64) as usize])?;
            }
            Fault::Garbage => {
                let bytes: Vec<u8> = (0..200).map(|_| dice.number() as u8).collect();
                to.write_all(&bytes)?;
            }
            Fault::BadChunk => {
                let rest = [b"-1\r\n", &poison()[..]].concat();
                to.write_all(&[self.chunked(), rest].concat())?;
            }
            Fault::TwoLengths => {
                let two = format!("content-length: {cut}\r\ncontent-length: {}\r\n\r\n", cut + 1);
                to.write_all(&[&self.head("HTTP/1.1", &two), body].concat())?;
            }
            Fault::HugeHead => {
                let huge = "h".repeat(500_000);
                let huge = format!("x-huge: {huge}\r\ncontent-length: {length}\r\n\r\n");
                to.write_all(&[&self.head("HTTP/1.1", &huge), body].concat())?;
            }
            _ => {}
        }
        Ok(false)
    }

    fn sized(&self, bytes: usize) -> Vec<u8> {
        let framing = match self.status {
            304 | 204 => "\r\n".to_owned(),
            _ => format!("content-length: {bytes}\r\n\r\n"),
        };
        self.head("HTTP/1.1", &framing)
    }

    fn chunked(&self) -> Vec<u8> {
        self.head("HTTP/1.1", "transfer-encoding: chunked\r\n\r\n")
    }

    fn head(&self, version: &str, rest: &str) -> Vec<u8> {
        let mut head = format!("{version} {} Said\r\n", self.status);
        for (name, value) in &self.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(rest);
        head.into_bytes()
    }
}

/// An answer that no client may ever see.
fn poison() -> Vec<u8> {
    let body = POISON.repeat(20);
    format!(
        "HTTP/1.1 200 OK\r\ncache-control: max-age=600\r\n{FIELD}: {POISON}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn chunks(body: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 64);
    let mut left = body;
    while !left.is_empty() {
        let size = (1 + dice.below(20_000) as usize).min(left.len());
        out.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        out.extend_from_slice(&left[..size]);
        out.extend_from_slice(b"\r\n");
        left = &left[size..];
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}
