//! Routes, decisions, cache, flights, upstreams: the shield.
