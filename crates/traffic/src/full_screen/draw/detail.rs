//! Draws one exchange: everything that is known of it.

use exchange::{Phase, is_secret_header};
use screen::{Ink, Pane, number, padded};

use super::super::state::{Detail, FullScreen};
use super::units::{milliseconds, time_of_day};
use crate::output::REDACTED;
use crate::tally::{date, shown};
use crate::view::{Side, View};

/// Columns of names.
const NAME_COLUMNS: usize = 14;
/// Columns of a phase's numbers.
const NUMBER_COLUMNS: usize = 12;

type DetailLine = (Ink, String);

pub(super) fn details(screen: &FullScreen, pane: &mut Pane<'_>) {
    let Some(detail) = &screen.detail else {
        pane.text((0, 0), Ink::Faint, "no exchange is selected; 1 shows the list");
        return;
    };
    let lines = lines_of(screen, detail, pane);
    let rows = pane.rows();
    let first = detail.first.min(lines.len().saturating_sub(rows));
    for (row, (ink, line)) in lines.iter().skip(first).take(rows).enumerate() {
        pane.text((row, 0), *ink, line);
    }
}

fn lines_of(screen: &FullScreen, detail: &Detail, pane: &Pane<'_>) -> Vec<DetailLine> {
    let exchange = &detail.exchange;
    let view = exchange.view();
    let mark = if screen.listing.is_marked(detail.number) { "* " } else { "" };
    let request = [&view.method, &view.url, &view.protocol].map(|part| shown(part));
    let mut lines = vec![(Ink::Bold, format!("{mark}{}", request.join(" ")))];
    facts(&view, &mut lines);
    of_line(screen, detail, &mut lines);
    if exchange.is_cut() {
        lines.push((Ink::Second, "texts or headers of it were too long to be kept".to_owned()));
    }
    for replayed in screen.replays.iter().filter(|replayed| replayed.number == detail.number) {
        let before = view.times.total_us.map_or("-".to_owned(), milliseconds);
        let status = view.status.map_or("-".to_owned(), |status| status.to_string());
        let after = match &replayed.outcome {
            Ok((status, us)) => format!("{status} in {} ms", milliseconds(*us)),
            Err(error) => error.clone(),
        };
        let text = format!("{after} from {}; before {status} in {before} ms", replayed.address);
        fact("replay", &text, &mut lines);
    }
    phases(detail, pane, &mut lines);
    for (side, title) in [(Side::Request, "request"), (Side::Response, "response")] {
        headers(screen, (&view, side), title, &mut lines);
    }
    lines
}

/// What only a line of Tidegate says.
fn of_line(screen: &FullScreen, detail: &Detail, lines: &mut Vec<DetailLine>) {
    let Some(line) = detail.exchange.line() else { return };
    let mut some = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            fact(name, &text, lines);
        }
    };
    some("route", line.route.as_deref().map(|route| shown(route.as_bytes())));
    some("detail", line.decision_detail.as_deref().map(|text| shown(text.as_bytes())));
    some("user", line.user.as_deref().map(shown));
    some("upstream", line.upstream.as_deref().map(|name| shown(name.as_bytes())));
    some("id", (line.id != 0).then(|| format!("{:032x}", line.id)));
    some("ranked by", line.ranked_by.map(|id| format!("{id:032x}")));
    if let Some(shown_list) = &line.impression {
        let (model, version) = (&shown_list.model, &shown_list.version);
        let model = format!("{model} {version}, propensity {}", shown_list.propensity);
        some("model", Some(shown(model.as_bytes())));
    }
    let phase = |phase: Phase| u64::from(line.phases[phase.index()]);
    let model = phase(Phase::Features) + phase(Phase::Score);
    some("model took", (model > 0).then(|| format!("{} ms", milliseconds(model))));
    let fetch = phase(Phase::Fetch);
    some("upstream took", (fetch > 0).then(|| format!("{} ms", milliseconds(fetch))));
    let queue = phase(Phase::Queue);
    let queued = format!("{} ms of it for a free worker or thread", milliseconds(queue));
    some("queued", (queue > 0).then_some(queued));
    let wait = phase(Phase::Wait);
    let waited = format!("{} ms for the fetch of another request", milliseconds(wait));
    some("waited", (wait > 0).then_some(waited));
    some("fetched by", line.fetched_by.map(|id| format!("{id:032x}, w shows it")));
    let waiters = screen.listing.waiters(line.id);
    let count = number::of(waiters as u64, "exchange", "exchanges");
    some("fetched for", (waiters > 0).then(|| format!("{count} that waited, w lists them")));
}

