//! Finds the user behind a connection on loopback, and the names of users.
//!
//! The kernel lists each connection with its user in `/proc/net/tcp` and `tcp6`. The client's end
//! is the line whose local address is the client's, and whose remote port is the listener's.
//! Invariant: only a socket that a process still holds counts; for others the kernel shows user 0.
//! A name comes from `/etc/passwd`, so nothing is asked of the network; other users have none.
//! Bounds: 64 MB of a table, 1 MB of the list of users.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use stdx::plain_file;

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
const TABLE_BYTES_MAX: u64 = 64 << 20;
const USERS: &str = "/etc/passwd";
const USERS_BYTES_MAX: u64 = 1 << 20;

/// Returns the user of this machine's process that is connected from `client` to a listener's
/// `port`. Nothing where the client is no loopback address, or has left.
pub fn connection_uid(client: SocketAddr, port: u16) -> Option<u32> {
    if !client.ip().to_canonical().is_loopback() {
        return None;
    }
    TABLES.iter().find_map(|path| {
        let table = plain_file::read_text(Path::new(path), TABLE_BYTES_MAX).ok()?;
        uid_in(&table, client, port)
    })
}

/// Returns the name of a user, by the machine's own list.
pub fn user_name(uid: u32) -> Option<String> {
    name_in(&plain_file::read_text(Path::new(USERS), USERS_BYTES_MAX).ok()?, uid)
}

/// `sl local remote state queues timer retransmissions uid timeout inode …`
pub(crate) fn uid_in(table: &str, client: SocketAddr, port: u16) -> Option<u32> {
    let client = SocketAddr::new(client.ip().to_canonical(), client.port());
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (address(fields.next()?)?, address(fields.next()?)?);
        let uid = fields.nth(4)?.parse().ok()?;
        let inode = fields.nth(1)?;
        (local == client && remote.port() == port && inode != "0").then_some(uid)
    })
}

/// Reads an address as the kernel writes it: words of 32 bits in the machine's order, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(8 * at..8 * at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut octets = [0; 16];
            for (at, part) in octets.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// `name:password:uid:…`
pub(crate) fn name_in(users: &str, uid: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests;
