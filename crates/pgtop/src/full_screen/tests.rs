//! Tests of the module `full_screen`.
