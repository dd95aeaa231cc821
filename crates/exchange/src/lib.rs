//! Defines the exchange record, reads and writes its line formats, and filters by its fields.
//!
//! An exchange is one HTTP request with its response, decision and timings. The gateway fills an
//! [`ExchangeRef`], and [`encode`] or [`encode_brief`] writes it as one line. An [`Exchange`] is
//! decoded from the journal's line, from `combined` or from LTSV. It is asked for fields by
//! [`FieldName`], or tested with a [`Filter`]. `pipeline` and `recount` read lines by themselves.
//! Also here: what models are asked and answer, and functions for text, times, queries, addresses.
//! Invariant: the same bytes give the same result. What is remembered between calls is one
//! formatted second per thread (`time.rs`).
//! Refuses: I/O, clocks, and any knowledge of where lines are kept (crate `journal`) or how formats
//! are told apart (crate `pipeline`).

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
mod secret;
mod text;
mod time;

pub use combined::{
    decode as decode_combined, parse_time as parse_log_time, unescaped as unescape_log,
};
pub use exchange::{Exchange, ExchangeRef};
pub use field::{
    DefinedField, DefinedKind, FieldName, FieldValue, Fields, UnknownField, nearest_name,
};
pub use filter::{Filter, FilterError, Resolve};
pub use ip::truncate_ip;
pub use line::{DecodeError, DecodeReason, decode, encode, encode_brief};
pub use ltsv::decode as decode_ltsv;
pub use model::{Impression, ItemIds, ModelAnswer, ModelRequest, Refusal};
pub use outcome::{CacheResult, Decision};
pub use phase::Phase;
pub use query::{decoded as decode_query, encoded as encode_query, is_id_in_path, query_value};
pub use secret::is_secret_header;
pub use text::{read as unescape_json, write as escape_json};
pub use time::{parse as parse_rfc3339, write as write_rfc3339};
