//! The recto command.

fn main() {}
