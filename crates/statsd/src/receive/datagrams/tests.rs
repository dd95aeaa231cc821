//! What a socket is granted, what it lost, and that its thread goes on whatever the socket says.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use socket2::SockRef;

use super::{Datagrams, NAP, SLOTS, Socket};
use crate::active_config::ActiveConfig;
use crate::config::{self, Config};
use crate::receive::Intake;
use crate::receive::last_received::LastReceived;
use crate::table::{Bounds, Gauges, Table};

fn socket() -> Socket {
    Socket::udp("127.0.0.1:0".parse().expect("an address"), false, false, 8192).expect("a socket")
}

#[test]
fn a_socket_says_where_it_is_and_what_it_was_granted() {
    let socket = socket();
    assert!(socket.port() > 0);
    assert_eq!(socket.address(), format!("udp:127.0.0.1:{}", socket.port()));
    assert_eq!((socket.buffer_bytes(), socket.dropped()), (8192, 0));
}

#[test]
fn drops_only_grow_though_the_number_of_the_kernel_wraps_and_comes_out_of_order() {
    let socket = socket();
    for (count, total) in [
        (10, 10),
        (7, 10),
        (10, 10),
        (12, 12),
        (2_000_000_000, 2_000_000_000),
        (4_000_000_000, 4_000_000_000),
        (3_999_999_999, 4_000_000_000),
        (5, (1 << 32) + 5),
        (u32::MAX, (1 << 32) + 5),
        (6, (1 << 32) + 6),
        // So far ahead it is one that was read earlier.
        (6 + u32::MAX / 2, (1 << 32) + 6),
        (5 + u32::MAX / 2, (1 << 32) + 5 + u64::from(u32::MAX / 2)),
    ] {
        socket.note(count);
        assert_eq!(socket.dropped.lock().total, total, "after {count}");
    }
}

/// A thread for a socket that says at once that there is nothing, instead of after a while.
fn receiver() -> (Arc<Socket>, Arc<Mutex<Table>>, Datagrams) {
    let plan = config::plan(&Config::default(), "/nowhere".as_ref(), &mut |key, reason| {
        panic!("{key}: {reason}")
    });
    let bounds = Arc::new(Bounds::of(&plan, None));
    let table = Arc::new(Mutex::new(Table::new(Arc::clone(&bounds))));
    let gauges = Arc::new(Mutex::new(Gauges::new(bounds)));
    let config = Arc::new(ActiveConfig::new(plan));
    let last_received = Arc::new(LastReceived::new());
    let intake = Intake::new(config, Arc::clone(&table), gauges, last_received);
    let socket = Arc::new(Socket { nap: None, ..socket() });
    SockRef::from(&socket.raw).set_nonblocking(true).expect("a socket");
    (Arc::clone(&socket), table, Datagrams::new(socket, intake))
}

#[test]
fn what_waits_in_the_socket_at_the_end_is_taken() {
    let (socket, table, datagrams) = receiver();
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for _ in 0..3 {
        sender.send_to(b"a:1|c", ("127.0.0.1", socket.port())).expect("it is sent");
    }
    datagrams.run(&AtomicBool::new(true));
    assert_eq!(table.lock().totals.packets, 3);
}

#[test]
fn a_thread_goes_on_when_nothing_comes_and_ends_when_it_is_told() {
    let (socket, table, datagrams) = receiver();
    let ends = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ends);
    let thread = std::thread::spawn(move || datagrams.run(&flag));
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for sent in 1..40 {
        sender.send_to(b"a:1|c", ("127.0.0.1", socket.port())).expect("it is sent");
        while table.lock().totals.packets < sent {
            assert!(!thread.is_finished(), "it has ended after {sent}");
            std::thread::yield_now();
        }
    }
    ends.store(true, Ordering::Release);
    thread.join().expect("it ends");
    assert_eq!(table.lock().totals.packets, 39);
}

#[test]
fn after_a_small_batch_over_udp_a_socket_is_left_alone_and_else_never() {
    let udp = socket();
    assert_eq!([0, 1, SLOTS / 4 - 1].map(|filled| udp.nap_after(filled)), [Some(NAP); 3]);
    assert_eq!([SLOTS / 4, SLOTS].map(|filled| udp.nap_after(filled)), [None; 2]);
    let folder = tempfile::TempDir::new().expect("a folder");
    let unix = Socket::unix(&folder.path().join("s"), None, 8192).expect("a socket");
    assert_eq!([0, SLOTS].map(|filled| unix.nap_after(filled)), [None; 2], "senders wait for it");
}

#[test]
fn an_error_that_does_not_pass_ends_the_thread() {
    let (_, table, mut datagrams) = receiver();
    let file = std::fs::File::open("/dev/null").expect("it is there");
    datagrams.socket = Arc::new(Socket { raw: file.into(), ..socket() });
    datagrams.run(&AtomicBool::new(false));
    assert_eq!(table.lock().totals.packets, 0);
}
