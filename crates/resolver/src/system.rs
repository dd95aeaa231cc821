//! Reads which name servers there are, the search list, and the names of `/etc/hosts`.
//!
//! Both files are looked at before each look-up, and read again when they have changed, as the C
//! library does. Without a readable `/etc/resolv.conf`, 127.0.0.1 is asked, also as it does.
//! Invariant: `/etc/hosts` goes first. With name servers in `Options` there is no search list. The
//! library's own cache holds nothing, so that a TTL is counted once. Never here: asking (`lookup`).

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use generation::FileVersion;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::config::{ResolverOpts, ServerOrderingStrategy};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Hosts, TokioResolver, system_conf};

use crate::options::Options;

const RESOLV_CONF: &str = "/etc/resolv.conf";
pub(crate) const HOSTS: &str = "/etc/hosts";

/// What is known of this machine and its name servers, at one time.
pub(crate) struct System {
    /// Asks name servers.
    pub(crate) dns: TokioResolver,
    /// Domains that are put behind a name.
    pub(crate) search: Vec<Name>,
    /// Dots that a name needs to be asked for as it stands first.
    pub(crate) dots_min: usize,
    hosts: Hosts,
    versions: [Option<FileVersion>; 2],
}

impl System {
    /// Reads the files.
    ///
    /// # Errors
    /// When no client for the name servers can be made.
    pub(crate) fn read(options: &Options) -> Result<Self, NetError> {
        // Taken before reading: a change in between is then seen as one.
        let versions = versions();
        let (config, mut opts) = match options.servers.is_empty() {
            true => of_resolv_conf(),
            false => of_options(options),
        };
        opts.use_hosts_file = ResolveHosts::Never;
        opts.cache_size = 0;
        opts.preserve_intermediates = true;
        opts.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
        let search = match config.search() {
            [] => config.domain().cloned().into_iter().collect(),
            search => search.to_vec(),
        };
        let search = if options.servers.is_empty() { search } else { Vec::new() };
        let dots_min = opts.ndots;
        let dns = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(opts)
            .build()?;
        let mut hosts = Hosts::default();
        if let Ok(file) = std::fs::read(HOSTS) {
            // What was read before an error counts; a byte that is no UTF-8 is one.
            let _ = hosts.read_hosts_conf(&*file);
        }
        Ok(Self { dns, search, dots_min, hosts, versions })
    }

    /// Whether the files are still those that were read.
    pub(crate) fn is_current(&self) -> bool {
        self.versions == versions()
    }

    /// Returns the addresses that `/etc/hosts` has for a name.
    pub(crate) fn in_hosts(&self, name: &Name) -> Vec<IpAddr> {
        let kinds = [RecordType::A, RecordType::AAAA].into_iter();
        let found = kinds
            .filter_map(|kind| self.hosts.lookup_static_host(&Query::query(name.clone(), kind)));
        found
            .flat_map(|found| {
                let addresses = found.answers().iter().filter_map(|record| record.data.ip_addr());
                addresses.collect::<Vec<_>>()
            })
            .collect()
    }
}

fn of_resolv_conf() -> (ResolverConfig, ResolverOpts) {
    system_conf::read_system_conf().unwrap_or_else(|_| {
        let local = NameServerConfig::udp_and_tcp(Ipv4Addr::LOCALHOST.into());
        (ResolverConfig::from_name_servers(vec![local]), ResolverOpts::default())
    })
}

fn of_options(options: &Options) -> (ResolverConfig, ResolverOpts) {
    let servers = options.servers.iter().map(|server| {
        let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
        connections.iter_mut().for_each(|connection| connection.port = server.port());
        NameServerConfig::new(server.ip(), true, connections)
    });
    let mut opts = ResolverOpts::default();
    opts.timeout = options.times.answer_timeout;
    opts.attempts = 1;
    (ResolverConfig::from_name_servers(servers.collect()), opts)
}

fn versions() -> [Option<FileVersion>; 2] {
    [RESOLV_CONF, HOSTS].map(|path| FileVersion::at(Path::new(path)).ok())
}
