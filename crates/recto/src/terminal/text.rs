//! Text for terminals: what may be shown, how wide it is, how it lines up.

mod bars;
mod highlight;
mod human;
mod markdown;
mod safe;
mod table;

pub(crate) use bars::bar;
pub(crate) use bars::columns;
pub(crate) use human::age;
pub(crate) use human::bytes;
pub(crate) use human::clock;
pub(crate) use human::count;
pub(crate) use human::path_from_home;
pub(crate) use human::plural;
pub(crate) use human::short_model;
pub(crate) use markdown::Span;
pub(crate) use markdown::markdown;
pub(crate) use recto_session::duration;
pub(crate) use safe::json_for_terminal;
pub(crate) use safe::one_line;
pub(crate) use safe::safe;
pub(crate) use table::Column;
pub(crate) use table::Table;
pub(crate) use table::fit;
pub(crate) use table::wrap;
