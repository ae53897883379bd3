//! The edits that are checked: what recto is told, and with which recordings.

/// A command of recto that edits recorded sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    /// The words after `recto --home COPY --json`, several commands with [`THEN`]
    /// between them. `{session}` is the source, `{1}` what the first command made,
    /// `{data}` a folder.
    pub(crate) words: &'static [&'static str],
    /// The recordings; without a file, `resume.json` is meant.
    pub(crate) sources: &'static [&'static str],
}

/// Stands between two commands.
pub(crate) const THEN: &str = "then";

/// What is done with every damaged log of the corpus. It is done in place: clients
/// 2.1.0 to 2.1.99 hang as long as any log of the project has a cycle.
pub(crate) const REPAIR: &[&str] = &["repair", "{session}", "--all-clients", "--in-place"];

/// What is deleted comes back from the archive. A test of the store holds that every recorded
/// session comes back with its bytes, its tree and its times.
const RESTORE: &[&str] =
    &["collect", THEN, "rm", "{session}", "--yes", THEN, "restore", "{session}"];

/// What is done with every session of other people (`fixtures/outside/sessions`), one edit
/// of each kind.
pub(crate) const OUTSIDE: &[&[&str]] = &[
    &["clone", "{session}"],
    &["fork", "{session}", "--at", "1"],
    &["trim", "{session}", "--tool-results"],
    &["trim", "{session}", "--to-tokens", "100"],
    &["strip", "{session}", "--thinking"],
    &["strip", "{session}", "--tools"],
    &["strip", "{session}", "--turns", "1"],
    &["compress", "{session}", "--before", "2"],
    REPAIR,
    &["rename", "{session}", "Another title"],
    &["redact", "{session}", "--pattern", "word=[a-z]{7}"],
    &["move", "{session}", "/home/dev/moved", "--even-if-missing"],
    &[
        "pack",
        "{session}",
        "--output",
        "{data}/one.recto",
        THEN,
        "rm",
        "{session}",
        "--yes",
        THEN,
        "unpack",
        "{data}/one.recto",
    ],
    &["fork", "{session}", "--at", "1", THEN, "merge", "{1}", "{session}", "--force"],
    &["trim", "{session}", "--to-tokens", "100", "--in-place", THEN, "undo"],
    RESTORE,
];

/// The clients that are asked about sessions of other people: those that the corpus of
/// recordings was made with.
pub(crate) const OUTSIDE_CLIENT: &str = "2.1.325";

