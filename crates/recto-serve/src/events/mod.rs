//! What happens to sessions, as it happens.
//!
//! A thread follows the logs and tells the [`Hub`]; the hub keeps the last
//! events in a ring, with numbers; each client has its own place in the ring and
//! reads as fast as it can. A client costs its connection and nothing else, so
//! one that never reads hurts nobody. Who falls behind the ring is told of the
//! gap and goes on with what there is.

mod hub;
mod source;
mod stream;

pub(crate) use hub::Hub;
pub(crate) use source::FollowThread;
pub(crate) use source::follow;
pub(crate) use stream::events;
