//! What the answer of a callback means: as what a command prints, but it leaves no line behind
//! that says it ran.

use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use crate::control::HostError;
use crate::hook::answer::Ran;
use crate::hook::config::Callback;
use crate::hook::effect::Exit;
use crate::hook::effect::HookEffect;
use crate::hook::effect::Outcome;
use crate::hook::effect::interpret;
use crate::hook::event::Event;
use crate::hook::output::Output;

/// What logs and messages call it.
const NAME: &str = "callback";

/// A callback that ran.
pub fn callback_ran(
    callback: &Callback,
    answer: &Result<Value, HostError>,
    duration: Duration,
) -> Ran {
    let effect = match answer {
        // Nobody waits for what it says later.
        Ok(answer) if answer.get("async") == Some(&json!(true)) => silent(),
        Ok(answer) if answer.is_object() => {
            let text = answer.to_string();
            let mut effect = interpret(callback.event, NAME, Exit::Code(0), &text, "");
            if matches!(effect.outcome, Outcome::Success { .. }) {
                effect.outcome = Outcome::Silent;
            }
            effect
        }
        // A check that did not happen must not let the call through.
        Err(HostError::TimedOut) if callback.event == Event::PreToolUse => only(Outcome::Block {
            message: format!("[{NAME}]: no answer within {} s", callback.timeout.as_secs()),
            reason: None,
            by_json: false,
        }),
        Err(HostError::TimedOut) => only(Outcome::Cancelled { timeout: Some(callback.timeout) }),
        Err(HostError::Cancelled) => only(Outcome::Cancelled { timeout: None }),
        Ok(_) | Err(_) if callback.blocks_on_failure => only(Outcome::Block {
            message: format!(
                "[{NAME}]: failed; blocking because onFailure is \"block\"\n{}",
                failure(callback)
            ),
            reason: None,
            by_json: false,
        }),
        Ok(_) | Err(_) => silent(),
    };
    let stdout = answer.as_ref().map(Value::to_string).unwrap_or_default();
    let stderr = String::new();
    Ran { command: NAME.to_owned(), stdout, stderr, code: 0, duration, effect, is_callback: true }
}

/// The line of a JSON stream about a callback that failed.
pub fn callback_failed(callback: &Callback, answer: &Result<Value, HostError>) -> Option<Value> {
    let is_failure = match answer {
        Ok(answer) => !answer.is_object(),
        Err(HostError::Refused(_)) => true,
        // A host that went away need not be told, but what it forbids so is.
        Err(HostError::Closed) => callback.blocks_on_failure,
        Err(HostError::Cancelled | HostError::TimedOut) => false,
    };
    is_failure.then(|| {
        let then = match callback.blocks_on_failure {
            true => "onFailure is \"block\", so this failure counts as a block.",
            false => "Its answer was treated as empty.",
        };
        json!({
            "type": "system",
            "subtype": "informational",
            "content": format!("{}: {} {then}", callback.event.name(), failure(callback)),
            "level": "warning",
            "tag": "hook_callback_failed",
        })
    })
}

fn failure(callback: &Callback) -> String {
    format!(
        "Hook callback {} failed: the SDK host replied with an error or an invalid answer.",
        callback.id
    )
}

fn only(outcome: Outcome) -> HookEffect {
    HookEffect { outcome, output: Output::default(), is_object: false }
}

fn silent() -> HookEffect {
    only(Outcome::Silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callback(event: &str, group: Value) -> Callback {
        Callback::read_all(&json!({ event: [group] })).remove(0)
    }

    #[test]
    fn what_a_callback_says_counts_and_that_it_ran_is_no_line() {
        let pre = callback("PreToolUse", json!({"matcher": "Bash", "hookCallbackIds": ["h"]}));
        assert!(pre.is_for(Event::PreToolUse, Some("Bash")));
        assert!(!pre.is_for(Event::PreToolUse, Some("Read")));
        let ran = |answer: Value| callback_ran(&pre, &Ok(answer), Duration::ZERO).effect;
        assert_eq!(ran(json!({})).outcome, Outcome::Silent);
        assert_eq!(ran(json!({"async": true, "decision": "block"})).outcome, Outcome::Silent);
        let block = ran(json!({"decision": "block", "reason": "no"}));
        assert!(matches!(block.outcome, Outcome::Block { message, .. } if message == "no"));
    }

    #[test]
    fn a_failure_forbids_only_where_the_host_said_so() {
        let error = Err(HostError::Refused("crashed".to_owned()));
        let lenient = callback("PreToolUse", json!({"hookCallbackIds": ["h"]}));
        let ran = callback_ran(&lenient, &error, Duration::ZERO);
        assert_eq!(ran.effect.outcome, Outcome::Silent);
        assert!(callback_failed(&lenient, &error).is_some());
        let strict =
            callback("PreToolUse", json!({"hookCallbackIds": ["h"], "onFailure": "block"}));
        let ran = callback_ran(&strict, &error, Duration::ZERO);
        assert!(matches!(ran.effect.outcome, Outcome::Block { .. }));
        assert_eq!(callback_failed(&strict, &Ok(json!({}))), None);
        assert!(
            Callback::read_all(&json!({"SessionStart": [{"hookCallbackIds": ["h"]}]})).is_empty()
        );
    }
}
