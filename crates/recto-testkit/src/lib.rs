//! Test data for recto.

pub mod generate;
