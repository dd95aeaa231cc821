//! Defines the callback that takes rows of any query, one at a time.
//!
//! Plain data; `rows.rs` says what the texts of values are.

use std::ops::ControlFlow;

/// Takes the names of the columns and a row; `None` is NULL. May break the query off.
pub type TakeRow<'t> = dyn FnMut(&[String], &[Option<&[u8]>]) -> ControlFlow<()> + 't;
