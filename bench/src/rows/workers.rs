//! What the rows about Python workers share.

pub(super) mod bodies;
pub(super) mod memory;
pub(super) mod profiles;
pub(super) mod recycle;
pub(super) mod throughput;

use load::{Request, Requests};

/// GETs of one path.
fn get(path: &str) -> Box<dyn Requests> {
    Box::new(Request::get(path).expect_status(200).template())
}
