//! Bad input: scripts, keys, addresses, ports, certificates.

use recto_agent::api::Client;
use recto_agent::api::Credential;
use recto_agent::api::Endpoint;
use recto_agent::mock::Mock;
use recto_agent::mock::MockError;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;

use crate::support::ask;
use crate::support::endpoint_of;
use crate::support::hello;
use crate::support::mock_of;

#[test]
fn a_script_with_an_error_names_its_line() {
    for (text, line, words) in [
        ("", 1, "has no rule"),
        ("[[rule]]\ntext = \"a\"\n\n[[rule]]\ntxet = \"b\"\n", 5, "unknown key `txet` in a rule"),
        ("[[rule]]\nnth = \"one\"\ntext = \"a\"\n", 2, "`nth` must be a whole number"),
        ("[[rule]]\ntext = \"a\"\nmatches = \"(\"\n", 3, "`matches` must be a regular expression"),
        ("[[rule]]\nfault = \"boom\"\n", 2, "unknown fault `boom`"),
        ("[[rule]]\nnth = 1\n", 1, "this rule has no answer"),
        ("[[rule]]\nblocks = [{ text = \"a\" }]\n", 2, "a block has no `type`"),
        ("[[rules]]\ntext = \"a\"\n", 1, "`rules` is not a `[[rule]]`"),
        ("[[rule]]\ntext = \"a\n", 2, ""),
        ("{\"text\":\"a\"}\n\n{\"text\":7}\n", 3, "`text` must be text"),
        ("{\"text\":\"a\"}\n{\"text\n", 2, "not JSON"),
        ("{\"text\":\"a\"}\n[]\n", 2, "write a rule as an object"),
    ] {
        let error = Script::parse(text).map(|_| ()).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.message.contains(words), "{text:?}: {error}");
    }
}

#[test]
fn rules_match_in_order_and_are_used_up() {
    let mock = mock_of(
        r#"
        [[rule]]
        nth = 2
        text = "second"
        [[rule]]
        last = "hello"
        times = 1
        text = "exact"
        [[rule]]
        matches = "h.llo"
        model = "opus"
        tools = false
        text = "pattern"
        "#,
    );
    let client = Client::new(endpoint_of(&mock.base_url())).unwrap();
    let said: Vec<String> =
        (0..3).map(|_| ask(&client, hello()).unwrap().text_of_blocks()).collect();
    assert_eq!(said, ["exact", "second", "pattern"]);
    let mut other = hello();
    other.model = "haiku".into();
    let echo = ask(&client, other).unwrap();
    assert_eq!(echo.text_of_blocks(), "hello", "no rule: the personality answers");
}

#[test]
fn an_answer_repeats_what_a_pattern_found() {
    let mock = mock_of(
        r#"
        [[rule]]
        matches = "^h(.)(l+)o$"
        text = "$2, $1 and $3"
        "#,
    );
    let client = Client::new(endpoint_of(&mock.base_url())).unwrap();
    assert_eq!(ask(&client, hello()).unwrap().text_of_blocks(), "ll, e and $3");
}

#[test]
fn what_was_recorded_is_a_script() {
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);
    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let kept = Kept::default();
    let faults = vec!["429,retry-after=0".parse().unwrap()];
    let record: Box<dyn Write + Send> = Box::new(kept.clone());
    let options = MockOptions { faults, record: Some(record), ..MockOptions::default() };
    let mock = Mock::start(options).unwrap();
    let client = Client::new(endpoint_of(&mock.base_url())).unwrap();
    let first = ask(&client, hello()).unwrap();
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(!text.contains("sk-test"), "a key was written down");
    let again = mock_of(&text);
    let client = Client::new(endpoint_of(&again.base_url())).unwrap();
    let (events, end) = crate::support::events_of(&client, hello());
    assert_eq!(end.unwrap().text_of_blocks(), first.text_of_blocks());
    let is_retry = |event: &&recto_agent::api::ApiEvent| {
        matches!(event, recto_agent::api::ApiEvent::Retry { .. })
    };
    assert_eq!(events.iter().filter(is_retry).count(), 1, "the fault is part of the script");
}

#[test]
fn a_port_that_is_taken_is_said() {
    let mock = mock_of("[[rule]]\ntext = \"a\"\n");
    let again = Mock::start(MockOptions { port: mock.port(), ..MockOptions::default() });
    let error = again.unwrap_err();
    assert!(matches!(error, MockError::PortTaken { port } if port == mock.port()));
    assert!(error.hint().is_some());
}

fn failure_at(base: &str) -> (String, String, Option<String>) {
    let mut endpoint = endpoint_of(base);
    endpoint.retries.most = 1;
    let failure = ask(&Client::new(endpoint).unwrap(), hello()).unwrap_err();
    (failure.error.name().into(), failure.to_string(), failure.error.hint())
}

#[test]
fn what_cannot_be_reached_is_named_with_a_hint() {
    let (name, words, hint) = failure_at("http://host.invalid");
    assert_eq!(name, "unreachable", "{words}");
    assert!(words.contains("host.invalid") && hint.is_some(), "{words}");
    let port = mock_of("[[rule]]\ntext = \"a\"\n").port();
    let (name, words, hint) = failure_at(&format!("http://127.0.0.1:{port}"));
    assert_eq!(name, "unreachable");
    assert_eq!(words, format!("cannot reach 127.0.0.1:{port}: connection refused"));
    assert_eq!(
        hint.as_deref(),
        Some("start the endpoint, or check its port and the proxy settings")
    );
}

#[test]
fn an_endpoint_that_does_not_encrypt_is_told() {
    let mock = mock_of("[[rule]]\ntext = \"a\"\n");
    let (name, words, hint) = failure_at(&format!("https://127.0.0.1:{}", mock.port()));
    assert_eq!(name, "tls", "{words}");
    assert!(hint.unwrap().contains("http://"));
}

#[test]
fn an_empty_key_is_no_key() {
    for key in ["", " \n"] {
        assert_eq!(Credential::api_key(key).unwrap_err().name(), "no-key");
        assert_eq!(Credential::bearer(key).unwrap_err().name(), "no-key");
    }
    assert_eq!(Credential::api_key("a\u{1}b").unwrap_err().name(), "bad-key");
    let mock = mock_of("[[rule]]\ntext = \"a\"\n");
    let endpoint = Endpoint::new(&mock.base_url(), Credential::None).unwrap();
    let failure = ask(&Client::new(endpoint).unwrap(), hello()).unwrap_err();
    assert_eq!(failure.error.name(), "unauthenticated");
}

#[cfg(unix)]
#[test]
fn a_command_gives_the_key_and_is_asked_again_when_it_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("asked");
    let command = format!("echo x >> '{}'; echo sk-of-the-command", file.display());
    let faults = vec!["401".parse().unwrap()];
    let mock = Mock::start(MockOptions { faults, ..MockOptions::default() }).unwrap();
    let endpoint = Endpoint::new(&mock.base_url(), Credential::Command(command)).unwrap();
    let client = Client::new(endpoint).unwrap();
    ask(&client, hello()).unwrap();
    ask(&client, hello()).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    for command in ["exit 3", "true"] {
        let credential = Credential::Command(command.into());
        let endpoint = Endpoint::new(&mock.base_url(), credential).unwrap();
        let failure = ask(&Client::new(endpoint).unwrap(), hello()).unwrap_err();
        assert_eq!(failure.error.name(), "key-command");
    }
}
