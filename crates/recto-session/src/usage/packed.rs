//! The messages of one log in few bytes, to be kept and read back.

use recto_log::CostState;
use recto_log::ModelUsage;

use super::Counts;
use super::LogUsage;
use super::Record;
use super::RecordFlags;
use super::Wanted;
use super::counts::MOST_TOKENS;
use crate::NameId;
use crate::Names;
use crate::fold::node::Moment;
use crate::fold::packed::Packer;
use crate::fold::packed::Unpacker;

/// Goes up with every change of what is written here, or of what is counted.
const FORM: u8 = 2;

/// The fewest bytes of a record: its key, and one for each number.
const LEAST: usize = 16 + 17;

/// No log has as many lines.
const MOST_LINES: u64 = 1 << 40;

/// All flags that there are.
const ALL_FLAGS: u64 = (1 << 11) - 1;

impl LogUsage {
    /// All that was counted, in few bytes. Only a log that was read with its tools
    /// has them here.
    pub fn encode(&mut self) -> Vec<u8> {
        self.name_tools();
        let mut packer = Packer::new(FORM);
        for number in [self.lines, self.long_lines, self.clock_jumps] {
            packer.number(number);
        }
        packer.byte(u8::from(self.cost_state.is_some()));
        if let Some(state) = &self.cost_state {
            pack_cost_state(&mut packer, state);
        }
        packer.number(self.names.len() as u64);
        for name in self.names.iter() {
            packer.text(name);
        }
        packer.number(self.records.len() as u64);
        let (mut moment, mut line) = (0, 0);
        for record in &self.records {
            let Record { key, counts, flags, content_bytes, .. } = record;
            packer.fixed(&key.to_le_bytes());
            packer.signed(record.moment.number().wrapping_sub(moment));
            moment = record.moment.number();
            packer.signed(i64::from(record.line) - line);
            line = i64::from(record.line);
            packer.number(u64::from(flags.0));
            packer.number(u64::from(*content_bytes));
            for count in counts.numbers() {
                packer.number(u64::from(count));
            }
            let Record { model, cwd, branch, session, agent, tools, .. } = record;
            for name in [model, cwd, branch, session, agent, tools] {
                packer.number(name.map_or(0, |name| name.place() as u64 + 1));
            }
        }
        packer.finish()
    }

    /// Reads what [`LogUsage::encode`] wrote, to be given to a [`super::Ledger`];
    /// lines cannot be added to it. `None` if it is anything else, or was written
    /// by another version.
    pub fn decode(bytes: &[u8], wanted: Wanted) -> Option<LogUsage> {
        let mut unpacker = Unpacker::new(bytes, FORM)?;
        let mut usage = LogUsage::new(wanted);
        usage.lines = unpacker.at_most(MOST_LINES)?;
        usage.long_lines = unpacker.at_most(MOST_LINES)?;
        usage.clock_jumps = unpacker.at_most(MOST_LINES)?;
        if unpacker.yes_or_no()? {
            usage.cost_state = Some(unpack_cost_state(&mut unpacker)?);
        }
        let mut names = Names::default();
        let known = unpacker.list(1, |unpacker| Some(names.add(unpacker.text()?)))?;
        let (mut moment, mut line) = (0, 0);
        usage.records = unpacker.list(LEAST, |unpacker| {
            let record = unpack_record(unpacker, &known, moment, line)?;
            (moment, line) = (record.moment.number(), record.line);
            Some(record)
        })?;
        if !wanted.tools {
            usage.forget_tools();
        }
        usage.names = names;
        unpacker.is_at_end().then_some(usage)
    }
}

fn unpack_record(
    unpacker: &mut Unpacker<'_>,
    names: &[NameId],
    moment: i64,
    line: u32,
) -> Option<Record> {
    let key = u128::from_le_bytes(unpacker.fixed()?);
    let moment = Moment::at(moment.wrapping_add(unpacker.signed()?));
    let line = u32::try_from(i64::from(line).checked_add(unpacker.signed()?)?).ok()?;
    let flags = RecordFlags(u16::try_from(unpacker.at_most(ALL_FLAGS)?).ok()?);
    let content_bytes = unpacker.small()?;
    let mut count = || u32::try_from(unpacker.at_most(u64::from(MOST_TOKENS))?).ok();
    let counts = Counts {
        input: count()?,
        output: count()?,
        cache_read: count()?,
        write_5m: count()?,
        write_1h: count()?,
        write_untiered: count()?,
        web_searches: count()?,
    };
    let mut name = || {
        let place = usize::try_from(unpacker.number()?).ok()?;
        match place.checked_sub(1) {
            Some(place) => names.get(place).copied().map(Some),
            None => Some(None),
        }
    };
    Some(Record {
        key,
        moment,
        counts,
        flags,
        model: name()?,
        cwd: name()?,
        branch: name()?,
        session: name()?,
        agent: name()?,
        tools: name()?,
        file: 0,
        counted_file: 0,
        line,
        content_bytes,
    })
}

