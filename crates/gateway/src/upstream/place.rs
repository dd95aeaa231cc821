//! Holds what is known of one entry of `servers`: its addresses, and what is wrong with its name.
//!
//! Invariant: an IP address is its own address for good, and has no problem. A name has neither
//! addresses nor an answer at first. Never here: who finds addresses (`names`).

use std::net::SocketAddr;

use crate::plan::ServerPlan;

/// What is known of one entry of `servers`.
#[derive(Debug)]
pub(super) struct Place {
    /// Its addresses, in order.
    pub(super) addresses: Vec<SocketAddr>,
    /// What an operator should look at.
    pub(super) problem: Option<String>,
}

impl Place {
    pub(super) fn new(server: &ServerPlan) -> Self {
        match server {
            ServerPlan::Address(address) => Self { addresses: vec![*address], problem: None },
            ServerPlan::Name { .. } => {
                let problem = Some("it was not looked up yet".to_owned());
                Self { addresses: Vec::new(), problem }
            }
        }
    }
}
