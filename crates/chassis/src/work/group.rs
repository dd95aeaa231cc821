//! Says what a job is, and with which others it shares a turn.

/// The work that a thread of the pool runs once.
pub type Job = Box<dyn FnOnce() + Send>;

/// Jobs that share a turn. There is a bounded number of names, for their queues stay.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    pub name: &'a str,
    /// Jobs of both lengths have a turn each.
    pub length: Length,
}

/// How long a job is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// A few milliseconds at most: it may run within a long one.
    Short,
    Long,
}
