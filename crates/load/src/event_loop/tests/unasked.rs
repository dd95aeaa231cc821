//! Servers that say more than they were asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::{OK, get};
use crate::event_loop::run;
use crate::{Arrivals, Plan, Report, Stop, Target};

/// How a server answers.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// So many replies when a connection opens, and none to what is asked.
    AtOnce(usize),
    /// So many replies to each request, in one piece.
    Together(usize),
    /// And each in a piece of its own.
    Apart(usize),
    /// One reply to each request, and this once the last has come.
    Then(&'static str),
}

const LAST: u64 = 120;

fn serve(mut stream: TcpStream, manner: Manner) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    if let Manner::AtOnce(count) = manner {
        stream.write_all(OK.repeat(count).as_bytes())?;
    }
    let mut seen = 0;
    loop {
        let Some(line) = lines.next() else { return Ok(()) };
        if !line?.is_empty() {
            continue;
        }
        seen += 1;
        match manner {
            Manner::AtOnce(_) => {}
            Manner::Together(count) => stream.write_all(OK.repeat(count).as_bytes())?,
            Manner::Apart(count) => {
                (0..count).try_for_each(|_| stream.write_all(OK.as_bytes()))?;
            }
            Manner::Then(last) => {
                stream.write_all(OK.as_bytes())?;
                if seen == LAST {
                    // The client goes when it has all: what is left comes apart from it.
                    while lines.next().is_some() {}
                    stream.write_all(last.as_bytes())?;
                    return Ok(());
                }
            }
        }
    }
}

fn load(manner: Manner, plan: impl FnOnce(Target) -> Plan) -> Report {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that had enough is no fault of this server.
            thread::spawn(move || drop(serve(stream.unwrap(), manner)));
        }
    });
    run(&plan(target), &mut get()).unwrap()
}

fn closed(target: Target, depth: usize) -> Plan {
    let plan = Plan::closed(target, 2, Stop::Count(300));
    Plan { arrivals: Arrivals::Closed { depth }, ..plan }
}

#[test]
fn replies_that_come_before_a_request_are_no_success() {
    // As many as are asked for, and as early, a fast server sends, too: no client tells them apart.
    for (count, depth) in [(3, 1), (200, 1), (200, 4), (200, 64)] {
        let report = load(Manner::AtOnce(count), |target| closed(target, depth));
        let errors = report.errors;
        assert_eq!(report.requests, report.doubtful, "{count} at depth {depth}: {errors:?}");
        // Two connections may be open at the end that no request was on.
        let all = report.requests + errors.unasked;
        assert!((300..=302).contains(&all), "{count} at depth {depth}: {errors:?}");
    }
}

#[test]
fn of_three_replies_to_each_request_none_is_a_success() {
    for manner in [Manner::Together(3), Manner::Apart(3)] {
        for depth in [1, 4, 64] {
            let report = load(manner, |target| closed(target, depth));
            assert_eq!(report.requests, report.doubtful, "{manner:?} at depth {depth}");
            assert_eq!(report.requests + report.errors.unasked, 300, "{:?}", report.errors);
        }
        let arrivals = Arrivals::Uniform { rate: 2000.0 };
        let report = load(manner, |target| Plan::open(target, arrivals, 2, Stop::Count(300)));
        assert_eq!(report.requests, report.doubtful, "{manner:?}: {:?}", report.errors);
    }
}

#[test]
fn what_comes_after_the_last_reply_makes_all_of_its_connection_doubtful() {
    let one = |target| Plan::closed(target, 1, Stop::Count(LAST));
    let report = load(Manner::Then(OK), one);
    assert_eq!((report.requests, report.doubtful, report.errors.total()), (LAST, LAST, 0));
    assert!(!report.is_clean());
}

#[test]
fn a_farewell_to_an_idle_connection_is_no_error() {
    for farewell in [
        "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    ] {
        let one = |target| Plan::closed(target, 1, Stop::Count(LAST));
        let report = load(Manner::Then(farewell), one);
        assert_eq!(report.requests, LAST);
        assert!(report.is_clean(), "{:?}", report.errors);
    }
}
