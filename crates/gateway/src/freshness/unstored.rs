//! Names why a response was not stored: for `Cache-Status`, and in a sentence for `explain`.
//!
//! Invariant: a reason fits four bits (`unstorable` packs it), and `ALL` has each at its number.
//! docs/operating/status.md has a table of the names. Plain data; `freshness` and `fetch::storing`
//! choose among them.

/// Why a response was not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unstored {
    /// The response says `no-store`.
    NoStore,
    /// The response says `private`.
    Private,
    /// The response varies by everything.
    Vary,
    /// Responses of its status are not stored.
    Status,
    /// The request had `Authorization`, and the response does not open itself to others.
    Authorization,
    /// The response sets a cookie.
    SetCookie,
    /// The request had cookies that the key does not cover.
    Cookie,
    /// Nothing says how long it is fresh.
    NoLifetime,
    /// It is never fresh, and cannot be confirmed.
    NoUse,
    /// The request told the upstream who asks.
    User,
    /// It is longer than the route stores, or took longer than its lease.
    Length,
    /// It is a stream of events.
    Stream,
    /// Its request was not for storing.
    Request,
}

impl Unstored {
    pub(crate) const ALL: [Self; 13] = [
        Self::NoStore,
        Self::Private,
        Self::Vary,
        Self::Status,
        Self::Authorization,
        Self::SetCookie,
        Self::Cookie,
        Self::NoLifetime,
        Self::NoUse,
        Self::User,
        Self::Length,
        Self::Stream,
        Self::Request,
    ];

    /// Returns its `detail` in `Cache-Status`.
    pub(crate) fn detail(self) -> &'static str {
        match self {
            Self::NoStore => "unstored-no-store",
            Self::Private => "unstored-private",
            Self::Vary => "unstored-vary",
            Self::Status => "unstored-status",
            Self::Authorization => "unstored-authorization",
            Self::SetCookie => "unstored-set-cookie",
            Self::Cookie => "unstored-cookie",
            Self::NoLifetime => "unstored-no-lifetime",
            Self::NoUse => "unstored-no-use",
            Self::User => "unstored-user",
            Self::Length => "unstored-length",
            Self::Stream => "unstored-stream",
            Self::Request => "unstored-request",
        }
    }

    /// Returns the reason, and what would change it, as the end of a sentence. An answer that may
    /// be one user's own must stay out of the cache: nothing is advised without that condition.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::NoStore => "it has `Cache-Control: no-store`",
            Self::Private => {
                "it has `Cache-Control: private`, so it may be one user's own; if it is the same \
                 for everybody, have the app say `public`"
            }
            Self::Vary => "it varies by everything (`Vary: *`, or a field that always differs)",
            Self::Status => "responses of its status are not stored",
            Self::Authorization => {
                "the request had `Authorization`, and the response has neither `public`, \
                 `s-maxage` nor `must-revalidate`"
            }
            Self::SetCookie => {
                "it has `Set-Cookie`; if it is the same for everybody, \
                 `cache.set_cookie = \"strip\"` stores it without"
            }
            Self::Cookie => {
                "the request had cookies that the key does not cover, so it may be one user's own; \
                 `key = { cookies = [] }` sends and stores it without any, `personalise` gives \
                 users their own"
            }
            Self::NoLifetime => {
                "neither its fields nor `cache.ttl` say how long it is fresh; set `cache.ttl`, \
                 or have the app send `max-age`"
            }
            Self::NoUse => "it is never fresh, and has no `ETag` to confirm it by",
            Self::User => "the request told the upstream who asks",
            Self::Length => "it is longer than `cache.body_bytes_max`, or took too long",
            Self::Stream => "it is a stream of events",
            Self::Request => "the request forbids it",
        }
    }
}
