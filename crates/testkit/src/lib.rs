//! Development fixtures: loopback origins, real servers on free ports, temporary folders.
