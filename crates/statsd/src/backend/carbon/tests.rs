//! What confirms that carbon has read, and what does not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::Carbon;
use crate::backend::delivery::Transport;
use crate::plan::Closing;

/// Long enough for loopback, and short enough to be waited for.
const TIMEOUT: Duration = Duration::from_millis(400);
const LINES: &[u8] = b"stats.counters.a.count 1 1700000000\n";

/// Does this to each connection, with its number.
fn receiver(each: impl Fn(usize, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            each(at, stream.expect("a connection"));
        }
    });
    address.to_string()
}

/// One that takes connections, and does not read.
fn hung() -> String {
    receiver(|_, stream| std::mem::forget(stream))
}

/// One that reads the first so many connections to their end, and then hangs.
fn hangs_after(good: usize) -> String {
    receiver(move |at, mut stream| match at < good {
        true => drop(stream.read_to_end(&mut Vec::new())),
        false => std::mem::forget(stream),
    })
}

fn deliver(carbon: &mut Carbon) -> Result<(), String> {
    let sent = carbon.send(LINES).and_then(|()| carbon.end());
    sent.map_err(|error| error.to_string())
}

#[test]
fn a_first_connection_that_stays_open_confirms_nothing() {
    let to = hung();
    let mut carbon = Carbon::new(to.clone(), TIMEOUT, Closing::Always);
    for _ in 0..2 {
        let error = deliver(&mut carbon).expect_err("nobody has read it");
        assert!(error.contains(&to) && error.contains("`closes = false`"), "{error}");
    }
}

#[test]
fn a_carbon_that_has_closed_and_hangs_now_confirms_nothing_however_long() {
    let mut carbon = Carbon::new(hangs_after(1), TIMEOUT, Closing::Always);
    assert_eq!(deliver(&mut carbon), Ok(()));
    for _ in 0..10 {
        let error = deliver(&mut carbon).expect_err("nobody has read it");
        assert!(!error.contains("closes"), "one that closes is not told so: {error}");
    }
}

#[test]
fn of_one_that_never_closes_the_operator_counts_what_its_system_has_taken() {
    let mut carbon = Carbon::new(hung(), TIMEOUT, Closing::Never);
    assert_eq!(deliver(&mut carbon), Ok(()));
    // More than its system takes for a program that does not read.
    let much = vec![b'x'; 64 << 20];
    let sent = carbon.send(&much).and_then(|()| carbon.end());
    assert!(sent.is_err(), "it cannot have taken it");
    assert_eq!(deliver(&mut carbon), Ok(()), "another connection is another attempt");
}

#[test]
fn where_nothing_is_kept_a_carbon_is_waited_for_once_it_has_closed() {
    let mut carbon = Carbon::new(hung(), TIMEOUT, Closing::Learned);
    assert_eq!([deliver(&mut carbon), deliver(&mut carbon)], [Ok(()), Ok(())]);
    let mut carbon = Carbon::new(hangs_after(1), TIMEOUT, Closing::Learned);
    assert_eq!(deliver(&mut carbon), Ok(()));
    for _ in 0..10 {
        deliver(&mut carbon).expect_err("it used to close");
    }
}

#[test]
fn one_that_closes_before_everything_has_come_has_not_read_it() {
    let (closed, is_closed) = channel();
    let to = receiver(move |_, mut stream| {
        stream.read_exact(&mut [0; LINES.len()]).expect("the first part");
        drop(stream);
        closed.send(()).expect("somebody waits");
    });
    for closing in [Closing::Always, Closing::Never, Closing::Learned] {
        let mut carbon = Carbon::new(to.clone(), TIMEOUT, closing);
        carbon.send(LINES).expect("it listens");
        is_closed.recv().expect("it has closed");
        let sent = carbon.send(LINES).and_then(|()| carbon.end());
        assert!(sent.is_err(), "{closing:?}: the second part was never read");
    }
}

#[test]
fn one_that_answers_is_no_graphite() {
    let to = receiver(|_, mut stream| {
        stream.read_exact(&mut [0; LINES.len()]).expect("what was sent");
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("a client");
        drop(stream.read_to_end(&mut Vec::new()));
    });
    for closing in [Closing::Always, Closing::Never, Closing::Learned] {
        let error = deliver(&mut Carbon::new(to.clone(), TIMEOUT, closing));
        let error = error.expect_err("an HTTP server stores no lines");
        assert!(error.contains("`HTTP/1.1 400 Bad Request`"), "{error}");
    }
}

#[test]
fn a_reset_confirms_nothing() {
    // Closing with something unread is a reset.
    let to = receiver(|_, stream| drop(stream.peek(&mut [0])));
    for closing in [Closing::Always, Closing::Never, Closing::Learned] {
        deliver(&mut Carbon::new(to.clone(), TIMEOUT, closing)).expect_err("it is reset");
    }
}