/// All edits of whole sessions. To add one, add a row.
pub(crate) const EDITS: &[Edit] = &[
    Edit {
        words: &["clone", "{session}"],
        sources: &["2.0.50/S4", "2.1.29/S2par", "2.1.200/I5", "2.1.325/I7", "2.1.325/S8"],
    },
    Edit {
        words: &["clone", "{session}", "--keep-uuids"],
        sources: &["2.0.50/I5", "2.1.29/I7", "2.1.200/S2par", "2.1.325/S3"],
    },
    Edit {
        words: &["fork", "{session}", "--at", "1"],
        sources: &["2.0.50/S2", "2.1.29/S2par", "2.1.200/S3", "2.1.325/S2par"],
    },
    Edit {
        words: &["fork", "{session}", "--at", "2"],
        sources: &["2.0.50/I10", "2.1.29/I6", "2.1.200/I7", "2.1.325/I6"],
    },
    Edit {
        words: &["fork", "{session}", "--at", "4"],
        sources: &["2.0.50/S5p", "2.1.29/I7", "2.1.200/I8", "2.1.325/S5p"],
    },
    Edit {
        words: &["fork", "{session}", "--at", "7"],
        sources: &["2.0.50/I5", "2.1.29/I8", "2.1.200/I5", "2.1.325/I8"],
    },
    Edit {
        words: &["trim", "{session}", "--tool-results"],
        sources: &[
            "2.0.50/S2",
            "2.1.29/I13/resume-db10cf93-6e94-4a7a-af7a-72189caf629a.json",
            "2.1.200/S2",
            "2.1.325/S2",
        ],
    },
    Edit {
        words: &["trim", "{session}", "--tool-results", "older-than", "1", "larger-than", "10"],
        sources: &["2.0.50/S9", "2.1.29/S9", "2.1.200/S9", "2.1.325/S9"],
    },
    Edit {
        words: &["trim", "{session}", "--tool-results", "--drop"],
        sources: &["2.0.50/S2", "2.1.29/S2par", "2.1.200/S2", "2.1.325/S2par"],
    },
    Edit {
        words: &["trim", "{session}", "--tool-results", "tool", "Bash", "--drop"],
        sources: &["2.0.50/I8", "2.1.29/S2", "2.1.200/I7", "2.1.325/I8"],
    },
    Edit {
        words: &["trim", "{session}", "--tool-results", "--in-place"],
        sources: &["2.0.50/S2", "2.1.325/S2"],
    },
    Edit {
        words: &["trim", "{session}", "--images"],
        sources: &[
            "2.0.50/S10",
            "2.0.50/I10",
            "2.1.29/I10",
            "2.1.200/I10",
            "2.1.325/S10",
            "2.1.325/S10/resume-4ef9b44f-eca4-4475-951f-fb0b3431562a.json",
        ],
    },
    Edit {
        words: &["trim", "{session}", "--attachments"],
        sources: &["2.1.200/I8", "2.1.200/I5", "2.1.325/I8", "2.1.325/I10"],
    },
    Edit {
        words: &["trim", "{session}", "--to-tokens", "100"],
        sources: &["2.0.50/S2", "2.1.29/I8", "2.1.200/S2", "2.1.325/S2"],
    },
    Edit {
        words: &["strip", "{session}", "--thinking"],
        sources: &["2.0.50/S3", "2.1.29/S3", "2.1.200/S3", "2.1.325/S3"],
    },
    Edit {
        words: &["strip", "{session}", "--tools"],
        sources: &["2.0.50/S2", "2.1.29/S2par", "2.1.200/I7", "2.1.325/S2"],
    },
    Edit {
        words: &["strip", "{session}", "--tools", "Read"],
        sources: &["2.0.50/S2", "2.1.29/S2", "2.1.200/S2", "2.1.325/S2"],
    },
    Edit {
        words: &["strip", "{session}", "--meta"],
        sources: &["2.0.50/I8", "2.1.29/I8", "2.1.200/I7", "2.1.325/S8"],
    },
    Edit {
        words: &["strip", "{session}", "--turns", "1"],
        sources: &["2.0.50/S3", "2.1.29/I7", "2.1.200/S2par", "2.1.325/I6"],
    },
    Edit {
        words: &["strip", "{session}", "--turns", "2..4"],
        sources: &["2.0.50/I8", "2.1.29/I8", "2.1.200/I5", "2.1.325/I7"],
    },
    Edit {
        words: &["strip", "{session}", "--thinking", "--tools", "--meta", "--in-place"],
        sources: &["2.0.50/S3", "2.1.29/S2par", "2.1.325/S3"],
    },
    Edit {
        words: &["compress", "{session}", "--before", "2"],
        sources: &["2.0.50/S2", "2.1.29/S2par", "2.1.200/S3", "2.1.325/S2par"],
    },
    Edit {
        words: &["compress", "{session}", "--before", "3", "--drop-old"],
        sources: &["2.0.50/S4", "2.1.29/I7", "2.1.200/I7", "2.1.325/I8"],
    },
    Edit {
        words: &["compress", "{session}", "--before", "9", "--keep-tools"],
        sources: &["2.0.50/I5", "2.1.29/I5", "2.1.200/I5", "2.1.325/I8"],
    },
    Edit {
        words: &["compress", "{session}", "--before", "2", "--in-place"],
        sources: &["2.0.50/S4", "2.1.325/I7"],
    },
    Edit {
        words: &["repair", "{session}", "--all-clients"],
        sources: &[
            "2.0.50/S2",
            "2.0.50/I7kill",
            "2.1.29/S2par",
            "2.1.29/I7kill",
            "2.1.29/I6",
            "2.1.200/S2par",
            "2.1.200/I7kill",
            "2.1.325/S2par",
            "2.1.325/I6",
            "2.1.325/I7",
        ],
    },
    Edit { words: REPAIR, sources: &["2.1.29/S2par", "2.1.325/S2par"] },
    Edit {
        words: &["rename", "{session}", "Another title"],
        sources: &["2.0.50/S5p", "2.1.29/I8", "2.1.200/Ititle", "2.1.325/Ititle"],
    },
    Edit {
        words: &["redact", "{session}", "--pattern", "lab=LAB:[a-z]+"],
        sources: &["2.0.50/S2", "2.1.29/I7", "2.1.200/S2par", "2.1.325/S3"],
    },
    Edit {
        words: &["redact", "{session}", "--path", "/home/dev/app", "--in-place"],
        sources: &["2.0.50/S2", "2.1.29/S2", "2.1.200/I8", "2.1.325/I8"],
    },
    Edit {
        words: &["move", "{session}", "/home/dev/moved", "--even-if-missing"],
        sources: &["2.0.50/S2", "2.1.29/I7", "2.1.200/I8", "2.1.325/I8"],
    },
    Edit {
        words: &["move", "--project", "/home/dev/app", "/home/dev/moved", "--even-if-missing"],
        sources: &["2.0.50/S2", "2.1.29/S2", "2.1.325/S8"],
    },
    Edit {
        words: &[
            "pack",
            "{session}",
            "--output",
            "{data}/one.recto",
            THEN,
            "rm",
            "{session}",
            "--yes",
            THEN,
            "unpack",
            "{data}/one.recto",
        ],
        sources: &["2.0.50/I5", "2.1.29/I8", "2.1.200/I8", "2.1.325/I7"],
    },
    Edit {
        words: &[
            "pack",
            "{session}",
            "--output",
            "{data}/one.recto",
            THEN,
            "unpack",
            "{data}/one.recto",
            "--new-ids",
        ],
        sources: &["2.0.50/S4", "2.1.29/I7", "2.1.200/S2par", "2.1.325/I8"],
    },
    Edit {
        // A conversation that was split after its second turn.
        words: &[
            "fork",
            "{session}",
            "--at",
            "2",
            THEN,
            "strip",
            "{session}",
            "--turns",
            "1..2",
            THEN,
            "merge",
            "{1}",
            "{2}",
        ],
        sources: &["2.0.50/I5", "2.1.29/I7", "2.1.200/I7", "2.1.325/I7"],
    },
    Edit {
        // The same session, resumed twice.
        words: &["fork", "{session}", "--at", "1", THEN, "merge", "{1}", "{session}", "--force"],
        sources: &["2.0.50/S3", "2.1.29/S3", "2.1.200/S3", "2.1.325/S3"],
    },
    Edit {
        words: &["trim", "{session}", "--to-tokens", "100", "--in-place", THEN, "undo"],
        sources: &["2.0.50/S2", "2.1.29/S2", "2.1.200/S2", "2.1.325/S2"],
    },
    Edit {
        words: RESTORE,
        sources: &[
            "2.0.36/S2",
            "2.0.36/S4",
            "2.0.50/S3",
            "2.0.50/S9",
            "2.0.50/I5",
            "2.1.29/S2par",
            "2.1.29/S4",
            "2.1.29/S9",
            "2.1.29/I8",
            "2.1.200/S2par",
            "2.1.200/I5",
            "2.1.200/I8",
            "2.1.325/S2par",
            "2.1.325/S3",
            "2.1.325/S9",
            "2.1.325/S10",
            "2.1.325/I7",
            "2.1.325/I8",
        ],
    },
    Edit {
        words: &["rm", "{session}", "--yes", THEN, "undo"],
        sources: &["2.0.50/S4", "2.1.29/I8", "2.1.325/I8"],
    },
];
