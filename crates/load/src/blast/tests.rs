//! Everything arrives, in turn, both ways.

use std::net::UdpSocket;
use std::time::Duration;

use super::Blast;
use crate::{LoadError, Stop};

fn receiver() -> UdpSocket {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    receiver
}

fn received(receiver: &UdpSocket, count: u64) -> Vec<String> {
    let mut room = [0; 2048];
    let mut next = || {
        let length = receiver.recv(&mut room).unwrap();
        String::from_utf8_lossy(&room[..length]).into_owned()
    };
    (0..count).map(|_| next()).collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn plain_datagrams_arrive_in_turn_and_as_many_as_asked_for() {
    let receiver = receiver();
    let datagrams = texts(&["a:1|c", "longer:20|ms", "b:3|g"]);
    let blast = Blast::new(receiver.local_addr().unwrap(), datagrams, Stop::Count(100));
    let sent = blast.run().unwrap();
    assert_eq!(sent.datagrams, 100);
    let received = received(&receiver, 100);
    let expected = ["a:1|c", "longer:20|ms", "b:3|g"].iter().cycle();
    assert!(received.iter().zip(expected).all(|(received, sent)| received == sent));
}

#[test]
fn trains_arrive_as_the_same_datagrams() {
    let receiver = receiver();
    let datagrams = texts(&["a:1|c", "b:2|c", "c:3|c"]);
    let target = receiver.local_addr().unwrap();
    let blast = Blast { in_trains: true, ..Blast::new(target, datagrams, Stop::Count(128)) };
    assert_eq!(blast.run().unwrap().datagrams, 128);
    let received = received(&receiver, 128);
    let expected = ["a:1|c", "b:2|c", "c:3|c"].iter().cycle();
    assert!(received.iter().zip(expected).all(|(received, sent)| received == sent));
}

#[test]
fn a_rate_is_kept_from_burst_to_burst() {
    let receiver = receiver();
    let target = receiver.local_addr().unwrap();
    let blast = Blast::new(target, texts(&["a:1|c"]), Stop::Count(100));
    // Four pauses of 10 ms lie between five bursts.
    let sent = Blast { rate: Some(2000.0), burst: 20, ..blast }.run().unwrap();
    assert!(sent.elapsed >= Duration::from_millis(40), "{:?}", sent.elapsed);
    assert_eq!(received(&receiver, 100).len(), 100);
}

#[test]
fn trains_of_unlike_datagrams_and_no_datagrams_are_refused() {
    let target = receiver().local_addr().unwrap();
    let unlike = Blast::new(target, texts(&["a:1|c", "ab:1|c"]), Stop::Count(1));
    let refused = Blast { in_trains: true, ..unlike }.run();
    assert!(matches!(refused, Err(LoadError::Plan(_))));
    let none = Blast::new(target, Vec::new(), Stop::Count(1));
    assert!(matches!(none.run(), Err(LoadError::Plan(_))));
}
