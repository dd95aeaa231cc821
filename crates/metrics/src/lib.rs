//! Counters, timers, gauges, sets, mergeable sketches, snapshots.
