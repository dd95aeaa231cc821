//! How rows of any query are handed over: one at a time, every value as its text.

use std::ops::ControlFlow;

/// Takes the names of the columns and a row; `None` is NULL. May break the query off.
pub type TakeRow<'t> = dyn FnMut(&[String], &[Option<&[u8]>]) -> ControlFlow<()> + 't;
