//! Directives of a request (RFC 9111 §5.2.1): what is repeated asks for no less than once; where
//! they are not obeyed only `only-if-cached` is.

use crate::reading::read_head;
use gateway::fuzzing::RequestDirectives;

pub(super) const TOKENS: &[&str] = &[
    "cache-control: no-cache\n",
    "no-store",
    "only-if-cached",
    "max-age=5",
    "min-fresh=5",
    "max-stale",
    "max-stale=9",
    "max-age=\"5\"",
    "pragma: no-cache\n",
    ", ",
];

pub(super) fn run(input: &[u8]) {
    let twice = [input, b"\n", input].concat();
    let (once, twice) = (super::request(input), super::request(&twice));
    read_head(&once, |head| {
        let Ok(Some((head, _))) = head else { return };
        let directives = RequestDirectives::of(&head, true);
        let ignored = RequestDirectives::of(&head, false);
        let mut only = RequestDirectives::default();
        only.only_if_cached = directives.only_if_cached;
        assert_eq!(ignored, only, "a route that obeys no directive obeys one");
        read_head(&twice, |head| {
            if let Ok(Some((head, _))) = head {
                assert_eq!(
                    RequestDirectives::of(&head, true),
                    directives,
                    "said twice it is another directive"
                );
            }
        });
    });
}
