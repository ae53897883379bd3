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
pub(crate) use human::money;
pub(crate) use human::path_from_home;
pub(crate) use markdown::Span;
pub(crate) use markdown::code_blocks;
pub(crate) use markdown::markdown;
pub(crate) use recto_session::duration;
pub(crate) use recto_session::plural;
pub(crate) use recto_session::with_marks as count;
pub(crate) use recto_view::short_model;
pub(crate) use safe::escape_hidden;
pub(crate) use safe::is_harmless;
pub(crate) use safe::json_for_terminal;
pub(crate) use safe::one_line;
pub(crate) use safe::safe;
pub(crate) use table::Column;
pub(crate) use table::MOST_IN_CELL;
pub(crate) use table::Table;
pub(crate) use table::entry;
pub(crate) use table::fit;
pub(crate) use table::fit_path;
pub(crate) use table::padded;
pub(crate) use table::wrap;
pub(crate) use table::wrap_at;
pub(crate) use table::wrap_each;
