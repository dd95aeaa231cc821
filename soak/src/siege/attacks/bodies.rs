//! Request bodies that come too slowly, in part, or not at all.
//!
//! Never here: answers that are read slowly (`readers`).

use std::time::Duration;

use crate::siege::assault::{Assault, push};
use crate::siege::wire::head;

const UPLOAD_BYTES: usize = 7_900_000;
const ARRIVED_BYTES: usize = 1_100_000;

/// Bodies of which a byte comes each two seconds.
pub(super) fn slow(assault: &mut Assault<'_>) {
    let herd = assault.herd(300, None, |number| {
        head("POST", &format!("/post/slow-{number}"), "Content-Length: 1000\r\n")
    });
    assault.tend(herd, Duration::from_secs(2), |stream| push(stream, b"x").map(drop));
}

/// Uploads that stop when they have begun to pass on.
pub(super) fn stalled(assault: &mut Assault<'_>) {
    let length = format!("Content-Length: {UPLOAD_BYTES}\r\n");
    let herd =
        assault.herd(100, None, |number| head("POST", &format!("/up/stalled-{number}"), &length));
    let piece = vec![b'u'; 64 << 10];
    let mut left = herd.len() * ARRIVED_BYTES;
    assault.tend(herd, Duration::from_millis(20), |stream| {
        if left > 0 {
            left = left.saturating_sub(push(stream, &piece)?);
        }
        Ok(())
    });
}

/// Uploads whose clients leave in the middle.
pub(super) fn aborted(assault: &mut Assault<'_>) {
    let length = format!("Content-Length: {UPLOAD_BYTES}\r\n");
    let piece = vec![b'u'; 64 << 10];
    while assault.is_on() {
        let mut herd = assault.herd(8, None, |_| head("POST", "/up/aborted", &length));
        for stream in &mut herd {
            let pieces = assault.dice.below(30);
            let sent = (0..pieces).try_for_each(|_| push(stream, &piece).map(drop));
            assault.count(if sent.is_ok() { "left" } else { "lost" });
        }
        assault.rest(Duration::from_millis(50));
    }
}
