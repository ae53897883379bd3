//! What a listing says of a log, in few bytes for the index.

use recto_session::packed::Packer;
use recto_session::packed::Unpacker;

use super::Digest;
use super::FileKind;
use super::TitleSource;

/// Goes up with every change of what is written here, or of how it is found.
const FORM: u8 = 1;

const KINDS: [FileKind; 6] = [
    FileKind::Session,
    FileKind::Empty,
    FileKind::Stub,
    FileKind::Warmup,
    FileKind::Helper,
    FileKind::Agent,
];

const SOURCES: [TitleSource; 4] =
    [TitleSource::Custom, TitleSource::Ai, TitleSource::Summary, TitleSource::FirstPrompt];

impl Digest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Digest {
            kind,
            title,
            first_prompt,
            last_prompt,
            cwd,
            branch,
            version,
            model,
            started,
            ended,
        } = self;
        let mut packer = Packer::new(FORM);
        packer.byte(KINDS.iter().position(|known| known == kind).unwrap_or(0) as u8);
        let source = title.as_ref().map(|(_, source)| source);
        let source = source.and_then(|source| SOURCES.iter().position(|known| known == source));
        packer.byte(source.map_or(0, |place| place as u8 + 1));
        let title = title.as_ref().map(|(title, _)| title);
        // Most titles are the first prompt, which is not written twice.
        let title = title.filter(|title| Some(*title) != first_prompt.as_ref());
        for text in
            [title, first_prompt.as_ref(), last_prompt.as_ref(), cwd.as_ref(), branch.as_ref()]
        {
            put(&mut packer, text);
        }
        put(&mut packer, version.as_ref());
        put(&mut packer, model.as_ref());
        packer.time(*started);
        packer.time(*ended);
        packer.finish()
    }

    /// None if it is damaged, or of another version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Digest> {
        let mut unpacker = Unpacker::new(bytes, FORM)?;
        let kind = *KINDS.get(usize::from(unpacker.byte()?))?;
        let source = match unpacker.byte()? {
            0 => None,
            place => Some(*SOURCES.get(usize::from(place) - 1)?),
        };
        let title = get(&mut unpacker)?;
        let first_prompt = get(&mut unpacker)?;
        let title = match source {
            Some(source) => Some((title.or_else(|| first_prompt.clone())?, source)),
            None => None,
        };
        let digest = Digest {
            kind,
            title,
            first_prompt,
            last_prompt: get(&mut unpacker)?,
            cwd: get(&mut unpacker)?,
            branch: get(&mut unpacker)?,
            version: get(&mut unpacker)?,
            model: get(&mut unpacker)?,
            started: unpacker.time()?,
            ended: unpacker.time()?,
        };
        unpacker.is_at_end().then_some(digest)
    }
}

fn put(packer: &mut Packer, text: Option<&String>) {
    packer.byte(u8::from(text.is_some()));
    if let Some(text) = text {
        packer.text(text);
    }
}

fn get(unpacker: &mut Unpacker<'_>) -> Option<Option<String>> {
    Some(match unpacker.yes_or_no()? {
        true => Some(unpacker.text()?.to_owned()),
        false => None,
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Option<String>> {
        proptest::option::of(".{0,12}")
    }

    fn time() -> impl Strategy<Value = Option<Timestamp>> {
        let time = (-377_705_023_201i64..253_402_207_200, 0..1_000_000_000);
        proptest::option::of(time.prop_map(|(second, nano)| {
            Timestamp::new(second, nano).unwrap_or(Timestamp::UNIX_EPOCH)
        }))
    }

    fn digest() -> impl Strategy<Value = Digest> {
        let title = proptest::option::of((text(), 0..SOURCES.len()));
        let texts = [(); 6].map(|()| text());
        (0..KINDS.len(), title, texts, time(), time()).prop_map(
            |(kind, title, texts, started, ended)| {
                let [first_prompt, last_prompt, cwd, branch, version, model] = texts;
                // A title without a text of its own is the first prompt.
                let title = title.and_then(|(text, source)| {
                    Some((text.or_else(|| first_prompt.clone())?, SOURCES[source]))
                });
                let kind = KINDS[kind];
                Digest {
                    kind,
                    title,
                    first_prompt,
                    last_prompt,
                    cwd,
                    branch,
                    version,
                    model,
                    started,
                    ended,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(digest in digest()) {
            prop_assert_eq!(Digest::decode(&digest.encode()), Some(digest));
        }

        #[test]
        fn anything_may_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut packer = Packer::new(FORM);
            packer.fixed(&bytes);
            if let Some(digest) = Digest::decode(&packer.finish()) {
                prop_assert_eq!(Digest::decode(&digest.encode()), Some(digest));
            }
        }
    }
}
