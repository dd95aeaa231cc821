//! Names which statsd is spoken: our own, or one of the two that are replaced.
//!
//! `Statsd` is statsd 0.9 on Node (github.com/statsd/statsd), `Perl` is Net::Statsd::Server 0.17.
//! Both keep their oddities, except those that crash the original or write NaN and infinities to a
//! series. `Native` mends the oddities and knows DogStatsD.
//! Plain data. What a flavour changes is mostly in `line`, `clock`, `flushing`, `statistics`,
//! `backend` and `manage`; `docs/STATSD.md` has the table, with the few other differences. `named`
//! must list a new one.

/// A dialect of the protocol, with the names and numbers that go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flavour {
    /// Tidegate's own.
    #[default]
    Native,
    /// statsd on Node.
    Statsd,
    /// Net::Statsd::Server.
    Perl,
}

impl Flavour {
    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Statsd => "statsd",
            Self::Perl => "perl",
        }
    }

    /// The flavour of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Native, Self::Statsd, Self::Perl].into_iter().find(|known| known.name() == name)
    }
}
