//! Keeps the addresses of names up to date: looks each name up, and again when its TTL has ended.
//!
//! Begin with `follow`. `known` has the rules of what is kept, and when to ask again. `lookup`
//! finds the addresses of a name once, and `reverse` the name of an address. `system` reads
//! `/etc/resolv.conf` and `/etc/hosts`. `route` leaves out what cannot be reached.
//! Invariant: a look-up that fails, or finds nothing, takes no address away. Of a name that was
//! never found there is no address. Everything runs on one thread of its own.
//! Never here: what is done with addresses, DNSSEC, encrypted DNS, records other than A, AAAA and
//! PTR.

mod follow;
mod known;
mod lookup;
mod options;
mod reverse;
mod route;
mod system;

pub use follow::{Followed, Resolver};
pub use known::{ADDRESSES_MAX, LookupResult, Report};
pub use options::{Options, Times};
pub use reverse::AddressNames;

#[cfg(test)]
mod tests;