fn pack_cost_state(packer: &mut Packer, state: &CostState) {
    let CostState { total_usd, lines: (added, removed), models, has_unknown_model } = state;
    packer.float(*total_usd);
    packer.optional(*added);
    packer.optional(*removed);
    packer.byte(u8::from(*has_unknown_model));
    packer.number(models.len() as u64);
    for (model, usage) in models {
        let ModelUsage { input, output, cache_read, cache_creation, web_searches, usd } = usage;
        packer.text(model);
        for number in [input, output, cache_read, cache_creation, web_searches] {
            packer.number(*number);
        }
        packer.float(*usd);
    }
}

fn unpack_cost_state(unpacker: &mut Unpacker<'_>) -> Option<CostState> {
    Some(CostState {
        total_usd: unpacker.float()?,
        lines: (unpacker.optional()?, unpacker.optional()?),
        has_unknown_model: unpacker.yes_or_no()?,
        models: unpacker.list(7, |unpacker| {
            let model = unpacker.text()?.to_owned();
            let usage = ModelUsage {
                input: unpacker.number()?,
                output: unpacker.number()?,
                cache_read: unpacker.number()?,
                cache_creation: unpacker.number()?,
                web_searches: unpacker.number()?,
                usd: unpacker.float()?,
            };
            Some((model, usage))
        })?,
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use proptest::prelude::*;
    use recto_log::RawLine;
    use recto_log::decode;

    use super::super::Dimension;
    use super::super::Grouping;
    use super::super::Ledger;
    use super::super::LogFile;
    use super::super::PriceTable;
    use super::super::Selection;
    use super::super::helpers;
    use super::super::report;
    use super::*;
    use crate::fold::packed::tests::resealed;
    use crate::fold::packed::tests::sealed;

    const LINES: [&str; 5] = [
        r#"{"type":"assistant","sessionId":"s1","cwd":"/w","gitBranch":"main","timestamp":"2026-11-03T23:30:00.123Z","message":{"id":"a","model":"claude-sonnet-4-5-20250929","content":[{"type":"tool_use","name":"Bash"},{"type":"tool_use","name":"Agent"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":100000000,"cache_creation_input_tokens":9,"service_tier":"batch"}}}"#,
        r#"{"type":"assistant","timestamp":"1970-01-01T00:00:00Z","message":{"model":"\u00fc","usage":{"output_tokens":-1}}}"#,
        r#"{"type":"assistant","sessionId":"s2","message":{"id":"b","usage":{"output_tokens":0}}}"#,
        r#"{"type":"cost-state","totalCostUSD":0.1,"modelUsage":{"m":{"inputTokens":18446744073709551615,"outputTokens":3,"costUSD":1e300}}}"#,
        r#"{"type":"user","message":{"content":"x"}}"#,
    ];

    fn usage(wanted: Wanted) -> LogUsage {
        let mut usage = LogUsage::new(wanted);
        for (at, line) in LINES.iter().enumerate() {
            let raw = RawLine { number: at as u64 + 1, ..RawLine::alone(line.as_bytes()) };
            usage.push(&decode(raw).0, Some("s1"));
        }
        usage
    }

    /// Everything that a ledger says of it.
    fn told(usage: LogUsage) -> String {
        let mut ledger = Ledger::default();
        let file = LogFile {
            path: "log".into(),
            project: "-w".into(),
            session: Some("s1".into()),
            agent: None,
            modified: Timestamp::UNIX_EPOCH,
        };
        ledger.add(file, usage);
        let prices = PriceTable::built_in().unwrap();
        let mut text =
            format!("{:?} {:?}", ledger.records(), helpers(&ledger, &Selection::default()));
        for dimension in Dimension::ALL {
            let grouping = Grouping { dimensions: vec![dimension], zone: TimeZone::UTC };
            let now = Timestamp::UNIX_EPOCH;
            let report = report(&ledger, &prices, &grouping, &Selection::default(), now);
            text.push_str(&format!("{report:?}"));
        }
        text
    }

    #[test]
    fn a_log_is_the_same_when_it_is_read_back() {
        for tools in [false, true] {
            let wanted = Wanted { tools };
            let kept = usage(Wanted { tools: true }).encode();
            let read = LogUsage::decode(&kept, wanted).unwrap();
            assert_eq!(read.records.len(), 3);
            assert_eq!(told(read), told(usage(wanted)));
        }
        let mut without = usage(Wanted { tools: true });
        without.encode();
        without.forget_tools();
        assert_eq!(told(without), told(usage(Wanted { tools: false })));
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            place in any::<usize>(),
            byte in any::<u8>(),
        ) {
            let wanted = Wanted { tools: true };
            prop_assert!(LogUsage::decode(&bytes, wanted).is_none());
            let odd = resealed(usage(wanted).encode(), place, byte);
            for odd in [sealed(FORM, &bytes), odd] {
                if let Some(read) = LogUsage::decode(&odd, wanted) {
                    told(read);
                }
            }
        }
    }
}
