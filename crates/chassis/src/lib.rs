//! What every long-running role bolts onto: listen, limit, drain, admin endpoint, configuration.
