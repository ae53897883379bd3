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
                "lines that are not a JSON object are kept aside; whole lines inside them are saved"
            }
            Fix::ByteOrderMark => "a byte order mark before a line goes",
            Fix::NoContent => "user and assistant lines that say nothing are kept aside",
            Fix::TextAnswer => "an answer that is a string becomes a text block",
            Fix::MissingUuid => "lines without a uuid get one",
            Fix::RepeatedUuid => {
                "of lines with one uuid the last stays; different lines get different uuids"
            }
            Fix::MissingTime => "lines without a time get that of the line before",
            Fix::SidechainFlag => "lines of the main conversation are not marked as a subagent's",
            Fix::OtherSession => "lines that name another session name this one",
            Fix::MessageId => "the lines of one answer get one message id",
            Fix::Model => "the last answer names a model",
            Fix::UnknownParent => {
                "a line below one of an unknown type follows what is above that one"
            }
            Fix::MissingParent => "a line whose parent is missing is hung where it belongs",
            Fix::Cycle => "a circle of parents is cut at its first line",
            Fix::NoParent => "answers and results that follow nothing are hung where they belong",
            Fix::SecondBeginning => "a prompt without a parent continues from the line before it",
            Fix::CallWithoutResult => "calls without a result go",
            Fix::ResultWithoutCall => "results without a call go",
            Fix::SecondResult => "of several results of one call the first stays",
            Fix::BlankText => "empty text blocks go",
            Fix::UnsignedThinking => "thinking without a signature goes",
            Fix::InvalidUtf8 => {
                "bytes that are not UTF-8 become U+FFFD, as every client reads them"
            }
            Fix::LoneSurrogate => "half characters become U+FFFD",
            Fix::Leaf => "all clients resume from the same line",
            Fix::LinearChain => "the current branch becomes one chain, which every client loads",
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
