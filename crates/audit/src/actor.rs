//! Names who acts: a client by its address, a process by its user.
//!
//! Invariant: `client`, `uid` and `user` are known by the connection or the system. `sudo_user` is
//! what the process itself claims, and is shown as a claim. A field that is unknown is left out.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::process;

/// Who acts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Actor {
    /// The client's address, of an action by a listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The user of the process that acts or asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The user's name, where the machine's own list has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What the environment claims to be the user before `sudo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sudo_user: Option<String>,
}

impl Actor {
    /// A process of this machine, by its user.
    pub fn process(uid: u32, sudo_user: Option<String>) -> Self {
        Self { client: None, uid: Some(uid), user: process::user_name(uid), sudo_user }
    }

    /// Returns whether this is the user of that name or number, or claims to be.
    pub fn is_called(&self, name: &str) -> bool {
        let names = [&self.user, &self.sudo_user];
        let is_named = names.into_iter().flatten().any(|user| user == name);
        is_named || self.uid.is_some_and(|uid| name.parse() == Ok(uid))
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.uid.map(|uid| match &self.user {
            Some(name) => format!("uid {uid} {name}"),
            None => format!("uid {uid}"),
        });
        match (&self.client, user) {
            (Some(client), Some(user)) => write!(f, "{client} ({user})")?,
            (Some(client), None) => f.write_str(client)?,
            (None, Some(user)) => f.write_str(&user)?,
            (None, None) => f.write_str("tidegate")?,
        }
        match &self.sudo_user {
            Some(name) => write!(f, " (SUDO_USER says {name})"),
            None => Ok(()),
        }
    }
}
