//! Looks on disk before an origin is asked, within the flight that would ask it: a herd of requests
//! reads the disk once.

use std::sync::Arc;
use std::time::Instant;

use cache::{Entry, Recall, Recalled};

use super::origin_request::OriginRequest;
use crate::gateway::Gateway;
use crate::plan::Route;

/// Looks for the answer to a request on disk and brings it to memory. What may not be used as it
/// is becomes what the origin is asked about.
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
