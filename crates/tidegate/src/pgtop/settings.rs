//! Puts the command line, the configuration file and defaults together.
//!
//! The command line comes first. The file is the named one, else `~/.pgtop`, else `~/.mytop`; all
//! its wrong lines come out at once, with exit code 78.
//! Never here: libpq's files and the order among them, which the crate `pgtop` knows.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use ::pgtop::{ConnectionSettings, ListOrder, PgAddress, PgView, SessionFilter, TopConfig};
use anyhow::{Context, Result, anyhow, bail};
use screen::Style;
use stdx::plain_file;

use super::password;
use crate::cli::PgtopArgs;
use crate::exit::{Exit, Misuse};
use crate::{environment, output};

const DELAY_S: f64 = 5.0;
const SLOW_THRESHOLD_S: f64 = 60.0;
const EXIT_CONFIG: u8 = 78;
const SLOW_LOG: &str = "pgtop.log";
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// What is to be done, with every default filled in.
pub(super) struct TopSettings {
    pub(super) addresses: Vec<PgAddress>,
    pub(super) look: TopLook,
    pub(super) slow_threshold_s: f64,
    pub(super) webhook: Option<String>,
    /// Where slow queries are appended, if somebody asked for any of it.
    pub(super) slow_log: Option<PathBuf>,
    pub(super) is_batch: bool,
    pub(super) is_json: bool,
    /// Whether names of clients' addresses are looked up.
    pub(super) has_names: bool,
}

impl TopSettings {
    /// Returns them for people, without passwords and the webhook's address.
    pub(super) fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for address in &self.addresses {
            let password = if address.password.is_some() { "set" } else { "none" };
            lines.push(format!("server          {address}"));
            lines.push(format!("user            {}, password {password}", address.user));
        }
        let webhook = if self.webhook.is_some() { "set" } else { "none" };
        lines.push(format!("delay           {} s", self.look.delay.as_secs_f64()));
        lines.push(format!("slow_threshold  {} s", self.slow_threshold_s));
        lines.push(format!("slack_webhook   {webhook}"));
        let log = self.slow_log.as_ref().map_or("none".to_owned(), |it| it.display().to_string());
        lines.push(format!("slow log        {log}"));
        lines.push(format!("filter          {}", self.look.filter.shown()));
        lines.join("\n")
    }
}

/// How it begins.
#[derive(Clone)]
pub(super) struct TopLook {
    pub(super) delay: Duration,
    pub(super) view: PgView,
    pub(super) order: ListOrder,
    pub(super) filter: SessionFilter,
    pub(super) has_header: bool,
    pub(super) style: Style,
}

/// Looks whether options go together, and whether the threshold and the webhook are any, from
/// wherever they come. What [`read`] needs itself it has looked at.
///
/// # Errors
/// What is wrong with them.
pub(super) fn expect_sense(args: &PgtopArgs, settings: &TopSettings) -> Result<()> {
    let output = &args.output;
    if args.look.batch && output.replay.is_some() {
        bail!(Misuse(anyhow!("`--replay` shows a screen, and `-b` prints a frame: use one")));
    }
    let is_batch = settings.is_batch && output.replay.is_none();
    let given = [
        ("--record", output.record.is_some()),
        ("--slow-log", output.slow_log.is_some()),
        ("--slack_webhook", output.slack_webhook.is_some()),
        ("--statsd", output.statsd.is_some()),
    ];
    if let Some((name, _)) = given.into_iter().find(|(_, is_given)| is_batch && *is_given) {
        bail!(Misuse(anyhow!("`{name}` needs the screen: leave out `-b` (batchmode)")));
    }
    if is_batch && settings.look.view == PgView::Waits {
        bail!(Misuse(anyhow!("waits are sampled over time: leave out `-b` (batchmode)")));
    }
    if !is_batch && settings.is_json {
        bail!(Misuse(anyhow!("`--format json` is for one frame: use `-b`")));
    }
    if !settings.slow_threshold_s.is_finite() || settings.slow_threshold_s < 0.0 {
        bail!(Misuse(anyhow!("`--slow_threshold` is a number of seconds from 0 on")));
    }
    let is_url = |text: &String| {
        let uri = text.parse::<ureq::http::Uri>();
        uri.is_ok_and(|it| {
            matches!(it.scheme_str(), Some("http" | "https"))
                && it.host().is_some_and(|host| !host.is_empty())
        })
    };
    if settings.webhook.as_ref().is_some_and(|text| !is_url(text)) {
        bail!(Misuse(anyhow!("`slack_webhook` is no URL of http or https")));
    }
    Ok(())
}

