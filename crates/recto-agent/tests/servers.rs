//! MCP servers at an address: tools that change, resources and prompts.

use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use recto_agent::mcp::ServerConfig;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::With;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::Ran;
use crate::bench::call;
use crate::bench::script;

/// A server on a port of its own; its address. It wants its session named, and says with the
/// first call that its tools change.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let was_called = Arc::new(AtomicBool::new(false));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let was_called = Arc::clone(&was_called);
            std::thread::spawn(move || answer(stream, &was_called));
        }
    });
    format!("http://{address}/mcp")
}

fn answer(mut stream: TcpStream, was_called: &AtomicBool) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut length, mut session) = (0, String::new());
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        match header.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().ok()?,
            Some(("mcp-session-id", value)) => value.clone_into(&mut session),
            _ if header.is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let message: Value = serde_json::from_slice(&body).ok()?;
    let method = message["method"].as_str()?;
    if method != "initialize" && session != "s-1" {
        return stream
            .write_all(b"HTTP/1.1 400 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            .ok();
    }
    if message.get("id").is_none() {
        return stream
            .write_all(b"HTTP/1.1 202 Yes\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            .ok();
    }
    let result = result_of(method, &message["params"], was_called);
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let (kind, body) = match method {
        "initialize" => ("text/event-stream", format!("data: {answer}\n\n")),
        "tools/call" => ("text/event-stream", format!("data: {changed}\n\ndata: {answer}\n\n")),
        _ => ("application/json", answer.to_string()),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nmcp-session-id: s-1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()
}

fn result_of(method: &str, params: &Value, was_called: &AtomicBool) -> Value {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}},
        }),
        "tools/list" if was_called.load(Ordering::Relaxed) => {
            json!({"tools": [tool("hi"), tool("more")]})
        }
        "tools/list" => json!({"tools": [tool("hi")]}),
        "tools/call" => {
            was_called.store(true, Ordering::Relaxed);
            json!({"content": [{"type": "text", "text": "hi over http"}]})
        }
        "resources/list" => json!({"resources": [{"uri": "memo://1", "name": "memo"}]}),
        "resources/read" => json!({"contents": [{
            "uri": params["uri"], "mimeType": "text/plain", "text": "the memo",
        }]}),
        "prompts/list" => json!({"prompts": [{
            "name": "greet", "description": "greets", "arguments": [{"name": "who"}],
        }]}),
        "prompts/get" => {
            let text = format!("Greet {} warmly.", params["arguments"]["who"].as_str().unwrap());
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
        }
        _ => json!({}),
    }
}

fn run(bench: &Bench, prompts: &[&str]) -> Ran {
    let config = json!({"mcpServers": {"web": {"type": "http", "url": serve()}}});
    let servers = ServerConfig::read_all(&config, "dynamic", &|_| None).unwrap();
    let with = With { servers, ..With::default() };
    bench.run(Setup { with, ..bench.setup() }, prompts)
}

#[test]
fn a_server_at_an_address_is_called_and_its_new_tools_are_there_next_time() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "mcp__web__hi", json!({}))]}),
        json!({"text": "done"}),
    ]));
    let ran = run(&bench, &["go", "again"]);
    assert!(json!(bench.messages()[1]).to_string().contains("hi over http"));
    let began = ran.events.iter().filter_map(|event| match event {
        TurnEvent::Began(began) => Some(began),
        _ => None,
    });
    let of_server = |tools: &[String]| -> Vec<String> {
        tools.iter().filter(|name| name.starts_with("mcp__")).cloned().collect()
    };
    let tools: Vec<Vec<String>> = began.map(|began| of_server(&began.tools)).collect();
    assert_eq!(tools[0], ["mcp__web__hi"]);
    assert_eq!(tools[1], ["mcp__web__hi", "mcp__web__more"]);
}

#[test]
fn resources_of_servers_are_read_and_their_prompts_are_commands() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            call("toolu_a", "ListMcpResourcesTool", json!({})),
            call("toolu_b", "ReadMcpResourceTool", json!({"server": "web", "uri": "memo://1"})),
            call("toolu_c", "ReadMcpResourceTool", json!({"server": "none", "uri": "memo://1"})),
        ]}),
        json!({"text": "done"}),
    ]));
    let ran = run(&bench, &["go", "/mcp__web__greet Ada"]);
    let results = json!(bench.messages()[1]).to_string();
    for wanted in ["memo://1", "the memo", "not found. Available servers: web"] {
        assert!(results.contains(wanted), "{wanted}: {results}");
    }
    let last = json!(bench.messages().pop().unwrap()).to_string();
    assert!(last.contains("Greet Ada warmly."), "{last}");
    let prompts = ran.events.iter().find_map(|event| match event {
        TurnEvent::Began(began) => Some(began.prompts.clone()),
        _ => None,
    });
    assert_eq!(prompts.unwrap(), ["mcp__web__greet"]);
    bench.is_sound().unwrap();
}
