//! Serves `/workers`: shows the pools of workers, and has one recycled or reloaded.
//!
//! An action only begins: it answers before any worker was replaced, and the outcome shows in the
//! list. An unknown pool or a body of another form is 400 and changes nothing.
//! The list is `workers::Status` as it is serialised; `workers.rs` beside `admin.rs` and `soak`
//! read its keys by name. Both also write the body of an action, `{"name": POOL}`.
//! Never here: the table that people see (`workers.rs` beside `admin.rs`), and how workers are
//! replaced (the crate `workers`).

use chassis::admin::{Page, Visit};
use serde::Deserialize;
use serde_json::json;
use workers::{Status, WorkerPool};

use super::refusal::refuse;
use crate::parts::Parts;

/// The body of an action: which pool it is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolRequest {
    name: String,
}

/// All pools with their workers.
pub(super) fn list(parts: &Parts, _: &Visit<'_>) -> Page {
    let all: Vec<Status> = parts.workers.iter().map(|pool| pool.status()).collect();
    Page::json(200, format!("{:#}\n", json!(all)))
}

/// Replaces every worker of a pool, one at a time.
pub(super) fn recycle(parts: &Parts, visit: &Visit<'_>) -> Page {
    command(parts, visit, "recycling", WorkerPool::recycle)
}

/// Imports the app of a pool anew.
pub(super) fn reload(parts: &Parts, visit: &Visit<'_>) -> Page {
    command(parts, visit, "reloading", WorkerPool::reload)
}

fn command(parts: &Parts, visit: &Visit<'_>, doing: &str, command: fn(&WorkerPool)) -> Page {
    let request: PoolRequest = match serde_json::from_slice(visit.body) {
        Ok(request) => request,
        Err(error) => return refuse(400, &error.to_string()),
    };
    match parts.workers.iter().find(|pool| pool.name() == request.name) {
        Some(pool) => {
            command(pool);
            Page::json(200, format!("{}\n", json!({ "name": request.name, "state": doing })))
        }
        None => {
            let names: Vec<&str> = parts.workers.iter().map(|pool| pool.name()).collect();
            let there_is = chassis::config::there_is(&names);
            refuse(400, &format!("there is no pool `{}`; {there_is}", request.name))
        }
    }
}
