//! Datagrams through a real socket: whole, in order, in trains, and counted when dropped.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

use super::{ReceiveBatch, SLOTS, dropped, set_option};

fn pair() -> (UdpSocket, UdpSocket) {
    let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    receiver.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    sender.connect(receiver.local_addr().expect("an address")).expect("connected");
    (sender, receiver)
}

fn receive(batch: &mut ReceiveBatch, socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    while all.len() < count {
        batch.receive(socket.as_fd()).expect("datagrams are waiting");
        batch.each(|datagram| all.push(datagram.to_vec()));
    }
    all
}

#[test]
fn datagrams_of_all_lengths_come_whole_and_in_order() {
    let (sender, receiver) = pair();
    let mut batch = ReceiveBatch::new();
    for length in [0, 1, 2, 1432, 8932, 65_507] {
        let sent: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        sender.send(&sent).expect("sent");
        assert_eq!(receive(&mut batch, &receiver, 1), [sent]);
    }
    let sent: Vec<Vec<u8>> = (0..2 * SLOTS).map(|at| format!("n{at}").into_bytes()).collect();
    for datagram in &sent {
        sender.send(datagram).expect("sent");
    }
    assert_eq!(receive(&mut batch, &receiver, sent.len()), sent);
}

#[test]
fn a_train_is_cut_into_its_datagrams() {
    let (sender, receiver) = pair();
    if let Err(error) = set_option(receiver.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1) {
        println!("not tested: this kernel has no UDP_GRO: {error}");
        return;
    }
    // Nine datagrams of ten bytes and one of five, sent by one call.
    set_option(sender.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 10).expect("UDP_SEGMENT");
    let sent: Vec<u8> = (0..95).collect();
    sender.send(&sent).expect("sent");
    let received = receive(&mut ReceiveBatch::new(), &receiver, 10);
    assert_eq!(received, sent.chunks(10).map(<[u8]>::to_vec).collect::<Vec<_>>());
}

#[test]
fn what_the_kernel_drops_is_said_by_both_of_its_counts() {
    let (sender, receiver) = pair();
    set_option(receiver.as_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1).expect("SO_RXQ_OVFL");
    set_option(receiver.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 4096).expect("SO_RCVBUF");
    let sent = 500;
    for _ in 0..sent {
        sender.send(&[7; 100]).expect("sent");
    }
    let dropped = dropped(receiver.as_fd()).expect("this kernel has SO_MEMINFO");
    assert!(dropped > 0 && dropped < sent, "{dropped}");
    let mut batch = ReceiveBatch::new();
    let received = receive(&mut batch, &receiver, (sent - dropped) as usize);
    assert_eq!(received.len() as u32, sent - dropped);
    sender.send(b"last").expect("sent");
    assert_eq!(receive(&mut batch, &receiver, 1), [b"last"]);
    assert_eq!(batch.dropped(), Some(dropped));
}