/// Reads the settings.
///
/// # Errors
/// When a file cannot be read or is wrong, or a value is none.
pub(super) fn read(args: &PgtopArgs) -> Result<TopSettings> {
    let config = config(args)?;
    let addresses = match args.output.replay {
        Some(_) => Vec::new(),
        None => addresses(args, &config)?,
    };
    let threshold = args.output.slow_threshold.or(config.slow_threshold_s);
    let webhook = args.output.slack_webhook.clone().or_else(|| config.webhook.clone());
    let is_wanted = threshold.is_some() || webhook.is_some();
    let usual = || is_wanted.then(|| PathBuf::from(SLOW_LOG));
    let slow_log = args.output.slow_log.clone().or_else(usual);
    Ok(TopSettings {
        addresses,
        look: look(args, &config)?,
        slow_threshold_s: threshold.unwrap_or(SLOW_THRESHOLD_S),
        webhook,
        slow_log,
        is_batch: args.look.batch || config.is_batch == Some(true),
        is_json: args.look.format == "json",
        has_names: args.look.resolve,
    })
}

fn config(args: &PgtopArgs) -> Result<TopConfig> {
    let home = environment::of_postgres("HOME").map(PathBuf::from);
    let usual = || home.and_then(|home| TopConfig::usual_file(&home));
    let Some(file) = args.config.clone().or_else(usual) else { return Ok(TopConfig::default()) };
    let text = plain_file::read(&file, CONFIG_BYTES_MAX)
        .with_context(|| format!("read `{}`", file.display()))?;
    match TopConfig::parse(&file, &String::from_utf8_lossy(&text)) {
        Ok(config) => {
            for note in &config.notes {
                crate::output::tell!("note: {}", screen::clean(note));
            }
            Ok(config)
        }
        Err(error) => {
            crate::output::tell!("{}", output::cleaned(&error.to_string()));
            Err(Exit(EXIT_CONFIG).into())
        }
    }
}

fn addresses(args: &PgtopArgs, config: &TopConfig) -> Result<Vec<PgAddress>> {
    let given = &args.connection;
    let mut options = ConnectionSettings::default();
    given.host.iter().for_each(|host| options.set_host(host));
    options.set("port", given.port.map(|port| port.to_string()));
    given.socket.iter().for_each(|socket| options.set_socket(socket));
    options.set("user", given.user.clone());
    options.set("dbname", given.database.clone());
    options.set("password", given.password.clone());
    options.set("sslmode", given.sslmode.clone());
    let asks = given.prompt || (config.asks_password == Some(true) && !given.no_prompt);
    let mut all: Vec<ConnectionSettings> = Vec::new();
    for text in &args.servers {
        let named = ConnectionSettings::parse(text).map_err(|error| Misuse(error.into()))?;
        all.push(named.or(&options));
    }
    if all.is_empty() {
        all.push(options);
    }
    let mut addresses = Vec::new();
    for mut settings in all {
        if asks {
            settings.set("password", Some(password::ask()?));
        }
        let resolved = settings.resolve(&config.connection, &environment::of_postgres);
        addresses.push(resolved.map_err(|error| Misuse(error.into()))?);
    }
    Ok(addresses)
}

fn look(args: &PgtopArgs, config: &TopConfig) -> Result<TopLook> {
    let look = &args.look;
    let delay = look.delay.or(config.delay_s).unwrap_or(DELAY_S);
    let view = match &look.view {
        None => config.view.unwrap_or_default(),
        Some(name) => PgView::named(name).ok_or_else(|| {
            Misuse(anyhow!("there is no view `{name}`; it is {}", PgView::names()))
        })?,
    };
    let mut order = view.order();
    order.descends ^= config.ascends == Some(true);
    let [user, database, host] = config.filters.clone();
    let filter = SessionFilter {
        user,
        database,
        host,
        shows_idle: look.idle || (config.shows_idle != Some(false) && !look.no_idle),
        ..SessionFilter::default()
    };
    let has_colour = match (look.color, look.no_color, config.has_colour) {
        (_, true, _) => false,
        (true, ..) => true,
        (.., from_file) => from_file != Some(false),
    };
    let style = output::style();
    let colour = (style.colour || (look.color && std::io::stdout().is_terminal())) && has_colour;
    Ok(TopLook {
        delay: Duration::from_secs_f64(delay),
        view,
        order,
        filter,
        has_header: look.header || (config.has_header != Some(false) && !look.no_header),
        style: Style { colour, ascii: environment::has_only_ascii(), ..style },
    })
}
