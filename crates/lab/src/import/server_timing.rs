//! Places what servers say of themselves by `Server-Timing` into a series that was read from a log.
//!
//! It lies inside `wait`, or inside `upstream` where only that is logged. Where neither is, it lies
//! inside the whole call, whose rest no step covers. Metrics that overlap become attributes
//! (`inside.rs`).
//! Never here: how the field reads, which `probe/timing.rs` knows.

use verdicts::{Attribute, AttributeValues, PhaseColumn, Series};

use crate::inside;

/// Names that logs give to the field.
pub(super) const NAMES: [&str; 4] =
    ["server_timing", "upstream_http_server_timing", "sent_http_server_timing", "server-timing"];
/// Phases that it may lie in.
const AROUND: [&str; 2] = ["wait", "upstream"];
/// The whole call, while its parts are placed.
const WHOLE: &str = "the whole call";

/// Places the times of each row; rows beyond the last have none.
pub(super) fn place(series: &mut Series, mut rows: Vec<Vec<(String, f64)>>) {
    if rows.is_empty() {
        return;
    }
    rows.resize(series.len(), Vec::new());
    let rows: Vec<&[(String, f64)]> = rows.iter().map(Vec::as_slice).collect();
    let is_known = |name: &&&str| series.phases.iter().any(|phase| phase.name == **name);
    let around = AROUND.iter().find(is_known).copied().unwrap_or_else(|| {
        let ms = series.total_ms.clone();
        series.phases.push(PhaseColumn { name: WHOLE.to_owned(), ms });
        WHOLE
    });
    let attributes = inside::place(series, around, &rows);
    series.phases.retain(|phase| phase.name != WHOLE);
    let attribute = |(name, numbers)| Attribute { name, values: AttributeValues::Numbers(numbers) };
    series.attributes.extend(attributes.into_iter().map(attribute));
}
