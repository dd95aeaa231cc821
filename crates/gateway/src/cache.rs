//! A tiered store of responses: memory in front, a disk behind it.

pub(crate) mod codec;
pub(crate) mod disk;
pub(crate) mod encodings;
pub(crate) mod entry;
pub(crate) mod etag;
pub(crate) mod memory;
pub(crate) mod purge;
pub(crate) mod tags;
