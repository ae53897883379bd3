//! Where Claude Code keeps its files.
