//! Defines the journal's line: one exchange as one JSON object.
//!
//! A line must be readable by `jq`, `grep` and GoAccess, and hold whatever bytes a client sends.
//! Layout: one JSON object (RFC 8259) without white space, then a line feed; no line feed inside.
//! Fields stand in this order, and one that is absent is left out:
//!
//! | field | value |
//! |---|---|
//! | `time` | RFC 3339, UTC, microseconds: the arrival of the request |
//! | `id` | request id, 32 lowercase hexadecimal digits; 0 is written too |
//! | `method` `scheme` `host` `path` `query` `version` | as requested; `path` and `query` raw |
//! | `status` | number; 0 when the client left before there was one |
//! | `bytes_in` `bytes_out` | bytes of the bodies |
//! | `client_ip` | text |
//! | `user` `user_agent` `referer` | text |
//! | `route` `decision` `decision_detail` | names; the detail is the cause of the decision |
//! | `cache` `upstream` | names; `cache` is left out when it is `none` |
//! | `ranked_by` | request id of the ranking behind a cached answer |
//! | `fetched_by` | request id of the exchange whose fetch this one waited for |
//! | `total_us` | microseconds in all |
//! | `phases` | object of phase name to microseconds; phases under 1 µs are left out |
//! | `impression` | `{"model","version","propensity","items":[…]}`; `propensity` only if finite |
//!
//! A brief line has only `time id method path status bytes_out user route decision decision_detail
//! cache ranked_by total_us`. Text is escaped as `text.rs` says: lossless for arbitrary bytes.
//! Readers accept the fields in any order, skip unknown ones, and refuse a line without `time`,
//! `method`, `path` or `status`. Journals outlive a version: a field may be added, never renamed or
//! given another meaning.
//! `line/encode.rs` writes; `line/decode.rs` reads for `training`, `profiles` and `lab`. The
//! delivery and `events verify` read by themselves: a new field also goes into
//! `pipeline/src/decode/meaning.rs` (`JOURNAL`) and `recount/src/variable.rs` (`known_key`).

mod decode;
mod encode;

pub use decode::{DecodeError, DecodeReason, decode};
pub use encode::{encode, encode_brief};

pub(crate) use decode::parse_time;

#[cfg(test)]
mod tests;
