//! Says which sessions are shown: by user, database, host, age and text, and whether idle ones.
//!
//! As in pgtop, a plain word is what the field must be. `/…/` is a regular expression that it must
//! match. An empty one lets all through.
//! Invariant: only what is shown is filtered. Counts, alerts and recordings have all sessions.

use regex::Regex;

use crate::frame::PgSession;

/// What a field must be.
#[derive(Debug, Clone)]
pub enum FieldMatch {
    /// Exactly this.
    Exact(String),
    /// Whatever matches.
    Pattern(Regex),
}

/// Which sessions are shown.
#[derive(Debug, Clone)]
pub struct SessionFilter {
    /// The role.
    pub user: Option<FieldMatch>,
    /// The database.
    pub database: Option<FieldMatch>,
    /// The client's address, or the name of it.
    pub host: Option<FieldMatch>,
    /// The query, the application, or any other field.
    pub text: Option<FieldMatch>,
    /// Seconds that a session must have been in its state.
    pub age_s: Option<f64>,
    /// Whether idle sessions are shown.
    pub shows_idle: bool,
}

impl Default for SessionFilter {
    fn default() -> Self {
        let (user, database, host, text, age_s) = (None, None, None, None, None);
        Self { user, database, host, text, age_s, shows_idle: true }
    }
}

impl FieldMatch {
    /// Reads what a user wrote; nothing where it is blank.
    ///
    /// # Errors
    /// What is wrong with a regular expression, in one line.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        let pattern = text.strip_prefix('/').map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        match pattern {
            _ if text.is_empty() => Ok(None),
            None => Ok(Some(Self::Exact(text.to_owned()))),
            Some("") => Ok(None),
            Some(pattern) => match Regex::new(pattern) {
                Ok(pattern) => Ok(Some(Self::Pattern(pattern))),
                Err(error) => {
                    let text = error.to_string();
                    // The last line says what is wrong; those before draw where.
                    Err(text.lines().last().unwrap_or(&text).to_owned())
                }
            },
        }
    }

    /// Returns whether a field is what it must be.
    pub fn is_met(&self, field: &str) -> bool {
        match self {
            Self::Exact(text) => text == field,
            Self::Pattern(pattern) => pattern.is_match(field),
        }
    }

    /// Returns it as a user writes it.
    pub fn shown(&self) -> String {
        match self {
            Self::Exact(text) => text.clone(),
            Self::Pattern(pattern) => format!("/{pattern}/"),
        }
    }
}

impl SessionFilter {
    /// Returns whether a session is shown, at a moment of the server.
    pub fn selects(&self, session: &PgSession, now_us: i64) -> bool {
        let client = &session.client;
        let is_met = |wanted: &Option<FieldMatch>, field: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.is_met(field))
        };
        let is_old = self.age_s.is_none_or(|least| {
            session.age_us(now_us).is_some_and(|age| age as f64 >= least * 1e6)
        });
        is_old
            && (self.shows_idle || session.state != "idle")
            && is_met(&self.user, &client.user)
            && is_met(&self.database, &client.database)
            && (is_met(&self.host, host(session)) || is_met(&self.host, &client.address))
            && self.is_text_met(session)
    }

    /// Returns what single fields must be, by the names of columns.
    pub(crate) fn fields(&self) -> Vec<(&'static str, &FieldMatch)> {
        let all = [("user", &self.user), ("database", &self.database), ("host", &self.host)];
        all.into_iter().filter_map(|(name, wanted)| Some((name, wanted.as_ref()?))).collect()
    }

    /// Returns the names of what is filtered by.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = self.fields().into_iter().map(|(name, _)| name).collect();
        all.extend(self.text.as_ref().map(|_| "text"));
        all.extend(self.age_s.map(|_| "age"));
        all
    }

    fn is_text_met(&self, session: &PgSession) -> bool {
        let client = &session.client;
        let fields =
            [&session.query, &client.application, &client.user, &client.database, &session.state];
        self.text.as_ref().is_none_or(|wanted| match wanted {
            // A word is looked for within.
            FieldMatch::Exact(word) => fields.iter().any(|field| field.contains(word)),
            FieldMatch::Pattern(pattern) => fields.iter().any(|field| pattern.is_match(field)),
        })
    }

    /// Returns what is filtered by, in one line; empty where nothing is.
    pub fn shown(&self) -> String {
        let fields = [
            ("user", &self.user),
            ("db", &self.database),
            ("host", &self.host),
            ("text", &self.text),
        ];
        let mut all: Vec<String> = fields
            .into_iter()
            .filter_map(|(name, field)| Some(format!("{name}={}", field.as_ref()?.shown())))
            .collect();
        all.extend(self.age_s.map(|age| format!("age>={age}s")));
        if !self.shows_idle {
            all.push("no idle".to_owned());
        }
        all.join(" ")
    }
}

/// Where a session's client is, by name if that is known; `local` for a socket of this machine, as
/// in pgtop.
pub(crate) fn host(session: &PgSession) -> &str {
    match (session.client.host_name.as_str(), session.client.address.as_str()) {
        ("", "") => "local",
        ("", address) => address,
        (name, _) => name,
    }
}

#[cfg(test)]
mod tests;
