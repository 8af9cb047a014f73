//! The stand-in for the Messages API, on a port.
