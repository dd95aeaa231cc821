//! Tests of the whole binary over loopback.
