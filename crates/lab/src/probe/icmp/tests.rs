//! Claims about echo requests; where the system lets us, by real ones over loopback.

use std::time::Duration;

use super::{Echo, IcmpCaller, Received, checksum};
use crate::LabError;
use crate::probe::AddressFamily;
use crate::probe::call::{Caller, Stopwatch};

fn icmp(host: &str) -> Option<IcmpCaller> {
    match IcmpCaller::new(host, AddressFamily::Any) {
        Ok(mut icmp) => {
            icmp.prepare(0);
            Some(icmp)
        }
        Err(LabError::Echo { .. }) => {
            testkit::skip("the system allows no echo requests");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn loopback_answers_over_both_families() {
    for host in ["127.0.0.1", "::1"] {
        let Some(mut icmp) = icmp(host) else { return };
        for _ in 0..3 {
            icmp.prepare(0);
            let mut watch = Stopwatch::start(Duration::from_secs(20));
            let made = icmp.call(&mut watch).unwrap();
            assert_eq!(made.names, [("address".to_owned(), host.to_owned())]);
            let phases: Vec<&str> = watch.phases.iter().map(|(name, _)| *name).collect();
            assert_eq!(phases, ["send", "wait"], "the socket is opened beforehand");
        }
    }
}

#[test]
fn only_the_reply_with_number_and_payload_of_the_request_counts() {
    let Some(icmp) = icmp("127.0.0.1") else { return };
    let Ok(mut echo) = Echo::open(false) else { return };
    echo.is_raw = false;
    let mut reply = icmp.request(false);
    assert_eq!(icmp.receive(&reply, &echo), Received::Other);
    reply[0] = 0;
    assert_eq!(icmp.receive(&reply, &echo), Received::Reply);
    echo.is_raw = true;
    let with_header = |packet: &[u8]| [&[0x45][..], &[0; 19], packet].concat();
    assert_eq!(icmp.receive(&with_header(&reply), &echo), Received::Reply);
    let mut other = reply.clone();
    other[7] ^= 1;
    assert_eq!(icmp.receive(&with_header(&other), &echo), Received::Other);
    reply[20] ^= 1;
    assert_eq!(icmp.receive(&with_header(&reply), &echo), Received::Other);
    for cut in 0..20 {
        assert_eq!(icmp.receive(&with_header(&reply)[..cut], &echo), Received::Other);
    }
}

#[test]
fn an_unreachable_host_is_heard_of_when_it_is_ours() {
    let Some(icmp) = icmp("127.0.0.1") else { return };
    let Ok(mut echo) = Echo::open(false) else { return };
    echo.is_raw = true;
    let header = [&[0x45][..], &[0; 19]].concat();
    let request = icmp.request(false);
    let message = [&header[..], &[3, 1, 0, 0, 0, 0, 0, 0], &header, &request[..8]].concat();
    assert_eq!(icmp.receive(&message, &echo), Received::Unreachable);
    assert_eq!(icmp.receive(&message[..50], &echo), Received::Other);
}

#[test]
fn the_checksum_of_a_packet_with_its_checksum_is_zero() {
    // The example of RFC 1071, section 3.
    assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    assert_eq!(checksum(&[0xff, 0xff, 0x01]), !0x0100);
}

#[test]
fn a_name_s_socket_is_opened_once() {
    let Some(mut icmp) = icmp("localhost") else { return };
    for call in 0..3 {
        icmp.prepare(0);
        let mut watch = Stopwatch::start(Duration::from_secs(20));
        icmp.call(&mut watch).unwrap();
        let connects = watch.phases.iter().any(|(name, _)| *name == "connect");
        assert_eq!(connects, call == 0);
    }
}
