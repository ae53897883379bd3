//! Texts that stand for a value that is elsewhere, and examples: no secrets, wherever they
//! are given.

/// Texts with one of these in them are examples, if nothing else stands there.
const EXAMPLES: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "changeit",
    "change_this",
    "change-this",
    "your-",
    "your_",
    "yourpass",
    "yourtoken",
    "yourkey",
    "yoursecret",
    "yourapi",
    "dummy",
    "redacted",
    "masked",
    "insert-",
    "insert_",
    "replace-",
    "replace_",
    "replaceme",
    "sample",
    "xxxx",
    "fixme",
    "not-a-",
    "not_a_",
    "-here",
    "_here",
    "-goes-",
    "undefined",
    "****",
    "....",
    "<your",
    "\u{2022}\u{2022}",
    "\u{2026}",
    "notasecret",
    "secret-name",
    "fake-",
    "fake_",
    "mock-",
    "mock_",
    "test-token",
    "test_token",
    "test-key",
    "test_key",
    "test-secret",
    "some-secret",
    "my-secret",
    "my_secret",
    "mysecret",
    "mypassword",
    "my-password",
    "my_password",
    "my-token",
    "my_token",
    "my-api",
    "my_api",
];

/// Whole texts that are no secret.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "apikey",
    "api_key",
    "test",
    "testing",
    "tests",
    "admin",
    "root",
    "user",
    "username",
    "string",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "required",
    "optional",
    "default",
    "empty",
    "bearer",
    "basic",
    "text",
    "hidden",
    "value",
    "todo",
    "tbd",
    "postgres",
    "mysql",
    "guest",
    "login",
    "auth",
    "oauth",
    "oauth2",
    "jwt",
    "saml",
    "hmac",
    "argon2",
    "argon2id",
    "argon2i",
    "bcrypt",
    "scrypt",
    "pbkdf2",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "md5",
    "base64",
    "utf8",
    "rs256",
    "hs256",
    "hs384",
    "hs512",
    "es256",
    "ed25519",
    "aes256",
    "aes128",
    "x509",
    "http2",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "i32",
    "i64",
    "f32",
    "f64",
    "str",
    "bool",
    "boolean",
    "number",
    "object",
    "any",
    "unknown",
    "visible",
    "strong",
    "weak",
    "inherit",
    "include",
    "omit",
    "same-origin",
    "client_credentials",
    "authorization_code",
    "refresh_token",
    "access_token",
    "id_token",
    "kubernetes",
    "userpass",
    "stdin",
    "prompt",
    "keyring",
    "ask",
];

/// Whether a text stands for a value that is elsewhere, or is an example.
pub(super) fn is_placeholder(text: &[u8]) -> bool {
    is_example(text) || is_reference(text)
}

fn is_example(value: &[u8]) -> bool {
    const LONGEST: usize = 80;
    let first = value.first().copied().unwrap_or(b'*');
    if value.iter().all(|byte| *byte == first)
        || value.iter().all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'.' | b'-' | b'_'))
    {
        return true;
    }
    if value.len() > LONGEST {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    if WORDS.iter().any(|word| word.as_bytes() == lower) {
        return true;
    }
    let inside = |word: &&str| memchr::memmem::find(&lower, word.as_bytes()).is_some();
    EXAMPLES.iter().any(inside)
        || [&b"..."[..], b"sk-your", b"xxx-", b"abcdef", b"[redacted:"]
            .iter()
            .any(|word| memchr::memmem::find(&lower, word).is_some())
}

/// Whether a text says where the value is: a variable, a template, a path, an address.
fn is_reference(value: &[u8]) -> bool {
    const INSIDE: &[&[u8]] = &[
        b"${",
        b"{{",
        b"$(",
        b"<%",
        b"%{",
        b"#{",
        b"}}",
        b"://",
        b"process.env",
        b"os.environ",
        b"$env:",
        b"%s",
    ];
    const STARTS: &[&[u8]] = &[
        b"./",
        b"../",
        b"~/",
        b"<",
        b"{",
        b"[",
        b"(",
        b"!ref",
        b"!sub",
        b"!vault",
        b"!getatt",
        b"var.",
        b"local.",
        b"data.",
        b"module.",
        b"secrets.",
        b"env.",
        b"env:",
        b"file:",
        b"arn:",
        b"config.",
        b"self.",
        b"this.",
        b"vault:",
        b"ref+",
        b"op:",
        b"sops:",
        b"ssm:",
        b"alias/",
        b"sha256-",
        b"sha512-",
        b"sha1-",
        b"sha256:",
        b"data:",
        b"urn:",
        b"ssh-",
        b"c:\\",
        b"&",
        b"%env",
        b"system.",
        b"std::",
        b"enc[",
        b"keychain:",
        b"valuefrom",
    ];
    let lower: Vec<u8> = value.iter().take(12).map(u8::to_ascii_lowercase).collect();
    STARTS.iter().any(|start| lower.starts_with(start))
        || is_path(value)
        || INSIDE.iter().any(|inside| memchr::memmem::find(value, inside).is_some())
        || is_variable(value)
        || is_braced(value)
        || value.iter().filter(|byte| **byte == b'\\').count() > 1
}

/// A path from the root. The base64 of a key may begin with a slash too.
fn is_path(value: &[u8]) -> bool {
    let is_random = value.len() >= 32 && !value.contains(&b'.') && entropy(value) > 4.0;
    value.starts_with(b"/") && !is_random
}

/// `$NAME`, `%NAME%`, `@NAME@`, `%s`.
fn is_variable(value: &[u8]) -> bool {
    let is_name = |text: &[u8]| {
        !text.is_empty()
            && text.iter().all(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'.' | b':' | b'[' | b']' | b'\'' | b'-' | b'>')
            })
            && !text.first().is_some_and(u8::is_ascii_digit)
    };
    match value {
        // `$ecret9!` is none, and what has digits in the midst hardly.
        [b'$', name @ ..] => {
            is_name(name)
                || name.first().is_some_and(|byte| matches!(byte, b'{' | b'(' | b'$' | b'1'..=b'9'))
                    && name.len() < 3
        }
        [b'%', name @ .., b'%'] | [b'@', name @ .., b'@'] => is_name(name),
        [b'%', b'a'..=b'z' | b'0'..=b'9', ..] => value.len() <= 4,
        _ => false,
    }
}

/// Whether a word stands in braces, as in texts that are formatted.
fn is_braced(value: &[u8]) -> bool {
    let Some(open) = memchr::memchr(b'{', value) else { return false };
    let rest = &value[open + 1..];
    let name = rest
        .iter()
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'?')
        })
        .count();
    rest.get(name) == Some(&b'}')
}

/// The Shannon entropy of bytes, in bits for each.
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = bytes.len() as f64;
    let part = |count: &u32| f64::from(*count) / all;
    counts.iter().filter(|count| **count > 0).map(part).map(|part| -part * part.log2()).sum()
}
