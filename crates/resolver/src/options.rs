//! Defines which name servers are asked, and the times of asking.
//!
//! Invariant: plain data. docs/operating/upstream-names.md states the defaults; they change with
//! it. Never here: the form in which a user writes it.

use std::net::SocketAddr;
use std::time::Duration;

/// Which name servers are asked, and when.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name servers; without any, those of `/etc/resolv.conf`, with its search list.
    pub servers: Vec<SocketAddr>,
    /// When they are asked.
    pub times: Times,
}

/// When name servers are asked.
#[derive(Debug, Clone)]
pub struct Times {
    /// Least time between two look-ups of a name, whatever its TTL is.
    pub ttl_min: Duration,
    /// Longest time between two look-ups of a name, whatever its TTL is.
    pub ttl_max: Duration,
    /// Time to the next look-up after one that failed; it doubles with each.
    pub retry_min: Duration,
    /// Longest time to the next look-up after one that failed.
    pub retry_max: Duration,
    /// Longest wait for an answer of the name servers in `servers`; each question is asked twice.
    /// `/etc/resolv.conf` has options of its own.
    pub answer_timeout: Duration,
    /// Time to the next look-up of a name that `/etc/hosts` has.
    pub hosts: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            ttl_min: Duration::from_secs(1),
            ttl_max: Duration::from_secs(300),
            retry_min: Duration::from_secs(1),
            retry_max: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(2),
            hosts: Duration::from_secs(5),
        }
    }
}

impl Times {
    /// Returns times with which tests need not wait.
    #[doc(hidden)]
    pub fn for_tests() -> Self {
        Self {
            ttl_min: Duration::from_millis(5),
            retry_min: Duration::from_millis(5),
            retry_max: Duration::from_millis(20),
            answer_timeout: Duration::from_millis(500),
            ..Self::default()
        }
    }
}
