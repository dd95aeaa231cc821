//! Owns an exchange that outlives its line: for lists that a person looks through.
//!
//! [`OwnedExchange::view`] is a view again, so filters are asked of both alike. Items of an
//! impression are not kept.
//! Invariants: the value of a secret header is not kept, unless that was asked for. Never are more
//! than `TEXT_BYTES_MAX` of texts kept; what is cut off is said (`is_cut`).
//! Never here: how it is shown.

use std::borrow::Cow;

use exchange::{Exchange, Impression, ItemIds, Phase, is_secret_header};

use crate::output::REDACTED;
use crate::view::{Headers, ShownHeader, Side, View};

/// Bytes of all texts of an exchange.
pub(crate) const TEXT_BYTES_MAX: usize = 4096;
/// Bytes of one text.
const ONE_BYTES_MAX: usize = 1024;
const HEADERS_MAX: usize = 64;

/// One exchange.
#[derive(Clone, Default)]
pub struct OwnedExchange {
    view: View<'static>,
    request: Vec<ShownHeader<'static>>,
    response: Vec<ShownHeader<'static>>,
    line: Option<Box<Exchange<'static>>>,
    is_cut: bool,
}

/// Copies texts as far as there is room.
struct Room {
    left: usize,
    is_cut: bool,
}

impl Room {
    fn take(&mut self, text: &[u8]) -> Cow<'static, [u8]> {
        let length = text.len().min(ONE_BYTES_MAX).min(self.left);
        self.is_cut |= length < text.len();
        self.left -= length;
        Cow::Owned(text[..length].to_vec())
    }

    fn text(&mut self, text: &str) -> Cow<'static, str> {
        // A character that was cut in two becomes a sign for that.
        Cow::Owned(String::from_utf8_lossy(&self.take(text.as_bytes())).into_owned())
    }

    fn headers(
        &mut self,
        view: &View<'_>,
        side: Side,
        has_secrets: bool,
    ) -> Vec<ShownHeader<'static>> {
        let mut headers = Vec::new();
        view.each_header(side, |name, value| {
            if headers.len() == HEADERS_MAX || self.left == 0 {
                self.is_cut = true;
                return;
            }
            let is_hidden = is_secret_header(name) && !has_secrets;
            headers.push((self.take(name), self.take(if is_hidden { REDACTED } else { value })));
        });
        headers
    }

    fn line(&mut self, line: &Exchange<'_>) -> Exchange<'static> {
        let mut some = |text: &Option<Cow<'_, [u8]>>| text.as_deref().map(|text| self.take(text));
        let (host, user) = (some(&line.host), some(&line.user));
        let mut some = |text: &Option<Cow<'_, str>>| text.as_deref().map(|text| self.text(text));
        let (route, detail) = (some(&line.route), some(&line.decision_detail));
        let upstream = some(&line.upstream);
        let impression = line.impression.as_ref().map(|shown| Impression {
            model: self.text(&shown.model),
            version: self.text(&shown.version),
            propensity: shown.propensity,
            items: ItemIds::default(),
        });
        Exchange {
            id: line.id,
            scheme: self.text(&line.scheme),
            host,
            user,
            route,
            decision: line.decision,
            decision_detail: detail,
            cache: line.cache,
            upstream,
            ranked_by: line.ranked_by,
            fetched_by: line.fetched_by,
            phases: line.phases,
            total_us: line.total_us,
            impression,
            ..Exchange::default()
        }
    }
}

impl OwnedExchange {
    /// Keeps what a view shows.
    pub(crate) fn new(view: &View<'_>, has_secrets: bool) -> Self {
        let mut room = Room { left: TEXT_BYTES_MAX, is_cut: false };
        let kept = View {
            ids: view.ids,
            times: view.times,
            method: room.take(&view.method),
            host: view.host().map(|host| room.take(host)),
            url: room.take(&view.url),
            protocol: room.take(&view.protocol),
            status: view.status,
            reason: room.take(&view.reason),
            client: room.take(&view.client),
            handling: view.handling,
            is_hit: view.is_hit,
            decision: view.decision,
            bytes: view.bytes,
            headers: Headers::None,
            line: None,
        };
        let line = view.line.map(|line| Box::new(room.line(line)));
        let request = room.headers(view, Side::Request, has_secrets);
        let response = room.headers(view, Side::Response, has_secrets);
        Self { view: kept, request, response, line, is_cut: room.is_cut }
    }

    /// Whether texts or headers of it are missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What is shown of it.
    pub(crate) fn view(&self) -> View<'_> {
        let kept = &self.view;
        View {
            method: Cow::Borrowed(&kept.method),
            host: kept.host.as_deref().map(Cow::Borrowed),
            url: Cow::Borrowed(&kept.url),
            protocol: Cow::Borrowed(&kept.protocol),
            reason: Cow::Borrowed(&kept.reason),
            client: Cow::Borrowed(&kept.client),
            headers: Headers::Listed { request: &self.request, response: &self.response },
            line: self.line.as_deref(),
            ..*kept
        }
    }

    /// The route, where the source says it.
    pub(crate) fn route(&self) -> Option<&str> {
        self.line.as_deref()?.route.as_deref()
    }

    /// What else a line of Tidegate says.
    pub(crate) fn line(&self) -> Option<&Exchange<'static>> {
        self.line.as_deref()
    }

    /// The phases that took a microsecond or more, with how many.
    pub(crate) fn phases(&self) -> impl Iterator<Item = (Phase, u32)> {
        let phases = self.line().map_or([0; Phase::COUNT], |line| line.phases);
        Phase::ALL
            .into_iter()
            .map(move |phase| (phase, phases[phase.index()]))
            .filter(|it| it.1 > 0)
    }
}

#[cfg(test)]
mod tests;
