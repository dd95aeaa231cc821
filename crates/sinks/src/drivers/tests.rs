//! Claims about engines without a driver, and that the list of them is complete.

use std::path::Path;

use super::{DriverLeftOut, ENGINES};
use crate::{UrlError, open};

#[test]
fn says_what_is_left_out_and_how_to_have_it() {
    let error = UrlError::from(DriverLeftOut::check("kafka").unwrap_err());
    assert_eq!(
        error.to_string(),
        "this build leaves out the driver of Kafka; \
         hint: `cargo build --release` builds Tidegate with all drivers"
    );
}

#[test]
fn refuses_no_engine_that_is_always_there() {
    for scheme in ["sqlite", "ndjson", "csv", "clickhouse", "oracle"] {
        assert_eq!(DriverLeftOut::check(scheme), Ok(()));
    }
}

#[test]
fn a_build_opens_what_it_has_a_driver_for_and_refuses_the_others() {
    for (scheme, engine) in ENGINES {
        let opened = open(&format!("{scheme}://user@127.0.0.1:1/database"), Path::new("/"));
        let left_out = Err(UrlError::from(DriverLeftOut { engine }));
        let expected = if cfg!(feature = "drivers") { Ok(()) } else { left_out };
        assert_eq!(opened.map(|_| ()), expected);
    }
}
