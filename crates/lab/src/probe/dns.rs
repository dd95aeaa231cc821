//! Asks a name server one question: by UDP, and by TCP when the answer is cut off, as resolvers do.
//!
//! Phases: `resolve` and `connect` of the server itself, `send`, `wait`, `transfer` of TCP, whose
//! connection adds to the first two. Without a server the system's resolver is asked for addresses:
//! the phase `resolve` alone.
//! Invariant: an answer by UDP counts if it has the id of the question; others are waited past. An
//! answer without records is an answer; `NXDOMAIN` and its like are failures.
//! Failure: an unknown type of records is refused when the caller is made, and a bad name at each
//! call.
//!
//! Refuses: to ask again when an answer is lost, because a probe is to see that. Only the first
//! address of a server is asked by UDP.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};

use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, RCODE, TYPE};
use stdx::Random;

use super::call::{CallDetails, CallFailure, Caller, Stopwatch};
use super::numbered_text::NumberedText;
use super::plan::AddressFamily;
use super::target::{Endpoint, Question};
use super::tcp;
use crate::LabError;

/// What an answer by UDP may have: the size that needs no fragments (DNS flag day 2020).
const UDP_BYTES_MAX: u16 = 1232;

/// Asks a name server.
pub(crate) struct DnsCaller {
    name: NumberedText,
    kind: TYPE,
    server: Option<Endpoint>,
    family: AddressFamily,
    ids: Random,
    next: String,
    query: Vec<u8>,
}

impl DnsCaller {
    /// # Errors
    /// When there is no such type of records.
    pub(crate) fn new(question: &Question, family: AddressFamily) -> Result<Self, LabError> {
        let unknown = || LabError::Target {
            text: question.name.clone(),
            reason: format!("no records have the type {}; write A, AAAA, MX, TXT …", question.kind),
        };
        Ok(Self {
            name: NumberedText::new(question.name.as_bytes()),
            kind: kind(&question.kind).ok_or_else(unknown)?,
            server: question.server.clone(),
            family,
            ids: Random::new(seed()),
            next: String::new(),
            query: Vec::new(),
        })
    }

    fn ask(&self, server: &Endpoint, watch: &mut Stopwatch) -> Result<CallDetails, CallFailure> {
        let address = tcp::resolve(server, self.family, watch)?[0];
        let mut answer = self.by_udp(address, watch)?;
        let mut made = CallDetails::default();
        made.name("address", address.to_string());
        let is_cut = Packet::parse(&answer).is_ok_and(|p| p.has_flags(PacketFlag::TRUNCATION));
        if is_cut {
            answer = self.by_tcp(server, watch)?;
        }
        made.name("transport", if is_cut { "tcp" } else { "udp" });
        let packet = Packet::parse(&answer);
        let packet = packet.map_err(|_| CallFailure::new("the answer is not DNS"))?;
        match packet.rcode() {
            RCODE::NoError => {
                made.name("status", "NOERROR");
                made.number("records", packet.answers.len() as f64);
                made.number("bytes", answer.len() as f64);
                Ok(made)
            }
            refusal => Err(CallFailure::new(named(refusal))),
        }
    }

    fn by_udp(&self, address: SocketAddr, watch: &mut Stopwatch) -> Result<Vec<u8>, CallFailure> {
        let failed = |error: io::Error| CallFailure::of("wait", &error);
        let any: SocketAddr = match address.is_ipv4() {
            true => (Ipv4Addr::UNSPECIFIED, 0).into(),
            false => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any).and_then(|s| s.connect(address).map(|()| s));
        let socket = socket.map_err(failed)?;
        watch.lap("connect");
        socket.send(&self.query).map_err(failed)?;
        watch.lap("send");
        let mut buffer = vec![0; usize::from(UDP_BYTES_MAX)];
        loop {
            socket.set_read_timeout(Some(watch.left("wait")?)).map_err(failed)?;
            let read = socket.recv(&mut buffer).map_err(failed)?;
            // One that somebody made up, or the late answer to a question of before.
            if buffer[..read].get(..2) == self.query.get(..2) {
                watch.lap("wait");
                buffer.truncate(read);
                return Ok(buffer);
            }
        }
    }

    fn by_tcp(&self, server: &Endpoint, watch: &mut Stopwatch) -> Result<Vec<u8>, CallFailure> {
        let failed = |error: io::Error| CallFailure::of("transfer", &error);
        let (mut stream, _): (TcpStream, _) = tcp::connect(server, self.family, watch)?;
        let left = Some(watch.left("transfer")?);
        stream.set_read_timeout(left).map_err(failed)?;
        stream.set_write_timeout(left).map_err(failed)?;
        let length = u16::try_from(self.query.len()).expect("a name has 253 letters at most");
        let framed = [&length.to_be_bytes(), &self.query[..]].concat();
        stream.write_all(&framed).map_err(failed)?;
        let mut length = [0; 2];
        stream.read_exact(&mut length).map_err(failed)?;
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut answer).map_err(failed)?;
        watch.lap("transfer");
        Ok(answer)
    }
}

impl Caller for DnsCaller {
    fn prepare(&mut self, number: u64) {
        self.next = self.name.text(number);
        let id = (self.ids.bits() >> 48) as u16;
        // A name that is none becomes no query, which the call reports.
        self.query = query(id, &self.next, self.kind).unwrap_or_default();
    }

    fn call(&mut self, watch: &mut Stopwatch) -> Result<CallDetails, CallFailure> {
        match &self.server {
            Some(_) if self.query.is_empty() => Err(CallFailure::new("that is no name")),
            Some(server) => self.ask(server, watch),
            None => {
                let place = Endpoint { host: self.next.clone(), ..Endpoint::default() };
                let found = tcp::resolve(&place, self.family, watch)?;
                let mut made = CallDetails::default();
                made.number("records", found.len() as f64);
                Ok(made)
            }
        }
    }
}

fn query(id: u16, name: &str, kind: TYPE) -> Option<Vec<u8>> {
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    let (kind, class) = (QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN));
    let name = Name::new(name.trim_end_matches('.')).ok()?;
    packet.questions.push(simple_dns::Question::new(name, kind, class, false));
    let opt = simple_dns::rdata::OPT {
        opt_codes: Vec::new(),
        udp_packet_size: UDP_BYTES_MAX,
        version: 0,
    };
    *packet.opt_mut() = Some(opt);
    packet.build_bytes_vec().ok()
}

fn kind(name: &str) -> Option<TYPE> {
    Some(match name {
        "A" => TYPE::A,
        "AAAA" => TYPE::AAAA,
        "CAA" => TYPE::CAA,
        "CNAME" => TYPE::CNAME,
        "HTTPS" => TYPE::HTTPS,
        "MX" => TYPE::MX,
        "NAPTR" => TYPE::NAPTR,
        "NS" => TYPE::NS,
        "PTR" => TYPE::PTR,
        "SOA" => TYPE::SOA,
        "SRV" => TYPE::SRV,
        "SVCB" => TYPE::SVCB,
        "TXT" => TYPE::TXT,
        _ => return None,
    })
}

fn named(code: RCODE) -> Cow<'static, str> {
    match code {
        RCODE::FormatError => "FORMERR".into(),
        RCODE::ServerFailure => "SERVFAIL".into(),
        RCODE::NameError => "NXDOMAIN".into(),
        RCODE::NotImplemented => "NOTIMP".into(),
        RCODE::Refused => "REFUSED".into(),
        other => format!("{other:?}").into(),
    }
}

/// Ids should be hard to foresee, for those who make answers up.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests;
