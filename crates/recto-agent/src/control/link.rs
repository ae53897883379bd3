//! The link to the program that started the session, over standard input and output.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How a line reaches the host. Lines leave in the order in which they are given.
pub type Emit = Arc<dyn Fn(Value) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Why the host gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostError {
    /// It answered with an error.
    Refused(String),
    /// It no longer reads or writes.
    Closed,
    /// The question was taken back.
    Cancelled,
    /// It took too long.
    TimedOut,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Refused(why) => f.write_str(why),
            HostError::Closed => f.write_str("stream closed"),
            HostError::Cancelled => f.write_str("the request was cancelled"),
            HostError::TimedOut => f.write_str("no answer in time"),
        }
    }
}

type Answer = Result<Value, HostError>;

struct Waiting {
    /// Whether an interrupt takes the question back.
    ends_with_turn: bool,
    request: Value,
    answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct Open {
    waiting: HashMap<String, Waiting>,
    is_closed: bool,
}

struct Inner {
    emit: Emit,
    open: Mutex<Open>,
}

/// The link. Clones are the same link.
#[derive(Clone)]
pub struct HostLink(Arc<Inner>);

impl fmt::Debug for HostLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostLink").finish_non_exhaustive()
    }
}

impl HostLink {
    /// A link whose lines go to `emit`.
    pub fn new(emit: Emit) -> HostLink {
        HostLink(Arc::new(Inner { emit, open: Mutex::default() }))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a line.
    pub async fn send(&self, line: Value) {
        (self.0.emit)(line).await;
    }

    /// Asks the host, and waits for the answer.
    pub async fn ask(
        &self,
        request: Value,
        timeout: Option<Duration>,
        cancel: &CancellationToken,
    ) -> Answer {
        let ends_with_turn = request["subtype"] != "mcp_message";
        let id = uuid::Uuid::new_v4().to_string();
        let (answer, answered) = oneshot::channel();
        {
            let mut open = self.open();
            if open.is_closed {
                return Err(HostError::Closed);
            }
            let waiting = Waiting { ends_with_turn, request: request.clone(), answer };
            open.waiting.insert(id.clone(), waiting);
        }
        let _forgotten = Forgotten { link: self, id: &id };
        let line = json!({"type": "control_request", "request_id": id, "request": request});
        self.send(line).await;
        let late = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            biased;
            answer = answered => return answer.unwrap_or(Err(HostError::Closed)),
            () = cancel.cancelled() => HostError::Cancelled,
            () = late => HostError::TimedOut,
        };
        if self.open().waiting.remove(&id).is_some() {
            self.send(cancel_line(&id)).await;
        }
        Err(why)
    }

    /// Takes an answer of the host: a `control_response` line.
    pub fn take_answer(&self, line: &Value) {
        let response = &line["response"];
        let id = response["request_id"].as_str().unwrap_or_default();
        let Some(waiting) = self.open().waiting.remove(id) else { return };
        let answer = match response["subtype"].as_str() {
            Some("error") => {
                let why = response["error"].as_str().unwrap_or("unknown error");
                Err(HostError::Refused(why.to_owned()))
            }
            _ => Ok(response["response"].clone()),
        };
        // Whoever asked may be gone.
        let _ = waiting.answer.send(answer);
    }

    /// Permission questions that wait for an answer, as they were asked.
    pub fn open_questions(&self) -> Vec<Value> {
        let open = self.open();
        let asked = open.waiting.iter();
        let asked = asked.filter(|(_, waiting)| waiting.request["subtype"] == "can_use_tool");
        let line = |(id, waiting): (&String, &Waiting)| json!({"type": "control_request", "request_id": id, "request": waiting.request});
        asked.map(line).collect()
    }

    /// Takes back all questions of the turn.
    pub async fn cancel_turn(&self) {
        let taken: Vec<(String, Waiting)> = {
            let mut open = self.open();
            open.waiting.extract_if(|_, waiting| waiting.ends_with_turn).collect()
        };
        for (id, waiting) in taken {
            self.send(cancel_line(&id)).await;
            let _ = waiting.answer.send(Err(HostError::Cancelled));
        }
    }

    /// The host writes no more: nobody will answer.
    pub fn close(&self) {
        let mut open = self.open();
        open.is_closed = true;
        for (_, waiting) in open.waiting.drain() {
            let _ = waiting.answer.send(Err(HostError::Closed));
        }
    }
}

fn cancel_line(id: &str) -> Value {
    json!({"type": "control_cancel_request", "request_id": id})
}

/// Forgets a question whose asker is gone.
struct Forgotten<'a> {
    link: &'a HostLink,
    id: &'a str,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.link.open().waiting.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> (HostLink, tokio::sync::mpsc::UnboundedReceiver<Value>) {
        let (sender, lines) = tokio::sync::mpsc::unbounded_channel();
        let emit: Emit = Arc::new(move |line| {
            let _ = sender.send(line);
            Box::pin(std::future::ready(()))
        });
        (HostLink::new(emit), lines)
    }

    #[tokio::test]
    async fn answers_find_their_questions_and_lost_ones_are_taken_back() {
        let (link, mut lines) = link();
        let never = CancellationToken::new();
        let asking = link.clone();
        let token = never.clone();
        let asked = tokio::spawn(async move {
            asking.ask(json!({"subtype": "can_use_tool"}), None, &token).await
        });
        let line = lines.recv().await.unwrap();
        let id = line["request_id"].as_str().unwrap();
        link.take_answer(&json!({"response": {"subtype": "success", "request_id": "x"}}));
        link.take_answer(&json!({"response": {
            "subtype": "success", "request_id": id, "response": {"behavior": "allow"},
        }}));
        assert_eq!(asked.await.unwrap(), Ok(json!({"behavior": "allow"})));

        let cancel = CancellationToken::new();
        cancel.cancel();
        let request = json!({"subtype": "hook_callback"});
        let answer = link.ask(request, None, &cancel).await;
        assert_eq!(answer, Err(HostError::Cancelled));
        let asked = lines.recv().await.unwrap();
        let taken_back = lines.recv().await.unwrap();
        assert_eq!(taken_back["type"], "control_cancel_request");
        assert_eq!(taken_back["request_id"], asked["request_id"]);

        link.close();
        let request = json!({"subtype": "can_use_tool"});
        assert_eq!(link.ask(request, None, &never).await, Err(HostError::Closed));
    }
}
