//! The things that a repair can fix.

/// One kind of fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fix {
    /// Lines that are no JSON object are taken out and kept aside.
    DamagedLine,
    /// A byte order mark before a line of the chain goes.
    ByteOrderMark,
    /// User and assistant lines that say nothing are taken out and kept aside.
    NoContent,
    /// The content of an answer that is a string becomes a text block.
    TextAnswer,
    /// Lines of the chain without a uuid get one.
    MissingUuid,
    /// Of lines with one uuid one stays; different lines get different uuids.
    RepeatedUuid,
    /// Lines of the chain without a time get one.
    MissingTime,
    /// Lines of the main conversation are not a subagent's any more.
    SidechainFlag,
    /// Lines that name another session name this one.
    OtherSession,
    /// Lines of one answer get one message id.
    MessageId,
    /// The last answer names the model.
    Model,
    /// A line whose parent is of an unknown type follows what that followed.
    UnknownParent,
    /// A line whose parent is missing is hung where it belongs.
    MissingParent,
    /// A circle of parents is cut.
    Cycle,
    /// Answers, results and lines without a parent field are hung where they belong.
    NoParent,
    /// A prompt that begins anew goes on from the line before it.
    SecondBeginning,
    /// Calls without a result go.
    CallWithoutResult,
    /// Results without a call go.
    ResultWithoutCall,
    /// Of several results of a call the first one stays.
    SecondResult,
    /// Empty text blocks go.
    BlankText,
    /// Thinking without a signature goes.
    UnsignedThinking,
    /// Bytes that are no UTF-8 become U+FFFD.
    InvalidUtf8,
    /// Half characters become U+FFFD.
    LoneSurrogate,
    /// All clients go on from the same line.
    Leaf,
    /// The current branch becomes one chain, which every client loads whole.
    LinearChain,
}

impl Fix {
    /// All fixes, in the order in which they are made.
    pub const ALL: [Fix; 25] = [
        Fix::DamagedLine,
        Fix::ByteOrderMark,
        Fix::NoContent,
        Fix::TextAnswer,
        Fix::MissingUuid,
        Fix::RepeatedUuid,
        Fix::MissingTime,
        Fix::SidechainFlag,
        Fix::OtherSession,
        Fix::MessageId,
        Fix::Model,
        Fix::UnknownParent,
        Fix::MissingParent,
        Fix::Cycle,
        Fix::NoParent,
        Fix::SecondBeginning,
        Fix::CallWithoutResult,
        Fix::ResultWithoutCall,
        Fix::SecondResult,
        Fix::BlankText,
        Fix::UnsignedThinking,
        Fix::InvalidUtf8,
        Fix::LoneSurrogate,
        Fix::Leaf,
        Fix::LinearChain,
    ];

    /// A stable name, for options and machines.
    pub fn name(self) -> &'static str {
        match self {
            Fix::DamagedLine => "damaged-line",
            Fix::ByteOrderMark => "byte-order-mark",
            Fix::NoContent => "no-content",
            Fix::TextAnswer => "text-answer",
            Fix::MissingUuid => "missing-uuid",
            Fix::RepeatedUuid => "repeated-uuid",
            Fix::MissingTime => "missing-time",
            Fix::SidechainFlag => "sidechain-flag",
            Fix::OtherSession => "other-session",
            Fix::MessageId => "message-id",
            Fix::Model => "model",
            Fix::UnknownParent => "unknown-parent",
            Fix::MissingParent => "missing-parent",
            Fix::Cycle => "cycle",
            Fix::NoParent => "no-parent",
            Fix::SecondBeginning => "second-beginning",
            Fix::CallWithoutResult => "call-without-result",
            Fix::ResultWithoutCall => "result-without-call",
            Fix::SecondResult => "second-result",
            Fix::BlankText => "blank-text",
            Fix::UnsignedThinking => "unsigned-thinking",
            Fix::InvalidUtf8 => "invalid-utf8",
            Fix::LoneSurrogate => "lone-surrogate",
            Fix::Leaf => "leaf",
            Fix::LinearChain => "linear-chain",
        }
    }

    /// What it does, in words.
    pub fn about(self) -> &'static str {
        match self {
            Fix::DamagedLine => {
                "set aside lines that are not JSON objects; save intact lines inside them"
            }
            Fix::ByteOrderMark => "remove byte order marks",
            Fix::NoContent => "set aside user and assistant lines without content",
            Fix::TextAnswer => "turn a string answer into a text block",
            Fix::MissingUuid => "give lines a missing uuid",
            Fix::RepeatedUuid => {
                "keep the last of repeated lines; give different lines different uuids"
            }
            Fix::MissingTime => "give lines a missing time, from the line before",
            Fix::SidechainFlag => "unmark lines of the main conversation as a subagent's",
            Fix::OtherSession => "correct lines that name another session",
            Fix::MessageId => "give the lines of one answer one message id",
            Fix::Model => "name a model in the last answer",
            Fix::UnknownParent => "link a line past a parent of unknown type",
            Fix::MissingParent => "link a line whose parent is missing",
            Fix::Cycle => "cut a cycle of parents at its first line",
            Fix::NoParent => "link answers and results that have no parent",
            Fix::SecondBeginning => "link a prompt without a parent to the line before it",
            Fix::CallWithoutResult => "remove calls without a result",
            Fix::ResultWithoutCall => "remove results without a call",
            Fix::SecondResult => "keep the first of several results of one call",
            Fix::BlankText => "remove empty text blocks",
            Fix::UnsignedThinking => "remove thinking without a signature",
            Fix::InvalidUtf8 => {
                "replace bytes that are not UTF-8 with U+FFFD, as every client reads them"
            }
            Fix::LoneSurrogate => "replace half characters with U+FFFD",
            Fix::Leaf => "let all clients resume from the same line",
            Fix::LinearChain => "make the current branch one chain, which every client loads",
        }
    }

    /// The fix with a name.
    pub fn from_name(name: &str) -> Option<Fix> {
        Fix::ALL.into_iter().find(|fix| fix.name() == name)
    }

    /// Whether it is made without being asked for. The others change what was
    /// perhaps meant: a rewind to the very start looks like a lost link, forks
    /// of old clients keep the id of their source, and all clients leave out
    /// open calls by themselves.
    pub(crate) fn is_default(self) -> bool {
        !matches!(self, Fix::SecondBeginning | Fix::OtherSession | Fix::CallWithoutResult)
    }
}
