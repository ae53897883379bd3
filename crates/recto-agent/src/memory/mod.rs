//! What a model knows before the first prompt: instructions in `CLAUDE.md` files, and facts about
//! the machine and the project.

mod environment;
mod git;
mod imports;
mod instructions;
pub mod notes;
mod style;

pub use environment::Environment;
pub use environment::date_note;
pub use git::Git;
pub use instructions::Instructions;
pub use instructions::Kind;
pub use instructions::Loaded;
pub use instructions::Roots;
pub use style::OutputStyle;
