//! One load generator: open loop and closed loop, for the laboratory and the benchmarks.
