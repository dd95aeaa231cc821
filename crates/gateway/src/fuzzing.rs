//! Exports the parsers of untrusted bytes, and what judges them, to the fuzz targets.
//!
//! Invariant: nothing in the product uses this module, and it is no part of the interface, so what
//! it exports may change at will. Never here: code that only a fuzz target runs, but for
//! conversions; reading a response in pieces (`upstream::fuzzing`).

use cache::Area;

use crate::plan::Plan;
use crate::purge_request::PurgeRequest;

pub use crate::freshness::{Directives, Policy, RequestFacts, lifetime};
pub use crate::key::{Identity, KeyPlan, forwarded, of as key, without_field};
pub use crate::pattern::{Match, Pattern};
pub use crate::reply::range::{BodyRange, parse as range};
pub use crate::request_directives::RequestDirectives;
pub use crate::upstream::fuzzing::{AnswerReading, read_answer};
pub use crate::user::{User, UserSource};

/// Returns the areas of a purge under the routes of a plan.
///
/// # Errors
/// With a message when the request is wrong.
pub fn areas(request: &PurgeRequest, plan: &Plan) -> Result<Vec<Area>, String> {
    request.areas(&plan.routes)
}
