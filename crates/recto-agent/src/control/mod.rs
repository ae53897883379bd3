//! The control protocol: requests between this process and the program that started it.
//!
//! Owns: the link over which both sides ask and answer. What is asked and answered is of the
//! rooms that use it: `turn` (permissions, hooks, steering) and `mcp` (servers of the host).

mod link;

pub use link::Emit;
pub use link::HostError;
pub use link::HostLink;
