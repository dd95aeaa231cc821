//! Reads that one client keeps out of the cache, one after the other and many at once.
//!
//! Never here: changes of what others get (`poison`).

use std::time::Duration;

use crate::siege::assault::Assault;
use crate::siege::wire::{head, message};

/// Credentials that nobody asked for.
pub(super) fn authorization(assault: &mut Assault<'_>) {
    past(assault, |target| head("GET", target, "Authorization: x\r\n"));
}

/// A `Connection` that names other fields.
pub(super) fn connection_options(assault: &mut Assault<'_>) {
    past(assault, |target| head("GET", target, "Connection: x-a\r\nX-A: 1\r\n"));
}

/// A GET with a body.
pub(super) fn get_with_body(assault: &mut Assault<'_>) {
    past(assault, |target| message("GET", target, b"a body"));
}

/// Directives, right and wrong, on the route that obeys them.
pub(super) fn directives(assault: &mut Assault<'_>) {
    let controls = ["no-store", "no-store;x", "no-cache", "max-age=0", "max-age=-1", "no-store=,"];
    while assault.is_on() {
        let control = assault.dice.pick(&controls);
        let route = assault.dice.pick(&["/r/plain/1", "/s/key/6", "/strict/plain"]);
        assault.get(route, &format!("Cache-Control: {control}\r\n"));
    }
}

fn past(assault: &mut Assault<'_>, request: fn(&str) -> Vec<u8>) {
    while assault.is_on() {
        for _ in 0..60 {
            let target = assault.target_of_others();
            assault.ask("GET", &request(&target));
        }
        let herd = assault.herd(100, None, |number| {
            let slow = if number % 2 == 0 { "/s/past/slow=500" } else { "/s/key/6" };
            request(slow)
        });
        assault.tend_for(Duration::from_millis(700), herd);
    }
}
