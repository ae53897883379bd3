//! Lossless reading and writing of Claude Code session logs.
