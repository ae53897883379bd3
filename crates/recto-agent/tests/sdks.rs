//! The official SDKs as judges: they talk to the mock and get what the script says.
//!
//! `RECTO_TEST_SDKS` names the folder with both SDKs. `cargo xtask test` installs them into
//! `target/sdks` where it finds pip and npm, and runs these tests.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::mock_of;

/// The script that both judges expect.
const SCRIPT: &str = include_str!("sdks/script.toml");

fn sdks() -> PathBuf {
    recto_testkit::tool("RECTO_TEST_SDKS").into()
}

/// Runs a judge against a mock. It prints one JSON object: what it got.
fn judged(command: &mut Command) -> Value {
    let mock = mock_of(SCRIPT);
    let output = command
        .arg(mock.base_url())
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("ANTHROPIC_AUTH_TOKEN")
        .env_remove("ANTHROPIC_BASE_URL")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut got: Value = serde_json::from_slice(&output.stdout).unwrap();
    got["asked"] = mock.asked().len().into();
    got
}

fn expected() -> Value {
    serde_json::from_str(include_str!("sdks/expected.json")).unwrap()
}

fn compare(got: &Value) {
    let expected = expected();
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&got[name], value, "{name}");
    }
}

#[test]
#[ignore = "needs the official SDKs"]
fn the_python_sdk_gets_what_the_script_says() {
    let folder = sdks().join("python");
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdks/judge.py");
    compare(&judged(Command::new("python3").arg(judge).env("PYTHONPATH", folder)));
}

#[test]
#[ignore = "needs the official SDKs"]
fn the_typescript_sdk_gets_what_the_script_says() {
    let folder = sdks().join("node");
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdks/judge.mjs");
    // Modules are looked for beside the file that imports them.
    let copy = folder.join("judge.mjs");
    std::fs::copy(judge, &copy).unwrap();
    compare(&judged(Command::new("node").arg(copy)));
}
