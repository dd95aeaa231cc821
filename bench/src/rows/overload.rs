//! Twice as many requests as the server can answer.

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Arrivals, Plan, Request, Requests, Stop, counter};

use super::Row;
use super::personalised;
use crate::measure::Measurement;
use crate::peers::tidegate;
use crate::process::Server;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "overload",
    what: "goodput at twice capacity, in percent of the peak",
    notes: "The peak is a closed loop; then requests arrive at random, twice as many, over up to \
        4,096 connections.\n\
        Clients give up after 1 s; good are complete answers with status 200 before that.\n\
        Personalised answers are bound by the CPU.\n\
        Fetches are bound by the upstream's 64 connections, each answer taking 20 ms; what exceeds \
        them is shed with 503 at once.\n\
        The offered load is what the generator sent; it shares its core with the origin.",
    peers: &["tidegate"],
    run,
};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
const ORIGIN_CONNECTIONS: usize = 64;

type Make<'a> = &'a dyn Fn() -> Box<dyn Requests>;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    {
        let ours = personalised::start(setup)?;
        measurements.extend(overload(
            setup,
            "personalised",
            &ours.server,
            64,
            &personalised::requests,
        )?);
    }
    // All load comes from one address, which stands for many clients here.
    let sections = format!(
        "connections_max = {ORIGIN_CONNECTIONS}\n[limits]\nclient_share = \"100%\"\n\
         [[route]]\npath = \"/{{*rest}}\"\n\
         to = \"upstream:origin\"\n",
    );
    let options = tidegate::Options {
        name: "Tidegate",
        journal: true,
        sections: &sections,
        ready: "/json/4096/ready",
    };
    let ours = tidegate::start(setup, &options)?;
    let make = || {
        let request = Request::get("/slow/20/########").template();
        Box::new(request.hole("########", counter(0, 99_999_999))) as Box<dyn Requests>
    };
    measurements.extend(overload(setup, "fetched", &ours.server, ORIGIN_CONNECTIONS, &make)?);
    Ok(measurements)
}

/// What came of one trial, by second.
struct Outcome {
    good: f64,
    shed: f64,
    gave_up: f64,
    p99_ms: f64,
}

fn overload(
    setup: &Setup,
    case: &str,
    server: &Server,
    connections: usize,
    make: Make<'_>,
) -> Result<Vec<Measurement>> {
    server.settle()?;
    let stop = Stop::After(setup.trial);
    let (mut peaks, mut trials) = (Vec::new(), Vec::new());
    for _ in 0..setup.rounds {
        let peak = trial(&Plan::closed(server.target(), connections, stop), make)?;
        let arrivals = Arrivals::Poisson { rate: 2.0 * peak.good, seed: 42 };
        let plan = Plan {
            connections_max: 4096,
            timeout: ANSWER_TIMEOUT,
            ..Plan::open(server.target(), arrivals, 1024, stop)
        };
        trials.push(trial(&plan, make)?);
        peaks.push(peak);
    }
    let share = peaks.iter().zip(&trials).map(|(peak, trial)| 100.0 * trial.good / peak.good);
    let figure = |figure: &str, of: fn(&Outcome) -> f64| {
        Measurement::new(format!("{case}, twice the peak"), figure, trials.iter().map(of))
    };
    Ok(vec![
        Measurement::new(case, "good/s at the peak", peaks.iter().map(|peak| peak.good)),
        figure("good/s", |trial| trial.good),
        figure("shed/s", |trial| trial.shed),
        figure("given up/s", |trial| trial.gave_up),
        figure("p99 ms from sending", |trial| trial.p99_ms),
        Measurement::new(format!("{case}, twice the peak"), "goodput % of the peak", share)
            .at_least(80.0, "at least 80"),
    ])
}

fn trial(plan: &Plan, make: Make<'_>) -> Result<Outcome> {
    let report = load::run(plan, &mut *make())?;
    let (good, shed) = (report.status(200), report.status(503));
    ensure!(good + shed == report.requests, "answers other than 200 and 503");
    ensure!(report.errors.malformed == 0, "answers that are not HTTP");
    let by_second = |count: u64| count as f64 / report.seconds;
    Ok(Outcome {
        good: by_second(good),
        shed: by_second(shed),
        gave_up: by_second(report.errors.timeout),
        p99_ms: report.service.value_at_quantile(0.99) as f64 / 1e3,
    })
}