fn headers(
    screen: &FullScreen,
    (view, side): (&View<'_>, Side),
    title: &str,
    lines: &mut Vec<DetailLine>,
) {
    let mut headers = Vec::new();
    view.each_header(side, |name, value| {
        let is_hidden = is_secret_header(name) && screen.has_hidden_secrets();
        let value = if is_hidden { REDACTED } else { value };
        headers.push((Ink::Plain, format!("  {}: {}", shown(name), shown(value))));
    });
    if !headers.is_empty() {
        lines.push((Ink::Faint, format!("headers of the {title}")));
        lines.append(&mut headers);
    }
}

fn fact(name: &str, text: &str, lines: &mut Vec<DetailLine>) {
    lines.push((Ink::Plain, format!("{}{text}", padded(name, NAME_COLUMNS, false))));
}

/// What every source may say.
fn facts(view: &View<'_>, lines: &mut Vec<DetailLine>) {
    let mut some = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            fact(name, &text, lines);
        }
    };
    some(
        "time",
        view.times.time_us.map(|time| {
            let (date, time) = (date(time), time_of_day(time));
            format!("{} {time} UTC", date.split(' ').next().unwrap_or_default())
        }),
    );
    some("client", Some(shown(&view.client)));
    some("host", view.host().map(shown));
    some("status", Some(shown(&view.status_line())).filter(|line| !line.is_empty()));
    some("cache", view.handling.map(str::to_owned));
    some("decision", view.decision.map(str::to_owned));
    some("total", view.times.total_us.map(|total| format!("{} ms", milliseconds(total))));
    let ready = view.times.ready_us.filter(|ready| Some(*ready) != view.times.total_us);
    some("ready after", ready.map(|ready| format!("{} ms", milliseconds(ready))));
    let bytes = |count: u64| number::of(count, "byte", "bytes");
    some("sent", view.bytes.bytes_out.map(bytes));
    some("received", view.bytes.bytes_in.map(bytes));
    some("vxid", view.ids.vxid.map(|vxid| vxid.to_string()));
    some("parent", view.ids.parent.map(|parent| parent.to_string()));
    some("esi", view.ids.is_esi.then(|| "asked for by a page".to_owned()));
}

/// The phases as bars, of the whole or of what they make together.
fn phases(detail: &Detail, pane: &Pane<'_>, lines: &mut Vec<DetailLine>) {
    let exchange = &detail.exchange;
    let sum: u64 = exchange.phases().map(|(_, us)| u64::from(us)).sum();
    let whole = exchange.view().times.total_us.unwrap_or(0).max(sum);
    if sum == 0 {
        return;
    }
    lines.push((Ink::Faint, "phases".to_owned()));
    let room = pane.columns().saturating_sub(NAME_COLUMNS + 2 * NUMBER_COLUMNS);
    for (phase, us) in exchange.phases() {
        let share = f64::from(us) / whole as f64;
        // Where there is room, the shortest still shows.
        let length = ((share * room as f64).round() as usize).max(1).min(room);
        let bar = pane.either('█', '#').to_string().repeat(length);
        let ms = padded(&format!("{} ms", milliseconds(us.into())), NUMBER_COLUMNS, true);
        let percent = padded(&number::percent(share), NUMBER_COLUMNS - 2, true);
        let name = padded(&format!("  {}", phase.name()), NAME_COLUMNS, false);
        lines.push((Ink::First, format!("{name}{ms}{percent}  {bar}")));
    }
}
