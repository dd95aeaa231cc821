//! The parsers that read strangers' bytes, opened for the fuzz targets; no part of the interface.
//!
//! Nothing in the product calls this.

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

/// What a purge covers under the routes of a plan.
///
/// # Errors
/// What is wrong with the request.
pub fn areas(request: &PurgeRequest, plan: &Plan) -> Result<Vec<Area>, String> {
    request.areas(&plan.routes)
}
