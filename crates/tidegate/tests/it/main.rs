//! Tests of the whole binary over loopback: real processes, real files, faults really made.

mod cli;
mod configuration;
mod demo;
mod learning;
mod profiles;
mod recording;
mod running;
mod shield;
