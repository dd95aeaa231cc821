//! Claims about questions, against name servers made by hand.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, PacketFlag, RCODE, ResourceRecord};

use super::DnsCaller;
use crate::probe::call::{CallDetails, CallFailure, Caller, Stopwatch};
use crate::probe::{AddressFamily, ProbeTarget};

/// Asks a server that answers one datagram with what `answer` makes of the query.
fn ask(
    question: &str,
    answer: impl Fn(Vec<u8>) -> Vec<Vec<u8>> + Send + 'static,
) -> Result<CallDetails, CallFailure> {
    let (server, long) = both_transports();
    let address = server.local_addr().unwrap();
    let told = std::thread::spawn(move || {
        let mut buffer = [0; 2000];
        let (read, from) = server.recv_from(&mut buffer).unwrap();
        for packet in answer(buffer[..read].to_vec()) {
            let is_cut = Packet::parse(&packet).unwrap().has_flags(PacketFlag::TRUNCATION);
            server.send_to(&packet, from).unwrap();
            if is_cut {
                let (mut stream, _) = long.accept().unwrap();
                let mut query = vec![0; read + 2];
                stream.read_exact(&mut query).unwrap();
                let whole = reply(&query[2..], |_| {});
                let length = u16::try_from(whole.len()).unwrap();
                stream.write_all(&[&length.to_be_bytes(), &whole[..]].concat()).unwrap();
            }
        }
    });
    let ProbeTarget::Dns(question) = format!("dns:{question}@{address}").parse().unwrap() else {
        panic!()
    };
    let mut dns = DnsCaller::new(&question, AddressFamily::Any).unwrap();
    dns.prepare(7);
    let mut watch = Stopwatch::start(Duration::from_secs(20));
    let made = dns.call(&mut watch);
    told.join().unwrap();
    made
}

/// A name server's two sockets: the same port for datagrams and for what is too long for one. A
/// port that is free for datagrams may still be another test's connection.
fn both_transports() -> (UdpSocket, TcpListener) {
    let both = || {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let long = TcpListener::bind(server.local_addr().unwrap()).ok()?;
        Some((server, long))
    };
    (0..1000).find_map(|_| both()).expect("one of a thousand ports is free for both")
}

/// An answer with two addresses, and what `change` makes of it.
fn reply(query: &[u8], change: impl Fn(&mut Packet<'_>)) -> Vec<u8> {
    let query = Packet::parse(query).unwrap();
    let mut answer = Packet::new_reply(query.id());
    answer.questions = query.questions.clone();
    for address in [1, 2] {
        let data = RData::A(A { address });
        let name = query.questions[0].qname.clone();
        answer.answers.push(ResourceRecord::new(name, CLASS::IN, 60, data));
    }
    change(&mut answer);
    answer.build_bytes_vec().unwrap()
}

#[test]
fn records_are_counted_and_the_name_has_its_number() {
    let made = ask("k{n}.example", |query| {
        let asked = Packet::parse(&query).unwrap().questions[0].qname.to_string();
        assert_eq!(asked, "k7.example");
        vec![reply(&query, |_| {})]
    });
    let made = made.unwrap();
    assert_eq!(made.numbers[0], ("records".to_owned(), 2.0));
    assert!(made.names.contains(&("transport".to_owned(), "udp".to_owned())));
}

#[test]
fn an_answer_to_somebody_else_is_passed_over() {
    let made = ask("a.example", |query| {
        let mut other = query.clone();
        other[0] ^= 1;
        vec![reply(&other, |packet| *packet.rcode_mut() = RCODE::Refused), reply(&query, |_| {})]
    });
    assert_eq!(made.unwrap().numbers[0].1, 2.0);
}

#[test]
fn a_name_that_is_not_there_is_a_failure_by_its_own_name() {
    let made = ask("a.example", |query| {
        vec![reply(&query, |packet| *packet.rcode_mut() = RCODE::NameError)]
    });
    assert_eq!(made.unwrap_err().words, "NXDOMAIN");
}

#[test]
fn what_is_cut_off_is_asked_for_again_by_tcp() {
    let made = ask("a.example", |query| {
        vec![reply(&query, |packet| {
            packet.answers.clear();
            packet.set_flags(PacketFlag::TRUNCATION);
        })]
    });
    let made = made.unwrap();
    assert_eq!(made.numbers[0], ("records".to_owned(), 2.0));
    assert!(made.names.contains(&("transport".to_owned(), "tcp".to_owned())));
}

#[test]
fn a_type_that_is_none_is_refused() {
    let ProbeTarget::Dns(question) = "dns:a@127.0.0.1?type=nonsense".parse().unwrap() else {
        panic!()
    };
    let error = DnsCaller::new(&question, AddressFamily::Any).err().unwrap().to_string();
    assert!(error.contains("NONSENSE") && error.contains("write A, AAAA"), "{error}");
}
