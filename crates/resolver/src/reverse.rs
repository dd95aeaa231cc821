//! Looks the name of an address up once: in `/etc/hosts`, then at the name servers (PTR).
//!
//! Invariant: what name servers do not answer is no name. A call waits for them, so it is for a
//! thread that nobody waits for. Never here: what is kept, and whether the name leads back.

use std::io;
use std::net::IpAddr;

use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::runtime::{Builder, Runtime};

use crate::options::Options;
use crate::system::{HOSTS, System};

/// Looks names of addresses up.
pub struct AddressNames {
    runtime: Runtime,
    system: System,
}

impl AddressNames {
    /// Reads which name servers there are.
    ///
    /// # Errors
    /// When there is no client for them to be had.
    pub fn open(options: &Options) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let system = System::read(options).map_err(io::Error::other)?;
        drop(entered);
        Ok(Self { runtime, system })
    }

    /// Returns the name of an address, without a dot at its end; nothing where there is none.
    pub fn name_of(&self, address: IpAddr) -> Option<String> {
        let hosts = std::fs::read(HOSTS).unwrap_or_default();
        name_in_hosts(&String::from_utf8_lossy(&hosts), address).or_else(|| {
            let asked = self.system.dns.lookup(Name::from(address), RecordType::PTR);
            let found = self.runtime.block_on(asked).ok()?;
            found.answers().iter().find_map(|record| match &record.data {
                RData::PTR(name) => Some(name.0.to_utf8().trim_end_matches('.').to_owned()),
                _ => None,
            })
        })
    }
}

/// The first name of the first line that has an address (hosts(5)).
fn name_in_hosts(text: &str, address: IpAddr) -> Option<String> {
    text.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let is_it = words.next()?.parse() == Ok(address);
        words.next().filter(|_| is_it).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests;
