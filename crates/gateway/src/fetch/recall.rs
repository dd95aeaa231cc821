//! Looks a response up on disk before an origin is asked.
//!
//! Invariant: it looks only if the route uses the disk and the request has directives for it; else
//! it returns `None` at once. `None` also means that the origin must be asked. Then a response that
//! is too old has become the stale entry of the request, which the origin may confirm. A flight
//! asks for all its waiters; requests alone, or with `only-if-cached`, look for themselves. `cache`
//! moves what it finds to memory. Never here: the disk itself and its timeout (`cache`).

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
