//! Claims about `ltsv`.

use super::*;

#[test]
fn reads_the_recommended_labels() {
    let line = b"time:[21/Nov/2026:03:54:12 +0000]\thost:203.0.113.9\tmethod:GET\turi:/a?b=1\t\
        protocol:HTTP/1.1\tstatus:200\tsize:12\treqtime:0.0015\tua:curl\tvhost:x\tuser:-\tzz:1\n";
    let exchange = decode(line).unwrap();
    assert_eq!(exchange.time_us, 1_795_233_252_000_000);
    assert_eq!((&*exchange.path, exchange.query.as_deref()), (&b"/a"[..], Some(&b"b=1"[..])));
    assert_eq!((exchange.status, exchange.bytes_out, exchange.total_us), (200, 12, 1500));
    assert_eq!((&*exchange.version, exchange.user), ("1.1", None));
}

#[test]
fn reads_a_request_line_and_an_rfc_3339_time() {
    let exchange = decode(b"time:1970-01-01T00:00:01Z\treq:POST /x HTTP/2.0\tstatus:204").unwrap();
    assert_eq!(
        (&*exchange.method, &*exchange.path, exchange.time_us),
        ("POST", &b"/x"[..], 1_000_000)
    );
}

#[test]
fn names_what_is_wrong_and_where() {
    let error = decode(b"time:1970-01-01T00:00:01Z\tstatus:ok").unwrap_err();
    assert_eq!((error.offset, error.reason), (26, DecodeReason::Expected("a status")));
    let error = decode(b"time:1970-01-01T00:00:01Z\tstatus:200").unwrap_err();
    assert_eq!(error.reason, DecodeReason::Missing("uri"));
}
