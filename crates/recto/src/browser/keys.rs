//! The keys, as the status line and the help tell them.

/// A key, and what it does.
pub(super) type Key = (&'static str, &'static str);

pub(super) const LIST: &[Key] = &[
    ("enter", "read"),
    ("tab", "transcript"),
    ("/", "search text"),
    ("^r", "resume"),
    ("^y", "copy"),
    ("^e", "export"),
    ("^space", "mark"),
    ("?", "help"),
    ("esc", "quit"),
];

pub(super) const MARKED: &[Key] = &[
    ("^space", "mark"),
    ("^y", "copy"),
    ("^e", "export"),
    ("del", "remove"),
    ("?", "help"),
    ("esc", "unmark all"),
];

pub(super) const FILTERED: &[Key] = &[
    ("enter", "read"),
    ("tab", "transcript"),
    ("^f", "search text"),
    ("^u", "clear"),
    ("?", "help"),
    ("esc", "all sessions"),
];

pub(super) const SEARCH: &[Key] = &[
    ("enter", "read"),
    ("↑↓", "hits"),
    ("tab", "transcript"),
    ("^u", "clear"),
    ("F1", "help"),
    ("esc", "all sessions"),
];

pub(super) const PREVIEW: &[Key] = &[
    ("enter", "read"),
    ("r", "resume"),
    ("t", "tools"),
    ("a", "agents"),
    ("d", "diff"),
    ("c", "copy"),
    ("e", "export"),
    ("m", "mark"),
    ("?", "help"),
    ("tab", "list"),
];

pub(super) const READER: &[Key] = &[
    ("[ ]", "turns"),
    ("/", "find"),
    ("n", "next"),
    ("x", "detail"),
    ("t", "tools"),
    ("a", "agents"),
    ("d", "diff"),
    ("c", "copy"),
    ("r", "resume"),
    ("e", "export"),
    ("F", "fork"),
    ("R", "rename"),
    ("D", "remove"),
    ("?", "help"),
    ("q", "back"),
];

pub(super) const CHANGES: &[Key] =
    &[("j k", "scroll"), ("/", "find"), ("n", "next"), ("c", "copy"), ("?", "help"), ("q", "back")];

pub(super) const TABLE: &[Key] = &[
    ("enter", "go there"),
    ("j k", "move"),
    ("c", "copy"),
    ("r", "resume"),
    ("e", "export"),
    ("?", "help"),
    ("q", "back"),
];

pub(super) const FINDING: &[Key] = &[("enter", "done"), ("^u", "clear"), ("esc", "give up")];

/// All keys, by where they work.
pub(super) const HELP: &[(&str, &[Key])] = &[
    (
        "In the list, typing filters",
        &[
            ("letters", "filter by title, project, branch or id"),
            ("/", "search the text of all sessions (as the first character)"),
            ("^f", "search the text of all sessions for the filter"),
            ("↑ ↓ PgUp PgDn", "select a session or a hit"),
            ("enter", "read it"),
            ("tab →", "go to the transcript, where letters are commands"),
            ("^s", "sessions of this directory, of this project, or all"),
            ("^o", "by project, newest first, largest first, or by title"),
            ("^space insert", "mark a session; copy, export and remove act on marked ones"),
            ("^r ^y ^e ^t ^a", "resume, copy, export, tools, agents (also with Alt)"),
            ("F2 del", "rename, remove; Alt with U undoes, Alt with p goes to the tmux pane"),
            ("^u ^w", "clear, delete a word"),
            ("esc", "one step back; with nothing typed, quit"),
        ],
    ),
    (
        "In a transcript, letters are commands",
        &[
            ("j k space b", "scroll by a line, by a page (also ↑ ↓ PgUp PgDn)"),
            ("[ ]", "previous turn, next turn (also ← → in the reader)"),
            ("g G", "start, end; at the end, follow a running session"),
            ("/", "find in this transcript (beside the list: in all sessions)"),
            ("n N", "next match, previous match"),
            ("x", "tool calls in brief, in full with thinking, or not at all"),
            ("t", "tool calls; enter jumps to the selected one"),
            ("a", "subagents; enter reads the selected one"),
            ("d", "file changes of the current turn"),
            ("c", "copy the answer, a code block, the id, the resume command or the path"),
            ("r", "resume the session in Claude Code, then come back; restore an archived one"),
            ("e", "export to the directory where recto was started"),
            ("F", "fork: a new session that ends with the current turn"),
            ("R D", "rename, remove the session"),
            ("U", "undo recto's last change"),
            ("p", "go to the tmux pane where the session runs"),
            ("s o m", "beside the list: scope, order, mark"),
            ("q esc", "back"),
        ],
    ),
    (
        "Everywhere",
        &[
            ("? F1", "this help"),
            ("^c", "quit"),
            ("^z ^l", "suspend recto, redraw the screen"),
            ("mouse", "click to select, again to read; the wheel scrolls"),
            ("shift+mouse", "select text, in most terminals"),
        ],
    ),
];
