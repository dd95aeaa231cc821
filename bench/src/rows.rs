//! The rows of the benchmark: each is a module with the same anatomy.
//!
//! `ROW` says what it measures. `run` starts the servers, measures, and sets the figures beside the
//! target.

mod beside;
mod catch_up;
mod coalesce;
mod connections;
mod disk;
mod events;
mod hit;
mod hit_nolog;
mod idle;
mod lab;
mod models;
mod no_profile;
mod overload;
mod pass;
mod personalised;
mod pgtop;
mod profile_builds;
mod rank;
mod rollout;
mod row;
mod statsd;
mod strace;
mod tap;
mod traces;
mod traffic;
mod watch;
mod workers;

pub(crate) use row::Row;

/// All rows in the order of the report.
pub(crate) const ROWS: &[Row] = &[
    hit::ROW,
    hit_nolog::ROW,
    tap::ROW,
    pass::ROW,
    no_profile::ROW,
    personalised::ROW,
    rank::ROW,
    coalesce::ROW,
    overload::ROW,
    connections::ROW,
    rollout::ROW,
    traces::ROW,
    disk::ROW,
    idle::ROW,
    events::ROW,
    beside::ROW,
    catch_up::ROW,
    profile_builds::ROW,
    statsd::source::ROW,
    statsd::blaster::ROW,
    statsd::lines::ROW,
    statsd::memory::ROW,
    statsd::buffers::ROW,
    workers::throughput::ROW,
    workers::bodies::ROW,
    workers::recycle::ROW,
    workers::memory::ROW,
    workers::profiles::ROW,
    models::trees::ROW,
    models::rank_trees::ROW,
    models::oip::ROW,
    models::minilm::ROW,
    models::mlp::ROW,
    models::static_table::ROW,
    models::clusters::ROW,
    models::fairness::ROW,
    strace::ROW,
    watch::ROW,
    traffic::ROW,
    pgtop::ROW,
    lab::load::ROW,
    lab::verdict::ROW,
    lab::probe::ROW,
];
