//! The attacks, each by the name that the account and `--only` use.
//!
//! Invariant: an attack comes from one address and goes on until its turn ends. It says so when it
//! gets what is another's; else the honest clients are the judges. Never here: turns, and answers
//! to honest clients.

mod bodies;
mod bypass;
mod floods;
mod framing;
mod operator;
mod poison;
mod readers;

pub(super) use self::operator::{SECRET_ID, SECRET_TOKEN};
use super::assault::Assault;

/// An attack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attack {
    /// What it is called.
    pub name: &'static str,
    /// What it does until its turn ends.
    pub act: fn(&mut Assault<'_>),
}

const fn attack(name: &'static str, act: fn(&mut Assault<'_>)) -> Attack {
    Attack { name, act }
}

/// All of them.
pub(super) const ATTACKS: [Attack; 41] = [
    attack("quiet-posts", floods::quiet_posts),
    attack("long-queries", floods::long_queries),
    attack("many-connections", floods::many_connections),
    attack("half-closed", floods::half_closed),
    attack("resets", floods::resets),
    attack("unread-pipelines", floods::unread_pipelines),
    attack("head-flood", floods::heads),
    attack("options-flood", floods::options),
    attack("trace-flood", floods::traces),
    attack("underscore-names", poison::underscores),
    attack("header-families", poison::families),
    attack("proxy-header", poison::proxy_header),
    attack("forwarded-lies", poison::forwarded),
    attack("other-spellings", poison::spellings),
    attack("planted-cookies", poison::planted_cookies),
    attack("stolen-ids", poison::stolen_ids),
    attack("cookies-in-304", poison::crumbs),
    attack("strict-cookies", poison::strict_cookies),
    attack("evictions", poison::evictions),
    attack("hostile-origin", poison::hostile_origin),
    attack("authorization", bypass::authorization),
    attack("connection-options", bypass::connection_options),
    attack("get-with-body", bypass::get_with_body),
    attack("no-store-typos", bypass::directives),
    attack("slow-bodies", bodies::slow),
    attack("stalled-uploads", bodies::stalled),
    attack("aborted-uploads", bodies::aborted),
    attack("endless-bodies", readers::endless),
    attack("idle-websockets", readers::idle_sockets),
    attack("stuffed-websockets", readers::stuffed_sockets),
    attack("slow-readers", readers::slow),
    attack("slow-fetches", readers::slow_fetches),
    attack("chunk-oddities", framing::chunks),
    attack("smuggling", framing::smuggling),
    attack("heads-in-parts", framing::heads_in_parts),
    attack("ids-in-urls", operator::ids_in_urls),
    attack("purge-escapes", operator::escapes),
    attack("wrong-tokens", operator::wrong_tokens),
    attack("loops", operator::loops),
    attack("hangups", operator::hangups),
    attack("bad-name-servers", operator::bad_names),
];
