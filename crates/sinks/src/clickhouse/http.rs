//! Sends statements to ClickHouse over HTTP: a statement in the address, rows in the body.
//!
//! TLS is used for `sslmode=require` and `verify-full` only; `prefer`, which is the default, speaks
//! plain HTTP. A call ends after `statement_timeout`. An answer of more than 1 GiB is an error. Of
//! a server's error 400 characters are kept.
//! Invariant: every statement has `wait_end_of_query=1`, so the status says how it ended. Status
//! 4xx is `Refused`; every other status but 200, and a broken connection, is `Unreachable`.
//! Refuses: proxies, and to try again.

use std::fs;

use serde::de::DeserializeOwned;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::address::{Encryption, ServerAddress};
use crate::attempt::AttemptError;

/// Bytes of an answer that are read: checkpoints, or one batch.
const ANSWER_MAX: u64 = 1 << 30;
/// Characters of an error that are kept.
const SHOWN: usize = 400;

/// How statements reach a server.
#[derive(Debug)]
pub(super) struct HttpConnection {
    agent: Agent,
    url: String,
    user: String,
    password: String,
    database: String,
}

/// Rows for a table.
pub(super) struct Insert<'a> {
    pub table: &'a str,
    /// As `JSONEachRow`.
    pub rows: &'a [u8],
    /// What the server knows the insert by.
    pub token: Option<&'a str>,
}

impl HttpConnection {
    /// Reads certificates, connects nowhere.
    pub(super) fn new(address: &ServerAddress) -> Result<Self, String> {
        let is_https = matches!(address.encryption, Encryption::Require | Encryption::VerifyFull);
        let mut tls = TlsConfig::builder();
        tls = tls.disable_verification(address.encryption == Encryption::Require);
        if let Some(path) = &address.root_certificates {
            tls = tls.root_certs(certificates(path)?);
        }
        let config = Agent::config_builder()
            .timeout_connect(Some(address.connect_timeout))
            .timeout_global(Some(address.statement_timeout))
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(tls.build());
        let scheme = if is_https { "https" } else { "http" };
        let host = match address.host.contains(':') {
            true => format!("[{}]", address.host),
            false => address.host.clone(),
        };
        Ok(Self {
            agent: config.build().into(),
            url: format!("{scheme}://{host}:{}/", address.port),
            user: address.user.clone(),
            password: address.password.clone().unwrap_or_default(),
            database: address.database.clone(),
        })
    }

    /// Runs a statement that answers nothing.
    pub(super) fn execute(&self, statement: &str) -> Result<(), AttemptError> {
        self.send(statement, &[], &[]).map(drop)
    }

    /// Runs a query and reads its rows.
    pub(super) fn select<T: DeserializeOwned>(&self, query: &str) -> Result<Vec<T>, AttemptError> {
        let plain = ("output_format_json_quote_64bit_integers", "0");
        let answer = self.send(&format!("{query} FORMAT JSONEachRow"), &[plain], &[])?;
        let rows = answer.lines().map(serde_json::from_str);
        rows.collect::<Result<_, _>>().map_err(|error| {
            AttemptError::Unreachable(format!("the answer makes no sense: {error}"))
        })
    }

    /// Inserts rows, all or nothing.
    pub(super) fn insert(&self, insert: &Insert<'_>) -> Result<(), AttemptError> {
        let statement = format!("INSERT INTO `{}` FORMAT JSONEachRow", insert.table);
        let token = insert.token.map(|token| ("insert_deduplication_token", token));
        self.send(&statement, token.as_slice(), insert.rows).map(drop)
    }

    fn send(
        &self,
        statement: &str,
        settings: &[(&str, &str)],
        body: &[u8],
    ) -> Result<String, AttemptError> {
        let unreachable = |error: ureq::Error| AttemptError::Unreachable(error.to_string());
        let request = self
            .agent
            .post(&self.url)
            .header("X-ClickHouse-User", &self.user)
            .header("X-ClickHouse-Key", &self.password)
            .query("database", &self.database)
            // An answer says how it ended, not how it began.
            .query("wait_end_of_query", "1")
            .query_pairs(settings.iter().copied())
            .query("query", statement);
        let mut answer = request.send(body).map_err(unreachable)?;
        let status = answer.status();
        let text = answer.body_mut().with_config().limit(ANSWER_MAX).read_to_string();
        let text = text.map_err(unreachable)?;
        if status == StatusCode::OK {
            return Ok(text);
        }
        let reason: String = text.trim().chars().take(SHOWN).collect();
        match status.is_client_error() {
            true => Err(AttemptError::Refused(reason)),
            false => Err(AttemptError::Unreachable(format!("{status}: {reason}"))),
        }
    }
}

fn certificates(path: &std::path::Path) -> Result<RootCerts, String> {
    let text = fs::read(path).map_err(|error| format!("read `{}`: {error}", path.display()))?;
    let mut found = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(format!("read `{}`: {error}", path.display())),
        }
    }
    Ok(RootCerts::from(found))
}
