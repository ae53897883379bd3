//! The program that speaks with a session: it answers what the recorded one answered.

use std::io::Write as _;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

/// Standard input of a run, until it is closed.
#[derive(Clone)]
pub(super) struct Input(Arc<Mutex<Option<ChildStdin>>>);

impl Input {
    pub(super) fn new(input: Option<ChildStdin>) -> Input {
        Input(Arc::new(Mutex::new(input)))
    }

    pub(super) fn write(&self, bytes: &[u8]) {
        let mut input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(input) = &mut *input {
            input.write_all(bytes).ok();
            input.flush().ok();
        }
    }

    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A host with the answers of a recording.
pub(super) struct Host {
    input: Input,
    /// Which requests get which answer, and how often still.
    replies: Vec<(Value, Option<u64>)>,
    servers: Value,
}

impl Host {
    pub(super) fn new(command: &Value, input: Input) -> Host {
        let replies = command["replies"].as_array().cloned().unwrap_or_default();
        let replies = replies.into_iter().map(|reply| {
            let times = reply["times"].as_u64();
            (reply, times)
        });
        Host { input, replies: replies.collect(), servers: command["mcp"].clone() }
    }

    /// Looks at a line, and answers it if it asks.
    pub(super) fn take(&mut self, line: &str) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return };
        if line["type"] != "control_request" {
            return;
        }
        let request = &line["request"];
        if request["subtype"] == "mcp_message" {
            let response = self.serve(&request["server_name"], &request["message"]);
            self.send(&line["request_id"], Ok(json!({"mcp_response": response})), 0.0);
            return;
        }
        let is_meant = |reply: &Value| {
            let wanted = reply["match"].as_object().into_iter().flatten();
            wanted.into_iter().all(|(name, value)| &request[name] == value)
        };
        let found =
            self.replies.iter_mut().find(|(reply, times)| *times != Some(0) && is_meant(reply));
        let Some((reply, times)) = found else { return };
        *times = times.map(|times| times - 1);
        let reply = reply.clone();
        if reply["never"] == true {
            return;
        }
        let after = reply["sleep"].as_f64().unwrap_or(0.0);
        match reply["error"].as_str() {
            Some(error) => self.send(&line["request_id"], Err(error.to_owned()), after),
            None => {
                let mut answer = reply["reply"].clone();
                if request["subtype"] == "can_use_tool"
                    && answer["behavior"] == "allow"
                    && answer.get("updatedInput").is_none()
                {
                    answer["updatedInput"] = request["input"].clone();
                }
                self.send(&line["request_id"], Ok(answer), after);
            }
        }
    }

    fn send(&self, id: &Value, answer: Result<Value, String>, after: f64) {
        let response = match answer {
            Ok(answer) => json!({"subtype": "success", "request_id": id, "response": answer}),
            Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
        };
        let line = json!({"type": "control_response", "response": response});
        let input = self.input.clone();
        let write = move || {
            std::thread::sleep(Duration::from_secs_f64(after));
            input.write(format!("{line}\n").as_bytes());
        };
        match after > 0.0 {
            true => drop(std::thread::spawn(write)),
            false => write(),
        }
    }

    /// What a server of the host answers.
    fn serve(&self, server: &Value, message: &Value) -> Value {
        let name = server.as_str().unwrap_or_default();
        let tools = self.servers[name]["tools"].as_array().cloned().unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": name, "version": "1.0.0"},
            }),
            Some("tools/list") => {
                let listed = tools.iter().map(|tool| {
                    let mut tool = tool.clone();
                    if let Some(tool) = tool.as_object_mut() {
                        tool.remove("result");
                        tool.remove("fail");
                    }
                    tool
                });
                json!({"tools": listed.collect::<Vec<_>>()})
            }
            Some("tools/call") => {
                let tool = tools.iter().find(|tool| tool["name"] == message["params"]["name"]);
                match tool.and_then(|tool| tool["fail"].as_str()) {
                    Some(text) => {
                        json!({"content": [{"type": "text", "text": text}], "isError": true})
                    }
                    None => json!({"content": tool.map(|tool| &tool["result"])}),
                }
            }
            _ => json!({}),
        };
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
    }
}
