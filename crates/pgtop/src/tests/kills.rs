//! Signals reach the query that was seen, or nothing.

use std::sync::mpsc;
use std::thread;

use super::*;
use crate::{QueryIdentity, SignalKind, SignalOutcome};

#[test]
fn nothing_is_signalled_when_any_part_of_the_identity_differs() {
    let server = Postgres::shared();
    let url = server.database();
    let mut victim = server.session(&url);
    let pid: i32 = victim.ask("SELECT pg_backend_pid()").unwrap().parse().unwrap();
    let mut source = source(&url);
    let frame = source.frame(&request(&[])).unwrap();
    let seen = frame.sessions.iter().find(|it| it.identity.pid == pid).unwrap().identity;
    let mut ended = |identity: QueryIdentity| {
        for kind in [SignalKind::Cancel, SignalKind::Terminate, SignalKind::TerminateIdle] {
            // The last is for sessions that are idle.
            if kind == SignalKind::TerminateIdle && identity == seen {
                continue;
            }
            assert_eq!(source.signal(kind, identity).unwrap(), SignalOutcome::Ended);
        }
    };
    // The query that was seen is over: the session is idle.
    ended(seen);
    ended(QueryIdentity { backend_start_us: seen.backend_start_us + 1, ..seen });
    ended(QueryIdentity { query_start_us: seen.query_start_us.map(|it| it - 1), ..seen });
    ended(QueryIdentity { query_start_us: None, ..seen });
    assert_eq!(victim.ask("SELECT 1").as_deref(), Some("1"));
}

/// What became of runs in which a query ends at the moment of the kill.
#[derive(Debug, Default, PartialEq, Eq)]
struct RaceTally {
    runs: u32,
    cancelled: u32,
    ended: u32,
    ended_meanwhile: u32,
    /// The next query of the session was cancelled.
    wrong: u32,
}

/// Runs a query of about 110 ms in one session, and cancels it after as much. So it ends at that
/// moment, up to 3 ms around it. The session runs the next one at once.
fn race(url: &str, runs: u32, seed: u64) -> RaceTally {
    const LENGTH_S: f64 = 0.11;
    let (begin, begun) = mpsc::channel::<f64>();
    let (finish, finished) = mpsc::channel::<(bool, bool)>();
    let address = source(url).address().clone();
    let text = format!("SELECT 1 FROM pg_sleep($1) /* target {seed} */");
    let target_text = text.clone();
    let victim = thread::spawn(move || {
        let mut connection = crate::PgConnection::open(&address).unwrap();
        let is_cancelled = |error: &crate::PgError| error.to_string().contains("57014");
        while let Ok(seconds) = begun.recv() {
            let target = connection.rows(&target_text, &[&seconds]);
            let innocent = connection.rows("SELECT 1 FROM pg_sleep($1) /* innocent */", &[&0.003]);
            let hit = [target, innocent].map(|it| it.as_ref().is_err_and(is_cancelled));
            finish.send((hit[0], hit[1])).unwrap();
        }
    });
    let mut killer = source(url);
    let mut random = stdx::Random::new(seed);
    let (mut tally, mut last) = (RaceTally::default(), None);
    while tally.runs < runs {
        begin.send(LENGTH_S + (random.fraction() - 0.5) * 0.006).unwrap();
        // Frames are read until there is a new target.
        let seen = loop {
            // The machine was so busy that the target is over.
            if let Ok((target, innocent)) = finished.try_recv() {
                assert!(!target && !innocent, "nothing was signalled");
                break None;
            }
            let frame = killer.frame(&request(&[])).unwrap();
            let found = frame.sessions.iter().find(|it| it.query == text && it.state == "active");
            match found.map(|it| it.identity) {
                Some(identity) if Some(identity) != last => break Some((identity, frame.time_us)),
                _ => thread::yield_now(),
            }
        };
        let Some((identity, now_us)) = seen else { continue };
        last = Some(identity);
        let ran_s = (now_us - identity.query_start_us.unwrap()) as f64 / 1e6;
        let rest_s = (LENGTH_S - ran_s - 0.008).max(0.0);
        killer.run(|it| it.rows("SELECT 1 FROM pg_sleep($1) /* waits */", &[&rest_s])).unwrap();
        match killer.signal(SignalKind::Cancel, identity).unwrap() {
            SignalOutcome::Signalled => {}
            SignalOutcome::Ended => tally.ended += 1,
            SignalOutcome::EndedMeanwhile => tally.ended_meanwhile += 1,
            other => panic!("{other:?}"),
        }
        let (target, innocent) = finished.recv().unwrap();
        tally.runs += 1;
        tally.cancelled += u32::from(target);
        tally.wrong += u32::from(innocent);
    }
    drop(begin);
    victim.join().unwrap();
    tally
}

#[test]
fn a_query_that_ends_at_the_moment_of_its_kill_is_the_only_one_that_is_met() {
    let server = Postgres::start();
    let url = server.database();
    let sessions = (0..8).map(|seed| {
        let url = url.clone();
        thread::spawn(move || race(&url, 125, seed))
    });
    let tallies: Vec<_> = sessions.collect::<Vec<_>>();
    let tallies: Vec<RaceTally> = tallies.into_iter().map(|it| it.join().unwrap()).collect();
    let sum = |of: fn(&RaceTally) -> u32| tallies.iter().map(of).sum::<u32>();
    println!("{tallies:?}");
    assert_eq!(sum(|it| it.runs), 1000);
    assert_eq!(sum(|it| it.wrong), 0, "{tallies:?}");
    // Both outcomes occurred, so the kills did come at the moment of the end.
    assert!(sum(|it| it.cancelled) > 0 && sum(|it| it.ended) > 0, "{tallies:?}");
}

#[test]
fn a_query_that_has_just_begun_is_not_cancelled() {
    let server = Postgres::shared();
    let url = server.database();
    let address = source(&url).address().clone();
    let (begin, begun) = mpsc::channel();
    let victim = thread::spawn(move || {
        let mut connection = crate::PgConnection::open(&address).unwrap();
        begin.send(()).unwrap();
        connection.rows("SELECT 1 FROM pg_sleep(0.8) /* young */", &[])
    });
    begun.recv().unwrap();
    let mut killer = source(&url);
    let mut outcomes = Vec::new();
    while outcomes.last() != Some(&SignalOutcome::Signalled) {
        let frame = killer.frame(&request(&[])).unwrap();
        let found =
            frame.sessions.iter().find(|it| it.query.contains("young */") && it.is_running());
        let Some(session) = found else { continue };
        outcomes.push(killer.signal(SignalKind::Cancel, session.identity).unwrap());
    }
    let is_young = outcomes.iter().filter(|it| **it == SignalOutcome::Young).count();
    assert_eq!(is_young + 1, outcomes.len(), "{outcomes:?}");
    assert!(victim.join().unwrap().unwrap_err().to_string().contains("57014"));
}
