//! The stand-in as a whole, in process.

mod known;
mod talks;
