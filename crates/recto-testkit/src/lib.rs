//! Test data for recto.
