//! What the name of a variable, flag, field or header says about its value.

/// What a name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A password: any text, chosen by a person.
    Password,
    /// A secret or a credential.
    Secret,
    /// A token.
    Token,
    /// A key whose other words say that it is secret (`api_key`).
    Key,
    /// A key of something (`MAPS_KEY`): only a random value is a secret.
    SomeKey,
    /// A value of the `Authorization` header, with the name of a scheme before it.
    Header,
    /// Secret in the query of an address only (`?sig=`, `?key=`).
    Query,
}

impl Class {
    /// What the placeholder says.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Class::Password => "password",
            Class::Secret => "named-secret",
            Class::Token => "named-token",
            Class::Key | Class::SomeKey => "named-key",
            Class::Header => "authorization-header",
            Class::Query => "url-secret",
        }
    }
}

/// Words at the end of a name that do not change what it is.
const SUFFIXES: &str = "prod production prd dev development staging stage stg live sandbox \
    local base value val plain plaintext clear cleartext b64 base64 hex raw default old new \
    current previous secondary backup v here str encoded data";

/// Whole last words.
const PASSWORDS: &str = "password passwd passphrase passcode pass pwd pw pswd passwort \
    kennwort senha contrasena passw pword";
const PASSWORD_ENDS: &[&str] = &["password", "passwd", "passphrase", "passwort", "passcode"];
/// Before `pass`, `pwd` and `pw` without anything between.
const PASSWORD_OWNERS: &str = "db my mysql pg sql root user usr admin smtp mail ftp ssh \
    redis ldap su sudo become login http proxy imap key store rds mongo mq app svc wifi vnc \
    rdp sa postgres require bind";
const SECRET_ENDS: &[&str] = &["secret", "credential", "creds", "pepper"];
/// What may stand before `key` so that it is a secret one.
const KEY_OWNERS: &str = "api secret private access encryption encrypt decryption crypt \
    crypto cipher signing sign signature hmac aes rsa ecdsa master auth account shared \
    session cookie fernet jwt app application service server client admin root license \
    licence functions function deploy ssh subscription consumer rapidapi webhook \
    integration instrumentation ingestion write wallet bearer secure security symmetric \
    nonce salt data apikey token storage host pgp gpg tls ssl vapid";
const KEY_ENDS: &[&str] = &[
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
    "masterkey",
    "encryptionkey",
    "signingkey",
    "accountkey",
    "sharedkey",
    "appkey",
    "licensekey",
    "sessionkey",
    "aeskey",
];
/// Keys that are public, or keys of tables, lists and keyboards.
const OPEN_KEYS: &str = "public pub primary foreign cache sort partition row hash range \
    group object map dict lookup unique composite index idx query translation i18n hot \
    shortcut press arrow enter column col field config setting settings meta metadata state \
    route node item list tree search locale message label event redis bucket s s3 etag \
    registry natural business surrogate join the a this by for on of per each any no same \
    first last left right next prev missing unknown invalid duplicate idempotency dedup \
    dedupe project issue sub parent child sealed react query component tab menu page \
    section step theme style prop data string cell record entity type kind name value param \
    option feature flag enum";
/// Tokens of parsers, models and lists.
const OPEN_TOKENS: &str = "csrf xsrf next page continuation sync cancellation cancel pad \
    eos bos unk mask sep cls special stop per the a each this of by current last first peek \
    prev lookahead resume syntax new expected unexpected input output max min total image \
    design resumption";

/// The most words of a name that are looked at, from its end.
const MOST_WORDS: usize = 8;

