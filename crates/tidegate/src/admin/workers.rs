//! `/workers`: what pools of workers do, and what they are told.

use chassis::admin::{Page, Visit};
use serde::Deserialize;
use serde_json::json;
use workers::{Status, WorkerPool};

use super::refuse;
use crate::serve::Parts;

/// Which pool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    name: String,
}

/// All pools with their workers.
pub(super) fn list(parts: &Parts, _: &Visit<'_>) -> Page {
    let all: Vec<Status> = parts.workers.iter().map(|pool| pool.status()).collect();
    Page::json(200, format!("{:#}\n", json!(all)))
}

/// Replaces every worker of a pool, one at a time.
pub(super) fn recycle(parts: &Parts, visit: &Visit<'_>) -> Page {
    tell(parts, visit, "recycling", WorkerPool::recycle)
}

/// Imports the app of a pool anew.
pub(super) fn reload(parts: &Parts, visit: &Visit<'_>) -> Page {
    tell(parts, visit, "reloading", WorkerPool::reload)
}

fn tell(parts: &Parts, visit: &Visit<'_>, doing: &str, tell: fn(&WorkerPool)) -> Page {
    let asked: Asked = match serde_json::from_slice(visit.body) {
        Ok(asked) => asked,
        Err(error) => return refuse(400, &error.to_string()),
    };
    match parts.workers.iter().find(|pool| pool.name() == asked.name) {
        Some(pool) => {
            tell(pool);
            Page::json(200, format!("{}\n", json!({ "name": asked.name, "state": doing })))
        }
        None => refuse(400, &format!("there is no pool `{}`", asked.name)),
    }
}
