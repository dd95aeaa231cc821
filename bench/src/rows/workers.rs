//! What the rows about Python workers share.

pub mod memory;
pub mod profiles;
pub mod recycle;
pub mod throughput;

use load::{Request, Requests};

/// GETs of one path.
fn get(path: &str) -> Box<dyn Requests> {
    Box::new(Request::get(path).expect_status(200).template())
}
