//! alike