/// What a name says, if it is that of a secret.
pub(super) fn class_of(name: &[u8]) -> Option<Class> {
    let words = Words::of(name);
    let mut end = words.len();
    let is_suffix =
        |word: &str| is_in(SUFFIXES, word) || word.bytes().all(|byte| byte.is_ascii_digit());
    while end > 1 && is_suffix(words.get(end - 1)) {
        end -= 1;
    }
    let last = words.get(end.checked_sub(1)?);
    let before = end.checked_sub(2).map_or("", |at| words.get(at));
    match last {
        "key" if before.is_empty() => return Some(Class::Query),
        // The open ones are checked first: `data` is in both lists.
        "key" if words.is_upper && is_in(KEY_OWNERS, before) => return Some(Class::Key),
        "key" if before != "data" && is_in(KEY_OWNERS, before) => return Some(Class::Key),
        "key" if is_in(OPEN_KEYS, before) => return None,
        "key" => return Some(Class::SomeKey),
        "sig" | "appid" => return Some(Class::Query),
        "signature" if before == "amz" || before == "goog" => return Some(Class::Query),
        "authorization" => return Some(Class::Header),
        "salt" | "auth" | "seed" | "dsn" => return Some(Class::SomeKey),
        "jwt" | "bearer" | "pat" | "cred" | "credentials" => return Some(Class::Token),
        _ => {}
    }
    if is_in(PASSWORDS, last) || PASSWORD_ENDS.iter().any(|end| last.ends_with(end)) {
        return Some(Class::Password);
    }
    let owner = ["pass", "pwd", "pw"].iter().find_map(|end| last.strip_suffix(end));
    if owner.is_some_and(|owner| is_in(PASSWORD_OWNERS, owner)) {
        return Some(Class::Password);
    }
    if SECRET_ENDS.iter().any(|end| last.ends_with(end)) {
        return Some(Class::Secret);
    }
    if last.ends_with("token") {
        return (!is_in(OPEN_TOKENS, before)).then_some(Class::Token);
    }
    KEY_ENDS.iter().any(|end| last.ends_with(end)).then_some(Class::Key)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Whether a name is written as the environment's are.
pub(super) fn is_upper(name: &[u8]) -> bool {
    let letters = || name.iter().filter(|byte| byte.is_ascii_alphabetic());
    letters().count() >= 2 && letters().all(u8::is_ascii_uppercase)
}

/// The words of a name, in lower case: those of `snake_case`, `kebab-case`, `camelCase`.
struct Words {
    text: [u8; 64],
    starts: [u8; MOST_WORDS + 1],
    count: usize,
    is_upper: bool,
}

impl Words {
    fn of(name: &[u8]) -> Words {
        let name = &name[name.len().saturating_sub(64)..];
        let mut words = Words {
            text: [0; 64],
            starts: [0; MOST_WORDS + 1],
            count: 0,
            is_upper: is_upper(name),
        };
        let mut used = 0;
        let mut previous = b'_';
        for (at, byte) in name.iter().enumerate() {
            let next_is_lower = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let begins = !is_sign(*byte)
                && (is_sign(previous)
                    || (byte.is_ascii_uppercase()
                        && (previous.is_ascii_lowercase()
                            || previous.is_ascii_digit()
                            || (previous.is_ascii_uppercase() && next_is_lower)))
                    || (byte.is_ascii_digit() != previous.is_ascii_digit()));
            previous = *byte;
            if is_sign(*byte) {
                continue;
            }
            if begins {
                if words.count == MOST_WORDS {
                    // The last words count: the first of them is forgotten.
                    words.starts.copy_within(1..=MOST_WORDS, 0);
                    words.count -= 1;
                }
                words.starts[words.count] = used as u8;
                words.count += 1;
            }
            words.text[used] = byte.to_ascii_lowercase();
            used += 1;
            words.starts[words.count] = used as u8;
        }
        words
    }

    fn len(&self) -> usize {
        self.count
    }

    fn get(&self, at: usize) -> &str {
        let (start, end) = (usize::from(self.starts[at]), usize::from(self.starts[at + 1]));
        std::str::from_utf8(&self.text[start..end]).unwrap_or_default()
    }
}

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.' | b'$' | b'@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str) -> Option<Class> {
        class_of(name.as_bytes())
    }

    #[test]
    fn a_name_in_any_spelling_says_what_it_names() {
        for name in [
            "DB_PASSWORD",
            "dbPassword",
            "db-password",
            "pgpassword",
            "SMTP_PASS",
            "userpwd",
            "ansible_become_pass",
            "PASSWORD_PROD",
            "password2",
            "Passwort",
            "rootpw",
        ] {
            assert_eq!(class(name), Some(Class::Password), "{name}");
        }
        for name in ["clientSecret", "JWT_SECRET", "webhook-secret", "SECRET", "appsecret"] {
            assert_eq!(class(name), Some(Class::Secret), "{name}");
        }
        for name in ["accessToken", "GITHUB_TOKEN", "_authToken", "bot-token", "authtoken"] {
            assert_eq!(class(name), Some(Class::Token), "{name}");
        }
        for name in [
            "API_KEY",
            "apiKey",
            "x-api-key",
            "SECRET_KEY_BASE",
            "openaiApiKey",
            "APIKey",
            "AccountKey",
            "X-Functions-Key",
            "apikey",
            "aws_secret_access_key",
            "DATA_KEY",
        ] {
            assert_eq!(class(name), Some(Class::Key), "{name}");
        }
        assert_eq!(class("MAPS_KEY"), Some(Class::SomeKey));
        assert_eq!(class("X-Amz-Signature"), Some(Class::Query));
    }

    #[test]
    fn names_of_other_things_are_none() {
        for name in [
            "max_tokens",
            "input_tokens",
            "tokenizer",
            "keyboard",
            "primaryKey",
            "cacheKey",
            "password_hash",
            "PASSWORD_FILE",
            "passwordLength",
            "author",
            "compass",
            "bypass",
            "csrf_token",
            "nextPageToken",
            "token_type",
            "secretName",
            "keyId",
            "signature",
            "public_key",
            "passed",
            "TOKEN_TTL",
            "dataKey",
            "",
        ] {
            assert_eq!(class(name), None, "{name}");
        }
    }
}
