//! The look-up on disk before an origin is asked.
//!
//! Invariant: it runs within the flight that would ask the origin, so many requests for one key
//! read the disk once. Never here: the disk itself (`cache`).

use std::sync::Arc;
use std::time::Instant;

use cache::{Entry, Recall, Recalled};

use super::origin_request::OriginRequest;
use crate::gateway::Gateway;
use crate::plan::Route;

/// Looks for the response to a request on disk, and stores it in memory. If it may not be used as
/// it is, it becomes the stale entry of the request, which the origin may confirm.
pub(crate) async fn recall(
    gateway: &Gateway,
    route: &Route,
    request: &mut OriginRequest,
) -> Option<Arc<Entry>> {
    let namespace = route.cache.as_ref()?.namespace?;
    let directives = request.storage.recall?;
    let mut key = std::mem::take(&mut request.storage.key);
    let recall = Recall {
        namespace,
        key: &mut key,
        base_length: request.storage.base_length,
        shows_credentials: request.shows_credentials(route),
        codings: route.compress.as_ref().map(|rules| rules.codings),
    };
    let is_usable = |entry: &Entry, now: Instant| {
        directives.accepts(entry, now)
            || (entry.may_answer_stale(now) && directives.accepts_unconfirmed(entry, now))
    };
    let selecting = |name: &str, key: &mut _| request.append_selecting(name, key);
    let recalled = gateway.store.recall(recall, selecting, is_usable).await;
    request.storage.key = key;
    match recalled {
        Recalled::Usable(entry) => Some(entry),
        Recalled::Stale(entry) => {
            request.storage.stale = Some(entry);
            None
        }
        Recalled::Missing => None,
    }
}
