//! What becomes of errors that a server answers with while rows are written.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

use pipeline::SinkError;

/// Has PostgreSQL answer the first `times` inserts with this state.
fn postgres_fails(bench: &Bench, state: &str, times: u32) {
    bench.query("DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries");
    bench.query(&format!(
        "CREATE OR REPLACE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF nextval('tries') <= {times} THEN \
         RAISE EXCEPTION 'on purpose' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$"
    ));
    bench.query(
        "CREATE OR REPLACE TRIGGER fails BEFORE INSERT ON counts FOR EACH ROW \
                 EXECUTE FUNCTION fails()",
    );
}

/// Has MariaDB answer the first `times` inserts with this state and this code. What a table of
/// MyISAM has is not rolled back.
fn mysql_fails(bench: &Bench, state: &str, code: u32, times: u32) {
    bench.query("DROP TABLE IF EXISTS tries; CREATE TABLE tries (one INT) ENGINE=MyISAM");
    bench.query("DROP TRIGGER IF EXISTS fails");
    bench.query(&format!(
        "\nDELIMITER //\nCREATE TRIGGER fails BEFORE INSERT ON counts FOR EACH ROW BEGIN \
         INSERT INTO tries VALUES (1); IF (SELECT COUNT(*) FROM tries) <= {times} THEN \
         SIGNAL SQLSTATE '{state}' SET MESSAGE_TEXT = 'on purpose', MYSQL_ERRNO = {code}; END IF; \
         END//\nDELIMITER ;"
    ));
}

/// Whether the first batch is done, refused or unknown. One that is done shows that nothing was
/// kept of those before.
fn outcome(bench: &Bench) -> &'static str {
    match bench.sink().deliver(&batch(1, one("/a", 1))) {
        Ok(()) => "done",
        Err(error) => {
            assert!(error.to_string().contains("on purpose"), "{error}");
            match error {
                SinkError::Refused { .. } => "refused",
                SinkError::Unreachable { .. } => "unreachable",
                SinkError::Fenced { .. } => "fenced",
            }
        }
    }
}

#[test]
fn postgres_is_asked_again_where_another_was_in_the_way_and_refused_where_it_will_not() {
    let bench = Bench::postgres();
    bench.prepared(&[&counts()]);
    for (state, times, expected) in [
        ("40001", 5, "unreachable"),
        ("40P01", 5, "unreachable"),
        ("0A000", 1, "refused"),
        ("21000", 1, "refused"),
        ("22003", 1, "refused"),
        ("23505", 1, "refused"),
        ("28000", 1, "refused"),
        ("3D000", 1, "refused"),
        ("3F000", 1, "refused"),
        ("42501", 1, "refused"),
        ("53100", 1, "unreachable"),
        ("57014", 1, "unreachable"),
        ("40001", 4, "done"),
    ] {
        postgres_fails(&bench, state, times);
        assert_eq!(outcome(&bench), expected, "{state}");
        let tries = if expected == "done" { times + 1 } else { times };
        if times > 1 {
            assert_eq!(bench.query("SELECT last_value FROM tries"), tries.to_string(), "{state}");
        }
    }
    assert_eq!(bench.query("SELECT count FROM counts"), "1");
}

#[test]
fn mysql_is_asked_again_where_another_was_in_the_way_and_refused_where_it_will_not() {
    let bench = Bench::mysql();
    bench.prepared(&[&counts()]);
    for (state, code, times, expected) in [
        ("40001", 1213, 5, "unreachable"),
        ("HY000", 1020, 5, "unreachable"),
        ("HY000", 1364, 1, "refused"),
        ("HY000", 1366, 1, "refused"),
        ("HY000", 1118, 1, "refused"),
        ("0A000", 1235, 1, "refused"),
        ("21S01", 1136, 1, "refused"),
        ("22003", 1264, 1, "refused"),
        ("23000", 1062, 1, "refused"),
        ("28000", 1045, 1, "refused"),
        ("3D000", 1046, 1, "refused"),
        ("42000", 1142, 1, "refused"),
        ("HY000", 1205, 1, "unreachable"),
        ("40001", 1213, 4, "done"),
    ] {
        mysql_fails(&bench, state, code, times);
        assert_eq!(outcome(&bench), expected, "{state} {code}");
        let tries = if expected == "done" { times + 1 } else { times };
        if times > 1 {
            assert_eq!(
                bench.query("SELECT COUNT(*) FROM tries"),
                tries.to_string(),
                "{state} {code}"
            );
        }
    }
    assert_eq!(bench.query("SELECT count FROM counts"), "1");
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

/// Greets as a MySQL without TLS does, and lets nobody in; tells whether somebody tried.
fn greet(mut stream: TcpStream) -> bool {
    let mut greeting = b"\x0a8.0.0\0\x01\0\0\0abcdefgh\0".to_vec();
    // Databases, protocol 4.1, long passwords; no TLS.
    greeting.extend(b"\x09\x82\x21\x02\0\x08\0\x15");
    greeting.extend([0; 10]);
    greeting.extend(b"ijklmnopqrst\0mysql_native_password\0");
    stream.write_all(&packet(0, &greeting)).unwrap();
    let mut head = [0; 4];
    if stream.read_exact(&mut head).is_err() {
        return false;
    }
    let mut login = vec![0; usize::from(head[0])];
    let is_login = stream.read_exact(&mut login).is_ok();
    stream.write_all(&packet(head[3] + 1, b"\xff\x15\x04#28000no entry")).unwrap();
    is_login && login.windows(5).any(|part| part == b"user7")
}

#[test]
fn mysql_without_tls_hears_a_password_only_from_one_that_does_not_insist_on_it() {
    for (mode, expected) in [
        ("disable", &[true][..]),
        // It asks for encryption first.
        ("prefer", &[false, true]),
        ("require", &[false]),
        ("verify-full", &[false]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("mysql://user7:p@{address}/d?sslmode={mode}");
        let is_over = AtomicBool::new(false);
        let (error, logins) = std::thread::scope(|scope| {
            let server = scope.spawn(|| {
                let streams = listener.incoming().map(Result::unwrap);
                let streams = streams.take_while(|_| !is_over.load(Ordering::SeqCst));
                streams.map(greet).collect::<Vec<bool>>()
            });
            let error = open(&url, Path::new("/")).unwrap().prepare(&[]).unwrap_err();
            is_over.store(true, Ordering::SeqCst);
            drop(TcpStream::connect(address));
            (error, server.join().unwrap())
        });
        assert_eq!(logins, expected, "{mode}");
        let is_refused = matches!(error, SinkError::Refused { .. });
        assert_eq!(is_refused, expected.contains(&true), "{mode}: {error}");
    }
}
