//! Looks a name up once: in `/etc/hosts`, then at the name servers, for A and AAAA at once.
//!
//! As with getaddrinfo, a name that `/etc/hosts` has is not asked for, and `localhost` is this
//! machine (RFC 6761 §6.3). A name with fewer dots than `ndots` is tried with the search list
//! first. One that ends in a dot stands as it is (resolv.conf(5)).
//! Invariants: A and AAAA are those of one full name. The next full name is tried only after the
//! clear answer that this one has no address. So a broken name server leads to no other machine.
//! Bound: after one kind of addresses has come, the other has `OTHER_MAX` to come. Never here: what
//! is kept after a failure (`known`), retries of a question (the library).

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::pin;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RecordType};
use tokio::time::timeout;

use crate::known::{Family, Found};
use crate::system::System;

/// How much longer one kind of addresses may take than the other.
const OTHER_MAX: Duration = Duration::from_secs(2);

/// Looks a name up.
pub(crate) async fn look_up(system: &System, host: &str, hosts_again: Duration) -> Found {
    // A name with letters beyond ASCII was refused with the configuration.
    let Ok(name) = Name::from_ascii(host) else {
        let reason = || Family::Failed("that is no name".to_owned());
        return Found(reason(), reason());
    };
    let local = || vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let known = match system.in_hosts(&name) {
        none if none.is_empty() && name.is_localhost() => local(),
        known => known,
    };
    if !known.is_empty() {
        return of_addresses(known, hosts_again);
    }
    let mut found = Found(Family::Empty, Family::Empty);
    for name in full_names(&name, &system.search, system.dots_min) {
        found = ask(&system.dns, name).await;
        if found != Found(Family::Empty, Family::Empty) {
            break;
        }
    }
    found
}

fn of_addresses(addresses: Vec<IpAddr>, ttl: Duration) -> Found {
    let (v4, v6): (Vec<_>, Vec<_>) = addresses.into_iter().partition(IpAddr::is_ipv4);
    let family = |found: Vec<IpAddr>| match found.is_empty() {
        true => Family::Empty,
        false => Family::Addresses(found, ttl),
    };
    Found(family(v4), family(v6))
}

/// Returns the full names that a name may stand for, in the order of asking.
pub(crate) fn full_names(name: &Name, search: &[Name], dots_min: usize) -> Vec<Name> {
    let mut as_it_stands = name.clone();
    as_it_stands.set_fqdn(true);
    if name.is_fqdn() {
        return vec![as_it_stands];
    }
    let in_domains = search.iter().filter_map(|domain| {
        let mut full = name.clone().append_domain(domain).ok()?;
        full.set_fqdn(true);
        Some(full)
    });
    let mut names: Vec<Name> = in_domains.collect();
    let has_dots = usize::from(name.num_labels()) > dots_min;
    let at = if has_dots { 0 } else { names.len() };
    names.insert(at, as_it_stands);
    names
}

/// Asks for both kinds of addresses of a full name.
async fn ask(dns: &TokioResolver, name: Name) -> Found {
    let mut v4 = pin!(ask_for(dns, name.clone(), RecordType::A));
    let mut v6 = pin!(ask_for(dns, name, RecordType::AAAA));
    tokio::select! {
        first = &mut v4 => Found(first.clone(), other(&first, v6).await),
        first = &mut v6 => {
            let v4 = other(&first, v4).await;
            Found(v4, first)
        }
    }
}

/// Waits for the other kind of addresses: without a bound of its own if there are none yet.
async fn other(first: &Family, other: impl Future<Output = Family>) -> Family {
    match first {
        Family::Addresses(..) => timeout(OTHER_MAX, other)
            .await
            .unwrap_or_else(|_| Family::Failed(NetError::Timeout.to_string())),
        Family::Empty | Family::Failed(_) => other.await,
    }
}

async fn ask_for(dns: &TokioResolver, name: Name, kind: RecordType) -> Family {
    match dns.lookup(name, kind).await {
        Ok(found) => {
            let ttl = found.answers().iter().map(|record| record.ttl).min().unwrap_or(0);
            let addresses = found.answers().iter().filter_map(|record| record.data.ip_addr());
            let addresses: Vec<IpAddr> = addresses.collect();
            match addresses.is_empty() {
                true => Family::Empty,
                false => Family::Addresses(addresses, Duration::from_secs(ttl.into())),
            }
        }
        Err(NetError::Dns(DnsError::NoRecordsFound(found)))
            if matches!(found.response_code, ResponseCode::NXDomain | ResponseCode::NoError) =>
        {
            Family::Empty
        }
        Err(error) => Family::Failed(error.to_string()),
    }
}
