//! A seeded machine.
