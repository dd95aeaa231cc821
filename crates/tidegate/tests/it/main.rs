//! Tests of the whole binary over loopback: real processes, real files, faults really made.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cache_tests;
mod cli;
mod configuration;
mod demo;
mod disk_cache;
mod down;
mod events;
mod events_engines;
mod events_export;
mod events_files;
mod events_many;
mod events_nginx;
mod events_replay;
mod events_served;
mod events_stalls;
mod events_verify;
mod full_disk;
mod lab;
mod lab_bench;
mod lab_cache_lock;
mod lab_load;
mod lab_report;
mod learning;
mod models;
mod modes;
mod names;
mod operator;
mod profiles;
mod purging;
mod recording;
mod running;
mod shield;
mod statsd;
mod statsd_carbon;
mod statsd_clients;
mod statsd_eval;
mod statsd_prometheus;
mod statsd_state;
mod statsd_suite;
mod terminator;
mod varnishtest;
mod workers;
mod workers_example;
mod workers_faults;
