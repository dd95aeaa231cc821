//! The exchange record, its line formats, and the filter language over its fields.
//!
//! An exchange is one HTTP request with its response, decision and timings. The gateway fills an
//! [`ExchangeRef`] and writes it as one line. Every reader decodes an [`Exchange`] from that line
//! and asks it for fields by [`FieldName`].
//! Refuses: I/O, clocks, and any knowledge of where lines are kept.

mod combined;
mod exchange;
mod field;
mod filter;
mod ip;
mod line;
mod ltsv;
mod model;
mod outcome;
mod phase;
mod query;
mod text;
mod time;

pub use combined::{
    decode as decode_combined, parse_time as parse_log_time, unescaped as unescape_log,
};
pub use exchange::{Exchange, ExchangeRef};
pub use field::{DefinedField, DefinedKind, FieldName, FieldValue, Fields, UnknownField};
pub use filter::{Filter, FilterError, Resolve};
pub use ip::truncate_ip;
pub use line::{DecodeError, DecodeReason, decode, encode, encode_brief};
pub use ltsv::decode as decode_ltsv;
pub use model::{Impression, ItemIds, ModelAnswer, ModelRequest, Refusal};
pub use outcome::{CacheResult, Decision};
pub use phase::Phase;
pub use query::{decoded as decode_query, query_value};
pub use text::{read as unescape_json, write as escape_json};
pub use time::{parse as parse_rfc3339, write as write_rfc3339};
