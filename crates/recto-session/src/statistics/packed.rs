//! The facts of one log in few bytes, to be kept and read back.

use super::LogRole;
use super::LogStatistics;
use super::log::CallEnd;
use super::log::CallFact;
use super::log::EditFact;
use super::log::MessageFact;
use super::log::TurnFact;
use crate::Tokens;
use crate::TurnKind;
use crate::fold::packed::Packer;
use crate::fold::packed::Unpacker;

/// Goes up with every change of what is written here, or of what is counted.
const FORM: u8 = 103;

/// Kinds of turns, each by its place. New ones are added at the end.
const KINDS: [TurnKind; 7] = [
    TurnKind::Human,
    TurnKind::Command,
    TurnKind::Bash,
    TurnKind::Task,
    TurnKind::Agent,
    TurnKind::Summary,
    TurnKind::Start,
];

const ENDS: [CallEnd; 3] = [CallEnd::Done, CallEnd::Failed, CallEnd::Open];

impl LogStatistics {
    /// All facts in few bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut packer = Packer::new(FORM);
        packer.byte(u8::from(self.role == LogRole::Agent));
        packer.number(self.names.len() as u64);
        self.names.iter().for_each(|name| packer.text(name));
        packer.number(self.messages.len() as u64);
        for message in &self.messages {
            let MessageFact { key, model, time, tokens, is_told } = message;
            packer.fixed(&key.to_le_bytes());
            packer.number(model.map_or(0, |model| u64::from(model) + 1));
            packer.time(*time);
            let Tokens {
                input,
                output,
                cache_creation,
                cache_creation_5m,
                cache_creation_1h,
                cache_read,
            } = *tokens;
            for number in
                [input, output, cache_creation, cache_creation_5m, cache_creation_1h, cache_read]
            {
                packer.number(number);
            }
            packer.byte(u8::from(*is_told));
        }
        packer.number(self.calls.len() as u64);
        for call in &self.calls {
            let CallFact { key, tool, end, milliseconds, edit, is_told } = call;
            packer.fixed(&key.to_le_bytes());
            packer.number(u64::from(*tool));
            packer.byte(ENDS.iter().position(|known| known == end).unwrap_or(0) as u8);
            packer.optional(*milliseconds);
            packer.byte(u8::from(edit.is_some()));
            if let Some(EditFact { path, added, removed }) = edit {
                packer.number(u64::from(*path));
                packer.number(*added);
                packer.number(*removed);
            }
            packer.byte(u8::from(*is_told));
        }
        packer.number(self.turns.len() as u64);
        for turn in &self.turns {
            let TurnFact { key, kind, started, ended, milliseconds, context } = turn;
            packer.fixed(&key.to_le_bytes());
            packer.byte(KINDS.iter().position(|known| known == kind).unwrap_or(0) as u8);
            packer.time(*started);
            packer.time(*ended);
            packer.optional(*milliseconds);
            // The first turn has the number 1.
            packer.number(context.map_or(0, |(number, _)| u64::from(number)));
            if let Some((_, tokens)) = context {
                packer.number(*tokens);
            }
        }
        packer.number(self.agents.len() as u64);
        self.agents.iter().for_each(|agent| packer.fixed(&agent.to_le_bytes()));
        packer.finish()
    }

    /// Reads what [`LogStatistics::encode`] wrote. `None` if it is anything else,
    /// or was written by another version.
    pub fn decode(bytes: &[u8]) -> Option<LogStatistics> {
        let mut unpacker = Unpacker::new(bytes, FORM)?;
        let role = if unpacker.yes_or_no()? { LogRole::Agent } else { LogRole::Session };
        let names = unpacker.list(1, |unpacker| unpacker.text().map(str::to_owned))?;
        let is_known = |place: &u32| (*place as usize) < names.len();
        let messages = unpacker.list(8 + 8, |unpacker| {
            Some(MessageFact {
                key: u64::from_le_bytes(unpacker.fixed()?),
                model: match unpacker.small()?.checked_sub(1) {
                    Some(place) => Some(Some(place).filter(is_known)?),
                    None => None,
                },
                time: unpacker.time()?,
                tokens: Tokens {
                    input: unpacker.number()?,
                    output: unpacker.number()?,
                    cache_creation: unpacker.number()?,
                    cache_creation_5m: unpacker.number()?,
                    cache_creation_1h: unpacker.number()?,
                    cache_read: unpacker.number()?,
                },
                is_told: unpacker.yes_or_no()?,
            })
        })?;
        let calls = unpacker.list(8 + 4, |unpacker| {
            Some(CallFact {
                key: u64::from_le_bytes(unpacker.fixed()?),
                tool: unpacker.small().filter(is_known)?,
                end: *ENDS.get(usize::from(unpacker.byte()?))?,
                milliseconds: unpacker.optional()?,
                edit: match unpacker.yes_or_no()? {
                    true => Some(EditFact {
                        path: unpacker.small().filter(is_known)?,
                        added: unpacker.number()?,
                        removed: unpacker.number()?,
                    }),
                    false => None,
                },
                is_told: unpacker.yes_or_no()?,
            })
        })?;
        let turns = unpacker.list(8 + 5, |unpacker| {
            Some(TurnFact {
                key: u64::from_le_bytes(unpacker.fixed()?),
                kind: *KINDS.get(usize::from(unpacker.byte()?))?,
                started: unpacker.time()?,
                ended: unpacker.time()?,
                milliseconds: unpacker.optional()?,
                context: match unpacker.small()? {
                    0 => None,
                    number => Some((number, unpacker.number()?)),
                },
            })
        })?;
        let agents = unpacker.list(8, |unpacker| Some(u64::from_le_bytes(unpacker.fixed()?)))?;
        let whole = LogStatistics { role, names, messages, calls, turns, agents };
        unpacker.is_at_end().then_some(whole)
    }
}
