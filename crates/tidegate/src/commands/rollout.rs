//! Says for people who gets a personalised answer, from the answer of `/rollout`.
//!
//! Fields are found by name, as `admin.rs` writes them. Invariant: a route has one line that says
//! who gets what, and one more for each thing that an operator or the guard has changed.
//! Never here: asking the server (`commands.rs`).

use std::fmt::Write as _;

use serde_json::Value;

use crate::overrides::percent;

/// Returns what is said of each route.
pub(super) fn text(routes: &Value) -> String {
    let mut out = String::new();
    for (route, shares) in routes.as_object().into_iter().flatten() {
        let share = |name: &str| shares[name].as_f64().unwrap_or_default();
        let from = shares["to"].as_str().map(|to| format!(" from {to}")).unwrap_or_default();
        let rollout = percent(share("rollout"));
        let _ = match shares["killed"].as_bool() {
            Some(true) => writeln!(out, "{route}: nobody is let in: the kill switch is on"),
            _ => writeln!(out, "{route}: {rollout} of the users with a profile are let in{from}"),
        };
        if shares["guard"].as_f64().is_some_and(|guard| guard < 1.0) {
            let guard = percent(share("guard"));
            let _ =
                writeln!(out, "  the guard lets in {guard} of these, as answers fail or are late");
        }
        if share("hold_out") > 0.0 {
            let _ = writeln!(out, "  {} of the users are held out", percent(share("hold_out")));
        }
    }
    if out.is_empty() { "no route personalises\n".to_owned() } else { out }
}
