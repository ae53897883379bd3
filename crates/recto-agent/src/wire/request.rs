//! A request to the Messages API.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::replace_lone_surrogates;

use super::Block;
use super::Json;
use super::Message;
use super::block::array;

/// What is asked of the model. [`Request::body`] is the same bytes for the same request, so a
/// conversation that grew begins as it did before and the endpoint finds it in its cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The model.
    pub model: String,
    /// The most tokens that it may answer with.
    pub max_tokens: u64,
    /// The system prompt; empty for none.
    pub system: Vec<Block>,
    /// Descriptions of the tools; empty for none.
    pub tools: Vec<Json>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// How to think, such as `{"type":"adaptive"}`.
    pub thinking: Option<Json>,
    /// Other fields, in order: `temperature`, `metadata`, `tool_choice`, `output_config` …
    pub fields: Vec<(String, Json)>,
    /// What the header `anthropic-beta` names.
    pub betas: Vec<String>,
    /// The host that signed the thinking in the messages, if that is known. Another host gets
    /// the request without it.
    pub signed_by: Option<String>,
    /// Whether the answer comes as events. The client decides this for each attempt.
    pub stream: bool,
}

impl Request {
    /// A request without messages.
    pub fn new(model: impl Into<String>, max_tokens: u64) -> Request {
        Request {
            model: model.into(),
            max_tokens,
            system: Vec::new(),
            tools: Vec::new(),
            messages: Vec::new(),
            thinking: None,
            fields: Vec::new(),
            betas: Vec::new(),
            signed_by: None,
            stream: true,
        }
    }

    /// Sets one of the other fields.
    #[must_use]
    pub fn with_field(mut self, name: &str, value: Json) -> Request {
        self.set_field(name, value);
        self
    }

    /// Sets one of the other fields.
    pub fn set_field(&mut self, name: &str, value: Json) {
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.fields.push((name.to_owned(), value)),
        }
    }

    /// The body as compact JSON. What may never be sent, half a surrogate pair, is U+FFFD.
    pub fn body(&self) -> Vec<u8> {
        let mut object =
            ObjectWriter::new().string("model", &self.model).number("max_tokens", self.max_tokens);
        object = self.asked(object);
        if self.stream {
            object = object.boolean("stream", true);
        }
        replace_lone_surrogates(object.finish())
    }

    /// The body that asks how many tokens the request has.
    pub fn count_body(&self) -> Vec<u8> {
        const COUNTED: [&str; 3] = ["tool_choice", "output_config", "context_management"];
        let mut request = self.clone();
        request.fields.retain(|(name, _)| COUNTED.contains(&name.as_str()));
        let object = ObjectWriter::new().string("model", &request.model);
        replace_lone_surrogates(request.asked(object).finish())
    }

    fn asked(&self, mut object: ObjectWriter) -> ObjectWriter {
        if let Some(thinking) = &self.thinking {
            object = object.json("thinking", thinking.bytes());
        }
        for (name, value) in &self.fields {
            object = object.json(name, value.bytes());
        }
        if !self.tools.is_empty() {
            let tools =
                self.tools.iter().fold(ArrayWriter::new(), |array, tool| array.json(tool.bytes()));
            object = object.json("tools", &tools.finish());
        }
        if !self.system.is_empty() {
            object = object.json("system", &array(&self.system));
        }
        let messages = self
            .messages
            .iter()
            .fold(ArrayWriter::new(), |array, message| array.json(message.json().bytes()));
        object.json("messages", &messages.finish())
    }
}
