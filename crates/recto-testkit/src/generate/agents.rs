//! Subagents: their logs in both layouts, warm-up stubs, and their echo in the session log.
//!
//! Owns: these files. Does not own: the tool result that reports (`results`).

use super::Generator;
use super::OutputFile;
use super::era::AgentLayout;
use super::era::HAIKU;
use super::json::Json;
use super::lines::Origin;
use super::message::Stop;
use super::results::AgentReport;
use super::text::Style;
use super::tools::Call;
use super::transcript::Notification;
use super::transcript::Transcript;
use super::truth::Usage;

impl Generator {
    /// Small homes get three subagents.
    pub(super) fn agent_due(&self) -> bool {
        match self.agents_started {
            0 => self.written > self.total / 30,
            1 => self.written > self.total * 3 / 10,
            2 => self.written > self.total / 2,
            _ => false,
        }
    }

    /// Writes the log of a subagent, and its echo in the session log where the version has that.
    pub(super) fn run_agent(&mut self, session: &mut Transcript, call: &Call) -> AgentReport {
        self.agents_started += 1;
        let mut agent = self.agent_transcript(session);
        let agent_id = agent.agent.clone().unwrap_or_default();
        if self.random.chance(7_000) {
            agent.model = HAIKU;
        }
        let limit = (self.total / 20).clamp(40_000, 3_000_000);
        let target = self.random.long_tail(110_000.min(limit), 5, 5_000, limit) as usize;
        if session.era.agent_prompt {
            agent.new.prompt_id = self.random.uuid();
            self.user_text(&mut agent, &call.argument, Origin::Agent);
        }
        if agent.era.new {
            self.announcements(&mut agent);
        }
        let mut tools = 0;
        while tools < 2 || agent.bytes.len() < target {
            self.round(&mut agent);
            tools += 1;
        }
        self.last_answer(&mut agent);
        self.end_of_file(&mut agent);
        if session.era.progress {
            self.agent_progress(session, &agent, call);
        }
        let background = session.era.new && self.random.chance(6_000);
        let answer = self.text.piece(&mut self.random, Style::Prose, 1_200);
        if background {
            session.new.notifications.push(Notification {
                agent_id: agent_id.clone(),
                tool_use_id: call.id.clone(),
                answer: answer.clone(),
            });
        } else {
            session.now = agent.now;
        }
        self.close_agent(session, &mut agent);
        if session.era.new {
            self.agent_meta(&agent, call);
        }
        let last_usage = agent
            .lines
            .iter()
            .rev()
            .find_map(|line| line.facts.usage.map(|usage| usage.1))
            .unwrap_or_else(Usage::default);
        let model = agent.model.name;
        AgentReport { agent_id, answer, tools, model, last_usage, background }
    }

    fn agent_transcript(&mut self, session: &Transcript) -> Transcript {
        let era = session.era;
        let agent_id = format!("{}{}", era.agent_id.0, self.random.hex(era.agent_id.1));
        let path = match era.agent_layout {
            AgentLayout::Beside => format!("{}/agent-{agent_id}.jsonl", session.project),
            AgentLayout::Below => {
                let folder = format!("{}/{}", session.project, session.session_id);
                format!("{folder}/subagents/agent-{agent_id}.jsonl")
            }
        };
        let mut agent = self.transcript(era, &session.session_id, &session.project, &session.cwd);
        agent.path = path;
        agent.branch = session.branch;
        agent.slug = session.slug.clone();
        agent.model = session.model;
        agent.interactive = session.interactive;
        agent.now = session.now + 40;
        agent.started = agent.now;
        agent.agent = Some(agent_id);
        agent
    }

    /// Lines of a subagent, whole, inside `progress` lines: they must not be counted again.
    fn agent_progress(&mut self, session: &mut Transcript, agent: &Transcript, call: &Call) {
        let agent_id = agent.agent.clone().unwrap_or_default();
        let kinds = ["assistant", "user"];
        for line in agent.lines.iter().filter(|line| kinds.contains(&line.facts.kind)).take(40) {
            let bytes = &agent.bytes[line.start..line.end - 1];
            if bytes.len() > 20_000 || line.facts.needle.is_some() {
                continue;
            }
            let mut data = Json::line();
            data.text("type", "agent_progress").key("message").raw(bytes);
            data.text("prompt", "").text("agentId", &agent_id);
            self.progress(session, &data.finish(), &call.id, line.facts.lone_surrogate);
        }
    }

    fn agent_meta(&mut self, agent: &Transcript, call: &Call) {
        let mut meta = Json::line();
        meta.text("agentType", "general-purpose").flag("isBuiltIn", true);
        meta.flag("launchedWithDefaults", true).text("description", "Explore the code");
        meta.text("toolUseId", &call.id).number("spawnDepth", 1);
        meta.text("requestShape", "background").flag("finished", true);
        let path = format!("projects/{}.meta.json", agent.path.trim_end_matches(".jsonl"));
        self.outbox.push(OutputFile { path, bytes: meta.finish(), time: agent.now });
    }

    /// Puts the log into the outbox and its cost into the session.
    fn close_agent(&mut self, session: &mut Transcript, agent: &mut Transcript) {
        for (name, (model, usage)) in &agent.new.costs {
            let cost = session.new.costs.entry(name).or_insert((*model, Usage::default()));
            cost.1.add(usage);
        }
        session.agents += 1;
        self.truth.files.agent += 1;
        let path = format!("projects/{}", agent.path);
        let bytes = std::mem::take(&mut agent.bytes);
        self.outbox.push(OutputFile { path, bytes, time: agent.now });
    }

    /// The logs that old clients leave at every start: a "Warmup" prompt, its answer, or both.
    pub(super) fn warm_ups(&mut self, session: &mut Transcript) {
        if !session.era.warm_up || self.random.chance(4_000) {
            return;
        }
        for _ in 0..1 + self.random.below(2) {
            let mut agent = self.agent_transcript(session);
            agent.model = HAIKU;
            if session.era.agent_prompt {
                self.user_text(&mut agent, "Warmup", Origin::Agent);
            }
            if !session.era.agent_prompt || self.random.chance(4_000) {
                self.answer(&mut agent, "I'm ready to help.", Stop::EndTurn);
            }
            // Damage may have come in between; a stub stays a stub.
            agent.torn_end = false;
            self.truth.files.agent_warmup_stub += 1;
            self.close_agent(session, &mut agent);
        }
    }
}
