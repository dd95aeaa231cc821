//! Checks `to`: the targets of a route, and the share of the users that each gets.
//!
//! Invariant: in a plan without errors every route has an arm, and the last one ends at
//! `SHARE_END`. Shares that do not add up to the whole are an error; one entry may leave its share
//! out and gets the rest. An unknown or missing target is an error, and `Target::Here` stands in.
//! Arms keep the order of the file: a user's place chooses by it. Bound: [`ARMS_MAX`] arms, because
//! a cache key has one byte for the arm (`key`). Never here: drawing users (`request`).

use chassis::config::nearest;

use super::references::References;
use super::section::Section;
use crate::config::ToConfig;
use crate::plan::{Arm, SHARE_END, Target};

/// Targets of a route; a cache key tells them apart by a byte.
const ARMS_MAX: usize = 256;

/// Returns the arms of a route; `here` says that the route answers without a target.
pub(super) fn arms(
    section: &mut Section<'_, '_>,
    to: Option<ToConfig>,
    here: bool,
    known: &References<'_>,
) -> Vec<Arm> {
    let answers_here = || vec![Arm { share_end: SHARE_END, target: Target::Here }];
    let list = match to {
        None if here => return answers_here(),
        None => {
            section.wrong("to", "name a target: `upstream:NAME`, `model:NAME` or `models`");
            return answers_here();
        }
        Some(_) if here => {
            section.wrong("to", "leave it out: `collect = \"only\"` forwards nothing");
            return answers_here();
        }
        Some(ToConfig::One(to)) => vec![(to, None)],
        Some(ToConfig::Shared(list)) => {
            list.into_iter().map(|s| (s.to.unwrap_or_default(), s.share)).collect()
        }
    };
    if list.len() > ARMS_MAX {
        section.wrong("to", format!("has {} targets; at most {ARMS_MAX} fit", list.len()));
    }
    let shares: Vec<Option<f64>> = list
        .iter()
        .map(|(_, share)| share.clone().map(|share| section.share("to.share", Some(share), 0.0)))
        .collect();
    let open = shares.iter().filter(|share| share.is_none()).count();
    let left = 1.0 - shares.iter().flatten().sum::<f64>();
    if open > 1 || left < -1e-9 || (open == 0 && left > 1e-9) {
        section.wrong("to", "the shares must add up to 100%; one entry may leave its share out");
    }
    let mut end = 0.0;
    let mut arms = Vec::new();
    for ((to, _), share) in list.iter().zip(shares) {
        end += share.unwrap_or(left);
        let share_end = (end * f64::from(SHARE_END)).round() as u32;
        arms.push(Arm { share_end, target: target(section, "to", to, known) });
    }
    if let Some(last) = arms.last_mut() {
        last.share_end = SHARE_END;
    }
    arms
}

/// Returns the arm of personalised responses behind those of `to`.
pub(super) fn private_arm(
    section: &mut Section<'_, '_>,
    to: &str,
    arms: &[Arm],
    known: &References<'_>,
) -> Arm {
    let key = "personalise.to";
    let target = target(section, key, to, known);
    match arms {
        [only] if only.target == target && target != Target::Here => {
            section.wrong(key, format!("`{to}` is the target of `to`, too; leave it out"));
        }
        _ if arms.len() >= ARMS_MAX => {
            section.wrong(key, format!("comes behind {ARMS_MAX} targets of `to`; write fewer"));
        }
        _ => {}
    }
    // Its share is empty, as that of the arm before it ends where all shares do.
    Arm { share_end: SHARE_END, target }
}

/// The kinds of targets that have names.
const KINDS: [&str; 3] = ["upstream", "model", "models"];

fn target(section: &mut Section<'_, '_>, key: &str, to: &str, known: &References<'_>) -> Target {
    match to.split_once(':') {
        None if to == "models" => return Target::Models,
        Some(("upstream", name)) => {
            let upstreams = known.upstreams;
            if let Some(index) = upstreams.iter().position(|known| *known.name == *name) {
                return Target::Upstream(index);
            }
            let names: Vec<&str> = upstreams.iter().map(|known| &*known.name).collect();
            section.unknown(key, "upstream", name, &names);
        }
        Some(("model", name)) if known.models.ranking.contains(&name) => {
            return Target::Model(name.into());
        }
        Some(("model", name)) if known.models.others.contains(&name) => {
            let reason = "has no `items`, so it cannot rank; `to = \"models\"` serves its API";
            section.wrong(key, format!("the model `{name}` {reason}"));
        }
        Some(("model", name)) => section.unknown(key, "model", name, known.models.ranking),
        _ => {
            let kind = to.split(':').next().unwrap_or(to);
            let near = nearest(kind, &KINDS).filter(|near| *near != kind);
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let forms = "none of `upstream:NAME`, `model:NAME`, `models`";
            section.wrong(key, format!("`{to}` is {forms}{hint}"));
        }
    }
    Target::Here
}
